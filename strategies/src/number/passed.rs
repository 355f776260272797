//! Forms in which numbers are passed to functions that are called by address.

/// A number as an argument.
pub trait Passed<V>: Copy {
    /// Wraps it.
    fn of(number: V) -> Self;
    /// Unwraps it.
    fn number(self) -> V;
}

impl<V: Copy> Passed<V> for V {
    #[inline(always)]
    fn of(number: V) -> V {
        number
    }
    #[inline(always)]
    fn number(self) -> V {
        self
    }
}

/// A number that is passed in memory, at the beginning of a cache line: a register that is written across two lines
/// has to reach the cache before it can be read again.
#[cfg(feature = "packs")]
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Lined<V>(V);

#[cfg(feature = "packs")]
impl<V: Copy> Passed<V> for Lined<V> {
    #[inline(always)]
    fn of(number: V) -> Self {
        Self(number)
    }
    #[inline(always)]
    fn number(self) -> V {
        self.0
    }
}
