//! Stub until the engine is merged.
use core::fmt;
/// Storage failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageError(());
impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("storage")
    }
}
impl core::error::Error for StorageError {}

#[track_caller]
pub(crate) fn raise(error: StorageError) -> ! { panic!("{error}") }
