//! A stack of plain values that may outgrow memory.

use super::SpillUsage;
use crate::error::StorageError;
use crate::storage::Block;
use crate::storage::spill::{Loader, SlabFile, SlabReader, SpillOptions};
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;

/// A stack of plain values of which only the last few slabs stay in memory, and the others are in a file.
///
/// For data that are written once and used backwards: trajectories, snapshots, records. Pushing and popping cost as
/// much as with a vector, except once per slab; a slab leaves memory only when the budget of [`SpillOptions::memory`]
/// is used up, and is written by a background thread. The file has no name and disappears with the stack or the
/// process.
///
/// A storage error loses nothing: everything that was pushed is still on the stack and can be read, and the next call
/// that needs a failed operation retries it. Elements that a fault has changed on disk, or that are missing there, are
/// an error each time, and never a wrong value: see [what is protected](SpillOptions#what-is-protected).
/// [`clear`](Self::clear) the stack then.
///
/// Memory is reported by [`usage`](Self::usage), in exact bytes; it is at most the budget, two slabs that are being
/// written, and for the stack itself and each [`reader`](Self::reader) one slab for random access and two that are read
/// ahead.
///
/// ```
/// use tapewright_strategies::storage::{SpillOptions, SpilledStack};
/// # fn main() -> Result<(), tapewright_strategies::storage::StorageError> {
/// let mut stack = SpilledStack::new(SpillOptions::default().memory(1 << 20).slab(64 << 10));
/// for i in 0..300_000 {
///     stack.push(f64::from(i))?; // 2.4 MB: the first half goes to disk
/// }
/// assert_eq!(stack.get(1000)?, Some(1000.0));
/// assert_eq!(stack.pop()?, Some(299_999.0));
/// assert_eq!(stack.len(), 299_999);
/// # Ok(())
/// # }
/// ```
pub struct SpilledStack<T: Pod> {
    slabs: SlabFile,
    /// Number of elements in the slab being filled.
    in_top: usize,
    per_slab: usize,
    loader: Loader,
    elements: PhantomData<T>,
}

impl<T: Pod> SpilledStack<T> {
    const BYTES: usize = {
        assert!(size_of::<T>() > 0, "elements of a `SpilledStack` must have a size");
        assert!(align_of::<T>() <= Block::ALIGN, "elements of a `SpilledStack` must be aligned to at most 4096 bytes");
        size_of::<T>()
    };

    /// Returns an empty stack. The file is created when the first slab leaves memory.
    #[must_use]
    pub fn new(options: SpillOptions) -> Self {
        Self::over(SlabFile::new(options))
    }

    /// Returns an empty stack whose file exists already, so that a bad directory or budget is reported now.
    ///
    /// # Errors
    ///
    /// When the memory budget is below two slabs, or the file cannot be created.
    pub fn open(options: SpillOptions) -> Result<Self, StorageError> {
        SlabFile::open(options).map(Self::over)
    }

    fn over(slabs: SlabFile) -> Self {
        let (per_slab, loader) = ((slabs.slab_bytes() / Self::BYTES).max(1), Loader::new(&slabs));
        Self { slabs, in_top: 0, per_slab, loader, elements: PhantomData }
    }

    /// Adds an element at the top.
    ///
    /// # Errors
    ///
    /// When a new slab is needed and there is no memory for it: because older slabs cannot be written, the disk budget
    /// is used up, or the allocator has none. The element is not on the stack then. All others are, and the call may be
    /// retried later.
    #[inline]
    pub fn push(&mut self, element: T) -> Result<(), StorageError> {
        if self.slabs.current().is_none() || self.in_top == self.per_slab {
            self.next_slab()?;
        }
        if let Some(top) = self.slabs.current_mut() {
            let at = self.in_top * Self::BYTES;
            top.bytes_mut()[at..at + Self::BYTES].copy_from_slice(bytemuck::bytes_of(&element));
            self.in_top += 1;
        }
        Ok(())
    }

    #[cold]
    fn next_slab(&mut self) -> Result<(), StorageError> {
        self.in_top = 0;
        self.slabs.advance(Self::BYTES).map(drop)
    }

    /// Takes the newest element off the stack; `None` if the stack is empty.
    ///
    /// # Errors
    ///
    /// When the slab of the element cannot be read from the file, or is not what was written there. The element stays
    /// on the stack.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<T>, StorageError> {
        if self.in_top == 0 {
            self.previous_slab()?;
        }
        let (Some(top), Some(last)) = (self.slabs.current(), self.in_top.checked_sub(1)) else { return Ok(None) };
        self.in_top = last;
        Ok(Some(bytemuck::pod_read_unaligned(&top.bytes()[last * Self::BYTES..][..Self::BYTES])))
    }

    /// Makes the newest full slab the one being filled, if there is one.
    #[cold]
    fn previous_slab(&mut self) -> Result<(), StorageError> {
        if self.slabs.truncate(self.slabs.len())?.is_some() {
            self.in_top = self.per_slab;
            self.loader.forget(self.slabs.len());
        }
        Ok(())
    }

    /// Returns the element at `index`, counted from the oldest; `None` above the top.
    ///
    /// An element in memory is read in place. For any other element, its slab is loaded into the one slab reserved for
    /// that, and stays there until another slab is needed. Slabs in memory stay in memory. When access goes to lower
    /// indices, the next slabs are read ahead.
    ///
    /// # Errors
    ///
    /// When the slab cannot be read from the file or is not what was written there, or there is no memory for it.
    pub fn get(&mut self, index: usize) -> Result<Option<T>, StorageError> {
        let (slab, at) = (index / self.per_slab, index % self.per_slab);
        if slab < self.slabs.len() {
            let bytes = self.loader.get(&self.slabs, slab)?;
            return Ok(Some(bytemuck::pod_read_unaligned(&bytes[at * Self::BYTES..][..Self::BYTES])));
        }
        Ok(if slab == self.slabs.len() { self.in_top().get(at).copied() } else { None })
    }

    /// Number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slabs.len() * self.per_slab + self.in_top
    }

    /// Returns true if there is no element.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all elements. Memory, and space in the file, are kept for reuse.
    pub fn clear(&mut self) {
        self.loader.forget(0);
        self.slabs.clear();
        self.in_top = 0;
    }

    /// Returns a reader of elements, which leaves them on the stack. Several readers can be open at once, on several
    /// threads.
    #[must_use]
    pub fn reader(&self) -> SpilledReader<'_, T> {
        SpilledReader { stack: self, slabs: self.slabs.reader() }
    }

    /// Calls `each` with the elements of one slab after the other, the newest slab first; within a slab, the oldest
    /// element is first.
    ///
    /// # Errors
    ///
    /// When a slab cannot be read. All newer slabs have been passed to `each`.
    pub fn for_each_slab_backwards(&self, mut each: impl FnMut(&[T])) -> Result<(), StorageError> {
        let mut reader = self.reader();
        for slab in (0..reader.slabs()).rev() {
            each(reader.slab(slab)?);
        }
        Ok(())
    }

    /// Bytes in memory and on disk.
    #[must_use]
    pub fn usage(&self) -> SpillUsage {
        self.slabs.usage()
    }

    /// Returns the elements of the slab being filled.
    fn in_top(&self) -> &[T] {
        self.slabs.current().map_or(&[], |top| bytemuck::cast_slice(&top.bytes()[..self.in_top * Self::BYTES]))
    }
}

impl<T: Pod> fmt::Debug for SpilledStack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpilledStack").field("len", &self.len()).field("usage", &self.usage()).finish_non_exhaustive()
    }
}

/// Reader of a [`SpilledStack`], which cannot change meanwhile.
///
/// A reader has one slab of memory of its own for slabs that are not in memory, and two more once it goes backwards.
pub struct SpilledReader<'a, T: Pod> {
    stack: &'a SpilledStack<T>,
    slabs: SlabReader<'a>,
}

impl<T: Pod> SpilledReader<'_, T> {
    /// Returns the element at `index`; see [`SpilledStack::get`].
    ///
    /// # Errors
    ///
    /// When the slab cannot be read from the file or is not what was written there, or there is no memory for it.
    pub fn get(&mut self, index: usize) -> Result<Option<T>, StorageError> {
        let (slab, at) = (index / self.stack.per_slab, index % self.stack.per_slab);
        if slab < self.slabs() { self.slab(slab).map(|elements| elements.get(at).copied()) } else { Ok(None) }
    }

    /// Number of slabs with elements; all but the last are full.
    #[must_use]
    pub const fn slabs(&self) -> usize {
        self.stack.slabs.len() + (self.stack.in_top > 0) as usize
    }

    /// Returns the elements of a slab, the oldest first. Slab 0 is the oldest.
    ///
    /// # Errors
    ///
    /// When the slab cannot be read from the file or is not what was written there, or there is no memory for it.
    ///
    /// # Panics
    ///
    /// When `slab` is not below [`slabs`](Self::slabs).
    pub fn slab(&mut self, slab: usize) -> Result<&[T], StorageError> {
        let slabs = self.slabs();
        assert!(slab < slabs, "there is no slab {slab}, the stack has {slabs}");
        if slab == self.stack.slabs.len() {
            return Ok(self.stack.in_top());
        }
        let used = self.stack.per_slab * size_of::<T>();
        self.slabs.get(slab).map(|bytes| bytemuck::cast_slice(&bytes[..used]))
    }
}

impl<T: Pod> fmt::Debug for SpilledReader<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpilledReader").field("slabs", &self.slabs()).finish_non_exhaustive()
    }
}
