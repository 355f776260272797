//! The codes of records: which byte says what.
//!
//! Some kinds of records have the same code on every tape, among them the records of the most frequent statements: a
//! sum, a product, a product added to a running sum. The sweep reverses these in place, without a call. All others get
//! codes as a [table](super::table) meets them.

use crate::Shape;
use crate::shape::{Both, Minus, Pattern, Scaled, Unit};

/// An independent variable.
pub(super) const INPUT: u8 = 0;
/// Several of them.
pub(super) const INPUTS: u8 = 1;
/// Counted partials.
pub(super) const LISTED: u8 = 2;
/// A sum.
pub(super) const ONES: u8 = 3;
/// The address of the layout stands in front of the code.
pub(super) const EXPLICIT: u8 = 4;
/// The first code of records that are reversed in place: partials of 1, 2, … arguments.
pub(super) const FREQUENT: u8 = 5;
/// The first code of a frequent shape.
pub(super) const SHAPES: u8 = 32;
/// An external function, or a launch of a kernel. Codes of records that are reversed in place are below.
pub(super) const EXTERNAL: u8 = 47;
/// The first code that a tape assigns.
pub(super) const ASSIGNED: u8 = 48;
const _: () =
    assert!(SHAPES as usize + FREQUENT_SHAPES <= EXTERNAL as usize, "frequent shapes have codes of their own");
/// The most arguments of a record of partials whose number is in its code.
pub(super) const CLASSIC_MAX: usize = (SHAPES - FREQUENT) as usize;

/// Slots of the hash table that finds the code of a layout.
pub(super) const HASH_SLOTS: usize = 1 << 12;

/// The code of a record of `n` partials, 1 ≤ n ≤ `CLASSIC_MAX`.
#[allow(clippy::cast_possible_truncation, reason = "n is at most CLASSIC_MAX")]
#[inline(always)]
pub(super) const fn classic(n: usize) -> u8 {
    FREQUENT - 1 + n as u8
}

/// A leaf with a factor of its own.
pub(super) type Factor = Scaled<Unit>;
/// Two of them.
pub(super) type Factors = Both<Factor, Factor>;
/// Three of them.
pub(super) type ThreeFactors = Both<Factor, Factors>;
/// The frequent shapes, in the order of their codes.
pub(super) type Plus = Unit;
pub(super) type Negative = Minus<Unit>;
pub(super) type PlusPlus = Both<Unit, Unit>;
pub(super) type PlusMinus = Both<Unit, Minus<Unit>>;
pub(super) type PlusFactor = Both<Unit, Factor>;
pub(super) type FactorPlus = Both<Factor, Unit>;
pub(super) type PlusProduct = Both<Unit, Both<Factor, Factor>>;
pub(super) type ProductPlus = Both<Both<Factor, Factor>, Unit>;

/// How many frequent shapes there are.
pub(super) const FREQUENT_SHAPES: usize = PATTERNS.len();

const PATTERNS: [Pattern; 8] = [
    Plus::PATTERN,
    Negative::PATTERN,
    PlusPlus::PATTERN,
    PlusMinus::PATTERN,
    PlusFactor::PATTERN,
    FactorPlus::PATTERN,
    PlusProduct::PATTERN,
    ProductPlus::PATTERN,
];

/// The code of Jacobian records with this pattern, or 0. Those whose partials are all stored share their code with
/// records of partials.
#[allow(clippy::cast_possible_truncation, reason = "there are few")]
pub(super) const fn of_pattern(pattern: Pattern) -> u8 {
    if pattern.leaves == Pattern::OTHER || pattern.leaves == 0 {
        return 0;
    }
    if pattern.leaves as usize <= CLASSIC_MAX && pattern.digits + 1 == 3_u32.pow(pattern.leaves) {
        return classic(pattern.leaves as usize);
    }
    let mut k = 0;
    while k < PATTERNS.len() {
        if PATTERNS[k].leaves == pattern.leaves && PATTERNS[k].digits == pattern.digits {
            return SHAPES + k as u8;
        }
        k += 1;
    }
    0
}
