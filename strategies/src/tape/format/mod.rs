//! The format of records: codes, layouts, and the functions made for each.
//!
//! * `code`: the one byte that tells records apart; frequent types of statements have a fixed one. `code_table`: the
//!   codes that one tape has assigned.
//! * `layout`: length and functions of the records of one type.
//! * `kind`: the trait of kinds of records, in safe code: `partials` (Jacobian), `operands` (primal values), `variadic`
//!   (any number of arguments).
//! * `block`: the functions by which programs compute a type of statement for many scenarios.
//! * `entry_points`: the function pointers made from a kind, which read a record's bytes.
//!
//! The lowest room of tapes: it knows neither the memory of records nor their writers.

pub(crate) mod block;
pub(crate) mod code;
pub(crate) mod code_table;
pub(crate) mod entry_points;
pub(crate) mod kind;
pub(crate) mod layout;
pub(crate) mod operands;
pub(crate) mod partials;
pub(crate) mod variadic;
