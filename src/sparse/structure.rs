//! Patterns of recordings.

use super::domains::{Domain, Room, Small, Unions, emptied, small_union};
use super::pattern::Pattern;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use core::ops::Range;
use tapewright_strategies::recording::Numbering;
use tapewright_strategies::{Curvature, Order, Products, Reverse};

/// What is asked of a recording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// What the outputs depend on.
    Jacobian,
    /// In which pairs of inputs the output is not linear.
    Hessian,
}

/// What a walk down the recording finds out: which statements count.
#[derive(Debug, Default)]
struct Needs {
    /// Whether there was no walk, and all of them do.
    all: bool,
    /// For each slot, whether an output depends on what is there.
    live: Vec<bool>,
    /// For each slot, whether the domain of what is there is asked for.
    wanted: Vec<bool>,
    /// For each slot, how many statements ask for its domain; empty where all of them stay.
    uses: Vec<u32>,
    /// For each statement, last first, whether it is live and whether its domain is wanted.
    statements: Vec<(bool, bool)>,
}

/// The pairs of positions in which a statement with this number of arguments is not linear, as ranges. What a function
/// of slices says of arguments that it has not been given is ignored.
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
    /// Of this many slots, nothing is needed so far, or, if `all`, everything at any time.
    fn begin(&mut self, all: bool, slots: usize) {
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

    fn want(&mut self, slot: usize) {
        self.wanted[slot] = true;
        self.uses[slot] += 1;
    }

    /// Counts a use of what is in each of these slots.
    fn used(&mut self, slots: &[usize]) {
        if !self.uses.is_empty() {
            slots.iter().for_each(|slot| self.uses[*slot] -= 1);
        }
    }

    fn statement(&mut self, asked: Asked, results: &[usize], arguments: &[usize], curvature: &Curvature) {
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

/// Memory that a tape keeps from one pattern to the next: that of [`Found`].
#[derive(Debug, Default)]
pub(crate) struct Memory {
    unions: Unions,
    domains: Vec<Room>,
    needs: Needs,
    rows: Vec<Room>,
    outputs: Vec<usize>,
}

impl Memory {
    /// Bytes obtained from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let Self { unions, domains, needs, rows, outputs } = self;
        let sets = (domains.capacity() + rows.capacity()) * size_of::<Room>();
        let flags = needs.live.capacity() + needs.wanted.capacity() + needs.statements.capacity() * 2;
        let uses = needs.uses.capacity() * size_of::<u32>();
        size_of::<Self>() + unions.bytes() + sets + flags + uses + outputs.capacity() * size_of::<usize>()
    }
}

/// What a walk up the recording finds, and what it takes for that.
struct Found {
    unions: Unions,
    /// What is in each slot, up to the last one that something has been assigned to.
    domains: Vec<Domain>,
    needs: Needs,
    /// The rows of the Hessian's pattern so far.
    rows: Vec<Domain>,
    /// The slots of the outputs.
    outputs: Vec<usize>,
}

impl Found {
    /// In this memory.
    fn within(memory: &mut Memory) -> Self {
        let Memory { unions, domains, needs, rows, outputs } = core::mem::take(memory);
        Self { unions, domains: emptied(domains), needs, rows: emptied(rows), outputs }
    }

    /// Forgets all sets.
    fn into_memory(self) -> Memory {
        let Self { unions, domains, needs, rows, outputs } = self;
        Memory { unions, domains: emptied(domains), needs, rows: emptied(rows), outputs }
    }

    /// The union of the domains of what is in some slots. A domain that nobody asks for again is used up.
    fn union(&mut self, slots: impl Iterator<Item = usize> + Clone) -> Domain {
        self.unions.union(&mut self.domains, &mut self.needs.uses, slots)
    }

    fn statement(&mut self, asked: Asked, results: &[usize], arguments: &[usize], curvature: &Curvature) {
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

    /// What is in this slot, to be changed.
    #[inline(always)]
    fn place(&mut self, slot: usize) -> &mut Domain {
        if slot > self.domains.len() {
            self.domains.resize(slot, Domain::EMPTY);
        }
        if slot == self.domains.len() {
            self.domains.push(Domain::EMPTY);
        }
        &mut self.domains[slot]
    }

    /// Notes that the output is not linear in each of some inputs together with each of others.
    fn meet(&mut self, a: &Domain, b: &Domain) {
        let Self { unions, rows, .. } = self;
        a.for_each(|row| unions.add(&mut rows[row as usize], b));
        if !a.is(b) {
            b.for_each(|row| unions.add(&mut rows[row as usize], a));
        }
    }
}

/// The pattern whose rows have entries in these columns, which ascend.
fn pattern<'a>(columns: usize, rows: impl ExactSizeIterator<Item = &'a Domain> + Clone) -> Pattern {
    let mut starts = Vec::with_capacity(rows.len() + 1);
    let mut indices = Vec::with_capacity(rows.clone().map(Domain::len).sum());
    starts.push(0);
    for row in rows {
        row.append_to(&mut indices);
        starts.push(indices.len());
    }
    Pattern::of_parts(columns, starts, indices)
}

/// # Sparsity
impl<S: Reverse> Tape<S> {
    /// The pattern of the Jacobian matrix of these outputs with respect to these inputs: an entry where an output
    /// depends, statement by statement, on an input. Nothing is computed but sets of inputs.
    ///
    /// External functions, stages and time loops are taken to depend on all of their inputs. Launches of
    /// [array kernels](crate::kernels) are looked at element by element. A variable among `inputs` that is no input of
    /// the recording has an empty column, as its adjoint is 0 in every sweep.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when a variable belongs to another recording; [`Error::Sweep`] when there are
    /// messages in the recording, and when the strategy does not tell what
    /// statements depend on (all of this library that record do); [`Error::Storage`] when records cannot be read back
    /// from disk.
    pub fn jacobian_pattern(&self, inputs: &[Real<S>], outputs: &[Real<S>]) -> Result<Pattern, Error> {
        self.with_found(|found| {
            self.walk(Asked::Jacobian, (inputs, outputs), found)?;
            let of = |slot: &usize| found.domains.get(*slot).unwrap_or(&Domain::EMPTY);
            Ok(pattern(inputs.len(), found.outputs.iter().map(of)))
        })
    }

    /// The pattern of the Hessian matrix of this output with respect to these inputs: a symmetric pattern with an entry
    /// where a statement that the output depends on may be non-linear in both inputs.
    ///
    /// [`PrimalValue`](crate::PrimalValue) knows the operators of its statements: `x * y` is not linear in the pair
    /// (x, y) alone, and a sum is linear. So does [`Hybrid`](crate::Hybrid), where it keeps what partial derivatives
    /// are computed from. Other strategies know only that sums and differences of variables are linear. They take all
    /// pairs of the arguments of other statements for non-linear, even of 2x + y. So does every strategy for external
    /// functions, for statements whose derivatives were given by the user, and for functions such as |x|, whose second
    /// derivative is 0. Expressions of array kernels are known under every strategy.
    ///
    /// Functions of slices some of whose arguments are passive are known to be linear in the others if they are, as
    /// long as the tape has met fewer than 208 types of statements:
    /// [`linear_combination`](crate::linear_combination) always, [`dot`](crate::dot) if each product has a passive
    /// factor. If they are not linear, they are taken to be so in no pair of their active arguments.
    ///
    /// # Errors
    ///
    /// As [`jacobian_pattern`](Self::jacobian_pattern).
    pub fn hessian_pattern(&self, inputs: &[Real<S>], output: &Real<S>) -> Result<Pattern, Error> {
        self.with_found(|found| {
            self.walk(Asked::Hessian, (inputs, core::slice::from_ref(output)), found)?;
            Ok(pattern(inputs.len(), found.rows.iter()))
        })
    }

    /// Lends `f` the memory that the tape keeps for this; new memory while another thread has it.
    fn with_found<R>(&self, f: impl FnOnce(&mut Found) -> R) -> R {
        let kept = self.patterns().try_lock().ok().and_then(|mut kept| kept.take());
        let mut memory: Box<Memory> = kept.unwrap_or_default();
        let mut found = Found::within(&mut memory);
        let outcome = f(&mut found);
        *memory = found.into_memory();
        if let Ok(mut kept) = self.patterns().try_lock() {
            *kept = Some(memory);
        }
        outcome
    }

    /// What is needed for the outputs.
    fn needs(&self, asked: Asked, numbering: &Numbering, found: &mut Found) -> Result<(), Error> {
        let Found { needs, outputs, .. } = found;
        for output in outputs {
            needs.live[*output] = true;
            if asked == Asked::Jacobian {
                needs.want(*output);
            }
        }
        self.owned().dependences(numbering, Order::Descending(None, None), |results, arguments, curvature| {
            needs.statement(asked, results, arguments, curvature);
        })?;
        Ok(())
    }

    fn walk(&self, asked: Asked, of: (&[Real<S>], &[Real<S>]), found: &mut Found) -> Result<(), Error> {
        let (inputs, outputs) = of;
        assert!(u32::try_from(inputs.len()).is_ok(), "patterns have fewer than 2^32 columns");
        let numbering = self.owned().numbering()?;
        found.outputs.clear();
        for output in outputs {
            found.outputs.push(self.slot(output)?.unwrap_or(0));
        }
        // If all variables are inputs or outputs, and none takes the place of another one, all sets are asked for.
        let (most, records) = (1 + inputs.len() + outputs.len(), S::next_record(self.owned().tape()));
        let all = asked == Asked::Jacobian && numbering.count().max(records) <= most;
        found.needs.begin(all, numbering.count());
        if !all {
            self.needs(asked, &numbering, found)?;
        }
        found.unions.begin(inputs.len());
        found.rows.resize(if asked == Asked::Hessian { inputs.len() } else { 0 }, Domain::EMPTY);
        found.domains.reserve_exact(numbering.count());
        for (k, input) in (0..).zip(inputs) {
            let Some(slot) = self.slot(input)? else { continue };
            let place = found.place(slot);
            if place.len() == 0 {
                place.set(Small::one(k));
            } else {
                found.unions.add(&mut found.domains[slot], &Domain::one(k)); // it is listed twice
            }
        }
        self.owned().dependences(&numbering, Order::Ascending, |results, arguments, curvature| {
            found.statement(asked, results, arguments, curvature);
        })?;
        Ok(())
    }
}
