//! Functions of `f64` take floats only.

use tapewright::prelude::*;

fn ramp<S: Strategy>(x: Real<S>) -> Real<S> {
    f64::max(0.0, x).into()
}

fn power<S: Strategy>(x: Real<S>) -> Real<S> {
    2.0_f64.powf(x).into()
}

fn main() {}
