//! What the tests of slab stacks have in common.

/// Runs a generic check for several pairs of `INLINE` and `SLAB`: `check::<INLINE, SLAB>()`.
macro_rules! for_sizes {
    ($check:ident) => {
        $check::<64, 1024>();
        $check::<0, 1>();
        $check::<1, 1>();
        $check::<0, 32>();
        $check::<3, 7>();
        $check::<32, 512>();
        $check::<128, 4096>();
        $check::<0, 4096>();
    };
}

/// Fewer under the interpreter.
pub(crate) const fn scaled(full: usize, interpreted: usize) -> usize {
    if cfg!(miri) { interpreted } else { full }
}
