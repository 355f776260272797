//! Names that most programs need: `use tapewright::prelude::*;`

pub use crate::{
    Capacity, Continuation, Ex, Forward, Hybrid, InMemory, Jacobian, Linear, Passive, PrimalValue, Real, Reuse,
    Reverse, Shared, Strategy, Tangent, Tape, Taping, derivative, gradient, jacobian, jacobian_forward, jvp, jvps,
    value_and_gradient, vjp,
};
