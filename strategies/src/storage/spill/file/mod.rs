//! Targets of spilled bytes: a file on disk without a name, or a store of the program.
//!
//! * `options`: budgets, directory and store, as set by the user. `store`: the trait of stores.
//! * `stored`: reads and writes at offsets, with `checksum`s; `disk`: the file; `extents`: its free space.
//! * `scratch`: a file for callers that manage its space themselves.

pub(crate) mod checksum;
pub(crate) mod disk;
pub(crate) mod extents;
pub(crate) mod options;
pub(crate) mod scratch;
pub(crate) mod store;
pub(crate) mod stored;
