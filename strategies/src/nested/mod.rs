//! [`Nested`]: numbers that are themselves variables of another recording, for reverse mode over reverse mode.
//!
//! Operations on such numbers record statements on the outer tape whose partial derivatives are already known
//! (`given`). `arithmetic` implements the traits of numbers, `bytes` their layout in memory; `registers` refuses array
//! kernels, whose threads cannot record.

mod arithmetic;
mod bytes;
mod given;
mod number;
mod registers;

pub use number::Nested;
