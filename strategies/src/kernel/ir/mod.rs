//! The intermediate representation of kernels. Everything here is computed at compile time, in constants of types.
//!
//! ```text
//! expression  a closure's result as a type, e.g. Apply2<Plus, Element<0>, Element<1>>
//!     │  associated constants
//! instruction flat list of operations of one expression      access   which operand is read, at which offset
//!     │
//! body        all expressions of a kernel, one list           builder  appends operations; equal ones stand once
//!     │
//! program     three lists: values, tangents, adjoints of each access   (by differentiate)
//!     │
//! listing     the lists as constants of a type, which exec compiles
//! ```
//!
//! * `kernel`: what is done with the results (assign, reduce, extremum), and what is known of a kernel before it runs.
//! * `function`: functions of kernels, with a SIMD formula or a scalar rule. `grid`: shapes and ranges of points.
//!
//! Called by `exec`, `loops`, `launch` and by the engine's `kernels::expression`. It must not know how anything runs.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod builder;
pub(crate) mod differentiate;
pub(crate) mod expression;
pub(crate) mod function;
pub(crate) mod grid;
pub(crate) mod instruction;
pub(crate) mod kernel;
pub(crate) mod listing;
pub(crate) mod program;
