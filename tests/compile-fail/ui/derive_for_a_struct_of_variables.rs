//! `derive` asks for `S: Clone`, which strategies do not promise.

use tapewright::prelude::*;

#[derive(Clone, Copy)]
struct Point<S: Strategy> {
    x: Real<S>,
}

fn copy<S: Strategy>(point: Point<S>) -> Point<S> {
    point.clone()
}

fn main() {}
