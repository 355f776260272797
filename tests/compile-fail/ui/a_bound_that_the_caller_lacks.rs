//! A function over `f64` values is called for any values.

use tapewright::prelude::*;

fn scaled<S: Strategy<Value = f64>>(x: Real<S>) -> Real<S> {
    (x * x.value()).into()
}

fn twice<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (scaled(x[0]) * 2.0).into()
}

fn main() {
    let _ = gradient::<Jacobian>(twice, &[1.0]);
}
