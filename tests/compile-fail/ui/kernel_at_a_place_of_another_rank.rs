//! A shift has as many numbers as the view has dimensions.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn twice<S: Taping<Value = f64>>(t: &mut View<S, 2>) {
    parallel_for(t.all(), t, |t| (2.0 * t.at::<0>(),));
}

fn main() {}
