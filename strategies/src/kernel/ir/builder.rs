//! Builder of instruction lists with value numbering: an instruction equal to an earlier one is not appended again.

#![allow(
    clippy::cast_possible_truncation,
    clippy::large_stack_arrays,
    reason = "places have few bits, `From` is not for constants, and lists exist while a kernel is compiled"
)]

use super::access::LEAVES;
use super::instruction::Op;
use super::instruction::opcode::{ADD, BOTH, EITHER, EQUAL, LITERAL, MUL, NEG, SELECT, SUB};
use super::listing::{Listing, NOTHING, STEPS};

const SLOTS: usize = 2 * STEPS;

/// A result with a sign and an optional mask. [`SignedValue::NONE`] if it is 0 by the structure of the kernel.
///
/// The branch of a select that is not taken must contribute 0 whatever it is multiplied with, even an infinite partial
/// derivative. So the slope through a select carries its condition as a mask, which is applied only after all
/// multiplications.
#[derive(Clone, Copy)]
pub(crate) struct SignedValue {
    pub(crate) place: u16,
    minus: bool,
    /// Index of the mask under which the result counts; elsewhere the result is 0. [`NOTHING`] if it counts everywhere.
    mask: u16,
    /// True if the result counts where the mask is false.
    inverted: bool,
    /// True if the instruction at `place` is 0 already where the result does not count.
    is_clear: bool,
}

impl SignedValue {
    pub(crate) const NONE: Self = Self::of(NOTHING);
    pub(crate) const fn of(place: u16) -> Self {
        Self { place, minus: false, mask: NOTHING, inverted: false, is_clear: true }
    }
    pub(crate) const fn is_none(self) -> bool {
        self.place == NOTHING
    }
    pub(crate) const fn negated(self) -> Self {
        Self { minus: !self.minus, ..self }
    }
    pub(crate) const fn negated_if_some(self) -> Self {
        if self.is_none() { self } else { self.negated() }
    }
    /// Replaces the instruction, and keeps sign and mask.
    pub(crate) const fn at(self, place: u16) -> Self {
        Self { place, ..self }
    }
    /// Replaces the mask: the result counts where `mask` is true.
    const fn under(self, mask: u16) -> Self {
        Self { mask, inverted: false, ..self }
    }
}

/// Appends instructions to a [`Listing`].
pub(crate) struct Builder {
    pub(crate) script: Listing,
    /// Hash table with open addressing: indices of the appended instructions, to find equal ones.
    slots: [u16; SLOTS],
}

impl Builder {
    pub(crate) const fn new() -> Self {
        let script = Listing { ops: [Op::NONE; STEPS], len: 0, results: [NOTHING; LEAVES] };
        Self { script, slots: [NOTHING; SLOTS] }
    }

    /// Returns the index of an instruction equal to `op`, and appends it first if there is none.
    pub(crate) const fn put(&mut self, op: Op) -> u16 {
        let bits = op.bits();
        let mixed = (bits as u64 ^ (bits >> 64) as u64 ^ (op.what as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (mixed >> 40) as usize % SLOTS;
        // Linear probing ends: the table has twice as many slots as a list has instructions.
        while self.slots[slot] != NOTHING {
            let place = self.slots[slot];
            if self.script.ops[place as usize].is(&op) {
                return place;
            }
            slot = (slot + 1) % SLOTS;
        }
        let place = self.script.len;
        assert!(
            place < STEPS,
            "the derivatives of a kernel have too many operations, more than 2048: make two kernels of it"
        );
        self.script.ops[place] = op;
        self.script.len += 1;
        self.slots[slot] = place as u16;
        place as u16
    }

    pub(crate) const fn op(&mut self, what: u8, a: u16, b: u16) -> u16 {
        self.put(Op::of(what, a, b, 0))
    }

    pub(crate) const fn select(&mut self, mask: u16, yes: u16, no: u16) -> u16 {
        self.put(Op::of(SELECT, mask, yes, no))
    }

    /// The literal halves/2.
    pub(crate) const fn literal(&mut self, halves: i16) -> u16 {
        self.put(Op::of(LITERAL, 0, 0, halves.cast_unsigned()))
    }

    pub(crate) const fn is_literal(&self, place: u16, halves: i16) -> bool {
        let op = &self.script.ops[place as usize];
        op.what == LITERAL && op.c == halves.cast_unsigned()
    }

    /// x + y.
    pub(crate) const fn sum(&mut self, x: SignedValue, y: SignedValue) -> SignedValue {
        if x.is_none() {
            return y;
        }
        if y.is_none() {
            return x;
        }
        if x.mask == y.mask && x.inverted == y.inverted {
            return SignedValue { is_clear: x.is_clear && y.is_clear, ..self.added(x, y) };
        }
        let (x, y) = (self.cleared(x), self.cleared(y));
        let sum = self.added(x, y).under(NOTHING);
        if x.mask == NOTHING || y.mask == NOTHING {
            return sum;
        }
        let (a, b) = (self.mask(x), self.mask(y));
        sum.under(self.op(EITHER, a, b))
    }

    /// x + y under the mask of x.
    const fn added(&mut self, x: SignedValue, y: SignedValue) -> SignedValue {
        let (place, minus) = match (x.minus, y.minus) {
            (false, false) => (self.op(ADD, x.place, y.place), false),
            (false, true) => (self.op(SUB, x.place, y.place), false),
            (true, false) => (self.op(SUB, y.place, x.place), false),
            (true, true) => (self.op(ADD, x.place, y.place), true),
        };
        SignedValue { place, minus, ..x }
    }

    /// slope·partial.
    pub(crate) const fn times(&mut self, slope: SignedValue, partial: u16) -> SignedValue {
        if slope.is_none() || self.is_literal(partial, 2) {
            return slope;
        }
        let place = if self.is_literal(slope.place, 2) { partial } else { self.op(MUL, slope.place, partial) };
        SignedValue { place, is_clear: false, ..slope }
    }

    /// Replaces the result by 0 where it does not count.
    const fn cleared(&mut self, x: SignedValue) -> SignedValue {
        if x.is_none() || x.mask == NOTHING || x.is_clear {
            return x;
        }
        let zero = self.literal(0);
        let (yes, no) = if x.inverted { (zero, x.place) } else { (x.place, zero) };
        SignedValue { place: self.select(x.mask, yes, no), is_clear: true, ..x }
    }

    /// Returns the result as a plain instruction, with sign and mask applied; 0 for [`SignedValue::NONE`].
    pub(crate) const fn number(&mut self, x: SignedValue) -> u16 {
        let x = self.cleared(x);
        match (x.is_none(), x.minus) {
            (true, _) => self.literal(0),
            (false, true) => self.op(NEG, x.place, 0),
            (false, false) => x.place,
        }
    }

    /// Returns the mask under which x counts; the caller has ruled out a result without a mask.
    const fn mask(&mut self, x: SignedValue) -> u16 {
        if x.inverted { self.not(x.mask) } else { x.mask }
    }

    const fn not(&mut self, mask: u16) -> u16 {
        let (zero, one) = (self.literal(0), self.literal(2));
        let number = self.select(mask, zero, one);
        self.op(EQUAL, number, one)
    }

    /// Slope of a select: `yes` where the mask is true, else `no`.
    pub(crate) const fn chosen(&mut self, mask: u16, yes: SignedValue, no: SignedValue) -> SignedValue {
        if yes.is_none() && no.is_none() {
            return yes;
        }
        if no.is_none() {
            let mask = if yes.mask == NOTHING { mask } else { self.both(mask, yes) };
            return SignedValue { is_clear: false, ..yes.under(mask) };
        }
        if yes.is_none() {
            if no.mask == NOTHING {
                return SignedValue { mask, inverted: true, is_clear: false, ..no };
            }
            let not = self.not(mask);
            let mask = self.both(not, no);
            return SignedValue { is_clear: false, ..no.under(mask) };
        }
        let counts = self.either(mask, yes, no);
        let (yes, no) = (self.cleared(yes), self.cleared(no));
        if yes.minus == no.minus {
            return SignedValue {
                minus: yes.minus,
                ..SignedValue::of(self.select(mask, yes.place, no.place)).under(counts)
            };
        }
        let (yes, no) = (self.number(yes), self.number(no));
        SignedValue::of(self.select(mask, yes, no)).under(counts)
    }

    /// Mask that is true where `mask` is true and x counts.
    const fn both(&mut self, mask: u16, x: SignedValue) -> u16 {
        let counts = self.mask(x);
        self.op(BOTH, mask, counts)
    }

    /// Mask that is true where the result that a select chooses counts; [`NOTHING`] if both count everywhere.
    const fn either(&mut self, mask: u16, yes: SignedValue, no: SignedValue) -> u16 {
        if yes.mask == NOTHING && no.mask == NOTHING {
            return NOTHING;
        }
        let not = self.not(mask);
        let a = if yes.mask == NOTHING { mask } else { self.both(mask, yes) };
        let b = if no.mask == NOTHING { not } else { self.both(not, no) };
        self.op(EITHER, a, b)
    }
}
