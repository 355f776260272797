//! Values are `f64` only if the bound says so.

use tapewright::prelude::*;

fn place<S: Strategy>(nodes: &[f64], x: Real<S>) -> usize {
    nodes.partition_point(|node| *node < x.value())
}

fn twice<S: Strategy>(x: Real<S>) -> f64 {
    2.0 * x.value()
}

fn main() {}
