//! `.into()` needs to know what into; `.eval()` does not.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let t = (x[0] * x[1]).into();
    (t * x[0]).into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
