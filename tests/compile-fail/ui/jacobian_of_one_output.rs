//! Jacobian matrices are of functions with a vector of outputs.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1]).into()
}

fn main() {
    let _ = jacobian::<Jacobian>(f, &[1.0, 2.0]);
}
