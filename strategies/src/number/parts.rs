//! Functions of the lanes and parts of numbers.

use super::traits::{Float, Number};
use core::cell::Cell;

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
/// When the answers differ, except while [the first lane leads](led_by_first_lane).
#[inline(always)]
#[track_caller]
pub fn agreed<V: Number, T: PartialEq>(answer: impl Fn(usize) -> T) -> T {
    let first = answer(0);
    if (1..V::LANES).any(|k| answer(k) != first) {
        disagree((1..V::LANES).filter(|k| answer(*k) != first).fold(0, |lanes, k| lanes | bit(k)));
    }
    first
}

/// The bit of a lane in a set of lanes: lanes from 63 on share the last one.
const fn bit(lane: usize) -> u64 {
    1 << if lane < 63 { lane } else { 63 }
}

thread_local! {
    /// The lanes that have disagreed with the first one while it leads; `None` where a disagreement is a panic.
    static DISAGREED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `f`, in which the first lane of packs decides every branch on this thread. Returns its result, and a bit for
/// each lane that would have decided differently somewhere. The values of such a lane have no meaning; those of the
/// others are as if all lanes had agreed.
pub fn led_by_first_lane<R>(f: impl FnOnce() -> R) -> (R, u64) {
    /// Restores what held before, also when `f` panics.
    struct Restore(Option<u64>);
    impl Drop for Restore {
        fn drop(&mut self) {
            DISAGREED.set(self.0);
        }
    }
    let restore = Restore(DISAGREED.replace(Some(0)));
    let result = f();
    let lanes = DISAGREED.get().unwrap_or(0);
    drop(restore);
    (result, lanes)
}

#[cold]
#[inline(never)]
#[track_caller]
fn disagree(lanes: u64) {
    assert!(
        note_disagreement(lanes),
        "a program can only branch on something that all lanes of its numbers agree on, and here they do not: \
         `x.less(&y).select(&a, &b)` chooses lane by lane, as `min`, `max`, `abs` and `clamp` do"
    );
}

/// Notes that these lanes disagree with the first one; returns false if that one does not lead.
fn note_disagreement(lanes: u64) -> bool {
    let before = DISAGREED.get();
    DISAGREED.set(before.map(|others| others | lanes));
    before.is_some()
}

/// Returns true if a question, asked by index, has one answer for all `lanes`, or if the first lane leads.
#[cfg(feature = "packs")]
pub(crate) fn agree_or_follow<T: PartialEq>(lanes: usize, answer: impl Fn(usize) -> T) -> bool {
    let first = answer(0);
    let others = (1..lanes).filter(|k| answer(*k) != first).fold(0, |others, k| others | bit(k));
    others == 0 || note_disagreement(others)
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
