//! Functions over a strategy take variables.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1]).into()
}

fn main() {
    let _ = f(&[1.0, 2.0]);
}
