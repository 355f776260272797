//! Differentiation of a body: instructions for its values, and for slopes along one access or along tangents.

#![allow(clippy::cast_possible_truncation, reason = "places have few bits, and `From` is not for constants")]

use super::access::Access;
use super::body::Body;
use super::builder::{Builder, SignedValue};
use super::instruction::opcode::{
    ABS, ADD, AT_MOST, DIFFER, DIV, EITHER, EQUAL, FIRST, LEFT, LESS, MAX, MIN, MUL, NEG, NEW, RIGHT, RULE1, RULE3,
    SECOND, SELECT, SQRT, SQUARE, SUB, TAKES, TANGENT, THIRD,
};
use super::instruction::{FOREST, Op};
use super::listing::NOTHING;
use crate::number::simd::rule::{Rule, Slope};

/// Generates instructions for the values and slopes of a body's instructions.
pub(crate) struct Differentiator<'a> {
    forest: &'a Body,
    /// True if the new value of an output is read, as in a sweep; false if it is computed, as in a launch.
    reads_new: bool,
    values: [u16; FOREST],
    pub(crate) slopes: [SignedValue; FOREST],
}

impl<'a> Differentiator<'a> {
    pub(crate) const fn new(forest: &'a Body, reads_new: bool) -> Self {
        Self { forest, reads_new, values: [NOTHING; FOREST], slopes: [SignedValue::NONE; FOREST] }
    }

    /// Returns the index of the generated instruction with the value of instruction `k` of the body.
    pub(crate) const fn value(&mut self, to: &mut Builder, k: u16) -> u16 {
        if self.values[k as usize] == NOTHING {
            self.find_value(to, k);
        }
        self.values[k as usize]
    }

    /// Generates an instruction after all its arguments. Uses an explicit stack instead of recursion: the compiler
    /// allows 128 nested calls in constants, and expressions may be deeper than half of that.
    const fn find_value(&mut self, to: &mut Builder, k: u16) {
        let (mut open, mut count) = ([k; FOREST], 1);
        while count > 0 {
            let k = open[count - 1];
            let op = self.forest.tree.ops[k as usize];
            let other = if op.what == NEW && self.reads_new { None } else { self.forest.stands_for(&op) };
            if let Some(missing) = self.missing(&op, other) {
                open[count] = missing;
                count += 1;
                continue;
            }
            self.values[k as usize] = match other {
                Some(other) => self.values[other as usize],
                None => self.computed(to, op),
            };
            count -= 1;
        }
    }

    /// Returns the first argument, or alias target, whose value has not been generated yet.
    const fn missing(&self, op: &Op, other: Option<u16>) -> Option<u16> {
        let (uses, count) = match other {
            Some(other) => ([other, 0, 0], 1),
            None => ([op.a, op.b, op.c], op.arity()),
        };
        let mut k = 0;
        while k < count {
            if self.values[uses[k] as usize] == NOTHING {
                return Some(uses[k]);
            }
            k += 1;
        }
        None
    }

    const fn computed(&mut self, to: &mut Builder, op: Op) -> u16 {
        let arity = op.arity();
        let a = if arity > 0 { self.value(to, op.a) } else { 0 };
        let b = if arity > 1 { self.value(to, op.b) } else { 0 };
        let c = if arity > 2 { self.value(to, op.c) } else { 0 };
        match op.what {
            SQUARE => to.op(MUL, a, a),
            MAX | MIN => {
                let mask = takes_left(to, &op, a, b);
                to.select(mask, a, b)
            }
            _ => to.put(op.with(a, b, c)),
        }
    }

    /// Generates the slopes of all instructions, along one access, or along all tangents if `along` is `None`.
    pub(crate) const fn find_slopes(&mut self, to: &mut Builder, along: Option<Access>) {
        let (moving, mut k) = (self.forest.moving(), 0);
        while k < self.forest.tree.len {
            if moving[k] {
                self.slopes[k] = self.slope(to, k as u16, along);
            }
            k += 1;
        }
    }

    const fn slope(&mut self, to: &mut Builder, k: u16, along: Option<Access>) -> SignedValue {
        let op = self.forest.tree.ops[k as usize];
        if let Some(other) = self.forest.stands_for(&op) {
            return self.slopes[other as usize];
        }
        if let Some(key) = op.key() {
            return match along {
                Some(leaf) if leaf.is(key) => SignedValue::of(to.literal(2)),
                Some(_) => SignedValue::NONE,
                None => SignedValue::of(to.put(Op { what: TANGENT, a: op.what as u16, ..op })),
            };
        }
        let arity = op.arity();
        let left = if arity > 0 { self.slopes[op.a as usize] } else { SignedValue::NONE };
        let right = if arity > 1 { self.slopes[op.b as usize] } else { SignedValue::NONE };
        if op.what == SELECT {
            let no = self.slopes[op.c as usize];
            if right.is_none() && no.is_none() {
                return right;
            }
            let mask = self.value(to, op.a);
            return to.chosen(mask, right, no);
        }
        if op.what == RULE3 {
            return self.of_three(to, op);
        }
        if left.is_none() && right.is_none() {
            return left;
        }
        match op.what {
            NEG => left.negated(),
            ADD => to.sum(left, right),
            SUB => to.sum(left, right.negated_if_some()),
            ABS | SQRT | SQUARE | RULE1 => self.of_one(to, k, op, left),
            _ => self.of_two(to, k, op, left, right),
        }
    }

    /// Generates the slope of a function of one argument.
    const fn of_one(&mut self, to: &mut Builder, k: u16, op: Op, slope: SignedValue) -> SignedValue {
        if op.what == RULE1 {
            return self.by_rule(to, slope, self.rule(op).left, Op { what: LEFT, ..op }, op.a, k);
        }
        let x = self.value(to, op.a);
        let partial = match op.what {
            SQUARE => to.op(ADD, x, x),
            SQRT => {
                let (half, value) = (to.literal(1), self.value(to, k));
                let size = to.op(ABS, value, 0);
                to.op(DIV, half, size)
            }
            _ => {
                // Slope 0 at 0, and NaN at NaN.
                let (zero, one, minus) = (to.literal(0), to.literal(2), to.literal(-2));
                let (below, above, at) = (to.op(LESS, x, zero), to.op(LESS, zero, x), to.op(EQUAL, x, zero));
                let up = to.select(above, one, x);
                let sign = to.select(below, minus, up);
                to.select(at, zero, sign)
            }
        };
        to.times(slope, partial)
    }

    /// Generates the slope of a function of two arguments.
    const fn of_two(&mut self, to: &mut Builder, k: u16, op: Op, left: SignedValue, right: SignedValue) -> SignedValue {
        match op.what {
            MUL => self.of_product(to, op, left, right),
            DIV => self.of_quotient(to, k, op, left, right),
            MAX | MIN => {
                let (x, y) = (self.value(to, op.a), self.value(to, op.b));
                let mask = takes_left(to, &op, x, y);
                let (value, one) = (self.value(to, k), to.literal(2));
                let odd = to.op(DIFFER, value, value);
                // The partial derivative is NaN where the value is.
                let partial = to.select(odd, value, one);
                let (left, right) = (to.times(left, partial), to.times(right, partial));
                to.chosen(mask, left, right)
            }
            _ => {
                let rule = self.rule(op);
                let x = self.by_rule(to, left, rule.left, Op { what: LEFT, ..op }, op.a, op.b);
                let y = self.by_rule(to, right, rule.right, Op { what: RIGHT, ..op }, op.a, op.b);
                if !rule.selects {
                    return to.sum(x, y);
                }
                let (a, b) = (self.value(to, op.a), self.value(to, op.b));
                let mask = to.put(Op { what: TAKES, a, b, ..op });
                to.chosen(mask, x, y)
            }
        }
    }

    /// Generates the slope of a function of three arguments.
    const fn of_three(&mut self, to: &mut Builder, op: Op) -> SignedValue {
        let (uses, parts) = ([op.a, op.b, op.c], [FIRST, SECOND, THIRD]);
        let (mut sum, mut k) = (SignedValue::NONE, 0);
        while k < 3 {
            let slope = self.slopes[uses[k] as usize];
            if !slope.is_none() {
                let (a, b, c) = (self.value(to, op.a), self.value(to, op.b), self.value(to, op.c));
                let partial = to.put(Op { what: parts[k], a, b, c, ..op });
                let term = to.times(slope, partial);
                sum = to.sum(sum, term);
            }
            k += 1;
        }
        sum
    }

    const fn of_product(&mut self, to: &mut Builder, op: Op, left: SignedValue, right: SignedValue) -> SignedValue {
        let (mut x, mut y) = (SignedValue::NONE, SignedValue::NONE);
        if !left.is_none() {
            let other = self.value(to, op.b);
            x = to.times(left, other);
        }
        if !right.is_none() {
            let other = self.value(to, op.a);
            y = to.times(right, other);
        }
        to.sum(x, y)
    }

    const fn of_quotient(
        &mut self,
        to: &mut Builder,
        k: u16,
        op: Op,
        left: SignedValue,
        right: SignedValue,
    ) -> SignedValue {
        let (mut x, mut y) = (SignedValue::NONE, SignedValue::NONE);
        let divisor = self.value(to, op.b);
        if !left.is_none() {
            let one = to.literal(2);
            let partial = to.op(DIV, one, divisor);
            x = to.times(left, partial);
        }
        if !right.is_none() {
            let value = self.value(to, k);
            let partial = to.op(DIV, value, divisor);
            y = to.times(right.negated(), partial);
        }
        to.sum(x, y)
    }

    const fn rule(&self, op: Op) -> &'static Rule {
        match self.forest.tree.rules[op.operand as usize] {
            Some(rule) => rule,
            None => panic!("a rule is missing"),
        }
    }

    /// Generates the contribution of one argument to the slope of a rule. `op` evaluates the partial derivative from
    /// the values of instructions `a` and `b`.
    const fn by_rule(
        &mut self,
        to: &mut Builder,
        slope: SignedValue,
        how: Slope,
        op: Op,
        a: u16,
        b: u16,
    ) -> SignedValue {
        match how {
            _ if slope.is_none() => slope,
            Slope::One => slope,
            Slope::MinusOne => slope.negated(),
            Slope::Computed => {
                let (a, b) = (self.value(to, a), self.value(to, b));
                let partial = to.put(Op { a, b, ..op });
                to.times(slope, partial)
            }
        }
    }
}
/// Generates the mask that is true where the maximum or minimum of x and y is x.
const fn takes_left(to: &mut Builder, op: &Op, x: u16, y: u16) -> u16 {
    let first = if op.what == MAX { to.op(AT_MOST, y, x) } else { to.op(AT_MOST, x, y) };
    let odd = to.op(DIFFER, y, y);
    to.op(EITHER, first, odd)
}
