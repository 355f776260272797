//! Numbers are `Copy`, and variables whose identifiers are reused are not.

use tapewright::Nested;
use tapewright::prelude::*;

fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
    (&x[0] * &x[0]).into()
}

fn main() {
    let _ = gradient::<Jacobian<Nested<Jacobian<f64, Reuse>>>>(f, &[]);
}
