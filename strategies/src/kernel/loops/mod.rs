//! The loops over all points of a range, generic in the kernel and in the instruction set.
//!
//! * `map` computes values at all points. `sum` adds them, in an order that depends on the range only. `argmax`
//!   searches for an extremum.
//! * `gather` is the reverse sweep: each element collects the contributions of its readers, so no two threads write to
//!   one element, and no atomic operation is needed.
//! * `compile` builds the table of these loops for one kernel.
//!
//! Called by `launch`. Everything that is compiled for each kernel of a user is instantiated here: keep it small.

pub(crate) mod argmax;
pub(crate) mod compile;
pub(crate) mod gather;
pub(crate) mod map;
pub(crate) mod sum;
