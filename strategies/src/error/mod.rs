//! TODO

mod refusal;
mod storage;
mod sweep;

pub use refusal::catch_storage_errors;
pub(crate) use refusal::{Refusal, out_of_memory, room_for_one};
pub use storage::StorageError;
pub use sweep::SweepError;
