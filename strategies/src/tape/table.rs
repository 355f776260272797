//! Which code stands for which records on one tape.
//!
//! Kinds of records that find all codes taken are followed by the address of their layout.

use super::adjoints::{ReverseFn, SkipFn};
use super::codes;
use super::common::Common;
use super::layout::Layout;
use crate::{IndexType, Number};
use core::ptr;

/// What the sweep needs of a record, in 16 bytes.
pub(super) struct Entry<V: Number> {
    pub(super) reverse: ReverseFn<V>,
    pub(super) skip: Option<SkipFn>,
}

/// The codes of one tape.
pub(super) struct Codes<V: Number> {
    /// Hash of a layout → the code that was assigned to it, 0 where there is none.
    slots: [u8; codes::HASH_SLOTS],
    /// Code → layout.
    layouts: [Option<&'static Layout<V>>; 256],
    pub(super) entries: [Entry<V>; 256],
    assigned: usize,
}

impl<V: Number> Codes<V> {
    pub(super) fn new<I: IndexType>() -> Self {
        let none = Common::<V, I>::LISTED.functions.reverse;
        let mut table = Self {
            slots: [0; codes::HASH_SLOTS],
            layouts: [None; 256],
            entries: [none; 256].map(|reverse| Entry { reverse, skip: None }),
            assigned: codes::ASSIGNED as usize,
        };
        let shapes: [&'static Layout<V>; codes::FREQUENT_SHAPES] = const {
            [
                &Layout::scatter::<codes::Plus, I>(),
                &Layout::scatter::<codes::Negative, I>(),
                &Layout::scatter::<codes::PlusPlus, I>(),
                &Layout::scatter::<codes::PlusMinus, I>(),
                &Layout::scatter::<codes::PlusFactor, I>(),
                &Layout::scatter::<codes::FactorPlus, I>(),
                &Layout::scatter::<codes::PlusProduct, I>(),
                &Layout::scatter::<codes::ProductPlus, I>(),
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

    /// The layout behind a code.
    #[inline(always)]
    pub(super) fn layout(&self, code: u8) -> &'static Layout<V> {
        self.layouts[code as usize].expect("codes of records have a layout")
    }

    /// The code of a layout, if it is where it is looked for first.
    #[inline(always)]
    pub(super) fn find(&self, layout: &'static Layout<V>) -> Option<u8> {
        if layout.code != 0 {
            return Some(layout.code);
        }
        let code = self.slots[layout.hash];
        self.is(code, layout).then_some(code)
    }

    /// Whether this code stands for this layout.
    #[inline(always)]
    fn is(&self, code: u8, layout: &'static Layout<V>) -> bool {
        ptr::eq(self.layouts[code as usize].map_or(ptr::null(), ptr::from_ref), layout)
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
            if self.is(code, layout) {
                return Some(code);
            }
            slot = (slot + 1) % codes::HASH_SLOTS;
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
