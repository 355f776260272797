//! Cache of the spilled arrays that a sweep has read back.

use super::buffer::{Arena, Buffer};
use super::shared::{NewArray, SharedArray};
use super::version::{Held, Version};
use crate::Number;
use crate::error::StorageError;
use core::fmt;
use std::sync::Arc;

/// Arrays of a launch that a sweep has read back from disk.
///
/// Arrays stay cached for the next launch, which may need the same ones, and for all adjoint vectors of a sweep.
pub struct ReadCache<V> {
    present: Vec<Present<V>>,
    /// Arena that arrays are allocated from, once one was needed.
    pub(crate) memory: Option<Arc<Arena<V>>>,
}

/// One cached version.
#[derive(Clone, Debug)]
struct Present<V> {
    number: u64,
    /// True if the current launch uses the version.
    used: bool,
    array: Array<V>,
}

#[derive(Clone, Debug)]
enum Array<V> {
    /// Not spilled: shared with the version.
    Shared(SharedArray<V>),
    Read(NewArray<V>),
}

impl<V> ReadCache<V> {
    /// Returns an empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self { present: Vec::new(), memory: None }
    }
}

impl<V> Default for ReadCache<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// Clones allocate from an arena of their own.
impl<V: Clone> Clone for ReadCache<V> {
    fn clone(&self) -> Self {
        Self { present: self.present.clone(), memory: None }
    }
}

impl<V: fmt::Debug> fmt::Debug for ReadCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.present, f)
    }
}

impl<V: Number> ReadCache<V> {
    /// Returns the array of a version, which stays at its address until the [end](Self::end) of the launch.
    ///
    /// # Errors
    ///
    /// When the array cannot be read back, or is not what was written.
    #[inline(always)]
    pub(crate) fn get<'a>(&'a mut self, version: &'a Version<V>) -> Result<&'a Buffer<V>, StorageError> {
        match version {
            Version::Memory(buffer) => Ok(buffer),
            Version::Held(held) => {
                self.load(held)?;
                Ok(self.loaded(held))
            }
        }
    }

    /// Returns the arrays of two versions.
    ///
    /// # Errors
    ///
    /// When an array cannot be read back, as for [`get`](Self::get).
    pub(crate) fn both<'a>(
        &'a mut self,
        versions: [Option<&'a Version<V>>; 2],
    ) -> Result<[Option<&'a Buffer<V>>; 2], StorageError> {
        for version in versions.into_iter().flatten() {
            self.get(version)?;
        }
        Ok(versions.map(|version| match version? {
            Version::Memory(buffer) => Some(&**buffer),
            Version::Held(held) => Some(self.loaded(held)),
        }))
    }

    /// Moves the contents to a new cache, and leaves an empty one with the same arena.
    pub(crate) fn take(&mut self) -> Self {
        Self { present: core::mem::take(&mut self.present), memory: self.memory.clone() }
    }

    /// Sets the arena that arrays are allocated from.
    pub(crate) fn draw_from(&mut self, memory: Option<&Arc<Arena<V>>>) {
        if let Some(memory) = memory
            && !self.memory.as_ref().is_some_and(|own| Arc::ptr_eq(own, memory))
        {
            self.memory = Some(Arc::clone(memory));
        }
    }

    /// Allocates a buffer with unspecified contents.
    pub(crate) fn array(&mut self, length: usize) -> NewArray<V> {
        self.memory.get_or_insert_default().array(length)
    }

    #[inline(never)]
    fn loaded(&self, held: &Held<V>) -> &Buffer<V> {
        let present = self.present.iter().find(|present| present.number == held.number);
        match &present.expect("it has been loaded").array {
            Array::Shared(buffer) => buffer,
            Array::Read(buffer) => buffer,
        }
    }

    /// Ends a launch: releases the arrays that it has not used, and those that are still in memory elsewhere.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        if !self.present.is_empty() {
            self.drop_unused();
        }
    }

    #[inline(never)]
    fn load(&mut self, held: &Held<V>) -> Result<(), StorageError> {
        if let Some(present) = self.present.iter_mut().find(|present| present.number == held.number) {
            present.used = true;
            return Ok(());
        }
        let array = match held.look_up() {
            Ok(buffer) => Array::Shared(buffer),
            Err(length) => {
                let mut buffer = self.array(length);
                held.read(&mut buffer)?;
                Array::Read(buffer)
            }
        };
        self.present.push(Present { number: held.number, used: true, array });
        Ok(())
    }

    #[inline(never)]
    fn drop_unused(&mut self) {
        self.present.retain_mut(|present| {
            let used = core::mem::replace(&mut present.used, false);
            used && matches!(present.array, Array::Read(_))
        });
    }

    /// Bytes of the cached arrays and of the list.
    pub(crate) fn bytes(&self) -> usize {
        let read = self.present.iter().map(|present| match &present.array {
            Array::Shared(_) => 0,
            Array::Read(buffer) => buffer.bytes(),
        });
        read.sum::<usize>() + self.present.capacity() * size_of::<Present<V>>()
    }
}
