//! Elementary functions: powers, exponentials, logarithms, trigonometric and hyperbolic functions.

pub mod exponential;
pub mod hyperbolic;
pub mod logarithmic;
pub mod power;
pub mod trigonometric;
