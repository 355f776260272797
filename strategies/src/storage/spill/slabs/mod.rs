//! A stack of full slabs: the last few in memory, the others in a file.
//!
//! * `slab_file`: the stack, and the memory budget. `slab`: where one of them is.
//! * `writer`: writes old slabs behind the recording; `reader`: loads them again, ahead of a sweep; `worker`: their
//!   threads.

pub(crate) mod reader;
pub(crate) mod slab;
pub(crate) mod slab_file;
pub(crate) mod worker;
pub(crate) mod writer;
