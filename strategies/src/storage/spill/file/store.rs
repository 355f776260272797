//! Stores of the program, which replace files.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Target of slabs and arrays that replaces a file: the memory of a device, of another machine, of a database.
///
/// A store keeps bytes at offsets from 0 on, like a file, and grows as it is written to. Background threads call it,
/// several at once, and occasionally the thread that records or sweeps. [`SpillOptions::store`] selects the store of a
/// tape; [`SpillOptions::disk`] limits the offsets, and bytes that are no longer needed are overwritten.
///
/// No fault of a store can make a derivative wrong. A checksum of the written bytes is kept, computed with a key that
/// the store does not know, and bytes read back are used only if they have the same checksum: otherwise the sweep ends
/// with [`StorageError::Corrupt`](crate::error::StorageError::Corrupt). Errors that the store returns are
/// [`StorageError::Io`](crate::error::StorageError::Io), and so is a panic. After an error everything that was recorded
/// before can still be swept, as far as the store returns it.
///
/// A store must not use variables of the recording whose bytes it receives: that panics, which is an error as well.
///
/// ```
/// use std::io;
/// use std::sync::Mutex;
/// use tapewright_strategies::{Jacobian, Linear, Spilled, storage::{SpillDefaults, SpillOptions, SpillStore}};
///
/// /// A second buffer.
/// #[derive(Default)]
/// struct Buffer(Mutex<Vec<u8>>);
///
/// impl SpillStore for Buffer {
///     fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
///         let mut buffer = self.0.lock().map_err(|_| io::Error::other("the buffer is poisoned"))?;
///         let start = usize::try_from(offset).map_err(io::Error::other)?;
///         let end = start + bytes.len();
///         if buffer.len() < end {
///             buffer.resize(end, 0);
///         }
///         buffer[start..end].copy_from_slice(bytes);
///         Ok(())
///     }
///
///     fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
///         let buffer = self.0.lock().map_err(|_| io::Error::other("the buffer is poisoned"))?;
///         let start = usize::try_from(offset).map_err(io::Error::other)?;
///         let kept = buffer.get(start..start + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
///         bytes.copy_from_slice(kept);
///         Ok(())
///     }
/// }
///
/// /// A layer that moves older records to such a buffer.
/// struct Elsewhere;
/// impl SpillDefaults for Elsewhere {
///     fn options() -> SpillOptions { SpillOptions::default().store(|| Ok(Buffer::default())) }
/// }
/// type Strategy = Jacobian<f64, Linear, Spilled<Elsewhere>>;
/// # fn reverse<S: tapewright_strategies::Reverse>() {}
/// # reverse::<Strategy>();
///
/// // The containers and files of this crate use stores, too.
/// let mut stack = tapewright_strategies::storage::SpilledStack::new(Elsewhere::options().slab(4096).memory(8 * 8192));
/// (0..50_000_u64).try_for_each(|x| stack.push(x))?;
/// assert!(stack.usage().written > 300_000);
/// assert_eq!(stack.get(7)?, Some(7));
/// # Ok::<(), tapewright_strategies::storage::StorageError>(())
/// ```
///
/// [`SpillOptions::store`]: crate::storage::SpillOptions::store
/// [`SpillOptions::disk`]: crate::storage::SpillOptions::disk
pub trait SpillStore: Send + Sync + 'static {
    /// Copies these bytes to the store, from `offset` on, and overwrites what was there.
    ///
    /// # Errors
    ///
    /// When the store cannot keep the bytes. They are written again later, or the recording ends with this error.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Fills `bytes` with what was written from `offset` on.
    ///
    /// # Errors
    ///
    /// When the store cannot return the bytes. The sweep that needs them ends with this error.
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

/// Function that opens the stores of a tape.
#[derive(Clone)]
pub(crate) struct Opener(Arc<dyn Fn() -> io::Result<Box<dyn SpillStore>> + Send + Sync>);

impl Opener {
    pub(crate) fn new<S: SpillStore>(open: impl Fn() -> io::Result<S> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || Ok(Box::new(open()?))))
    }

    pub(crate) fn open(&self) -> io::Result<OpenStore> {
        let store = attempt(|| (self.0)())?;
        Ok(OpenStore { store, key: RandomState::new() })
    }

    /// Returns true if both are clones of one opener.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A store with the key of its checksums.
pub(crate) struct OpenStore {
    store: Box<dyn SpillStore>,
    key: RandomState,
}

impl OpenStore {
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        attempt(|| self.store.write(bytes, offset))
    }

    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        attempt(|| self.store.read(bytes, offset))
    }

    /// Checksum that cannot be forged without the key (`SipHash`). Unsafe code decodes records, and a store is foreign
    /// safe code: unlike a disk it could return bytes that it has chosen deliberately.
    pub(crate) fn checksum(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.key.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }
}

/// Runs code of a store, and converts panics to errors.
fn attempt<T>(f: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err(io::Error::other("the store panicked")))
}

#[cfg(test)]
mod tests {
    use super::{OpenStore, Opener, SpillStore, io};
    use crate::storage::spill::file::checksum::checksum;

    struct Nowhere;
    impl SpillStore for Nowhere {
        fn write(&self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn read(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Ok(())
        }
    }

    fn store() -> OpenStore {
        Opener::new(|| Ok(Nowhere)).open().expect("it opens")
    }

    #[test]
    fn c16_bytes_that_are_chosen_to_have_the_checksum_of_files_have_another_one_in_a_store() {
        let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
        let mut forged = bytes.clone();
        forged[512 + 7] ^= 0x80;
        forged[576 + 7] ^= 0x80;
        forged[576 + 3] ^= 0x80;
        assert_eq!(checksum(&forged), checksum(&bytes));
        let store = store();
        assert_ne!(store.checksum(&forged), store.checksum(&bytes));
    }

    #[test]
    fn c16_each_store_has_a_key_of_its_own() {
        let (one, other) = (store(), store());
        assert_eq!(one.checksum(b"records"), one.checksum(b"records"));
        assert_ne!(one.checksum(b"records"), other.checksum(b"records"));
    }
}
