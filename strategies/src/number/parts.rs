//! Functions of the lanes and parts of a number.

use super::traits::{Float, Number};

/// Whether two numbers are the same, part by part and bit for bit; any NaN is the same as any other.
pub fn same<V: Number>(a: V, b: V) -> bool {
    (0..V::PARTS).all(|k| bits(a.part(k)) == bits(b.part(k)))
}

/// The bits, alike for every NaN: their sign and payload depend on how the compiler arranges operands.
#[must_use]
pub const fn bits(part: f64) -> u64 {
    if part.is_nan() { f64::NAN.to_bits() } else { part.to_bits() }
}

/// Whether each lane is finite.
#[inline(always)]
pub(crate) fn all_finite<V: Number>(x: V) -> bool {
    (0..V::LANES).all(|k| x.lane(k).is_finite())
}

/// Whether some lane is NaN.
#[inline(always)]
pub(crate) fn any_nan<V: Number>(x: V) -> bool {
    (0..V::LANES).any(|k| x.lane(k).is_nan())
}

/// The answer of all lanes, each of which is asked by its number.
///
/// # Panics
///
/// When they disagree.
#[inline(always)]
#[track_caller]
pub fn agreed<V: Number, T: PartialEq>(answer: impl Fn(usize) -> T) -> T {
    let first = answer(0);
    if (1..V::LANES).any(|k| answer(k) != first) {
        disagree();
    }
    first
}

#[cold]
#[inline(never)]
#[track_caller]
fn disagree() -> ! {
    panic!(
        "a program can only branch on something that all lanes of its numbers agree on, and here they do not: \
         `x.less(&y).select(&a, &b)` chooses lane by lane, as `min`, `max`, `abs` and `clamp` do"
    )
}

/// The number whose lanes are these functions' of the lanes of another number.
#[inline(always)]
pub fn by_lanes<V: Number>(x: V, f: impl Fn(V::Lane) -> V::Lane) -> V {
    V::from_lanes(|k| f(x.lane(k)))
}

/// The number whose lanes are these functions' of the lanes of two other numbers.
#[inline(always)]
pub fn by_lanes2<V: Number>(x: V, y: V, f: impl Fn(V::Lane, V::Lane) -> V::Lane) -> V {
    V::from_lanes(|k| f(x.lane(k), y.lane(k)))
}

/// Whether a record with this seed adds seed·partial to the adjoint of an argument. Zero times anything, infinities and
/// NaN included, is zero and adds nothing.
#[inline(always)]
#[must_use]
pub fn counts<V: Number>(seed: V, partial: V) -> bool {
    seed.is_ordinary() || !seed.is_nought() && !partial.is_nought()
}
