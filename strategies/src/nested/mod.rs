//! [`Nested`]: numbers that are themselves variables of another recording, for reverse mode over reverse mode.
//!
//! A statement over such numbers records statements on the outer tape, whose partials are known already (`given`).
//! `arithmetic` implements the traits of numbers, `bytes` their layout in memory, and `registers` refuses array
//! kernels, whose threads could not record.

mod arithmetic;
mod bytes;
mod given;
mod number;
mod registers;

pub use number::Nested;
