//! The codes of records: one byte that tells the kinds of records apart.
//!
//! Some kinds of records have the same code on every tape, among them the records of the most frequent statements: a
//! sum, a product, a product added to a running sum. The sweep reverses these in place, without a call. Other kinds get
//! codes from the [table](super::code_table) of a tape, in the order in which they are first recorded.

use crate::shape::{Both, Minus, Pattern, Scaled, Shape, Unit};

/// Code of an independent variable.
pub(crate) const INPUT: u8 = 0;
/// Code of several independent variables.
pub(crate) const INPUTS: u8 = 1;
/// Code of a list of partials with a count.
pub(crate) const LISTED: u8 = 2;
/// Code of a sum with a count.
pub(crate) const ONES: u8 = 3;
/// Code that follows the address of a layout.
pub(crate) const EXPLICIT: u8 = 4;
/// The first code of records that are reversed in place: partials of 1, 2, … arguments.
pub(crate) const FREQUENT: u8 = 5;
/// The first code of a frequent shape.
pub(crate) const SHAPES: u8 = 32;
/// Code of an external function, or a launch of a kernel. Codes of records that are reversed in place are below it.
pub(crate) const EXTERNAL: u8 = 47;
/// The first code that a tape assigns.
pub(crate) const ASSIGNED: u8 = 48;
const _: () =
    assert!(SHAPES as usize + FREQUENT_SHAPES <= EXTERNAL as usize, "frequent shapes have codes of their own");
/// The maximum number of arguments of a record of partials whose code tells the number.
pub(crate) const CLASSIC_MAX: usize = (SHAPES - FREQUENT) as usize;

/// Number of slots of the hash table that finds the code of a layout.
pub(crate) const HASH_SLOTS: usize = 1 << 12;

/// The code of a record of `n` partials, 1 ≤ n ≤ `CLASSIC_MAX`.
#[allow(clippy::cast_possible_truncation, reason = "n is at most CLASSIC_MAX")]
#[inline(always)]
pub(crate) const fn classic(n: usize) -> u8 {
    FREQUENT - 1 + n as u8
}

/// Returns true for codes of records that consist of partials and identifiers.
#[inline(always)]
pub(crate) const fn lists(code: u8) -> bool {
    FREQUENT <= code && code < SHAPES
}

/// A leaf with a factor of its own.
pub(crate) type Factor = Scaled<Unit>;
/// Two leaves with a factor each.
pub(crate) type Factors = Both<Factor, Factor>;
/// Three leaves with a factor each.
pub(crate) type ThreeFactors = Both<Factor, Factors>;
/// The first frequent shape; `PATTERNS` lists the frequent shapes in the order of their codes.
pub(crate) type Plus = Unit;
pub(crate) type Negative = Minus<Unit>;
pub(crate) type PlusPlus = Both<Unit, Unit>;
pub(crate) type PlusMinus = Both<Unit, Minus<Unit>>;
pub(crate) type PlusFactor = Both<Unit, Factor>;
pub(crate) type FactorPlus = Both<Factor, Unit>;
pub(crate) type PlusProduct = Both<Unit, Both<Factor, Factor>>;
pub(crate) type ProductPlus = Both<Both<Factor, Factor>, Unit>;

/// Evaluates `leaf!(Shape)` with the name of the frequent shape that has this code, or, for codes of partials, what
/// stands behind `else`.
///
/// A binary search: a call by an address would take longer than most of what is done with such a record.
macro_rules! by_shape {
    ($code:expr, $leaf:ident $(, else $below:expr)?) => {{
        use $crate::tape::format::code::{SHAPES as FIRST, by_shape};
        if $code >= FIRST + 4 {
            by_shape!(@search $code, $leaf, (PlusFactor 5 FactorPlus) 6 (PlusProduct 7 ProductPlus))
        } $(else if $code < FIRST {
            $below
        })? else {
            by_shape!(@search $code, $leaf, (Plus 1 Negative) 2 (PlusPlus 3 PlusMinus))
        }
    }};
    (@search $code:expr, $leaf:ident,
        ($a:ident $at_b:literal $b:ident) $at_c:literal ($c:ident $at_d:literal $d:ident)) => {
        if $code < FIRST + $at_c {
            if $code < FIRST + $at_b { $leaf!($a) } else { $leaf!($b) }
        } else {
            if $code < FIRST + $at_d { $leaf!($c) } else { $leaf!($d) }
        }
    };
}
pub(crate) use by_shape;

/// Number of frequent shapes.
pub(crate) const FREQUENT_SHAPES: usize = PATTERNS.len();

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

/// Returns the code of Jacobian records with this pattern, or 0 if they have none. Records whose partials are all
/// stored share their code with records of partials.
#[allow(clippy::cast_possible_truncation, reason = "there are few")]
pub(crate) const fn of_pattern(pattern: Pattern) -> u8 {
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
