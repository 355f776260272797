//! Variables are ordered as floats are, which may be NaN.

use tapewright::prelude::*;

fn larger<S: Strategy>(x: Real<S>, y: Real<S>) -> Real<S> {
    std::cmp::max(x, y)
}

fn sorted<S: Strategy>(x: &mut [Real<S>]) {
    x.sort();
}

fn main() {}
