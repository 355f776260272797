//! Literals in expressions are `f64`.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * 2).into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0]);
}
