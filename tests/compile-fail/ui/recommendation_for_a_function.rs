//! The advisor runs a function under several strategies, so it takes a `Program`.

use tapewright::{advisor, prelude::*};

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[0]).into()
}

fn main() {
    let _ = advisor::recommend(&f, &[2.0], 1 << 20);
}
