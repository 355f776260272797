//! States of a time loop, kept in memory and in a file.

use super::fingerprint::shape;
use super::rerun;
use crate::expr::Real;
use crate::variables::{Variables, ViewParts, ViewRef};
use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;
use tapewright_strategies::contract::Dependence;
use tapewright_strategies::kernel::memory::{Buffer, SharedArray};
use tapewright_strategies::storage::{ScratchFile, SpillOptions};
use tapewright_strategies::{Number, Passive, SweepError};

/// Snapshots in the slots of a schedule, which has been checked to restore and discard only snapshots that it has
/// stored.
pub(super) struct Snapshots<X> {
    memory: Slots<X>,
    options: SpillOptions,
    /// File for snapshots, made when the first snapshot goes to disk.
    file: Option<ScratchFile>,
    /// Description of the snapshot in each slot on disk.
    on_disk: Slots<OnDisk>,
    /// Bytes reserved for a slot on disk.
    stride: u64,
    /// Bytes of the file.
    file_bytes: u64,
    buffer: Vec<u8>,
}

const STORED: &str = "the ledger has the snapshot";

/// Description, in memory, of a state on disk.
#[derive(Clone, Copy)]
struct OnDisk {
    shape: u64,
    /// Bytes of the state.
    length: usize,
    checksum: u64,
}

impl<X> Snapshots<X> {
    pub(super) fn new(options: &SpillOptions) -> Self {
        Self {
            memory: Slots::default(),
            options: options.clone(),
            file: None,
            on_disk: Slots::default(),
            stride: 0,
            file_bytes: 0,
            buffer: Vec::new(),
        }
    }

    pub(super) fn store<V>(&mut self, slot: usize, state: &X)
    where
        V: Number,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        self.memory.insert(slot, rerun::plain(state));
    }

    pub(super) fn restore<V>(&self, slot: usize) -> X
    where
        V: Number,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        rerun::plain(self.memory.get(&slot).expect(STORED))
    }

    pub(super) fn discard(&mut self, slot: usize) {
        self.memory.remove(&slot);
    }

    /// Writes the values of the state to the file.
    ///
    /// Fields of the state that are not variables are taken from the present state when it is restored. If they change,
    /// restored states differ from the first run, which the caller has to check.
    pub(super) fn store_on_disk<V>(&mut self, slot: usize, state: &X, checked: bool) -> Result<(), SweepError>
    where
        V: Number,
        X: Variables<Passive<V>>,
    {
        if !checked && !state.is_numbers_only() {
            return Err(SweepError::Unsupported {
                what: String::from(
                    "snapshots on disk hold numbers only, and the state of this loop has fields that are no variables: \
                     let the loop be checked, make them variables, or keep all snapshots in memory",
                ),
            });
        }
        self.buffer.clear();
        let buffer = &mut self.buffer;
        state.visit(&mut |slice| {
            write(Real::floats(slice), buffer);
        });
        state.visit_views(&mut |view| {
            write(&view.values(), buffer);
        });
        if self.file.is_none() {
            self.file = Some(ScratchFile::create(&self.options)?);
            // All states of a loop consist of equally many values. Slots begin at multiples of the page size, which
            // transfers past the page cache need.
            self.stride = (self.buffer.len() as u64).next_multiple_of(4096).max(4096);
        }
        let file = self.file.as_ref().expect("it has just been made");
        if self.buffer.len() as u64 > self.stride {
            rerun::contradiction::<X>(format_args!("`visit` gives more variables than before"));
        }
        let at = self.offset(slot);
        let checksum = file.write_checked(&self.buffer, at)?;
        self.file_bytes = self.file_bytes.max(at + self.stride);
        self.on_disk.insert(slot, OnDisk { shape: shape(state), length: self.buffer.len(), checksum });
        Ok(())
    }

    /// Offset of a slot in the file. No file has 2⁶³ bytes: a slot at that offset cannot be written.
    fn offset(&self, slot: usize) -> u64 {
        (slot as u64).saturating_mul(self.stride).min(1 << 63)
    }

    /// Reads a state of the loop with this name back; it has the shape of `like`.
    pub(super) fn restore_from_disk<V>(&mut self, slot: usize, like: &X, name: &str) -> Result<X, SweepError>
    where
        V: Number,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        let kept = self.on_disk.get(&slot).filter(|kept| kept.shape == shape(like));
        let Some(&OnDisk { checksum, length, .. }) = kept else {
            return Err(SweepError::Unsupported {
                what: String::from(
                    "snapshots on disk hold numbers only, and the shape of this loop's state changes from step to \
                     step: keep all snapshots in memory",
                ),
            });
        };
        let variables = rerun::visited(like);
        let elements: usize = like.views().iter().map(|view| view.len()).sum();
        if 8 * V::PARTS * (variables + elements) != length {
            rerun::contradiction::<X>(format_args!("`visit` gives another number of variables than before"));
        }
        self.buffer.resize(length, 0);
        let at = self.offset(slot);
        let what = format!("the snapshot in slot {slot} of {name}");
        self.file.as_ref().expect(STORED).read_checked(&mut self.buffer, at, checksum, &what)?;
        let mut parts = self.buffer.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        let mut numbers =
            (0..variables + elements).map(|_| V::from_parts(|_| parts.next().expect("as many as were written")));
        let of_variables: Vec<_> = numbers.by_ref().take(variables).map(Real::<Passive<V>>::constant).collect();
        let view = &mut |view: ViewRef<'_, V>| {
            let mut values = Buffer::zeros(view.len());
            (0..view.len()).zip(&mut numbers).for_each(|(k, number)| values.set(k, number));
            ViewParts { values: SharedArray::new(values), dependence: Dependence::Nothing, shares: false }
        };
        Ok(rerun::rebuild_with(like, &of_variables, view, rerun::same_values))
    }

    pub(super) fn discard_from_disk(&mut self, slot: usize) {
        self.on_disk.remove(&slot);
    }

    /// Number of snapshots in memory.
    pub(super) fn held(&self) -> usize {
        self.memory.len()
    }

    /// Bytes of the file.
    pub(super) const fn file_bytes(&self) -> u64 {
        self.file_bytes
    }
}

/// Appends the values, part by part.
fn write<V: Number>(numbers: &[V], buffer: &mut Vec<u8>) {
    let parts = numbers.iter().flat_map(|number| (0..V::PARTS).map(|k| number.part(k)));
    parts.for_each(|part| buffer.extend_from_slice(&part.to_le_bytes()));
}

/// Map from the number of a slot, or of a tape, to its contents. A schedule chooses the numbers, and may use any.
pub(super) type Slots<V> = HashMap<usize, V, BuildHasherDefault<Spread>>;

/// Hasher that spreads numbers over all bits. Schedules count from 0, so there are no hostile keys to protect against.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }
    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
