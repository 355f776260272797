//! An expression is no variable until `.into()` records it.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    x[0] * x[1] + 1.0
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
