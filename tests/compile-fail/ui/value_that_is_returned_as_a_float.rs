//! Values are `f64` only if the bound says so.

use tapewright::prelude::*;

fn value<S: Strategy>(x: Real<S>) -> f64 {
    x.value()
}

fn main() {}
