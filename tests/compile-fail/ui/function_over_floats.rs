//! A function over `f64` is not differentiated.

use tapewright::prelude::*;

fn f(x: &[f64]) -> f64 {
    x[0] * x[1]
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
