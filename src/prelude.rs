//! What most programs need: `use tapewright::prelude::*;`

pub use crate::{
    Capacity, Continuation, Ex, Jacobian, Passive, PrimalValue, Real, Reverse, Strategy, Tape, Taping, gradient,
    jacobian, value_and_gradient, vjp,
};
