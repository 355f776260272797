//! Records of partials, each factor once: how they are read.

use super::functions::{Arguments, Sweep, Target, parts};
use crate::shape::Scatter;
use crate::{IndexType, Number, Passed, Shape};

/// Reverses a Jacobian record.
///
/// # Safety
///
/// As [`ReverseFn`], for records of `Layout::scatter::<H, I>`.
#[inline(always)]
pub(super) unsafe fn scatter<H: Shape, V: Number, I: IndexType>(
    ids_end: *const u8,
    _: usize,
    seed: V::Passed,
    sweep: &mut Sweep<'_, V>,
) -> *const u8 {
    let seed = seed.number();
    let (ids, factors) = parts::<V, I>(ids_end, H::LEAVES, H::FACTORS);
    if !seed.is_nought() {
        H::scatter(seed, seed, &mut Factored { factors, to: Arguments { ids, adjoints: sweep.adjoints } });
    }
    factors.cast()
}

/// # Safety
///
/// As [`RerunFn`], for records of `Layout::scatter::<H, I>`.
pub(super) unsafe fn rerun_scattered<H: Shape, V: Number, I: IndexType>(
    ids_end: *const u8,
    _: usize,
    seed: V,
    _: &[V],
    list: Option<&mut Vec<V>>,
) -> Option<V> {
    let (_, factors) = parts::<V, I>(ids_end, H::LEAVES, H::FACTORS);
    H::scatter(seed, seed, &mut Factored { factors, to: list? });
    None
}

/// The factors of a Jacobian record, and where what it contributes goes.
struct Factored<V, T> {
    factors: *const V,
    to: T,
}

impl<V: Number, T: Target<V>> Scatter<V> for Factored<V, T> {
    #[inline(always)]
    fn factor(&mut self) -> V {
        // SAFETY: the record has `FACTORS` factors, and a shape asks for that many (all shapes are this crate's).
        unsafe {
            self.factors = self.factors.add(1);
            self.factors.sub(1).read_unaligned()
        }
    }

    #[inline(always)]
    fn leaf(&mut self, contribution: V) {
        // SAFETY: the record has `LEAVES` identifiers, and a shape has that many leaves; the sweep vouches for them.
        unsafe { self.to.take(contribution) }
    }
}
