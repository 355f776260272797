//! The tests that stand in the examples themselves, as one program: so each example is compiled as a program, too, with
//! the other tests.
#![allow(dead_code, reason = "nobody calls `main`")]

#[cfg(feature = "faer")]
#[path = "../diffusion.rs"]
mod diffusion;
#[path = "../heston.rs"]
mod heston;
#[path = "../newton.rs"]
mod newton;
#[cfg(feature = "packs")]
#[path = "../packs.rs"]
mod packs;
#[cfg(feature = "faer")]
#[path = "../rosenbrock.rs"]
mod rosenbrock;
