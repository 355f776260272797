//! A sparse Hessian needs a strategy over duals, too.

use tapewright::{prelude::*, sparse::sparse_hessian};

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[0]).into()
}

fn main() {
    let _ = sparse_hessian::<PrimalValue>(f, &[2.0]);
}
