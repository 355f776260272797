//! Sparse Jacobian and Hessian matrices against dense ones, and what is refused.

#[path = "sparse/doubts.rs"]
mod doubts;
#[path = "sparse/faults.rs"]
mod faults;
#[path = "sparse/kernels.rs"]
mod kernels;
#[path = "sparse/random.rs"]
mod random;
#[path = "sparse/rows.rs"]
mod rows;
#[path = "sparse/slices.rs"]
mod slices;
#[path = "sparse/structure.rs"]
mod structure;

use tapewright::prelude::*;

/// Records `f` at `x`: its inputs and its outputs.
fn record<S: Reverse, Y>(tape: &mut Tape<S>, f: impl FnOnce(&[Real<S>]) -> Y, x: &[S::Value]) -> (Vec<Real<S>>, Y) {
    tape.record(|scope| {
        let x = scope.inputs(x);
        let y = f(&x);
        (x, y)
    })
}
