//! Pool of arrays that later arrays reuse.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A piece of memory that a pool can reuse, whatever allocated it.
pub(crate) trait Piece {
    /// Size in bytes.
    fn size(&self) -> usize;
}

/// Pool of pieces of memory without an owner.
///
/// The pieces of a pool, in use or spare, have at most twice the bytes that were in demand at the peak since it was
/// made, whatever the sizes and however often they change. For that, a piece stands in for a smaller one only as long
/// as the excess bytes of all pieces in use stay within that peak; and before a new piece is allocated that would
/// exceed the bound, spare pieces are freed, the oldest first. A program that asks for the same sizes again finds them.
pub(crate) struct Pool<P>(Mutex<State<P>>);

struct State<P> {
    /// Spare pieces, sorted by size, then by the time of release.
    spare: Vec<Spare<P>>,
    /// Bytes of the spare pieces.
    kept: usize,
    /// Bytes requested for the pieces in use.
    asked: usize,
    /// Bytes of the pieces in use.
    lent: usize,
    /// Peak of `asked`.
    most: usize,
    /// Number of pieces in use.
    pieces: usize,
    /// Number of pieces that have been released so far.
    time: u64,
}

struct Spare<P> {
    bytes: usize,
    /// Value of [`State::time`] when the piece was released.
    time: u64,
    piece: P,
}

impl<P> Default for Pool<P> {
    fn default() -> Self {
        Self(Mutex::new(State { spare: Vec::new(), kept: 0, asked: 0, lent: 0, most: 0, pieces: 0, time: 0 }))
    }
}

impl<P: Piece> Pool<P> {
    /// Returns a piece of at least this size, with unspecified contents. If no spare one fits, spare ones are freed to
    /// keep the bound, and `allocate` is called without the lock.
    ///
    /// # Panics
    ///
    /// When `allocate` does; the pool is unchanged then.
    pub(crate) fn take(&self, bytes: usize, allocate: impl FnOnce() -> P) -> P {
        if let Some(piece) = self.state().find(bytes) {
            return piece;
        }
        let piece = allocate();
        let mut state = self.state();
        state.lend(bytes, piece.size());
        // Reserved now, so that releasing a piece allocates nothing. If that fails, the piece is freed instead of kept.
        let needed = state.pieces;
        _ = state.spare.try_reserve(needed);
        piece
    }

    /// Takes back a piece without other owners; `asked` is the size it was requested with.
    pub(crate) fn give_back(&self, asked: usize, piece: P) {
        self.state().give_back(asked, piece);
    }

    /// Bytes that nobody uses: spare pieces, the excess of pieces in use, and the list.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state();
        state.kept + (state.lent - state.asked) + state.spare.capacity() * size_of::<Spare<P>>()
    }

    /// Bytes that were requested for the pieces in use.
    pub(crate) fn in_use(&self) -> usize {
        self.state().asked
    }

    /// Frees spare pieces, the oldest first, until they have at most this many bytes.
    pub(crate) fn shrink(&self, bytes: usize) {
        self.state().shrink(bytes);
    }

    fn state(&self) -> MutexGuard<'_, State<P>> {
        // Nothing panics under the lock, so a poisoned state is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Piece> State<P> {
    /// Takes the smallest spare piece that is large enough, unless that would exceed the bound. If there is none, frees
    /// spare pieces to admit a new one.
    fn find(&mut self, bytes: usize) -> Option<P> {
        let asked = self.asked + bytes;
        let most = self.most.max(asked);
        let first = self.spare.partition_point(|spare| spare.bytes < bytes);
        if let Some(found) = self.spare.get(first).map(|spare| spare.bytes)
            && self.lent + found - asked <= most
        {
            // Of pieces of equal size, the one that was released last.
            let equal = self.spare[first..].partition_point(|spare| spare.bytes == found);
            let spare = self.spare.remove(first + equal - 1);
            self.kept -= found;
            self.lend(bytes, found);
            return Some(spare.piece);
        }
        self.shrink((2 * most).saturating_sub(self.lent + bytes));
        None
    }

    const fn lend(&mut self, asked: usize, bytes: usize) {
        self.pieces += 1;
        (self.asked, self.lent) = (self.asked + asked, self.lent + bytes);
        if self.most < self.asked {
            self.most = self.asked;
        }
    }

    fn give_back(&mut self, asked: usize, piece: P) {
        let bytes = piece.size();
        (self.asked, self.lent) = (self.asked - asked, self.lent - bytes);
        self.pieces -= 1;
        if self.spare.try_reserve(1).is_ok() {
            let at = self.spare.partition_point(|spare| spare.bytes <= bytes);
            self.time += 1;
            self.kept += bytes;
            self.spare.insert(at, Spare { bytes, time: self.time, piece });
        }
    }

    fn shrink(&mut self, bytes: usize) {
        while self.kept > bytes
            && let Some(oldest) = (0..self.spare.len()).min_by_key(|k| self.spare[*k].time)
        {
            self.kept -= self.spare.remove(oldest).bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Pool};
    use std::cell::Cell;

    /// A piece that is nothing but a size.
    struct Sized(usize);
    impl Piece for Sized {
        fn size(&self) -> usize {
            self.0
        }
    }

    /// Pseudo-random numbers.
    struct Numbers(u64);
    impl Numbers {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).expect("31 bits") % bound
        }
    }

    /// Takes and releases pieces: each positive step takes a piece of that size, each zero releases the oldest piece.
    /// Returns how many pieces were allocated, and checks the pool's invariants after each step.
    fn run(pool: &Pool<Sized>, steps: &[usize], most: &mut usize) -> usize {
        let (mut taken, allocated) = (Vec::new(), Cell::new(0));
        for step in steps {
            if *step > 0 {
                let piece = pool.take(*step, || {
                    allocated.set(allocated.get() + 1);
                    Sized(*step)
                });
                assert!(piece.0 >= *step, "{} bytes for {step}", piece.0);
                taken.push((*step, piece));
            } else if !taken.is_empty() {
                let (asked, piece) = taken.remove(0);
                pool.give_back(asked, piece);
            }
            *most = (*most).max(taken.iter().map(|(asked, _)| asked).sum());
            let state = pool.state();
            assert!(state.lent + state.kept <= 2 * *most, "{} + {} of {most}", state.lent, state.kept);
            assert_eq!(state.lent, taken.iter().map(|(_, piece)| piece.0).sum());
            assert_eq!(state.kept, state.spare.iter().map(|spare| spare.bytes).sum());
            assert!(state.spare.is_sorted_by_key(|spare| (spare.bytes, spare.time)));
        }
        taken.into_iter().for_each(|(asked, piece)| pool.give_back(asked, piece));
        allocated.get()
    }

    #[test]
    fn there_is_never_more_than_twice_what_was_asked_for_at_once() {
        let mut numbers = Numbers(1);
        for bound in [10, 1000, 100_000] {
            let (pool, mut most) = (Pool::default(), 0);
            for _ in 0..200 {
                let count = 1 + numbers.below(60);
                // Some sizes are negligible compared with others.
                let step = |numbers: &mut Numbers| {
                    let size = 1 + numbers.below(bound) / [1, 1, 30][numbers.below(3)];
                    if numbers.below(3) == 0 { 0 } else { size }
                };
                let steps: Vec<usize> = (0..count).map(|_| step(&mut numbers)).collect();
                run(&pool, &steps, &mut most);
            }
        }
    }

    #[test]
    fn what_was_asked_for_once_is_found_again() {
        let up: Vec<usize> = (1..100).flat_map(|size| [10 * size, 0]).collect();
        let down: Vec<usize> = (1..100).flat_map(|size| [1000 - 10 * size, 0]).collect();
        let all: Vec<usize> = (1..100).map(|size| 7 * size).collect();
        let few = [64, 64, 640, 0, 64, 0, 0, 640, 6400, 640].to_vec();
        for steps in [up, down, all, few] {
            let (pool, mut most) = (Pool::default(), 0);
            assert!(run(&pool, &steps, &mut most) > 0);
            assert_eq!(run(&pool, &steps, &mut most), 0, "{steps:?}");
        }
    }

    #[test]
    fn the_latest_of_equal_pieces_comes_first_and_the_oldest_goes_first() {
        let pool = Pool::default();
        let pieces = [0; 3].map(|_| pool.take(8, || Sized(8)));
        pieces.into_iter().for_each(|piece| pool.give_back(8, piece));
        pool.shrink(16);
        assert_eq!(pool.state().spare.iter().map(|spare| spare.time).collect::<Vec<_>>(), [2, 3]);
        pool.take(8, || unreachable!("there are two"));
        assert_eq!(pool.state().spare[0].time, 2);
        pool.shrink(0);
        assert_eq!(pool.state().kept, 0);
    }
}
