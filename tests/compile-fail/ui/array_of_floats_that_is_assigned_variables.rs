//! An array of floats cannot hold variables.

use tapewright::prelude::*;

fn table<S: Strategy>(x: Real<S>) -> usize {
    let mut y = [0.0; 2];
    y[0] = x * x;
    y.len()
}

fn main() {}
