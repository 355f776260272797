//! The sweep from the first record to the last: tangents of all variables from tangents of inputs, along one or several
//! directions.
//!
//! The tangents of one variable, a *lane* for each direction, are adjacent in memory. For one direction, the function
//! of a layout adds up the tangent, see `single`; for several, it lists the partials in a row. Each lane gets, bit for
//! bit, the result of a sweep along its direction alone: all sums begin with the second argument and end with the
//! first.

use crate::contract::AtExternal;
use crate::identifier::IndexType;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::format::entry_points::AnyData;
use crate::tape::format::kind::{Ids, Terms};
use crate::tape::format::layout::Layout;
use crate::tape::read::cursor::{Met, Visit};
use crate::tape::read::record::Record;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, SweepError, counts};
use core::marker::PhantomData;

/// The maximum number of arguments of records whose partials fit in the row.
pub(super) const ROW: usize = 32;

/// The tangents of all variables, a lane for each direction.
pub(super) struct Lanes<'a, V> {
    pub(super) count: usize,
    pub(super) tangents: &'a mut [V],
}

impl<V: Number> Lanes<'_, V> {
    /// Sets the tangents of a variable to the sums Σ partial·tangent over these arguments.
    #[inline(always)]
    fn add_up(&mut self, result: usize, terms: impl Iterator<Item = (usize, V)> + Clone) {
        let mut lane = 0;
        while self.count - lane >= 8 {
            self.add_up_in::<8>(result, lane, terms.clone());
            lane += 8;
        }
        if self.count - lane >= 4 {
            self.add_up_in::<4>(result, lane, terms.clone());
            lane += 4;
        }
        if self.count - lane >= 2 {
            self.add_up_in::<2>(result, lane, terms.clone());
            lane += 2;
        }
        if self.count > lane {
            self.add_up_in::<1>(result, lane, terms);
        }
    }

    /// Sets the tangents in `W` lanes, from this lane on. All are read before one is written, since a variable may be
    /// an argument of the statement that assigns to it.
    #[inline(always)]
    fn add_up_in<const W: usize>(
        &mut self,
        result: usize,
        lane: usize,
        terms: impl Iterator<Item = (usize, V)> + Clone,
    ) {
        let mut sums = [V::ZERO; W];
        let mut rest = terms.clone();
        if const { !V::VARIABLE }
            && let Some((id, first)) = rest.next()
        {
            for (id, partial) in rest {
                V::add_contributions(&mut sums, partial, self.at(id, lane));
            }
            V::add_contributions(&mut sums, first, self.at(id, lane));
        }
        if const { V::VARIABLE } || V::are_suspect(&sums) {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = self.sum_with_care(lane + k, terms.clone());
            }
        }
        self.tangents[result * self.count + lane..][..W].copy_from_slice(&sums);
    }

    /// Returns the tangents in `W` lanes of a variable, from this lane on.
    #[inline(always)]
    fn at<const W: usize>(&self, id: usize, lane: usize) -> &[V; W] {
        self.tangents[id * self.count + lane..].first_chunk().expect("there is a tangent for each identifier")
    }

    /// Returns Σ partial·tangent over the arguments, the first one last, where zero times anything is zero.
    #[cold]
    #[inline(never)]
    fn sum_with_care(&self, lane: usize, mut terms: impl Iterator<Item = (usize, V)>) -> V {
        let first = terms.next();
        terms.chain(first).fold(V::ZERO, |sum, (id, partial)| {
            let tangent = self.tangents[id * self.count + lane];
            if counts(tangent, partial) { sum + tangent.contribution(partial) } else { sum }
        })
    }

    /// Returns true if one of these variables has a tangent that is not 0.
    pub(super) fn moves<I: IndexType>(&self, ids: Ids<'_, I>) -> bool {
        let any = |id: usize| self.tangents[id * self.count..][..self.count].iter().any(|tangent| !tangent.is_nought());
        ids.fold(false, |moves, id| moves | any(id))
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from the first statement to the last; see [`Reverse::forward_through`](crate::Reverse::forward_through).
    pub(crate) fn forward_through(
        &self,
        lanes: usize,
        tangents: &mut [V],
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        assert!(lanes > 0, "a sweep has at least one direction");
        self.check_length(tangents.len() / lanes);
        let (mut values, lanes) = (self.walked_values(), Lanes { count: lanes, tangents });
        if lanes.count == 1 && !V::VARIABLE {
            return self.forward_alone(&mut values, lanes.tangents, at);
        }
        self.up_by_code(&mut values, &mut Several { lanes, row: [V::ZERO; ROW], at, of: PhantomData::<Self> })
    }

    /// Sweeps over a record of any kind, with any tangents.
    #[inline(never)]
    pub(super) fn forward_varying(
        record: &Record<'_, V, M::Index>,
        number: usize,
        values: &[V],
        lanes: &mut Lanes<'_, V>,
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        if let Some(external) = record.external {
            return at(external, 0..lanes.count, lanes.tangents);
        }
        if record.is_statement() {
            let mut partials = Scratch::<V>::new();
            // Closures of users are not called in vain.
            if lanes.moves(record.ids()) {
                record.contributions(V::ONE, values, &mut partials);
            }
            lanes.add_up(Self::result(record, number), record.ids().zip(partials.iter().copied()));
        }
        Ok(())
    }
}

/// The sweep along several directions.
struct Several<'a, V: 'static, R> {
    lanes: Lanes<'a, V>,
    /// The partials of a statement, if its record does not list them.
    row: [V; ROW],
    at: &'a mut AtExternal<'a, V>,
    of: PhantomData<R>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Visit<V, M::Index> for Several<'_, V, Records<V, M, L, K>> {
    #[inline(always)]
    fn meet(&mut self, met: Met<'_, V, M::Index>, number: usize, values: &[V]) -> Result<(), SweepError> {
        match met {
            Met::Terms(terms, result) => self.lanes.add_up(result, terms),
            Met::Fixed(layout, data, result) => self.compute(layout, &data, result, values),
            Met::Other(record) => {
                return Records::<V, M, L, K>::forward_varying(&record, number, values, &mut self.lanes, self.at);
            }
        }
        Ok(())
    }
}

impl<V: Number, R> Several<'_, V, R> {
    /// Sweeps over the record of a statement whose kind has records of one length.
    #[inline(never)]
    fn compute<I: IndexType>(&mut self, layout: &Layout<V>, data: &AnyData<'_, V, I>, result: usize, values: &[V]) {
        let (n, ids) = (data.arguments(), data.ids());
        // Partials that are kept cost less than a look at the tangents.
        if !layout.partials && !self.lanes.moves(ids.clone()) {
            self.lanes.add_up(result, core::iter::empty());
        } else if let Some(row) = self.row.get_mut(..n) {
            data.list(V::ONE, values, row);
            self.lanes.add_up(result, Terms::of(&ids, row));
        } else {
            let mut partials = Scratch::<V>::new();
            data.contributions(V::ONE, values, &mut partials);
            self.lanes.add_up(result, ids.zip(partials.iter().copied()));
        }
    }
}
