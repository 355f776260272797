//! The tests that stand in the examples themselves, as one program.
#![allow(dead_code, reason = "nobody calls `main`")]

#[path = "../pendulums.rs"]
mod pendulums;
