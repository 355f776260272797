//! Programs of a kernel: lists of instructions for its values, its tangents and its partial derivatives.
//!
//! The lists are built when a kernel is compiled. Equal instructions stand in a list once, so that a subexpression
//! shared by the partial derivatives of several accesses is computed once, even if the accesses have different offsets.

#![allow(
    clippy::cast_possible_truncation,
    clippy::large_stack_arrays,
    reason = "places have few bits, `From` is not for constants, and lists exist while a kernel is compiled"
)]

use super::access::{Access, AccessKind, AccessSet, LEAVES, Needs, OPERANDS, OUTPUTS};
use super::body::Body;
use super::builder::{Builder, SignedValue};
use super::differentiate::Differentiator;
use super::instruction::opcode::{ALONG, COORDINATE, NEG, NEW, READ, SEED, SEEDED};
use super::instruction::{Op, RULES};
use super::listing::{Listing, NOTHING, STEPS};
use crate::number::simd::rule::Rule;

/// Maximum number of instructions in all lists of a kernel together.
const LISTED: usize = 3072;
/// Number of lists of a kernel.
const LISTS: usize = LEAVES + 2;

/// Instruction lists of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Concatenated lists: the values of the expressions, their derivatives along tangents, and for each access of
    /// [`used`](Self::used) Σ adjoint·∂expression/∂access, all at one point. Instruction indices count from the
    /// beginning of their list.
    ops: [Op; LISTED],
    /// End of each list in `ops`.
    ends: [usize; LISTS],
    /// Index in the list of values of the instruction that computes each expression.
    pub(crate) values: [u16; OUTPUTS],
    /// Index in the list of tangents of the instruction that computes the tangent of each expression.
    pub(crate) tangents: [u16; OUTPUTS],
    /// Index in its list of the instruction that computes each partial derivative.
    pub(crate) partials: [u16; LEAVES],
    /// Accesses that have a partial derivative.
    pub(crate) used: AccessSet,
    /// All accesses.
    pub(crate) reads: AccessSet,
    /// Accesses whose values the partial derivatives need.
    pub(crate) needs: AccessSet,
    /// Accesses whose values the partial derivatives for elements need.
    pub(crate) gathered: AccessSet,
    /// True if some partial derivative depends on coordinates of the point.
    pub(crate) needs_coordinates: bool,
    pub(crate) rules: [Option<&'static Rule>; RULES],
}

/// One of the lists of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Values,
    Tangents,
    /// Partial derivative for the access with this index in [`Programs::used`].
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
    /// Builds the lists of a kernel.
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
            gathered: AccessSet::NONE,
            needs_coordinates: false,
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
            let is_read = matches!(scripts.used.get(leaf).kind(), AccessKind::Read);
            scripts.add(List::Partial(leaf), &script);
            scripts.partials[leaf] = script.results[0];
            let mut k = 0;
            while k < script.len {
                scripts.needs_coordinates |= script.ops[k].what == COORDINATE;
                if let Some(key) = script.ops[k].key() {
                    scripts.needs = scripts.needs.and(AccessSet::of(key));
                    scripts.gathered = scripts.gathered.and(AccessSet::of(key).when(is_read));
                }
                k += 1;
            }
            leaf += 1;
        }
        scripts
    }

    /// Returns the index in [`used`](Self::used) of an access, or `None` if it has no partial derivative.
    pub(crate) fn leaf(&self, key: Access) -> Option<usize> {
        (0..self.used.len()).find(|k| self.used.get(*k) == key)
    }

    /// Dependencies of the partial derivative for an access: bits of the outputs whose adjoints it reads, and bits of
    /// the accesses of [`used`](Self::used) whose values it reads.
    pub(crate) fn needs_of(&self, leaf: usize) -> (u8, u32) {
        let (mut outputs, mut leaves) = (0, 0);
        for op in self.list(List::Partial(leaf)) {
            match op.key() {
                _ if op.what == SEED => outputs |= 1 << op.operand,
                // A new value may depend on any access of the expressions.
                Some(key) if key.kind() == AccessKind::New => leaves = u32::MAX,
                Some(key) => leaves |= self.leaf(key).map_or(0, |other| 1 << other),
                None => {}
            }
        }
        (outputs, leaves)
    }

    /// Values that the partial derivatives for each operand need.
    pub(crate) const fn needs_by_operand(&self) -> [Needs; OPERANDS] {
        let (mut needs, mut leaf) = ([Needs::NONE; OPERANDS], 0);
        while leaf < self.used.len() {
            let (ops, mut k) = (self.list(List::Partial(leaf)), 0);
            let needs = &mut needs[self.used.get(leaf).operand()];
            while k < ops.len() {
                match ops[k].what {
                    READ | ALONG => needs.views |= 1 << ops[k].operand,
                    NEW => needs.new |= 1 << ops[k].operand,
                    _ => {}
                }
                k += 1;
            }
            leaf += 1;
        }
        needs
    }

    /// Returns true if the values depend on coordinates of the point.
    pub(crate) const fn has_coordinates(&self) -> bool {
        let (ops, mut k) = (self.list(List::Values), 0);
        while k < ops.len() {
            if ops[k].what == COORDINATE {
                return true;
            }
            k += 1;
        }
        false
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

    /// Returns the start and the end of a list in `ops`.
    const fn range(&self, list: List) -> (usize, usize) {
        let number = list.number();
        (if number == 0 { 0 } else { self.ends[number - 1] }, self.ends[number])
    }

    /// Returns the instructions of a list.
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

/// Builds the list for Σ adjoint·∂expression/∂access over the expressions.
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

/// Removes the instructions that no result needs.
const fn needed(script: &Listing) -> Listing {
    let (mut is_needed, mut k) = ([false; STEPS], 0);
    while k < LEAVES {
        if script.results[k] != NOTHING {
            is_needed[script.results[k] as usize] = true;
        }
        k += 1;
    }
    // Instructions use results of earlier ones only, so one backward pass marks all that are needed.
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

/// Builds the list that gathers the adjoint of each operand's element at a point: the sum of the partial derivatives
/// for all reads of it, each evaluated at the point that reads the element.
pub(crate) const fn gather(scripts: &Programs) -> Listing {
    partials_of(scripts, AccessKind::Read)
}

/// Builds the list of the partial derivatives for uniform scalars, summed by operand.
pub(crate) const fn numbers(scripts: &Programs) -> Listing {
    partials_of(scripts, AccessKind::Number)
}

/// Builds the list of the partial derivative for an operand of lower rank.
pub(crate) const fn along(scripts: &Programs, operand: usize) -> Listing {
    let mut all = partials_of(scripts, AccessKind::Along);
    let mut k = 0;
    while k < OPERANDS {
        if k != operand {
            all.results[k] = NOTHING;
        }
        k += 1;
    }
    needed(&all)
}

/// Builds the list of the partial derivatives for accesses of one kind, summed by operand.
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
    /// Appends the partial derivative for an access. For a read, all offsets are moved so that it is evaluated at the
    /// point that reads the current element.
    const fn put_partial(&mut self, scripts: &Programs, leaf: usize) -> SignedValue {
        let (key, (first, end)) = (scripts.used.get(leaf), scripts.range(List::Partial(leaf)));
        let is_read = matches!(key.kind(), AccessKind::Read);
        let (mut moved, mut k) = ([0; STEPS], first);
        while k < end {
            let op = if is_read { scripts.ops[k].moved_by(key) } else { scripts.ops[k] };
            moved[k - first] = self.put(op.moved(&moved));
            k += 1;
        }
        // The last instruction of a list may be the sign of its result, which the sum can absorb.
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
