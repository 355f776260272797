//! A sum can be of several types, and a method of it needs to know which.

use tapewright::prelude::*;

fn norm<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    x.iter().map(|v| *v * *v).sum().sqrt().eval()
}

fn main() {
    let _ = gradient::<Jacobian>(norm, &[1.0]);
}
