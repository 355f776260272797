//! A bound that every closed variable meets hides its operators with floats.

use tapewright::strategies::num_traits::Float;
use tapewright::{Closed, prelude::*};

fn shifted<S: Strategy>(x: &[Real<S>]) -> Real<S>
where
    Closed<S>: Float,
{
    (Closed::from(x[0]) + 1.0).open()
}

fn main() {
    let _ = gradient::<Jacobian>(shifted, &[1.0]);
}
