//! Drivers pass slices.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>; 2]) -> Real<S> {
    (x[0] * x[1]).into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
