//! Errors of sweeps and of storage, and the panics of statements that cannot be recorded.
//!
//! * [`SweepError`]: the reason why a sweep ended early; returned by every sweep.
//! * [`StorageError`]: the reason why records could not be written to disk or read back.
//! * `Refusal`: the reason why a statement was not recorded. A statement is an assignment and cannot return an error,
//!   so it panics; [`catch_storage_errors`] converts the panics caused by storage back to errors.
//!
//! The lowest room of the crate: it imports from no other.

pub(crate) mod refusal;
mod storage;
mod sweep;

pub(crate) use refusal::{Refusal, out_of_memory};
pub use refusal::{catch_storage_errors, uses_devices};
pub use storage::StorageError;
pub use sweep::SweepError;
