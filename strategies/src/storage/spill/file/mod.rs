//! Where spilled bytes go: a file on disk without a name, or a store of the program.
//!
//! * `options`: budget, folder and store, as the user sets them. `store`: the trait of stores.
//! * `stored`: reads and writes at offsets, with `checksum`s; `disk`: the file; `extents`: its free space.
//! * `scratch`: a file for callers that manage its space themselves.

pub(crate) mod checksum;
pub(crate) mod disk;
pub(crate) mod extents;
pub(crate) mod options;
pub(crate) mod scratch;
pub(crate) mod store;
pub(crate) mod stored;
