//! Failures of storage, from the statement that met them to the caller who can deal with them.
//!
//! A statement is an assignment and cannot return an error; so it panics, and who started the recording may catch that.

use crate::StorageError;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// The latest error that a statement of this thread met.
    static LATEST: RefCell<Option<StorageError>> = const { RefCell::new(None) };
}

fn message(error: &StorageError) -> String {
    format!("a statement was not recorded: {error}. Everything recorded before it is intact")
}

/// Panics because of this error.
#[cold]
#[track_caller]
pub(crate) fn raise(error: StorageError) -> ! {
    let message = message(&error);
    LATEST.set(Some(error));
    panic!("{message}")
}

/// Runs `f`, and returns the storage error that one of its statements panicked with, if any. Other panics go on.
///
/// What `f` has changed through references stays as the panic left it.
///
/// # Errors
///
/// When records had to be written to disk and could not be.
pub fn catch_storage_errors<R>(f: impl FnOnce() -> R) -> Result<R, StorageError> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<String>();
        match LATEST.take().filter(|error| text == Some(&message(error))) {
            Some(error) => error,
            None => resume_unwind(payload),
        }
    })
}
