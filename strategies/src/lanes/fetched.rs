//! Versions of arrays in the hands of a sweep.

use super::buffer::{Buffer, SharedArray};
use super::version::{Held, Version};
use crate::{Number, StorageError};

/// The arrays of a launch that may have left memory, as a sweep has read them back.
///
/// They stay for the launch after it, which may keep the same ones, and for all adjoint vectors of a sweep. Their
/// memory is used again.
#[derive(Clone, Debug)]
pub struct Fetched<V>(Option<Box<Lists<V>>>);

#[derive(Clone, Debug)]
struct Lists<V> {
    present: Vec<Present<V>>,
    spare: Vec<Buffer<V>>,
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
    Read(Buffer<V>),
}

impl<V> Fetched<V> {
    /// No arrays.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }
}

impl<V> Default for Fetched<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Default for Lists<V> {
    fn default() -> Self {
        Self { present: Vec::new(), spare: Vec::new() }
    }
}

impl<V: Number> Fetched<V> {
    /// The array of a version, which stays where it is until the [end](Self::end) of the launch.
    ///
    /// # Errors
    ///
    /// When it cannot be read back, or is not what was written.
    #[inline(always)]
    pub(super) fn get<'a>(&'a mut self, version: &'a Version<V>) -> Result<&'a Buffer<V>, StorageError> {
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
    pub(super) fn both<'a>(
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

    #[inline(never)]
    fn load(&mut self, held: &Held<V>) -> Result<(), StorageError> {
        self.0.get_or_insert_default().load(held)
    }

    #[inline(never)]
    fn loaded(&self, held: &Held<V>) -> &Buffer<V> {
        self.0.as_ref().and_then(|lists| lists.get(held)).expect("it has been loaded")
    }

    /// Ends a launch.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        if let Some(lists) = &mut self.0 {
            lists.end();
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |lists| lists.bytes())
    }
}

impl<V: Number> Lists<V> {
    fn load(&mut self, held: &Held<V>) -> Result<(), StorageError> {
        if let Some(present) = self.present.iter_mut().find(|present| present.number == held.number) {
            present.used = true;
            return Ok(());
        }
        let array = match held.look_up() {
            Ok(buffer) => Array::Shared(buffer),
            Err(length) => {
                let mut buffer = Buffer::out_of(&mut self.spare, length);
                if let Err(error) = held.read(&mut buffer) {
                    self.spare.push(buffer);
                    return Err(error);
                }
                Array::Read(buffer)
            }
        };
        self.present.push(Present { number: held.number, used: true, array });
        Ok(())
    }

    fn get(&self, held: &Held<V>) -> Option<&Buffer<V>> {
        let present = self.present.iter().find(|present| present.number == held.number)?;
        Some(match &present.array {
            Array::Shared(buffer) => buffer,
            Array::Read(buffer) => buffer,
        })
    }

    fn end(&mut self) {
        let over = |present: &mut Present<V>| {
            let used = core::mem::replace(&mut present.used, false);
            !used || matches!(present.array, Array::Shared(_))
        };
        for present in self.present.extract_if(.., over) {
            if let Array::Read(buffer) = present.array {
                self.spare.push(buffer);
            }
        }
    }

    fn bytes(&self) -> usize {
        let read = self.present.iter().map(|present| match &present.array {
            Array::Shared(_) => 0,
            Array::Read(buffer) => buffer.bytes(),
        });
        let lists = self.present.capacity() * size_of::<Present<V>>() + self.spare.capacity() * size_of::<Buffer<V>>();
        read.chain(self.spare.iter().map(Buffer::bytes)).sum::<usize>() + lists + size_of::<Self>()
    }
}
