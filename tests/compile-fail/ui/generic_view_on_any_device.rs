//! A function that brings views of any strategy to any space says that the strategy's policy allows it.

use tapewright::kernels::{Space, View};
use tapewright::prelude::*;

fn there<S: Taping<Value = f64>, M: Space<f64>>(x: View<S, 1>) -> View<S, 1, M> {
    x.in_space::<M>()
}

fn main() {
    let _ = there::<Jacobian, tapewright::kernels::Host>(View::zeros([3]));
}
