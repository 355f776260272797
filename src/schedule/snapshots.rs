//! Snapshots that are held, and the slots that are free.

use super::Level;
use core::cmp::Reverse;
use core::ops::Range;

/// The slots of one level. A slot that was refused is never returned, and so is lost.
#[derive(Clone, Debug)]
struct Slots {
    returned: Vec<usize>,
    unused: Range<usize>,
}

impl Slots {
    fn new(count: usize) -> Self {
        Self { returned: Vec::new(), unused: 0..count }
    }
    fn free(&self) -> usize {
        self.returned.len() + self.unused.len()
    }
    fn take(&mut self) -> Option<usize> {
        self.returned.pop().or_else(|| self.unused.next())
    }
}

/// A snapshot of the state before the unit `at`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    pub(super) at: usize,
    pub(super) slot: usize,
    pub(super) level: Level,
}

/// The snapshots that are held, in ascending order, and the slots that are free on both levels.
#[derive(Clone, Debug)]
pub(super) struct Snapshots {
    held: Vec<Snapshot>,
    memory: Slots,
    disk: Slots,
    /// Number of times that the snapshot at each position of the stack is written and read, if there are two levels.
    accesses: Vec<u64>,
    /// Level of each position of the stack; positions beyond the end are in memory.
    levels: Vec<Level>,
}

impl Snapshots {
    pub(super) fn in_memory(slots: usize) -> Self {
        Self {
            held: Vec::new(),
            memory: Slots::new(slots),
            disk: Slots::new(0),
            accesses: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// `memory` slots in memory and the others on disk. `accesses` has an entry for each position of the stack.
    pub(super) fn on_two_levels(memory: usize, accesses: Vec<u64>) -> Self {
        let disk = accesses.len() - memory;
        let mut snapshots = Self {
            held: Vec::with_capacity(accesses.len()),
            memory: Slots::new(memory),
            disk: Slots::new(disk),
            levels: Vec::with_capacity(accesses.len()),
            accesses,
        };
        snapshots.assign_levels();
        snapshots
    }

    /// Assigns the slots in memory to the positions that are accessed most often, among the free positions.
    fn assign_levels(&mut self) {
        let first = self.held.len();
        let last = first + self.free();
        let mut places: Vec<usize> = (first..last).collect();
        places.sort_by_key(|&place| Reverse(self.accesses[place]));
        self.levels.truncate(first);
        self.levels.resize(last, Level::Disk);
        for &place in places.iter().take(self.memory.free()) {
            self.levels[place] = Level::Memory;
        }
    }

    fn slots(&mut self, level: Level) -> &mut Slots {
        match level {
            Level::Memory => &mut self.memory,
            Level::Disk => &mut self.disk,
        }
    }

    pub(super) fn free(&self) -> usize {
        self.memory.free() + self.disk.free()
    }

    pub(super) fn held(&self) -> &[Snapshot] {
        &self.held
    }

    /// Takes a slot for a snapshot of the state before the unit `at`, which is after all snapshots held.
    pub(super) fn push(&mut self, at: usize) -> Snapshot {
        let level = self.levels.get(self.held.len()).copied().unwrap_or(Level::Memory);
        let slot = self.slots(level).take().expect("a store is planned where a slot is free only");
        let snapshot = Snapshot { at, slot, level };
        self.held.push(snapshot);
        snapshot
    }

    /// Forgets the snapshot at this position of the stack, which frees its slot.
    pub(super) fn remove(&mut self, place: usize) -> Snapshot {
        let snapshot = self.held.remove(place);
        self.slots(snapshot.level).returned.push(snapshot.slot);
        snapshot
    }

    /// Forgets the newest snapshot.
    pub(super) fn pop(&mut self) -> Option<Snapshot> {
        let newest = self.held.len().checked_sub(1)?;
        Some(self.remove(newest))
    }

    /// Returns true if the newest snapshot is the only one there can be.
    pub(super) fn newest_is_last_resort(&self) -> bool {
        self.held.len() == 1 && self.free() == 0
    }

    /// Removes the newest snapshot and its slot, because it could not be stored.
    ///
    /// # Panics
    ///
    /// If no snapshot is left to continue with.
    pub(super) fn lose_newest(&mut self) {
        assert!(
            !self.newest_is_last_resort(),
            "the state of step 0 could not be stored, and there is no other slot: the run cannot be reversed"
        );
        self.held.pop();
        if !self.accesses.is_empty() {
            self.assign_levels();
        }
    }
}
