//! Representation of numbers as arguments of functions that are called by pointer.

/// Representation of a number of type `V` as an argument.
pub trait Passed<V>: Copy {
    /// Wraps a number.
    fn of(number: V) -> Self;
    /// Unwraps the number.
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

/// A number that is passed in memory, at the start of a cache line: a register that is stored across two lines must
/// reach the cache before it can be loaded again.
#[cfg(feature = "packs")]
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Lined<V>(V);

#[cfg(feature = "packs")]
impl<V: super::traits::Number> Passed<V> for Lined<V> {
    #[inline(always)]
    fn of(number: V) -> Self {
        Self(number.by_registers())
    }
    #[inline(always)]
    fn number(self) -> V {
        self.0
    }
}
