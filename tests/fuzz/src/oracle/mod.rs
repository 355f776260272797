//! An interpreter of programs that shares no code with the library, except rules, which it compares with formulas of
//! its own.
mod binary;
mod bodies;
pub(crate) mod expect;
mod formulas;
pub(crate) mod functions;
mod incomplete;
pub(crate) mod number;
mod run;
mod slices;
mod special;
mod tape;
pub(crate) mod tree;
mod unary;
mod waves;
