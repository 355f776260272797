//! Values have the methods of `f64` only if the bound says so.

use tapewright::prelude::*;

fn cell<S: Strategy>(x: Real<S>) -> Real<S> {
    x.value().floor()
}

fn main() {}
