//! TODO

mod arithmetic;
mod bytes;
mod given;
mod number;
mod registers;

pub use number::Nested;
