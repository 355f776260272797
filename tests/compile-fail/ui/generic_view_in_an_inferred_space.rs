//! A function that brings views to a space that the compiler infers says that the strategy's policy allows it.

use tapewright::kernels::{Space, View};
use tapewright::prelude::*;

fn inferred<S: Taping<Value = f64>, M: Space<f64>>() -> View<S, 1, M> {
    View::<S, 1>::zeros([3]).in_space()
}

fn main() {
    let _ = inferred::<Jacobian, tapewright::kernels::Host>();
}
