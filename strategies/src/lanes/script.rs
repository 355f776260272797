//! What is computed of a kernel, as lists of machine operations: its values, and its derivatives.
//!
//! Lists are made when a kernel is compiled. Equal operations stand in a list once, so that what several leaves' partials share is
//! computed once for all of them, also where it is read from different points.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::large_stack_arrays,
    reason = "places, operands, shifts and numbers of captured numbers have few bits, and `From` cannot be called in constants; lists exist while a kernel is compiled"
)]

use super::code::does::{
    ABS, ADD, AT_MOST, BOTH, DIFFER, DIV, EITHER, EQUAL, LEFT, LESS, LITERAL, MAX, MIN, MUL, NEG, NEW, READ, RIGHT,
    RULE1, SAME, SEED, SEEDED, SELECT, SQRT, SQUARE, SUB, TAKES, TANGENT,
};
use super::code::{FOREST, Op, RULES, Tree};
use super::keys::{Key, Keys, Kind, LEAVES, OPERANDS};
use super::program::OUTPUTS;
use super::rule::{Rule, Slope};

/// The largest number of operations in a list.
pub(super) const STEPS: usize = 2048;
const SLOTS: usize = 2 * STEPS;
/// No result.
pub(super) const NOTHING: u16 = u16::MAX;

/// All expressions of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Forest {
    pub(super) tree: Tree<FOREST>,
    /// The operations whose results the expressions are.
    pub(super) results: [u16; OUTPUTS],
    pub(super) count: usize,
    /// The operands that they are written to.
    pub(super) written: &'static [usize],
}

impl Forest {
    pub(super) const fn new(written: &'static [usize]) -> Self {
        Self { tree: Tree::EMPTY, results: [0; OUTPUTS], count: 0, written }
    }

    /// With one more expression.
    pub(super) const fn with<const N: usize>(mut self, tree: &Tree<N>) -> Self {
        self.results[self.count] = self.tree.append(tree, None);
        self.count += 1;
        self
    }

    /// The expression that writes this operand, if there is one.
    const fn output(&self, operand: u8) -> Option<usize> {
        let mut k = 0;
        while k < self.count && k < self.written.len() {
            if self.written[k] == operand as usize {
                return Some(k);
            }
            k += 1;
        }
        None
    }

    /// Whether there is an expression for each operand that is written, and none uses its own new value or that of a later one.
    pub(super) const fn in_order(&self) -> bool {
        let (mut k, mut op) = (0, 0);
        while k < self.count {
            // An expression's result is the last of its operations.
            while op <= self.results[k] as usize {
                if self.tree.ops[op].what == NEW
                    && let Some(output) = self.output(self.tree.ops[op].operand)
                    && output >= k
                {
                    return false;
                }
                op += 1;
            }
            k += 1;
        }
        self.count == self.written.len()
    }

    /// The operation that `op` stands for, if it stands for another one: a temporary, or what the launch writes.
    const fn stands_for(&self, op: &Op) -> Option<u16> {
        match op.what {
            SAME => Some(op.a),
            NEW => match self.output(op.operand) {
                Some(output) => Some(self.results[output]),
                None => None,
            },
            _ => None,
        }
    }

    /// All leaves, but for what the launch itself writes.
    pub(super) const fn reads(&self) -> Keys {
        let (mut keys, mut k) = (Keys::NONE, 0);
        while k < self.tree.len {
            let op = &self.tree.ops[k];
            if let Some(key) = op.key()
                && self.stands_for(op).is_none()
            {
                keys = keys.and(Keys::of(key));
            }
            k += 1;
        }
        keys
    }

    /// For each operation whether some expression's derivative depends on it.
    const fn moving(&self) -> [bool; FOREST] {
        let (mut moving, mut k) = ([false; FOREST], 0);
        while k < self.count {
            moving[self.results[k] as usize] = true;
            k += 1;
        }
        let mut k = self.tree.len;
        while k > 0 {
            k -= 1;
            let op = &self.tree.ops[k];
            if moving[k] && !op.is_mask() {
                if let Some(other) = self.stands_for(op) {
                    moving[other as usize] = true;
                }
                // Not what a choice depends on.
                let mask = op.what == SELECT && !moving[op.a as usize];
                op.mark(&mut moving);
                moving[op.a as usize] &= !mask;
            }
        }
        moving
    }

    /// The leaves that have a partial.
    pub(super) const fn used(&self) -> Keys {
        let (mut keys, mut k, moving) = (Keys::NONE, 0, self.moving());
        while k < self.tree.len {
            let op = &self.tree.ops[k];
            if moving[k]
                && let Some(key) = op.key()
                && self.stands_for(op).is_none()
            {
                keys = keys.and(Keys::of(key));
            }
            k += 1;
        }
        keys
    }
}

/// Machine operations: those of a [`Forest`] without the ones that stand for several, and with adjoints and tangents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) ops: [Op; STEPS],
    pub(super) len: usize,
    /// What is asked for, or [`NOTHING`].
    pub(super) results: [u16; LEAVES],
}

/// A result with a sign. [`Signed::NONE`] if it is 0 by the structure of a kernel.
///
/// What is not chosen contributes nothing, whatever it is multiplied with: a slope through a choice is one under a condition until it
/// has been multiplied with everything.
#[derive(Clone, Copy)]
struct Signed {
    place: u16,
    minus: bool,
    /// The yes or no where it counts; elsewhere it is 0. [`NOTHING`] if it counts everywhere.
    mask: u16,
    /// Whether it counts where the mask says no.
    inverted: bool,
    /// Whether the result at `place` is 0 already where it does not count.
    is_clear: bool,
}

impl Signed {
    const NONE: Self = Self::of(NOTHING);
    const fn of(place: u16) -> Self {
        Self { place, minus: false, mask: NOTHING, inverted: false, is_clear: true }
    }
    const fn is_none(self) -> bool {
        self.place == NOTHING
    }
    const fn negated(self) -> Self {
        Self { minus: !self.minus, ..self }
    }
    /// Where this mask says yes.
    const fn under(self, mask: u16) -> Self {
        Self { mask, inverted: false, ..self }
    }
}

/// Writes a [`Script`].
struct Writer {
    script: Script,
    /// Where equal operations are found: places in the list, by a hash of what they do.
    slots: [u16; SLOTS],
}

impl Writer {
    const fn new() -> Self {
        let script = Script { ops: [Op::NONE; STEPS], len: 0, results: [NOTHING; LEAVES] };
        Self { script, slots: [NOTHING; SLOTS] }
    }

    /// The place of this operation's result.
    const fn put(&mut self, op: Op) -> u16 {
        let bits = op.bits();
        let mixed = (bits as u64 ^ (bits >> 64) as u64 ^ (op.what as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (mixed >> 40) as usize % SLOTS;
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

    const fn op(&mut self, what: u8, a: u16, b: u16) -> u16 {
        self.put(Op::of(what, a, b, 0))
    }

    const fn select(&mut self, mask: u16, yes: u16, no: u16) -> u16 {
        self.put(Op::of(SELECT, mask, yes, no))
    }

    /// halves/2.
    const fn literal(&mut self, halves: i16) -> u16 {
        self.put(Op::of(LITERAL, 0, 0, halves.cast_unsigned()))
    }

    const fn is_literal(&self, place: u16, halves: i16) -> bool {
        let op = &self.script.ops[place as usize];
        op.what == LITERAL && op.c == halves.cast_unsigned()
    }

    /// x + y.
    const fn sum(&mut self, x: Signed, y: Signed) -> Signed {
        if x.is_none() {
            return y;
        }
        if y.is_none() {
            return x;
        }
        if x.mask == y.mask && x.inverted == y.inverted {
            return Signed { is_clear: x.is_clear && y.is_clear, ..self.added(x, y) };
        }
        let (x, y) = (self.cleared(x), self.cleared(y));
        let sum = self.added(x, y).under(NOTHING);
        if x.mask == NOTHING || y.mask == NOTHING {
            return sum;
        }
        let (a, b) = (self.mask(x), self.mask(y));
        sum.under(self.op(EITHER, a, b))
    }

    /// x + y, where x counts.
    const fn added(&mut self, x: Signed, y: Signed) -> Signed {
        let (place, minus) = match (x.minus, y.minus) {
            (false, false) => (self.op(ADD, x.place, y.place), false),
            (false, true) => (self.op(SUB, x.place, y.place), false),
            (true, false) => (self.op(SUB, y.place, x.place), false),
            (true, true) => (self.op(ADD, x.place, y.place), true),
        };
        Signed { place, minus, ..x }
    }

    /// slope·partial.
    const fn times(&mut self, slope: Signed, partial: u16) -> Signed {
        if slope.is_none() || self.is_literal(partial, 2) {
            return slope;
        }
        let place = if self.is_literal(slope.place, 2) { partial } else { self.op(MUL, slope.place, partial) };
        Signed { place, is_clear: false, ..slope }
    }

    /// With 0 where it does not count.
    const fn cleared(&mut self, x: Signed) -> Signed {
        if x.is_none() || x.mask == NOTHING || x.is_clear {
            return x;
        }
        let zero = self.literal(0);
        let (yes, no) = if x.inverted { (zero, x.place) } else { (x.place, zero) };
        Signed { place: self.select(x.mask, yes, no), is_clear: true, ..x }
    }

    /// As a number; 0 for none.
    const fn number(&mut self, x: Signed) -> u16 {
        let x = self.cleared(x);
        match (x.is_none(), x.minus) {
            (true, _) => self.literal(0),
            (false, true) => self.op(NEG, x.place, 0),
            (false, false) => x.place,
        }
    }

    /// Where it counts, if that is not everywhere.
    const fn mask(&mut self, x: Signed) -> u16 {
        if x.inverted { self.not(x.mask) } else { x.mask }
    }

    const fn not(&mut self, mask: u16) -> u16 {
        let (zero, one) = (self.literal(0), self.literal(2));
        let number = self.select(mask, zero, one);
        self.op(EQUAL, number, one)
    }

    /// The slope that a mask chooses.
    const fn chosen(&mut self, mask: u16, yes: Signed, no: Signed) -> Signed {
        if yes.is_none() && no.is_none() {
            return yes;
        }
        if no.is_none() {
            let mask = if yes.mask == NOTHING { mask } else { self.both(mask, yes) };
            return Signed { is_clear: false, ..yes.under(mask) };
        }
        if yes.is_none() {
            if no.mask == NOTHING {
                return Signed { mask, inverted: true, is_clear: false, ..no };
            }
            let not = self.not(mask);
            let mask = self.both(not, no);
            return Signed { is_clear: false, ..no.under(mask) };
        }
        let counts = self.either(mask, yes, no);
        let (yes, no) = (self.cleared(yes), self.cleared(no));
        if yes.minus == no.minus {
            return Signed { minus: yes.minus, ..Signed::of(self.select(mask, yes.place, no.place)).under(counts) };
        }
        let (yes, no) = (self.number(yes), self.number(no));
        Signed::of(self.select(mask, yes, no)).under(counts)
    }

    /// Where the mask says yes and x counts.
    const fn both(&mut self, mask: u16, x: Signed) -> u16 {
        let counts = self.mask(x);
        self.op(BOTH, mask, counts)
    }

    /// Where the one counts that a mask chooses.
    const fn either(&mut self, mask: u16, yes: Signed, no: Signed) -> u16 {
        if yes.mask == NOTHING && no.mask == NOTHING {
            return NOTHING;
        }
        let not = self.not(mask);
        let a = if yes.mask == NOTHING { mask } else { self.both(mask, yes) };
        let b = if no.mask == NOTHING { not } else { self.both(not, no) };
        self.op(EITHER, a, b)
    }
}

/// Computes values and slopes of a forest.
struct Pass<'a> {
    forest: &'a Forest,
    /// Whether what the launch has written is read, as in a sweep, or computed.
    reads_new: bool,
    values: [u16; FOREST],
    slopes: [Signed; FOREST],
}

impl<'a> Pass<'a> {
    const fn new(forest: &'a Forest, reads_new: bool) -> Self {
        Self { forest, reads_new, values: [NOTHING; FOREST], slopes: [Signed::NONE; FOREST] }
    }

    /// The value of an operation of the forest.
    const fn value(&mut self, to: &mut Writer, k: u16) -> u16 {
        if self.values[k as usize] == NOTHING {
            self.find_value(to, k);
        }
        self.values[k as usize]
    }

    /// Computes an operation, and before it those whose results it uses. Not by recursion: the compiler allows 128 calls inside one
    /// another, and expressions may be deeper than half of that.
    const fn find_value(&mut self, to: &mut Writer, k: u16) {
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

    /// The first operation that this one uses, or stands for, and that has not been computed.
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

    const fn computed(&mut self, to: &mut Writer, op: Op) -> u16 {
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

    /// The slopes of all operations, along one leaf, or along the tangents of all.
    const fn find_slopes(&mut self, to: &mut Writer, along: Option<Key>) {
        let (moving, mut k) = (self.forest.moving(), 0);
        while k < self.forest.tree.len {
            if moving[k] {
                self.slopes[k] = self.slope(to, k as u16, along);
            }
            k += 1;
        }
    }

    const fn slope(&mut self, to: &mut Writer, k: u16, along: Option<Key>) -> Signed {
        let op = self.forest.tree.ops[k as usize];
        if let Some(other) = self.forest.stands_for(&op) {
            return self.slopes[other as usize];
        }
        if let Some(key) = op.key() {
            return match along {
                Some(leaf) if leaf.is(key) => Signed::of(to.literal(2)),
                Some(_) => Signed::NONE,
                None => Signed::of(to.put(Op { what: TANGENT, a: op.what as u16, ..op })),
            };
        }
        let arity = op.arity();
        let left = if arity > 0 { self.slopes[op.a as usize] } else { Signed::NONE };
        let right = if arity > 1 { self.slopes[op.b as usize] } else { Signed::NONE };
        if op.what == SELECT {
            let no = self.slopes[op.c as usize];
            if right.is_none() && no.is_none() {
                return right;
            }
            let mask = self.value(to, op.a);
            return to.chosen(mask, right, no);
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

    /// The slope of a function of one argument.
    const fn of_one(&mut self, to: &mut Writer, k: u16, op: Op, slope: Signed) -> Signed {
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

    /// The slope of a function of two arguments.
    const fn of_two(&mut self, to: &mut Writer, k: u16, op: Op, left: Signed, right: Signed) -> Signed {
        match op.what {
            MUL => {
                let (mut x, mut y) = (Signed::NONE, Signed::NONE);
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
            DIV => {
                let (mut x, mut y) = (Signed::NONE, Signed::NONE);
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
            MAX | MIN => {
                let (x, y) = (self.value(to, op.a), self.value(to, op.b));
                let mask = takes_left(to, &op, x, y);
                let (value, one) = (self.value(to, k), to.literal(2));
                let odd = to.op(DIFFER, value, value);
                // NaN if the value is.
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

    const fn rule(&self, op: Op) -> &'static Rule {
        match self.forest.tree.rules[op.operand as usize] {
            Some(rule) => rule,
            None => panic!("a rule is missing"),
        }
    }

    /// The slope of one argument of a rule, through the rule: the partial is `op` of two values.
    const fn by_rule(&mut self, to: &mut Writer, slope: Signed, how: Slope, op: Op, a: u16, b: u16) -> Signed {
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

impl Signed {
    const fn negated_if_some(self) -> Self {
        if self.is_none() { self } else { self.negated() }
    }
}

/// Where the larger or smaller of two numbers is the left one.
const fn takes_left(to: &mut Writer, op: &Op, x: u16, y: u16) -> u16 {
    let first = if op.what == MAX { to.op(AT_MOST, y, x) } else { to.op(AT_MOST, x, y) };
    let odd = to.op(DIFFER, y, y);
    to.op(EITHER, first, odd)
}

/// The largest number of operations in the lists of a kernel that are kept in a program.
pub(super) const LISTED: usize = 3072;
/// The number of lists.
const LISTS: usize = LEAVES + 2;

/// Scripts of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Scripts {
    /// Lists of operations, one behind the other: the values of the expressions, their derivatives along tangents, and for each leaf of
    /// [`used`](Self::used) Σ adjoint·∂expression/∂leaf, all at one point. Each counts its operations from its beginning.
    ops: [Op; LISTED],
    /// Where lists end.
    ends: [usize; LISTS],
    /// Where the values, the derivatives and the partials stand in their lists.
    pub(super) values: [u16; OUTPUTS],
    pub(super) tangents: [u16; OUTPUTS],
    pub(super) partials: [u16; LEAVES],
    pub(super) used: Keys,
    pub(super) reads: Keys,
    /// The leaves whose values the partials need.
    pub(super) needs: Keys,
    pub(super) rules: [Option<&'static Rule>; RULES],
}

/// One of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Values,
    Tangents,
    /// The partial of this leaf.
    Partial(usize),
}

impl List {
    const fn number(self) -> usize {
        match self {
            Self::Values => 0,
            Self::Tangents => 1,
            Self::Partial(n) => n + 2,
        }
    }
}

impl Scripts {
    /// The scripts of a kernel.
    pub(super) const fn of(forest: &Forest) -> Self {
        let (values, tangents) = (values(forest), tangents(forest));
        let mut scripts = Self {
            ops: [Op::NONE; LISTED],
            ends: [0; LISTS],
            values: [NOTHING; OUTPUTS],
            tangents: [NOTHING; OUTPUTS],
            partials: [NOTHING; LEAVES],
            used: forest.used(),
            reads: forest.reads(),
            needs: Keys::NONE,
            rules: forest.tree.rules,
        };
        scripts.add(List::Values, &values);
        scripts.add(List::Tangents, &tangents);
        let mut k = 0;
        while k < OUTPUTS {
            (scripts.values[k], scripts.tangents[k]) = (values.results[k], tangents.results[k]);
            k += 1;
        }
        let mut leaf = 0;
        while leaf < scripts.used.len() {
            let script = partial(forest, scripts.used.get(leaf));
            scripts.add(List::Partial(leaf), &script);
            scripts.partials[leaf] = script.results[0];
            let mut k = 0;
            while k < script.len {
                if let Some(key) = script.ops[k].key() {
                    scripts.needs = scripts.needs.and(Keys::of(key));
                }
                k += 1;
            }
            leaf += 1;
        }
        scripts
    }

    /// Which leaf with a partial this is, if it is one.
    pub(super) fn leaf(&self, key: Key) -> Option<usize> {
        (0..self.used.len()).find(|k| self.used.get(*k) == key)
    }

    const fn add(&mut self, list: List, script: &Script) {
        let (mut end, mut k) = (self.range(list).0, 0);
        while k < script.len {
            assert!(
                end < LISTED,
                "the derivatives of a kernel have too many operations, more than 3072: make two kernels of it"
            );
            self.ops[end] = script.ops[k];
            end += 1;
            k += 1;
        }
        self.ends[list.number()] = end;
    }

    /// Where a list begins, and where it ends.
    const fn range(&self, list: List) -> (usize, usize) {
        let number = list.number();
        (if number == 0 { 0 } else { self.ends[number - 1] }, self.ends[number])
    }

    /// The operations of a list.
    pub(super) const fn list(&self, list: List) -> &[Op] {
        let (from, to) = self.range(list);
        self.ops.split_at(to).0.split_at(from).1
    }
}

const fn values(forest: &Forest) -> Script {
    let (mut writer, mut pass, mut k) = (Writer::new(), Pass::new(forest, false), 0);
    while k < forest.count {
        writer.script.results[k] = pass.value(&mut writer, forest.results[k]);
        k += 1;
    }
    writer.script
}

/// Σ adjoint·∂expression/∂leaf.
const fn partial(forest: &Forest, leaf: Key) -> Script {
    let (mut writer, mut pass, mut k) = (Writer::new(), Pass::new(forest, true), 0);
    pass.find_slopes(&mut writer, Some(leaf));
    let mut sum = Signed::NONE;
    while k < forest.count {
        let slope = pass.slopes[forest.results[k] as usize];
        if !slope.is_none() {
            let seed = writer.put(Op { operand: k as u8, ..Op::of(SEED, 0, 0, 0) });
            let one = writer.is_literal(slope.place, 2);
            let place = if one { seed } else { writer.op(SEEDED, seed, slope.place) };
            sum = writer.sum(sum, Signed { place, ..slope });
        }
        k += 1;
    }
    writer.script.results[0] = writer.number(sum);
    needed(&writer.script)
}

/// A script without the operations that its results do not need.
const fn needed(script: &Script) -> Script {
    let (mut is_needed, mut k) = ([false; STEPS], 0);
    while k < LEAVES {
        if script.results[k] != NOTHING {
            is_needed[script.results[k] as usize] = true;
        }
        k += 1;
    }
    let mut k = script.len;
    while k > 0 {
        k -= 1;
        if is_needed[k] {
            script.ops[k].mark(&mut is_needed);
        }
    }
    let (mut rest, mut moved, mut k) = (Writer::new(), [0; STEPS], 0);
    while k < script.len {
        if is_needed[k] {
            moved[k] = rest.put(script.ops[k].moved(&moved));
        }
        k += 1;
    }
    let mut k = 0;
    while k < LEAVES {
        if script.results[k] != NOTHING {
            rest.script.results[k] = moved[script.results[k] as usize];
        }
        k += 1;
    }
    rest.script
}

/// The partials for elements, each at the point that reads the element, added up by operand: for each operand what its element at a
/// point gets.
pub(super) const fn gather(scripts: &Scripts) -> Script {
    partials_of(scripts, Kind::Read)
}

/// The partials for numbers that all points share, by operand.
pub(super) const fn numbers(scripts: &Scripts) -> Script {
    partials_of(scripts, Kind::Number)
}

/// The partials for leaves of a kind, added up by operand; equal operations are computed once.
const fn partials_of(scripts: &Scripts, kind: Kind) -> Script {
    let (mut writer, mut sums, mut leaf) = (Writer::new(), [Signed::NONE; OPERANDS], 0);
    while leaf < scripts.used.len() {
        let key = scripts.used.get(leaf);
        if key.kind() as u8 == kind as u8 {
            let partial = writer.put_partial(scripts, leaf);
            sums[key.operand()] = writer.sum(sums[key.operand()], partial);
        }
        leaf += 1;
    }
    let mut operand = 0;
    while operand < OPERANDS {
        if !sums[operand].is_none() {
            writer.script.results[operand] = writer.number(sums[operand]);
        }
        operand += 1;
    }
    writer.script
}

impl Writer {
    /// The partial of a leaf, at the point that reads it if it is an element.
    const fn put_partial(&mut self, scripts: &Scripts, leaf: usize) -> Signed {
        let (key, (first, end)) = (scripts.used.get(leaf), scripts.range(List::Partial(leaf)));
        let is_read = matches!(key.kind(), Kind::Read);
        let (mut moved, mut k) = ([0; STEPS], first);
        while k < end {
            let mut op = scripts.ops[k];
            if is_read && matches!(op.what, READ | NEW | SEED) {
                let mut d = 0;
                while d < 4 {
                    op.shift[d] -= key.shift(d) as i8;
                    d += 1;
                }
            }
            moved[k - first] = self.put(op.moved(&moved));
            k += 1;
        }
        // A list's last operation may be the sign of its result.
        let place = moved[scripts.partials[leaf] as usize];
        let last = self.script.ops[place as usize];
        if last.what == NEG { Signed::of(last.a).negated() } else { Signed::of(place) }
    }
}

const fn tangents(forest: &Forest) -> Script {
    let (mut writer, mut pass, mut k) = (Writer::new(), Pass::new(forest, true), 0);
    pass.find_slopes(&mut writer, None);
    while k < forest.count {
        writer.script.results[k] = writer.number(pass.slopes[forest.results[k] as usize]);
        k += 1;
    }
    needed(&writer.script)
}

const _: () = assert!(LEAVES >= OUTPUTS && LEAVES >= OPERANDS, "a script has a place for each result");
