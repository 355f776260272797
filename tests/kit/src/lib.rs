//! What the tests of this package have in common: strategies to run under, panics that are expected, storage.

pub mod panics;
mod strategies;

pub use strategies::{all_close, close, float, holds_results_only};

use std::io;
use std::sync::{Mutex, PoisonError};
use tapewright::storage::{SpillDefaults, SpillOptions, SpillStore};

/// Slabs of 4 KiB, and memory for 16 of them: every recording of more than a few statements goes to disk.
#[derive(Clone, Copy, Debug)]
pub struct FewPages;
impl SpillDefaults for FewPages {
    fn options() -> SpillOptions {
        to_disk(SpillOptions::default().slab(4096).memory(16 * 4096))
    }
}

/// A few slabs in memory, so that records leave it.
#[derive(Clone, Copy, Debug)]
pub struct Tight;
impl SpillDefaults for Tight {
    fn options() -> SpillOptions {
        to_disk(SpillOptions::default().slab(16 << 10).memory(4 * (20 << 10)))
    }
}

/// A few pages in memory. What does not fit goes to a second buffer by explicit copies, as it would to the memory of a
/// device.
#[derive(Clone, Copy, Debug)]
pub struct SecondBuffer;
impl SpillDefaults for SecondBuffer {
    fn options() -> SpillOptions {
        FewPages::options().store(|| Ok(Buffer::default()))
    }
}

/// To a file, or to a second buffer where the environment asks for it: so tests of spilled tapes can be run on it
/// without being compiled again.
fn to_disk(options: SpillOptions) -> SpillOptions {
    if std::env::var_os("TAPEWRIGHT_SECOND_BUFFER").is_some() {
        return options.store(|| Ok(Buffer::default()));
    }
    options
}

/// The second buffer.
#[derive(Debug, Default)]
struct Buffer(Mutex<Vec<u8>>);

impl Buffer {
    /// Calls `copy` with the bytes from `offset` on, as many as this.
    fn copy(&self, offset: u64, bytes: usize, copy: impl FnOnce(&mut [u8])) {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = usize::try_from(offset).expect("it is in memory");
        let end = buffer.len().max(start + bytes);
        buffer.resize(end, 0);
        copy(&mut buffer[start..start + bytes]);
    }
}

impl SpillStore for Buffer {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.copy(offset, bytes.len(), |there| there.copy_from_slice(bytes));
        Ok(())
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.copy(offset, bytes.len(), |there| bytes.copy_from_slice(there));
        Ok(())
    }
}
