//! What is computed of a kernel, as lists of machine operations: its values, and its derivatives.
//!
//! Lists are made when a kernel is compiled. Equal operations stand in a list once, so that what several leaves'
//! partials share is computed once for all of them, also where it is read from different points.

#![allow(
    clippy::cast_possible_truncation,
    clippy::large_stack_arrays,
    reason = "places have few bits, `From` is not for constants, and lists exist while a kernel is compiled"
)]

use super::access::{Access, AccessKind, AccessSet, LEAVES, OPERANDS, OUTPUTS};
use super::body::Body;
use super::builder::{Builder, SignedValue};
use super::differentiate::Differentiator;
use super::instruction::opcode::{NEG, NEW, READ, SEED, SEEDED};
use super::instruction::{Op, RULES};
use super::listing::{Listing, NOTHING, STEPS};
use crate::number::simd::rule::Rule;

/// The largest number of operations in the lists of a kernel that are kept in a program.
const LISTED: usize = 3072;
/// The number of lists.
const LISTS: usize = LEAVES + 2;

/// Scripts of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Lists of operations, one behind the other: the values of the expressions, their derivatives along tangents, and
    /// for each leaf of [`used`](Self::used) Σ adjoint·∂expression/∂leaf, all at one point. Each counts its operations
    /// from its beginning.
    ops: [Op; LISTED],
    /// Where lists end.
    ends: [usize; LISTS],
    /// Where the values, the derivatives and the partials stand in their lists.
    pub(crate) values: [u16; OUTPUTS],
    pub(crate) tangents: [u16; OUTPUTS],
    pub(crate) partials: [u16; LEAVES],
    pub(crate) used: AccessSet,
    pub(crate) reads: AccessSet,
    /// The leaves whose values the partials need.
    pub(crate) needs: AccessSet,
    pub(crate) rules: [Option<&'static Rule>; RULES],
}

/// One of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
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

impl Programs {
    /// The scripts of a kernel.
    pub(crate) const fn of(forest: &Body) -> Self {
        let (values, tangents) = (values(forest), tangents(forest));
        let mut scripts = Self {
            ops: [Op::NONE; LISTED],
            ends: [0; LISTS],
            values: [NOTHING; OUTPUTS],
            tangents: [NOTHING; OUTPUTS],
            partials: [NOTHING; LEAVES],
            used: forest.used(),
            reads: forest.reads(),
            needs: AccessSet::NONE,
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
                    scripts.needs = scripts.needs.and(AccessSet::of(key));
                }
                k += 1;
            }
            leaf += 1;
        }
        scripts
    }

    /// Which leaf with a partial this is, if it is one.
    pub(crate) fn leaf(&self, key: Access) -> Option<usize> {
        (0..self.used.len()).find(|k| self.used.get(*k) == key)
    }

    /// What the partial of a leaf depends on: bits of the outputs whose adjoints count, and bits of the leaves of
    /// [`used`](Self::used) whose values do.
    pub(crate) fn needs_of(&self, leaf: usize) -> (u8, u32) {
        let (mut outputs, mut leaves) = (0, 0);
        for op in self.list(List::Partial(leaf)) {
            match op.key() {
                _ if op.what == SEED => outputs |= 1 << op.operand,
                // It may depend on any leaf of the expressions.
                Some(key) if key.kind() == AccessKind::New => leaves = u32::MAX,
                Some(key) => leaves |= self.leaf(key).map_or(0, |other| 1 << other),
                None => {}
            }
        }
        (outputs, leaves)
    }

    const fn add(&mut self, list: List, script: &Listing) {
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
    pub(crate) const fn list(&self, list: List) -> &[Op] {
        let (from, to) = self.range(list);
        self.ops.split_at(to).0.split_at(from).1
    }
}

const fn values(forest: &Body) -> Listing {
    let (mut writer, mut pass, mut k) = (Builder::new(), Differentiator::new(forest, false), 0);
    while k < forest.count {
        writer.script.results[k] = pass.value(&mut writer, forest.results[k]);
        k += 1;
    }
    writer.script
}

/// Σ adjoint·∂expression/∂leaf.
const fn partial(forest: &Body, leaf: Access) -> Listing {
    let (mut writer, mut pass, mut k) = (Builder::new(), Differentiator::new(forest, true), 0);
    pass.find_slopes(&mut writer, Some(leaf));
    let mut sum = SignedValue::NONE;
    while k < forest.count {
        let slope = pass.slopes[forest.results[k] as usize];
        if !slope.is_none() {
            let seed = writer.put(Op { operand: k as u8, ..Op::of(SEED, 0, 0, 0) });
            let one = writer.is_literal(slope.place, 2);
            let place = if one { seed } else { writer.op(SEEDED, seed, slope.place) };
            sum = writer.sum(sum, slope.at(place));
        }
        k += 1;
    }
    writer.script.results[0] = writer.number(sum);
    needed(&writer.script)
}

/// A script without the operations that its results do not need.
const fn needed(script: &Listing) -> Listing {
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
    let (mut rest, mut moved, mut k) = (Builder::new(), [0; STEPS], 0);
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

/// The partials for elements, each at the point that reads the element, added up by operand: for each operand what its
/// element at a point gets.
pub(crate) const fn gather(scripts: &Programs) -> Listing {
    partials_of(scripts, AccessKind::Read)
}

/// The partials for numbers that all points share, by operand.
pub(crate) const fn numbers(scripts: &Programs) -> Listing {
    partials_of(scripts, AccessKind::Number)
}

/// The partials for leaves of a kind, added up by operand; equal operations are computed once.
const fn partials_of(scripts: &Programs, kind: AccessKind) -> Listing {
    let (mut writer, mut sums, mut leaf) = (Builder::new(), [SignedValue::NONE; OPERANDS], 0);
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

impl Builder {
    /// The partial of a leaf, at the point that reads it if it is an element.
    const fn put_partial(&mut self, scripts: &Programs, leaf: usize) -> SignedValue {
        let (key, (first, end)) = (scripts.used.get(leaf), scripts.range(List::Partial(leaf)));
        let is_read = matches!(key.kind(), AccessKind::Read);
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
        if last.what == NEG { SignedValue::of(last.a).negated() } else { SignedValue::of(place) }
    }
}

const fn tangents(forest: &Body) -> Listing {
    let (mut writer, mut pass, mut k) = (Builder::new(), Differentiator::new(forest, true), 0);
    pass.find_slopes(&mut writer, None);
    while k < forest.count {
        writer.script.results[k] = writer.number(pass.slopes[forest.results[k] as usize]);
        k += 1;
    }
    needed(&writer.script)
}
