//! Ids of recordings.
//!
//! Every recording has a number, which its variables carry. A tape draws numbers in blocks: an atomic operation for
//! each recording would cost more than a tiny gradient. What is left of its block goes back when the tape is dropped,
//! to its thread, and from there to the process when the thread ends.
//!
//! A block belongs to one strategy for good. When all of them have been drawn, which takes some 2³² recordings, each
//! strategy begins to use its own blocks again.

use crate::RecordingId;
use core::any::TypeId;
use core::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers in a block.
const BLOCK: u32 = 1 << 8;
/// Blocks that there are.
const BLOCKS: u32 = 1 << 24;
/// The last blocks, of which a strategy gets one if it has none.
const RESERVED: u32 = 1 << 12;

/// Numbers that have not been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    next: u32,
    /// One past the last; 0 after the largest number that there is.
    end: u32,
}

impl Numbers {
    /// All numbers of a block. 0 belongs to no recording.
    const fn of(block: u32) -> Self {
        let next = block * BLOCK;
        Self { next: if next == 0 { 1 } else { next }, end: next.wrapping_add(BLOCK) }
    }

    /// The next number for a recording of this strategy.
    #[inline(always)]
    pub(crate) fn take(&mut self, strategy: TypeId) -> RecordingId {
        if self.next == self.end {
            *self = draw(strategy);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        RecordingId::of(number)
    }

    /// Gives back what is left.
    pub(crate) fn give_back(self, strategy: TypeId) {
        if self.next != self.end {
            let kept = KEPT.try_with(|kept| kept.0.borrow_mut().push((strategy, self)));
            if kept.is_err() {
                registry().owner(strategy).returned.push(self);
            }
        }
    }
}

/// What tapes of this thread have left, by strategy.
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

/// Which numbers have been drawn, and which came back.
struct Registry {
    /// The next block that has never been drawn.
    fresh: u32,
    owners: Vec<Owner>,
}

/// The blocks of one strategy.
struct Owner {
    strategy: TypeId,
    returned: Vec<Numbers>,
    /// All that it has drawn: the first block of each run, and how many there are.
    runs: Vec<(u32, u32)>,
    /// The run, and the block in it, that is used again next.
    again: (usize, u32),
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { fresh: 0, owners: Vec::new() });

/// What happens under the lock cannot panic half-way.
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
            // A strategy that came when all had been drawn uses numbers of others, whose kind is checked wherever it
            // matters.
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
    /// The block to be used again, the one drawn first if there is no other.
    fn next_again(&mut self) -> Option<u32> {
        let (run, block) = self.again;
        let (first, count) = *self.runs.get(run)?;
        self.again = if block + 1 < count { (run, block + 1) } else { ((run + 1) % self.runs.len(), 0) };
        Some(first + block)
    }
}

/// Pretends that all but this many blocks of numbers have been drawn, and that this thread has none left: for tests of
/// what happens when all have been.
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
