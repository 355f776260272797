//! `S: Strategy` means that variables are `Copy`, which they are not where indices are reused.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1]).eval()
}

fn main() {
    let _ = gradient::<Jacobian<f64, Reuse>>(f, &[1.0, 2.0]);
}
