//! The table of codes of one tape.
//!
//! When all codes have been assigned, records of further kinds contain the address of their layout.

use super::code::{self, EXPLICIT};
use super::entry_points::{ReverseFn, SkipFn};
use super::layout::Common;
use super::layout::Layout;
use crate::Number;
use crate::identifier::IndexType;
use core::ptr;

/// The functions of a record that the sweep needs, in 16 bytes.
pub(crate) struct Entry<V: Number> {
    pub(crate) reverse: ReverseFn<V>,
    pub(crate) skip: Option<SkipFn>,
}

/// The codes of one tape.
pub(crate) struct Codes<V: Number> {
    /// Hash of a layout → the code that was assigned to it, 0 if there is none. Open addressing.
    slots: [u8; code::HASH_SLOTS],
    /// Code → layout.
    layouts: [Option<&'static Layout<V>>; 256],
    pub(crate) entries: [Entry<V>; 256],
    assigned: usize,
}

impl<V: Number> Codes<V> {
    pub(crate) fn new<I: IndexType>() -> Self {
        let none = Common::<V, I>::LISTED.functions.reverse;
        let mut table = Self {
            slots: [0; code::HASH_SLOTS],
            layouts: [None; 256],
            entries: [none; 256].map(|reverse| Entry { reverse, skip: None }),
            assigned: code::ASSIGNED as usize,
        };
        let shapes: [&'static Layout<V>; code::FREQUENT_SHAPES] = const {
            [
                &Layout::scatter::<code::Plus, I>(),
                &Layout::scatter::<code::Negative, I>(),
                &Layout::scatter::<code::PlusPlus, I>(),
                &Layout::scatter::<code::PlusMinus, I>(),
                &Layout::scatter::<code::PlusFactor, I>(),
                &Layout::scatter::<code::FactorPlus, I>(),
                &Layout::scatter::<code::PlusProduct, I>(),
                &Layout::scatter::<code::ProductPlus, I>(),
            ]
        };
        let inputs = [Common::<V, I>::INPUT, Common::<V, I>::INPUTS, Common::<V, I>::EXTERNAL];
        let common = inputs.into_iter().chain([Common::<V, I>::LISTED, Common::<V, I>::ONES]);
        let classic = &Common::<V, I>::CLASSIC[1..];
        common.chain(classic).chain(shapes).for_each(|layout| table.set(layout.code, layout));
        table
    }

    fn set(&mut self, code: u8, layout: &'static Layout<V>) {
        self.layouts[code as usize] = Some(layout);
        self.entries[code as usize] = Entry { reverse: layout.functions.reverse, skip: layout.functions.skip };
    }

    /// Returns the layout of a code.
    #[inline(always)]
    pub(crate) fn layout(&self, code: u8) -> &'static Layout<V> {
        self.layouts[code as usize].expect("codes of records have a layout")
    }

    /// Returns the code of a layout, if it is in the first slot that is probed.
    #[inline(always)]
    pub(crate) fn find(&self, layout: &'static Layout<V>) -> Option<u8> {
        if layout.code != 0 {
            return Some(layout.code);
        }
        let code = self.slots[layout.hash];
        match self.layouts[code as usize] {
            Some(found) if ptr::eq(found, layout) => Some(code),
            _ => None,
        }
    }

    /// Returns the code of a layout; [`EXPLICIT`] when it has none and all codes are assigned; `None` when it can get
    /// one.
    #[inline(always)]
    pub(crate) fn any(&mut self, layout: &'static Layout<V>) -> Option<u8> {
        self.find(layout).or_else(|| self.find_further(layout))
    }

    /// Returns the code of a layout that is not in the first slot that is probed, and moves it there if it has a code.
    /// The first slot then contained another layout with its hash, or the same layout at another address, where the
    /// statement was compiled a second time.
    #[cold]
    #[inline(never)]
    fn find_further(&mut self, layout: &'static Layout<V>) -> Option<u8> {
        let mut slot = layout.hash;
        // At most 208 of 4096 slots are occupied, so the loop ends at a free one soon.
        while self.slots[slot] != 0 {
            let code = self.slots[slot];
            if self.layout(code).is_same(layout) {
                self.layouts[code as usize] = Some(layout);
                // All slots between the two are occupied, so the layout that was swapped away is still found by
                // probing.
                self.slots.swap(layout.hash, slot);
                return Some(code);
            }
            slot = (slot + 1) % code::HASH_SLOTS;
        }
        self.is_full().then_some(EXPLICIT)
    }

    /// Returns the code of a layout, and assigns one if it has none; `None` when all codes are assigned.
    #[allow(clippy::cast_possible_truncation, reason = "at most 256 codes")]
    pub(crate) fn code(&mut self, layout: &'static Layout<V>) -> Option<u8> {
        match self.any(layout) {
            None => {}
            found => return found.filter(|code| *code != EXPLICIT),
        }
        let mut slot = layout.hash;
        while self.slots[slot] != 0 {
            slot = (slot + 1) % code::HASH_SLOTS;
        }
        let code = self.assigned as u8;
        self.assigned += 1;
        self.slots[slot] = code;
        self.set(code, layout);
        Some(code)
    }

    /// Returns true if no further layout can get a code.
    pub(crate) const fn is_full(&self) -> bool {
        self.assigned == 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Both, Minus};
    use crate::tape::format::partials::Scattered;

    /// Makes a layout at an address of its own.
    fn at_another_address<H: crate::shape::Shape>() -> &'static Layout<f64> {
        Box::leak(Box::new(Layout { hash: 4095, code: 0, ..Layout::scatter::<H, u32>() }))
    }

    #[test]
    fn a_statement_that_is_compiled_twice_has_one_code_and_is_found_at_once() {
        let mut codes = Codes::<f64>::new::<u32>();
        let layouts: [_; 3] = core::array::from_fn(|_| at_another_address::<Minus<code::Plus>>());
        for layout in layouts.into_iter().cycle().take(9) {
            assert_eq!(codes.find(layout), None);
            assert_eq!(codes.code(layout), Some(code::ASSIGNED));
            assert_eq!(codes.find(layout), Some(code::ASSIGNED));
            assert!(ptr::eq(codes.layout(code::ASSIGNED), layout), "the latest address is the one to compare with");
        }
        assert_eq!(codes.assigned, usize::from(code::ASSIGNED) + 1);
    }

    type One = Minus<code::PlusPlus>;
    type Other = Both<One, One>;

    #[test]
    fn statements_with_one_hash_are_all_found() {
        let mut codes = Codes::<f64>::new::<u32>();
        let kinds = [
            [at_another_address::<code::Plus>(), at_another_address::<code::Plus>()],
            [at_another_address::<One>(), at_another_address::<One>()],
            [at_another_address::<Other>(), at_another_address::<Other>()],
        ];
        let code = |k: usize| Some(code::ASSIGNED + u8::try_from(k).expect("few"));
        assert_eq!(codes.any(kinds[2][0]), None);
        for (k, [first, _]) in kinds.iter().enumerate() {
            assert_eq!(codes.code(first), code(k), "codes are given in order");
        }
        // Every way from one layout to another, so that each has been in front of each.
        for (a, b) in (0..36).map(|n| (n / 6, n % 6)) {
            for n in [a, b, a] {
                assert_eq!(codes.any(kinds[n / 2][n % 2]), code(n / 2));
                assert_eq!(codes.find(kinds[n / 2][n % 2]), code(n / 2));
                assert_eq!(codes.slots[4095], code::ASSIGNED + u8::try_from(n / 2).expect("few"), "it comes first");
            }
        }
        assert_eq!(codes.layout(code::ASSIGNED).kind, core::any::TypeId::of::<Scattered<code::Plus>>());
        assert_eq!(codes.assigned, usize::from(code::ASSIGNED) + 3, "and no code is given twice");
    }
}
