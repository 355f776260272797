//! A Hessian needs a strategy over duals.

use tapewright::{hessian, prelude::*};

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[0]).into()
}

fn main() {
    let _ = hessian::<PrimalValue>(f, &[2.0]);
}
