//! Why a statement is not recorded. Failures of storage, from the statement that met them to the caller who can deal
//! with them.
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
fn raise(error: StorageError) -> ! {
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

/// Makes sure that a list has a place for one more.
///
/// # Panics
///
/// When the allocator has no memory for that. The list is as it was.
#[track_caller]
pub(crate) fn room_for_one<T>(list: &mut Vec<T>, what: &str) {
    if list.try_reserve(1).is_err() {
        out_of_memory((2 * list.len()).max(4) * size_of::<T>(), what);
    }
}

/// Why a statement was not recorded.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The recording has used every identifier that its width, or its limit, allows.
    OutOfIdentifiers {
        /// Identifiers in use.
        used: u64,
        /// Identifiers that may be in use.
        limit: u64,
        /// Whether they belong to variables alive.
        reused: bool,
    },
    /// The storage layer has no room for its record.
    Storage(StorageError),
    /// The allocator has no memory for what grows beside the records.
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
        /// What they were for.
        what: &'static str,
    },
}

/// Panics because the allocator has no memory.
#[cold]
#[track_caller]
pub(crate) fn out_of_memory(bytes: usize, what: &str) -> ! {
    panic!("out of memory: the allocator has no {bytes} bytes for {what}")
}

impl Refusal {
    #[cold]
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        match self {
            Self::OutOfIdentifiers { used, limit, reused: false } => panic!(
                "out of identifiers: the recording has {used} inputs and statements, and its identifiers can number no more than \
                 {limit} inputs and statements; nothing more has been recorded (use u64 identifiers, or record in stages)"
            ),
            Self::OutOfIdentifiers { used, limit, reused: true } => panic!(
                "out of identifiers: {used} variables were alive at once, and the recording's identifiers can number no more \
                 than {limit}; nothing more has been recorded"
            ),
            Self::Storage(error) => raise(error),
            Self::OutOfMemory { bytes, what } => panic!(
                "out of memory: the allocator has no {bytes} bytes for {what}; nothing more has been recorded, and \
                 everything before it is intact"
            ),
        }
    }
}
