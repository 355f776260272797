//! Sparsity patterns of recordings.

use super::Pattern;
use super::domains::{Domain, Room, Unions, emptied, small_union};
use core::ops::Range;
use tapewright_strategies::rules::{Curvature, Products};

/// Kind of pattern that is asked of a recording.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Inputs that the outputs depend on.
    Jacobian,
    /// Pairs of inputs in which the output is not linear.
    Hessian,
}

/// Results of the walk down the recording: the statements that count.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// True if there was no walk, and all statements count.
    pub(crate) all: bool,
    /// For each slot, true if an output depends on the variable in it.
    pub(crate) live: Vec<bool>,
    /// For each slot, true if the domain of the variable in it is needed.
    pub(crate) wanted: Vec<bool>,
    /// For each slot, the number of statements that will use its domain; empty if all domains stay.
    pub(crate) uses: Vec<u32>,
    /// For each statement, last first: true if it is live, and true if its domain is needed.
    pub(crate) statements: Vec<(bool, bool)>,
}

/// The pairs of argument positions in which a statement with this number of arguments is not linear, as ranges.
/// Positions beyond the given arguments of a function of slices are ignored.
fn products(curvature: &Curvature, arguments: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
    let (listed, halves, everywhere) = match curvature {
        Curvature::In(products) => (Some(products), 0, None),
        Curvature::Halves => (None, arguments / 2, None),
        Curvature::Everywhere => (None, 0, Some((0..arguments, 0..arguments))),
    };
    let half = move |k: usize| (k..k + 1, k + halves..k + halves + 1);
    let given = move |range: Range<usize>| range.start.min(arguments)..range.end.min(arguments);
    let listed = listed.into_iter().flat_map(Products::iter).map(move |(rows, columns)| (given(rows), given(columns)));
    listed.chain((0..halves).map(half)).chain(everywhere)
}

impl Needs {
    /// Prepares for this many slots: no slot is needed so far, or, if `all`, every slot at any time.
    pub(crate) fn begin(&mut self, all: bool, slots: usize) {
        let slots = if all { 0 } else { slots };
        self.all = all;
        for flags in [&mut self.live, &mut self.wanted] {
            flags.clear();
            flags.resize(slots, false);
        }
        self.uses.clear();
        self.uses.resize(slots, 0);
        self.statements.clear();
    }

    pub(crate) fn want(&mut self, slot: usize) {
        self.wanted[slot] = true;
        self.uses[slot] += 1;
    }

    /// Counts a use of the domain in each of these slots.
    fn used(&mut self, slots: &[usize]) {
        if !self.uses.is_empty() {
            slots.iter().for_each(|slot| self.uses[*slot] -= 1);
        }
    }

    pub(crate) fn statement(&mut self, asked: Asked, results: &[usize], arguments: &[usize], curvature: &Curvature) {
        let (mut live, mut wanted) = (false, false);
        for slot in results {
            live |= core::mem::take(&mut self.live[*slot]);
            wanted |= core::mem::take(&mut self.wanted[*slot]);
        }
        self.statements.push((live, wanted));
        if !live {
            return;
        }
        arguments.iter().for_each(|slot| self.live[*slot] = true);
        if wanted {
            arguments.iter().for_each(|slot| self.want(*slot));
        }
        if asked == Asked::Hessian {
            for (rows, columns) in products(curvature, arguments.len()) {
                rows.chain(columns).for_each(|k| self.want(arguments[k]));
            }
        }
    }
}

/// Memory of [`Found`], which a tape keeps from one pattern to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    unions: Unions,
    domains: Vec<Room>,
    needs: Needs,
    rows: Vec<Room>,
    outputs: Vec<usize>,
}

impl Memory {
    /// Bytes that the allocator gave.
    pub(crate) fn bytes(&self) -> usize {
        let Self { unions, domains, needs, rows, outputs } = self;
        let sets = (domains.capacity() + rows.capacity()) * size_of::<Room>();
        let flags = needs.live.capacity() + needs.wanted.capacity() + needs.statements.capacity() * 2;
        let uses = needs.uses.capacity() * size_of::<u32>();
        size_of::<Self>() + unions.bytes() + sets + flags + uses + outputs.capacity() * size_of::<usize>()
    }
}

/// Results of the walk up the recording, and its working memory.
pub(crate) struct Found {
    pub(crate) unions: Unions,
    /// Domain of the variable in each slot, up to the last slot that has been assigned to.
    pub(crate) domains: Vec<Domain>,
    pub(crate) needs: Needs,
    /// Rows of the Hessian's pattern so far.
    pub(crate) rows: Vec<Domain>,
    /// Slots of the outputs.
    pub(crate) outputs: Vec<usize>,
}

impl Found {
    /// Takes this memory for an empty result.
    pub(crate) fn within(memory: &mut Memory) -> Self {
        let Memory { unions, domains, needs, rows, outputs } = core::mem::take(memory);
        Self { unions, domains: emptied(domains), needs, rows: emptied(rows), outputs }
    }

    /// Empties all sets and returns their memory.
    pub(crate) fn into_memory(self) -> Memory {
        let Self { unions, domains, needs, rows, outputs } = self;
        Memory { unions, domains: emptied(domains), needs, rows: emptied(rows), outputs }
    }

    /// The union of the domains in some slots. A domain is removed from its slot at its last use.
    fn union(&mut self, slots: impl Iterator<Item = usize> + Clone) -> Domain {
        self.unions.union(&mut self.domains, &mut self.needs.uses, slots)
    }

    pub(crate) fn statement(&mut self, asked: Asked, results: &[usize], arguments: &[usize], curvature: &Curvature) {
        let all = (self.needs.all, self.needs.all);
        let (live, wanted) = self.needs.statements.pop().unwrap_or(all);
        if live && asked == Asked::Hessian {
            for (rows, columns) in products(curvature, arguments.len()) {
                let rows = self.union(rows.map(|k| arguments[k]));
                let columns = self.union(columns.map(|k| arguments[k]));
                self.meet(&rows, &columns);
            }
        }
        let arguments = if live && wanted { arguments } else { &[] };
        let slots = arguments.iter().copied();
        let domain = match (results, small_union(&self.domains, slots.clone())) {
            ([result], Some(small)) => {
                self.needs.used(arguments);
                return self.place(*result).set(small);
            }
            (_, Some(_)) => self.union(slots),
            (_, None) => self.unions.large(&mut self.domains, &mut self.needs.uses, slots),
        };
        results.iter().for_each(|slot| *self.place(*slot) = domain.clone());
    }

    /// Mutable access to the domain in this slot.
    #[inline(always)]
    pub(crate) fn place(&mut self, slot: usize) -> &mut Domain {
        if slot > self.domains.len() {
            self.domains.resize(slot, Domain::EMPTY);
        }
        if slot == self.domains.len() {
            self.domains.push(Domain::EMPTY);
        }
        &mut self.domains[slot]
    }

    /// Notes that the output is not linear in each input of one set together with each input of the other.
    fn meet(&mut self, a: &Domain, b: &Domain) {
        let Self { unions, rows, .. } = self;
        a.for_each(|row| unions.add(&mut rows[row as usize], b));
        if !a.is(b) {
            b.for_each(|row| unions.add(&mut rows[row as usize], a));
        }
    }
}

/// The pattern whose rows have entries in these columns, which ascend.
pub(crate) fn of_rows<'a>(columns: usize, rows: impl ExactSizeIterator<Item = &'a Domain> + Clone) -> Pattern {
    let mut starts = Vec::with_capacity(rows.len() + 1);
    let mut indices = Vec::with_capacity(rows.clone().map(Domain::len).sum());
    starts.push(0);
    for row in rows {
        row.append_to(&mut indices);
        starts.push(indices.len());
    }
    Pattern::of_parts(columns, starts, indices)
}
