//! States of a time loop, kept in memory and in a file.

use super::fingerprint::shape;
use super::rerun;
use crate::expr::Real;
use crate::variables::Variables;
use tapewright_strategies::{Float, Passive, ScratchFile, SpillOptions, SweepError};

/// Snapshots in the slots of a schedule.
pub(super) struct Snapshots<X> {
    memory: Vec<Option<X>>,
    /// How many of them there are.
    held: usize,
    options: SpillOptions,
    /// Made when the first snapshot goes there.
    file: Option<ScratchFile>,
    /// By slot.
    on_disk: Vec<Option<OnDisk>>,
    /// Bytes of a slot on disk.
    stride: u64,
    buffer: Vec<u8>,
}

/// What memory knows of a state on disk.
#[derive(Clone, Copy)]
struct OnDisk {
    shape: u64,
    checksum: u64,
}

impl<X> Snapshots<X> {
    pub(super) fn new(options: &SpillOptions) -> Self {
        Self {
            memory: Vec::new(),
            held: 0,
            options: options.clone(),
            file: None,
            on_disk: Vec::new(),
            stride: 0,
            buffer: Vec::new(),
        }
    }

    pub(super) fn store<V>(&mut self, slot: usize, state: &X)
    where
        V: Float,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        if self.memory.len() <= slot {
            self.memory.resize_with(slot + 1, || None);
        }
        let before = self.memory[slot].replace(rerun::plain(state));
        self.held += usize::from(before.is_none());
    }

    pub(super) fn restore<V>(&self, slot: usize) -> X
    where
        V: Float,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        let kept = self.memory[slot].as_ref();
        rerun::plain(kept.expect("a schedule restores what it has stored"))
    }

    pub(super) fn discard(&mut self, slot: usize) {
        self.held -= usize::from(self.memory[slot].take().is_some());
    }

    /// Writes the numbers of the state to the file.
    ///
    /// Fields of the state that are no variables are those of the present state when it is restored. If they change, states do
    /// not come out as in the first run, which somebody has to check.
    pub(super) fn store_on_disk<V>(&mut self, slot: usize, state: &X, checked: bool) -> Result<(), SweepError>
    where
        V: Float,
        X: Variables<Passive<V>>,
    {
        if !X::NUMBERS_ONLY && !checked {
            return Err(SweepError::Unsupported {
                what: String::from(
                    "snapshots on disk hold numbers only, and the state of this loop has fields that are no variables: let the \
                     loop be checked, make them variables, or keep all snapshots in memory",
                ),
            });
        }
        self.buffer.clear();
        let buffer = &mut self.buffer;
        state.visit(&mut |slice| {
            let numbers = Real::floats(slice).iter();
            numbers.for_each(|value| buffer.extend_from_slice(&value.as_f64().to_bits().to_le_bytes()));
        });
        if self.file.is_none() {
            self.file = Some(ScratchFile::create(&self.options)?);
            // All states of a loop have as many numbers. Slots begin on pages, which transfers past the page cache need.
            self.stride = (self.buffer.len() as u64).next_multiple_of(4096).max(4096);
        }
        if self.on_disk.len() <= slot {
            self.on_disk.resize(slot + 1, None);
        }
        let file = self.file.as_ref().expect("it has just been made");
        let checksum = file.write_checked(&self.buffer, slot as u64 * self.stride)?;
        self.on_disk[slot] = Some(OnDisk { shape: shape(state), checksum });
        Ok(())
    }

    /// Reads a state of the loop of this name back; it has the shape of `like`.
    pub(super) fn restore_from_disk<V>(&mut self, slot: usize, like: &X, name: &str) -> Result<X, SweepError>
    where
        V: Float,
        X: Variables<Passive<V>, With<Passive<V>> = X>,
    {
        let kept = self.on_disk[slot].filter(|kept| kept.shape == shape(like));
        let Some(OnDisk { checksum, .. }) = kept else {
            return Err(SweepError::Unsupported {
                what: String::from(
                    "snapshots on disk hold numbers only, and the shape of this loop's state changes from step to step: keep all \
                     snapshots in memory",
                ),
            });
        };
        self.buffer.resize(8 * like.count(), 0);
        let file = self.file.as_ref().expect("the snapshot was written there");
        let what = format!("the snapshot in slot {slot} of {name}");
        file.read_checked(&mut self.buffer, slot as u64 * self.stride, checksum, &what)?;
        let mut numbers = self.buffer.chunks_exact(8).map(|bytes| {
            let bits = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            Real::<Passive<V>>::constant(V::from_f64(f64::from_bits(bits)))
        });
        Ok(rerun::rebuild(like, &mut numbers))
    }

    pub(super) fn discard_from_disk(&mut self, slot: usize) {
        self.on_disk[slot] = None;
    }

    /// How many are in memory.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Bytes of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.on_disk.len() as u64 * self.stride
    }
}
