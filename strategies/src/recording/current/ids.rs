//! Ids of recordings.
//!
//! Every recording has an id, which its variables carry. A tape draws ids in blocks: an atomic operation for each
//! recording would cost more than a tiny gradient. When the tape is dropped, the rest of its block is returned to its
//! thread, and when the thread ends, to the process.
//!
//! A block belongs to one strategy for ever. When all blocks have been drawn, which takes some 2³² recordings, each
//! strategy reuses its own blocks.

use crate::identifier::RecordingId;
use core::any::TypeId;
use core::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of ids in a block.
const BLOCK: u32 = 1 << 8;
/// Number of blocks.
const BLOCKS: u32 = 1 << 24;
/// Number of blocks at the end that are reserved for strategies without a block, which get one each.
const RESERVED: u32 = 1 << 12;

/// A range of ids that have not been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    next: u32,
    /// One past the last id; wraps to 0 after the largest id.
    end: u32,
}

impl Numbers {
    /// All ids of a block, except 0, which belongs to no recording.
    const fn of(block: u32) -> Self {
        let next = block * BLOCK;
        Self { next: if next == 0 { 1 } else { next }, end: next.wrapping_add(BLOCK) }
    }

    /// Draws a block if no id is left.
    #[inline(always)]
    pub(crate) fn provide(&mut self, strategy: TypeId) {
        if self.next == self.end {
            *self = draw(strategy);
        }
    }

    /// Takes the next id, for a recording of this strategy.
    #[inline(always)]
    pub(crate) fn take(&mut self, strategy: TypeId) -> RecordingId {
        self.provide(strategy);
        let number = self.next;
        self.next = number.wrapping_add(1);
        RecordingId::of(number)
    }

    /// Returns the remaining ids to this thread, or to the process if the thread is ending.
    pub(crate) fn give_back(self, strategy: TypeId) {
        if self.next != self.end {
            let kept = KEPT.try_with(|kept| kept.0.borrow_mut().push((strategy, self)));
            if kept.is_err() {
                registry().owner(strategy).returned.push(self);
            }
        }
    }
}

/// The ids that dropped tapes of this thread have returned, by strategy.
struct Kept(RefCell<Vec<(TypeId, Numbers)>>);

thread_local! {
    static KEPT: Kept = const { Kept(RefCell::new(Vec::new())) };
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut registry = registry();
        for (strategy, numbers) in self.0.get_mut().drain(..) {
            registry.owner(strategy).returned.push(numbers);
        }
    }
}

#[cold]
fn draw(strategy: TypeId) -> Numbers {
    let kept = KEPT.try_with(|kept| {
        let mut kept = kept.0.borrow_mut();
        let at = kept.iter().rposition(|(of, _)| *of == strategy)?;
        Some(kept.swap_remove(at).1)
    });
    kept.ok().flatten().unwrap_or_else(|| registry().draw(strategy))
}

/// The blocks that have been drawn, and the ids that were returned to the process.
struct Registry {
    /// The next block that has never been drawn.
    fresh: u32,
    owners: Vec<Owner>,
}

/// The blocks of one strategy.
struct Owner {
    strategy: TypeId,
    returned: Vec<Numbers>,
    /// All blocks that the strategy has drawn: the first block of each run, and the length of the run.
    runs: Vec<(u32, u32)>,
    /// The run, and the block in the run, that is reused next.
    again: (usize, u32),
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { fresh: 0, owners: Vec::new() });

/// Locks the registry. A poisoned lock can be used: no code under it panics half-way.
fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn owner(&mut self, strategy: TypeId) -> &mut Owner {
        let at = self.owners.iter().position(|owner| owner.strategy == strategy);
        let at = at.unwrap_or_else(|| {
            self.owners.push(Owner { strategy, returned: Vec::new(), runs: Vec::new(), again: (0, 0) });
            self.owners.len() - 1
        });
        &mut self.owners[at]
    }

    fn draw(&mut self, strategy: TypeId) -> Numbers {
        let fresh = self.fresh;
        let owner = self.owner(strategy);
        if let Some(numbers) = owner.returned.pop() {
            return numbers;
        }
        let limit = if owner.runs.is_empty() { BLOCKS } else { BLOCKS - RESERVED };
        if fresh >= limit {
            // A strategy without blocks that comes when all blocks have been drawn uses ids of other strategies. The
            // strategy of a recording is checked wherever it matters.
            return Numbers::of(owner.next_again().unwrap_or(fresh % BLOCKS));
        }
        match owner.runs.last_mut() {
            Some((first, count)) if *first + *count == fresh => *count += 1,
            _ => owner.runs.push((fresh, 1)),
        }
        self.fresh += 1;
        Numbers::of(fresh)
    }
}

impl Owner {
    /// Returns the next block to reuse, in the order in which they were drawn; `None` if the strategy has none.
    fn next_again(&mut self) -> Option<u32> {
        let (run, block) = self.again;
        let (first, count) = *self.runs.get(run)?;
        self.again = if block + 1 < count { (run, block + 1) } else { ((run + 1) % self.runs.len(), 0) };
        Some(first + block)
    }
}

/// Pretends that all but this many blocks have been drawn, and that this thread has no returned ids. For tests of
/// recordings after the last block.
#[doc(hidden)]
pub fn pretend_drawn(blocks_left: u32) {
    KEPT.with(|kept| kept.0.borrow_mut().clear());
    let mut registry = registry();
    registry.fresh = registry.fresh.max(BLOCKS - blocks_left.min(BLOCKS));
    registry.owners.iter_mut().for_each(|owner| owner.returned.clear());
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, BLOCKS, Numbers, RESERVED, Registry};
    use core::any::TypeId;

    fn at(fresh: u32) -> Registry {
        Registry { fresh, owners: Vec::new() }
    }

    #[test]
    fn the_first_block_has_no_number_0_and_the_last_one_ends_with_the_largest() {
        let mut first = Numbers::of(0);
        assert_eq!(first.take(TypeId::of::<u8>()).get(), 1);
        let mut last = Numbers::of(BLOCKS - 1);
        let taken: Vec<u32> = (0..BLOCK).map(|_| last.take(TypeId::of::<u8>()).get()).collect();
        assert_eq!((taken[0], taken[BLOCK as usize - 1]), (u32::MAX - BLOCK + 1, u32::MAX));
        assert_eq!(last.next, last.end, "nothing is left");
    }

    #[test]
    fn what_comes_back_is_used_first_and_by_its_strategy_only() {
        let (a, b) = (TypeId::of::<u8>(), TypeId::of::<u16>());
        let mut registry = at(0);
        let mut numbers = registry.draw(a);
        numbers.take(a);
        registry.owner(a).returned.push(numbers);
        assert_ne!(registry.draw(b), numbers);
        assert_eq!(registry.draw(a), numbers);
        assert_eq!(registry.draw(a), Numbers::of(2));
    }

    #[test]
    fn when_all_have_been_drawn_each_strategy_uses_its_own_again() {
        let (a, b, late) = (TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>());
        let mut registry = at(BLOCKS - RESERVED - 3);
        let first = BLOCKS - RESERVED - 3;
        let drawn: Vec<Numbers> = [a, b, a, a, b, a, a, a].map(|kind| registry.draw(kind)).into();
        let expected = [0, 1, 2, 0, 1, 2, 0, 2].map(|block| Numbers::of(first + block));
        assert_eq!(drawn, expected);
        assert_eq!(registry.draw(late), Numbers::of(BLOCKS - RESERVED), "one that comes late has one of its own");
        assert_eq!(registry.draw(late), Numbers::of(BLOCKS - RESERVED));
        registry.fresh = BLOCKS;
        assert!(registry.draw(TypeId::of::<u64>()).next > 0, "and the program goes on when there is none for it");
    }
}
