//! Cache of the spilled arrays that a sweep has read back.

use super::buffer::{Arena, Buffer, NewArray, SharedArray};
use super::version::{Held, Version};
use crate::{Number, StorageError};
use core::fmt;
use std::sync::Arc;

/// The arrays of a launch that may have left memory, as a sweep has read them back.
///
/// The arrays stay for the next launch, which may keep the same ones, and for all adjoint vectors of a sweep.
pub struct ReadCache<V> {
    present: Vec<Present<V>>,
    /// The source of memory, once some was needed.
    pub(crate) memory: Option<Arc<Arena<V>>>,
}

/// A version that is at hand.
#[derive(Clone, Debug)]
struct Present<V> {
    number: u64,
    /// Whether the present launch has it.
    used: bool,
    array: Array<V>,
}

#[derive(Clone, Debug)]
enum Array<V> {
    /// It has not left memory.
    Shared(SharedArray<V>),
    Read(NewArray<V>),
}

impl<V> ReadCache<V> {
    /// No arrays.
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

/// A copy with memory of its own.
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
    /// The array of a version, which stays where it is until the [end](Self::end) of the launch.
    ///
    /// # Errors
    ///
    /// When it cannot be read back, or is not what was written.
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

    /// The arrays of two versions.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
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

    /// Takes out what there is, and leaves nothing but where memory is from.
    pub(crate) fn take(&mut self) -> Self {
        Self { present: core::mem::take(&mut self.present), memory: self.memory.clone() }
    }

    /// Takes memory from there from now on.
    pub(crate) fn draw_from(&mut self, memory: Option<&Arc<Arena<V>>>) {
        if let Some(memory) = memory
            && !self.memory.as_ref().is_some_and(|own| Arc::ptr_eq(own, memory))
        {
            self.memory = Some(Arc::clone(memory));
        }
    }

    /// A buffer with anything in it.
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

    /// Ends a launch.
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

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let read = self.present.iter().map(|present| match &present.array {
            Array::Shared(_) => 0,
            Array::Read(buffer) => buffer.bytes(),
        });
        read.sum::<usize>() + self.present.capacity() * size_of::<Present<V>>()
    }
}
