//! The value of a variable is asked for by a method.

use tapewright::prelude::*;

fn cast<S: Strategy>(x: Real<S>) -> f64 {
    x as f64
}

fn value<S: Strategy>(x: Real<S>) -> f64 {
    x
}

fn main() {}
