//! A slice function returns a variable, which needs no `.eval()`.

use tapewright::prelude::*;

fn total<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    tapewright::sum(x).eval()
}

fn main() {
    let _ = gradient::<Jacobian>(total, &[1.0]);
}
