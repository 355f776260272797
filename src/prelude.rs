//! What most programs need: `use tapewright::prelude::*;`

pub use crate::{
    Capacity, Ex, Hybrid, InMemory, Jacobian, Linear, Passive, PrimalValue, Real, Reuse, Reverse, Shared, Strategy,
    Tape, Taping, gradient, jacobian, value_and_gradient, vjp,
};
