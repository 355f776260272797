//! Variables have no `Float`, and closed variables have.

use num_traits::Float;
use tapewright::prelude::*;

fn f<T: Float>(x: T) -> T {
    x.sin() * x
}

fn g(x: Real<Jacobian>) -> Real<Jacobian> {
    f(x)
}

fn main() {}
