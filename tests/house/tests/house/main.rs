//! The rules of the house: what imports what, what fits a screen, where unsafe code may be.

mod imports;
mod mutations;
mod sizes;
mod source;
mod words;
