//! A program returns a variable, an array of these or a `Vec`.

use tapewright::prelude::*;
use tapewright::program;

fn f<S: Strategy>(x: &[Real<S>]) -> (Real<S>, Real<S>) {
    ((x[0] * x[1]).into(), x[1].exp().into())
}

fn main() {
    let _ = program!(f);
}
