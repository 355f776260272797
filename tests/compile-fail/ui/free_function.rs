//! Functions of variables are methods.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    sin(x[0]).into()
}

fn main() {}
