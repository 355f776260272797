//! Functions of the lanes and parts of numbers.

use super::traits::{Float, Number};

/// Returns true if two numbers are equal in every part, bit for bit; all NaN count as equal.
pub fn same<V: Number>(a: V, b: V) -> bool {
    (0..V::PARTS).all(|k| bits(a.part(k)) == bits(b.part(k)))
}

/// Returns the bits of a part, with the same bits for every NaN: sign and payload of a NaN depend on how the compiler
/// orders operands.
#[must_use]
pub const fn bits(part: f64) -> u64 {
    if part.is_nan() { f64::NAN.to_bits() } else { part.to_bits() }
}

/// Returns true if the value of every lane is finite.
#[inline(always)]
pub(crate) fn all_finite<V: Number>(x: V) -> bool {
    (0..V::LANES).all(|k| x.lane(k).is_finite())
}

/// Returns true if every part is finite.
#[inline(always)]
pub(crate) fn parts_are_finite<V: Number>(x: V) -> bool {
    (0..V::PARTS).all(|k| x.part(k).is_finite())
}

/// Evaluates a question, asked by index, for every lane, and returns the common answer.
///
/// # Panics
///
/// When the answers differ.
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

/// Applies a function to each lane.
#[inline(always)]
pub fn by_lanes<V: Number>(x: V, f: impl Fn(V::Lane) -> V::Lane) -> V {
    V::from_lanes(|k| f(x.lane(k)))
}

/// Applies a function of two arguments to the lanes of two numbers.
#[inline(always)]
pub fn by_lanes2<V: Number>(x: V, y: V, f: impl Fn(V::Lane, V::Lane) -> V::Lane) -> V {
    V::from_lanes(|k| f(x.lane(k), y.lane(k)))
}

/// Returns true if a record with this seed adds seed·partial to the adjoint of an argument. A product with zero, even
/// of an infinity or NaN, is zero and adds nothing.
#[inline(always)]
#[must_use]
pub fn counts<V: Number>(seed: V, partial: V) -> bool {
    seed.is_ordinary() || !seed.is_nought() && !partial.is_nought()
}
