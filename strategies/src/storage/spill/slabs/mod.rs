//! A stack of full slabs: the last few in memory, the others in a file.
//!
//! * `slab_file`: the stack, and the memory budget. `slab`: the location of one slab.
//! * `writer`: writes old slabs behind the recording; `reader`: loads them again, ahead of a sweep; `worker`: the
//!   threads of both.

pub(crate) mod reader;
pub(crate) mod slab;
pub(crate) mod slab_file;
pub(crate) mod worker;
pub(crate) mod writer;
