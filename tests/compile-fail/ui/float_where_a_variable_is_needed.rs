//! A number is no variable until `.into()` makes it one.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    if x[0] > 0.0 { x[0] } else { 0.0 }
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0]);
}
