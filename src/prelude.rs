//! What most programs need: `use tapewright::prelude::*;`

pub use crate::{
    Capacity, Ex, Forward, Jacobian, Passive, PrimalValue, Real, Reverse, Strategy, Tangent, Tape, Taping, derivative,
    gradient, jacobian, jacobian_forward, jvp, jvps, value_and_gradient, vjp,
};
