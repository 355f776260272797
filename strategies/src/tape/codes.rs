//! Which code stands for which records.
//!
//! Some kinds of records have the same code on every tape, among them those of the most frequent statements: a sum, a product, a
//! product added to a running sum. The sweep reverses these in place, without a call. All others get codes as a tape
//! meets them; those that find all codes taken are followed by the address of their layout.

use super::layout::{Common, Layout, ReverseFn};
use crate::shape::{Both, Minus, Pattern, Scaled, Unit};
use crate::{Float, IndexType, Shape};
use core::ptr;

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
/// The first code that a tape assigns.
pub(super) const ASSIGNED: u8 = 48;
const _: () = assert!(SHAPES as usize + PATTERNS.len() <= ASSIGNED as usize, "frequent shapes have codes of their own");
/// The most arguments of a record of partials whose number is in its code.
pub(super) const CLASSIC_MAX: usize = (SHAPES - FREQUENT) as usize;

/// Slots of the hash table that finds the code of a layout.
pub(super) const HASH_SLOTS: usize = 1 << 12;

/// The code of a record of `n` partials, 1 ≤ n ≤ `CLASSIC_MAX`.
#[allow(clippy::cast_possible_truncation, reason = "n is at most CLASSIC_MAX")]
pub(super) const fn classic(n: usize) -> u8 {
    FREQUENT - 1 + n as u8
}

/// A leaf with a factor of its own.
pub(super) type Factor = Scaled<Unit>;
/// The frequent shapes, in the order of their codes.
pub(super) type Plus = Unit;
pub(super) type Negative = Minus<Unit>;
pub(super) type PlusPlus = Both<Unit, Unit>;
pub(super) type PlusMinus = Both<Unit, Minus<Unit>>;
pub(super) type PlusFactor = Both<Unit, Factor>;
pub(super) type FactorPlus = Both<Factor, Unit>;
pub(super) type PlusProduct = Both<Unit, Both<Factor, Factor>>;
pub(super) type ProductPlus = Both<Both<Factor, Factor>, Unit>;

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

/// The code of Jacobian records with this pattern, or 0. Those whose partials are all stored share their code with records of
/// partials.
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

/// What the sweep needs of a record, in 16 bytes.
pub(super) struct Entry<V> {
    pub(super) reverse: ReverseFn<V>,
    /// [`Layout::bytes`].
    pub(super) bytes: usize,
}

/// The codes of one tape.
pub(super) struct Codes<V: 'static> {
    /// Hash of a layout → the code that was assigned to it, 0 where there is none.
    slots: [u8; HASH_SLOTS],
    /// Code → layout; null where none.
    layouts: [*const Layout<V>; 256],
    pub(super) entries: [Entry<V>; 256],
    assigned: usize,
}

impl<V: Float> Codes<V> {
    pub(super) fn new<I: IndexType>() -> Self {
        let none = Common::<V, I>::LISTED.reverse;
        let mut codes = Self {
            slots: [0; HASH_SLOTS],
            layouts: [ptr::null(); 256],
            entries: [none; 256].map(|reverse| Entry { reverse, bytes: Layout::<V>::VARYING }),
            assigned: ASSIGNED as usize,
        };
        let shapes: [&'static Layout<V>; PATTERNS.len()] = const {
            [
                &Layout::scatter::<Plus, I>(),
                &Layout::scatter::<Negative, I>(),
                &Layout::scatter::<PlusPlus, I>(),
                &Layout::scatter::<PlusMinus, I>(),
                &Layout::scatter::<PlusFactor, I>(),
                &Layout::scatter::<FactorPlus, I>(),
                &Layout::scatter::<PlusProduct, I>(),
                &Layout::scatter::<ProductPlus, I>(),
            ]
        };
        let common = [Common::<V, I>::INPUT, Common::<V, I>::INPUTS, Common::<V, I>::LISTED, Common::<V, I>::ONES];
        let classic = &Common::<V, I>::CLASSIC[1..];
        common.into_iter().chain(classic).chain(shapes).for_each(|layout| codes.set(layout.code, layout));
        codes
    }

    fn set(&mut self, code: u8, layout: &'static Layout<V>) {
        self.layouts[code as usize] = layout;
        self.entries[code as usize] = Entry { reverse: layout.reverse, bytes: layout.bytes };
    }

    /// The layout behind a code.
    #[inline(always)]
    pub(super) fn layout(&self, code: u8) -> &'static Layout<V> {
        // SAFETY: entries are null or made from `&'static Layout<V>`.
        unsafe { self.layouts[code as usize].as_ref() }.expect("codes of records have a layout")
    }

    /// The code of a layout, if it is where it is looked for first.
    #[inline(always)]
    pub(super) fn find(&self, layout: &'static Layout<V>) -> Option<u8> {
        if layout.code != 0 {
            return Some(layout.code);
        }
        let code = self.slots[layout.hash];
        ptr::eq(self.layouts[code as usize], layout).then_some(code)
    }

    /// The code of a layout, assigned if it has none; `None` when all are taken.
    #[allow(clippy::cast_possible_truncation, reason = "at most 256 codes")]
    pub(super) fn code(&mut self, layout: &'static Layout<V>) -> Option<u8> {
        if layout.code != 0 {
            return Some(layout.code);
        }
        let mut slot = layout.hash;
        // At most 208 of 4096 slots are taken, so a free one comes soon.
        while self.slots[slot] != 0 {
            let code = self.slots[slot];
            if ptr::eq(self.layouts[code as usize], layout) {
                return Some(code);
            }
            slot = (slot + 1) % HASH_SLOTS;
        }
        if self.is_full() {
            return None;
        }
        let code = self.assigned as u8;
        self.assigned += 1;
        self.slots[slot] = code;
        self.set(code, layout);
        Some(code)
    }

    /// Whether no further layout can get a code.
    pub(super) const fn is_full(&self) -> bool {
        self.assigned == 256
    }
}
