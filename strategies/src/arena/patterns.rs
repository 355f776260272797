//! Jacobian records of the most frequent patterns, which the sweep reverses in place.
//!
//! A sum, a product, a product added to a running sum: records of these few kinds have codes of their own on every
//! tape. They need no entry in its table, no function of their own, and no call.
#![allow(clippy::cast_possible_truncation, reason = "patterns are short and few")]

use super::layout::Arguments;
use super::records::usize_of;
use super::table::{CLASSIC_MAX, classic};
use super::walk::read;
use crate::shape::Pattern;
use crate::{Float, IndexType, counts};

/// The first code of a listed pattern; they end before `PATTERNS_END`.
pub(super) const PATTERNS: u8 = 32;
/// One past the last code of a listed pattern.
pub(super) const PATTERNS_END: u8 = PATTERNS + LISTED.len() as u8;

/// The patterns that have codes, `+`, `-` or `f` for each leaf.
const LISTED: [&str; 8] = ["+", "-", "++", "+-", "+f", "f+", "+ff", "ff+"];

/// The code of records with this pattern, or 0. Records whose partials are all stored are those of untyped
/// statements, and share their codes.
pub(super) const fn code(pattern: Pattern) -> u8 {
    if pattern.leaves == Pattern::OTHER || pattern.leaves == 0 {
        return 0;
    }
    if pattern.leaves as usize <= CLASSIC_MAX && pattern.digits + 1 == 3_u32.pow(pattern.leaves) {
        return classic(pattern.leaves as usize);
    }
    let mut k = 0;
    while k < LISTED.len() {
        let listed = parse(LISTED[k]);
        if listed.leaves == pattern.leaves && listed.digits == pattern.digits {
            return PATTERNS + k as u8;
        }
        k += 1;
    }
    0
}

/// `+`, `-` or `f` for each leaf of a listed pattern.
pub(super) const fn text(code: u8) -> &'static [u8] {
    LISTED[(code - PATTERNS) as usize].as_bytes()
}

/// The leaves and stored factors of a listed pattern.
pub(super) const fn size(code: u8) -> (usize, usize) {
    let text = text(code);
    let (mut k, mut factors) = (0, 0);
    while k < text.len() {
        factors += (text[k] == b'f') as usize;
        k += 1;
    }
    (text.len(), factors)
}

const fn parse(text: &str) -> Pattern {
    let text = text.as_bytes();
    let (mut k, mut digits) = (0, 0);
    while k < text.len() {
        digits = digits * 3
            + if text[k] == b'+' {
                0
            } else if text[k] == b'-' {
                1
            } else {
                Pattern::FACTOR
            };
        k += 1;
    }
    Pattern { leaves: text.len() as u32, digits }
}

/// Reverses a record with listed pattern number `K`, which ends at `end`; returns where it starts.
///
/// # Safety
///
/// Such a record ends there, and its identifiers are below the number of adjoints.
#[inline(always)]
pub(super) unsafe fn reverse<V: Float, I: IndexType, const K: usize>(
    end: *const u8,
    seed: V,
    adjoints: &mut [V],
) -> *const u8 {
    let text = const { LISTED[K].as_bytes() };
    let (leaves, factors) = const { size(PATTERNS + K as u8) };
    let record = end.wrapping_sub(leaves * size_of::<I>() + factors * size_of::<V>());
    if factors == 0 {
        if seed == V::zero() {
            return record;
        }
    } else if !seed.is_ordinary() {
        if !seed.is_nought() {
            // SAFETY: promised by the caller.
            unsafe { reverse_with_care::<V, I>(text, end, seed, adjoints) };
        }
        return record;
    }
    let mut factor = record.cast::<V>();
    let mut arguments = Arguments { ids: end.wrapping_sub(leaves * size_of::<I>()).cast::<I>(), adjoints };
    for sign in text {
        // SAFETY: the record has so many factors and identifiers; the caller vouches for them.
        unsafe {
            let contribution = match sign {
                b'+' => seed,
                b'-' => -seed,
                _ => {
                    factor = factor.add(1);
                    seed * factor.sub(1).read_unaligned()
                }
            };
            arguments.add(contribution);
        }
    }
    record
}

/// Reverses a record of `N` partials and identifiers, which ends at `end`; returns where it starts.
///
/// # Safety
///
/// As [`reverse`].
#[inline(always)]
pub(super) unsafe fn reverse_classic<V: Float, I: IndexType, const N: usize>(
    end: *const u8,
    seed: V,
    adjoints: &mut [V],
) -> *const u8 {
    let ids = end.wrapping_sub(N * size_of::<I>());
    let record = ids.wrapping_sub(N * size_of::<V>());
    if !seed.is_ordinary() {
        if !seed.is_nought() {
            // SAFETY: promised by the caller.
            unsafe { reverse_with_care::<V, I>(const { &[b'f'; N] }, end, seed, adjoints) };
        }
        return record;
    }
    let mut arguments = Arguments { ids: ids.cast::<I>(), adjoints };
    for k in 0..N {
        // SAFETY: the record has so many partials and identifiers; the caller vouches for them.
        unsafe { arguments.add(seed * record.cast::<V>().add(k).read_unaligned()) }
    }
    record
}

/// Reverses a record with `+`, `-` or `f` for each leaf, which ends at `end`, for a seed that is not finite.
///
/// # Safety
///
/// As [`reverse`].
#[cold]
#[inline(never)]
#[allow(clippy::naive_bytecount, reason = "a statement has few leaves")]
unsafe fn reverse_with_care<V: Float, I: IndexType>(text: &[u8], end: *const u8, seed: V, adjoints: &mut [V]) {
    let ids = end.wrapping_sub(text.len() * size_of::<I>());
    let factors = text.iter().filter(|sign| **sign == b'f').count();
    let record = ids.wrapping_sub(factors * size_of::<V>());
    // SAFETY: the record has so many factors and identifiers; the caller vouches for them.
    let (factors, ids) = unsafe { (read::<V>(record, factors), read::<I>(ids, text.len())) };
    for (id, partial) in ids.zip(partials(text, factors)).filter(|(_, partial)| counts(seed, *partial)) {
        adjoints[usize_of(id.widen())] += seed * partial;
    }
}

/// The partials of a record with `+`, `-` or `f` for each leaf and these factors.
pub(super) fn partials<V: Float>(text: &[u8], mut factors: impl Iterator<Item = V>) -> impl Iterator<Item = V> {
    text.iter().map(move |sign| match sign {
        b'+' => V::one(),
        b'-' => -V::one(),
        _ => factors.next().expect("a record has a factor for each `f`"),
    })
}
