//! Refusals: reasons why a statement is not recorded.
//!
//! A statement is an assignment and cannot return an error, so it panics. Whoever started the recording may catch
//! panics that storage caused.

use crate::error::{StorageError, SweepError};
use core::sync::atomic::{AtomicBool, Ordering};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// The latest storage error on this thread, and the message of its panic.
    static LATEST: RefCell<Option<(StorageError, String)>> = const { RefCell::new(None) };
    /// Number of callers on this thread that return storage errors.
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// True once a target has used the memory of a device, which may fail in a sweep.
static DEVICES: AtomicBool = AtomicBool::new(false);
/// True once a device has failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Panics with this error. The panic is not reported where it becomes an error of the caller.
#[cold]
#[track_caller]
fn raise(error: StorageError, message: String) -> ! {
    LATEST.set(Some((error, message.clone())));
    if cfg!(panic = "unwind") && CATCHING.get() > 0 {
        resume_unwind(Box::new(message))
    }
    panic!("{message}")
}

/// Panics because a device has failed. Recordings by `try_record`, sweeps and replays return that as
/// [`StorageError::Device`].
#[cold]
#[track_caller]
pub(crate) fn device_failed(reason: String) -> ! {
    device_is_used();
    FAILED.store(true, Ordering::Relaxed);
    raise(StorageError::Device { reason: reason.clone() }, reason)
}

/// Returns true if a device has failed so far.
pub(crate) fn has_device_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Returns true if a launch may fail because of a device: one is used, or this library can use one.
#[must_use]
#[inline]
pub fn uses_devices() -> bool {
    cfg!(any(feature = "opencl", feature = "cuda")) || DEVICES.load(Ordering::Relaxed)
}

/// Notes that a device is used, so that sweeps catch its errors from now on.
pub(crate) fn device_is_used() {
    DEVICES.store(true, Ordering::Relaxed);
}

/// Runs a sweep or a replay, and returns the error of a device, if any. Other panics continue.
#[inline]
pub(crate) fn catch_device_errors<R>(sweep: impl FnOnce() -> Result<R, SweepError>) -> Result<R, SweepError> {
    if uses_devices() { catch_storage_errors(sweep)? } else { sweep() }
}

/// Runs `f`, and returns the storage error that one of its statements panicked with, if any. Other panics continue.
///
/// Changes that `f` has made through references stay as the panic left them.
///
/// # Errors
///
/// When records had to be written to disk and writing failed.
pub fn catch_storage_errors<R>(f: impl FnOnce() -> R) -> Result<R, StorageError> {
    CATCHING.set(CATCHING.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(f));
    CATCHING.set(CATCHING.get() - 1);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>();
        match LATEST.take().filter(|(_, message)| text == Some(message)) {
            Some((error, _)) => error,
            None => resume_unwind(payload),
        }
    })
}

/// Reason why a statement was not recorded.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The recording has used every identifier that its width, or its limit, allows.
    OutOfIdentifiers {
        /// Identifiers in use.
        used: u64,
        /// Maximum number of identifiers in use.
        limit: u64,
        /// True if identifiers are reused, so that `used` counts variables that are alive.
        reused: bool,
    },
    /// The storage layer has no room for the record.
    Storage(StorageError),
    /// The allocator has no memory for data outside the records.
    OutOfMemory {
        /// Bytes requested.
        bytes: usize,
        /// Purpose of the memory.
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
            Self::Storage(error) => {
                let message = format!("a statement was not recorded: {error}. Everything recorded before it is intact");
                raise(error, message)
            }
            Self::OutOfMemory { bytes, what } => panic!(
                "out of memory: the allocator has no {bytes} bytes for {what}; nothing more has been recorded, and \
                 everything before it is intact"
            ),
        }
    }
}
