//! The advisor is about functions with one output.

use tapewright::prelude::*;
use tapewright::program;

fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    vec![(x[0] * x[1]).into(), x[1].exp().into()]
}

fn main() {
    let _ = program!(f);
}
