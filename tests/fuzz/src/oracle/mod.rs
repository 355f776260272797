//! An interpreter of programs that shares no code with the library, except rules that have no formula here.
mod binary;
mod bodies;
pub(crate) mod expect;
pub(crate) mod functions;
pub(crate) mod number;
mod run;
mod slices;
mod special;
mod tape;
pub(crate) mod tree;
mod unary;
