//! Counts are integers, and variables compute with floats.

use tapewright::prelude::*;

fn mean<S: Strategy>(x: Real<S>, n: usize) -> Real<S> {
    (x / n).into()
}

fn power<S: Strategy>(x: Real<S>, n: usize) -> Real<S> {
    x.powi(n).into()
}

fn main() {}
