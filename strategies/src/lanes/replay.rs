//! Launches that are computed again, at other values of what they read.

use super::buffer::{NewArray, Pool, SharedArray};
use super::grid::Grid;
use super::kernel::Kernel;
use super::keys::{Facts, OUTPUTS};
use super::launch::Recorded;
use super::memory::Memory;
use super::operands::{Kept, Operand, memory};
use super::version::Version;
use crate::{Float, SweepError};
use smallvec::SmallVec;
use std::sync::Arc;

/// The values of views in the course of a replay, by slot.
pub struct Versions<V> {
    list: Vec<Option<SharedArray<V>>>,
    pool: Arc<Pool<V>>,
}

impl<V: Float> Versions<V> {
    pub(crate) fn new(pool: Arc<Pool<V>>) -> Self {
        Self { list: Vec::new(), pool }
    }

    /// The present values of the view in this slot.
    ///
    /// # Panics
    ///
    /// When it has none. Before a replay it is checked that it gets some before they are used.
    #[must_use]
    #[track_caller]
    pub fn get(&self, slot: usize) -> SharedArray<V> {
        let found = self.list.get(slot).and_then(Option::as_ref);
        found.expect("a view is written, or an input, before it is read").clone()
    }

    /// Gives the view in this slot other values.
    pub fn put(&mut self, slot: usize, values: SharedArray<V>) {
        if slot >= self.list.len() {
            self.list.resize_with(slot + 1, || None);
        }
        self.list[slot] = Some(values);
    }

    /// Forgets the values in this slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.list.get_mut(slot).into_iter().for_each(|values| *values = None);
    }

    /// A buffer with anything in it.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory.
    #[must_use]
    #[track_caller]
    pub fn buffer(&mut self, length: usize) -> NewArray<V> {
        self.pool.array(length)
    }
}

/// What a launch keeps of a replay.
#[derive(Debug)]
pub struct Replayed<V> {
    /// Of its operands, of a kernel.
    pub(super) operands: SmallVec<[Kept<V>; 2]>,
    /// Arrays, of anything else.
    pub(super) arrays: [Option<SharedArray<V>>; 2],
    /// The point that was found, of an extremum.
    pub(super) found: Option<Grid>,
}

impl<V> Default for Replayed<V> {
    /// Nothing.
    fn default() -> Self {
        Self { operands: SmallVec::new(), arrays: [None, None], found: None }
    }
}

impl<V> Replayed<V> {
    pub(super) fn of_arrays(arrays: [Option<SharedArray<V>>; 2]) -> Self {
        Self { arrays, ..Self::default() }
    }

    pub(super) fn into_arrays(self) -> [Option<SharedArray<V>>; 2] {
        self.arrays
    }
}

/// The error for a launch of a recording that does not keep what replays need.
pub(crate) fn not_kept() -> SweepError {
    SweepError::Unsupported {
        what: "a recording with launches of kernels can be replayed only if it keeps what they read: call `set_guards(true)` before \
               it is recorded"
            .into(),
    }
}

/// What each operand holds before the launch; `None` for numbers, and for views that are neither read nor left as they are anywhere.
type Present<V> = SmallVec<[Option<SharedArray<V>>; 4]>;

impl<V: Float> Recorded<V> {
    /// [`Launch::can_be_replayed`].
    pub(super) fn has_what_replays_need(&self) -> Result<(), SweepError> {
        let replaced = self.plan().replaced(&self.grid);
        let is_there = |(a, kept): (usize, &Kept<V>)| kept.is_known() || Facts::has(replaced, a);
        let is_there = !self.kernel.is_extreme() && self.operands.iter().enumerate().all(is_there);
        if is_there { Ok(()) } else { Err(not_kept()) }
    }

    fn present(&self, versions: &Versions<V>) -> Present<V> {
        let replaced = self.plan().replaced(&self.grid);
        let present = self.operands.iter().enumerate().map(|(a, kept)| match kept.before {
            _ if kept.number.is_some() || Facts::has(replaced, a) && kept.values.is_none() => None,
            0 => kept.values.as_ref().and_then(Version::in_memory).cloned(),
            slot => Some(versions.get(slot)),
        });
        present.collect()
    }

    /// [`Launch::replay`].
    pub(super) fn compute_again(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut Versions<V>,
    ) -> Result<Replayed<V>, SweepError> {
        self.has_what_replays_need()?;
        let present = self.present(versions);
        let mut new: SmallVec<[Option<NewArray<V>>; OUTPUTS]> = SmallVec::new();
        for (kept, old) in self.operands.iter().zip(&present) {
            new.push(kept.after.map(|_| {
                let mut buffer = versions.buffer(self.grid.elements());
                old.iter().for_each(|old| self.grid.copy_outside(old, &mut buffer));
                buffer
            }));
        }
        let operands = self.operands.iter().zip(&present).zip(&mut new);
        let operands = operands.map(|((kept, old), new)| match (kept.number, old, new) {
            (Some((_, input)), ..) => Operand::Number(inputs[input]),
            (None, Some(old), Some(new)) => Operand::Replace(old, new),
            (None, Some(old), None) => Operand::Read(old),
            (None, None, Some(new)) => Operand::Update(new),
            (None, None, None) => unreachable!("the values of a view that is read are there"),
        });
        let (memory, in_place) = memory(self.plan(), &self.grid, operands);
        // SAFETY: they have just been checked, `present` and `new` hold them, and the new ones are nobody else's.
        let sum = unsafe { self.kernel.compute(&self.grid, &memory, in_place) };
        sum.into_iter().for_each(|sum| outputs[0] = sum);
        let new: SmallVec<[_; OUTPUTS]> = new.into_iter().map(|new| new.map(NewArray::share)).collect();
        for (kept, new) in self.operands.iter().zip(&new) {
            kept.after.zip(new.clone()).into_iter().for_each(|(slot, new)| versions.put(slot, new));
        }
        Ok(Replayed { operands: self.kept_again(inputs, present, new.into_iter()), ..Replayed::default() })
    }

    /// Gives `compute` the operands of a reduction in memory, checked for all of this grid. Returns what is kept of them.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when passive operands have not been kept.
    pub(super) fn compute_reduction(
        &self,
        grid: &Grid,
        inputs: &[V],
        versions: &Versions<V>,
        compute: impl FnOnce(&Kernel<V>, &Memory<V>),
    ) -> Result<Replayed<V>, SweepError> {
        self.has_all_operands()?;
        let present = self.present(versions);
        let operands = self.operands.iter().zip(&present).map(|(kept, old)| match (kept.number, old) {
            (Some((_, input)), _) => Operand::Number(inputs[input]),
            (None, old) => Operand::Read(old.as_ref().expect("the values of a view that is read are there")),
        });
        let (memory, _) = memory(self.plan(), grid, operands);
        compute(&self.kernel, &memory);
        let nothing_new = core::iter::repeat_with(|| None);
        Ok(Replayed { operands: self.kept_again(inputs, present, nothing_new), ..Replayed::default() })
    }

    /// Whether each operand is known, for a launch that writes none of them.
    pub(super) fn has_all_operands(&self) -> Result<(), SweepError> {
        if self.operands.iter().all(Kept::is_known) { Ok(()) } else { Err(not_kept()) }
    }

    /// What is kept of the operands when they have these values.
    fn kept_again(
        &self,
        inputs: &[V],
        present: Present<V>,
        new: impl Iterator<Item = Option<SharedArray<V>>>,
    ) -> SmallVec<[Kept<V>; 2]> {
        let operands = self.operands.iter().zip(present).zip(new).map(|((kept, old), new)| Kept {
            before: kept.before,
            after: kept.after,
            values: old.filter(|_| kept.values.is_some()).map(Version::Memory),
            new: new.filter(|_| kept.new.is_some()).map(Version::Memory),
            number: kept.number.map(|(_, input)| (inputs[input], input)),
        });
        operands.collect()
    }
}
