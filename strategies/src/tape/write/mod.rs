//! Writing records.
//!
//! ```text
//! policy::append ──▶ fast::append   (inlined into each statement: the innermost recording, room, a known code)
//!                       └─ else ──▶ slow   (other recordings, new codes, new segments)
//! ```
//!
//! * `policy`: the entry point of every statement; looks for singular partials if the policy requires it.
//! * `fast` and `slow`: statements of a known number of arguments, and closures of users. `variadic`: functions of
//!   slices. `inputs`: independent variables, and the records of external functions and launches.
//! * `emit`: the bytes of records that are not written in place. `guard`: comparisons.
//!
//! Called by the strategies.

pub(crate) mod emit;
pub(crate) mod fast;
pub(crate) mod guard;
pub(crate) mod inputs;
pub(crate) mod policy;
pub(crate) mod slow;
pub(crate) mod variadic;
