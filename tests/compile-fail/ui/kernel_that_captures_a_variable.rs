//! A variable in a kernel is one of its operands.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn heat<S: Strategy<Value = f64>>(t: &mut View<S, 1>, k: Real<S>) {
    parallel_for(t.interior(1), t, |t| (k * t.at::<1>(),));
}

fn main() {}
