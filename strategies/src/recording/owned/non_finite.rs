//! Search for the first non-finite adjoint, under the policy [`Tracing`](crate::policy::Tracing).

use crate::contract::{Order, RecordKind, RecordView};
use crate::external::{Entry, Mark, NonFinite, NonFiniteKind};
use crate::kernel::memory::Shadows;
use crate::number::all_finite;
use crate::policy::Policy;
use crate::recording::current::list::OwnedTape;
use crate::{Number, Reverse, SweepError, counts};

/// The adjoints with which a sweep begins.
pub(crate) struct Beginning<V> {
    lanes: usize,
    /// The adjoints that are not 0, with their indices in the vector.
    seeds: Vec<(usize, V)>,
    arrays: Vec<Shadows<V>>,
}

impl<V: Number> Beginning<V> {
    pub(crate) fn of(lanes: usize, adjoints: &[V], arrays: &[Shadows<V>]) -> Self {
        let seeds = adjoints.iter().copied().enumerate().filter(|(_, adjoint)| !adjoint.is_nought()).collect();
        let arrays = if arrays.iter().all(Shadows::is_empty) { Vec::new() } else { arrays.to_vec() };
        Self { lanes, seeds, arrays }
    }
}

impl<S: Reverse> OwnedTape<S> {
    /// Returns the outcome of a sweep that began with `began`. If the sweep has left non-finite adjoints, sweeps again,
    /// record by record, and notes the first one, unless an earlier sweep has found one.
    #[inline(always)]
    pub(crate) fn watched(
        &self,
        outcome: Result<(), SweepError>,
        ends: (Option<Mark>, Option<Mark>),
        began: Option<Beginning<S::Value>>,
        adjoints: &[S::Value],
    ) -> Result<(), SweepError> {
        if let Some(began) = began
            && outcome.is_ok()
        {
            S::Policy::tracing(|| self.watch(ends, began, adjoints));
        }
        outcome
    }

    fn watch(&self, ends: (Option<Mark>, Option<Mark>), began: Beginning<S::Value>, adjoints: &[S::Value]) {
        // The slot of passive variables holds unspecified adjoints after a sweep.
        let left = adjoints.get(began.lanes..).unwrap_or_default();
        let Some(at) = left.iter().position(|adjoint| !all_finite(*adjoint)) else { return };
        // Launches that exchange messages must not run a second time, because other processes do not expect the
        // messages.
        let Some(notes) = self.externals().notes().filter(|notes| notes.adjoint.get().is_none()) else { return };
        if self.must_be_swept() {
            return;
        }
        // The sweep has succeeded, even if the search fails.
        if let Ok(Some(found)) = self.look_for(ends, at % began.lanes, began) {
            // Another thread may have set it meanwhile.
            _ = notes.adjoint.set(found);
        }
    }

    /// Sweeps in one lane, record by record, and returns the first non-finite adjoint.
    #[cold]
    fn look_for(
        &self,
        ends: (Option<Mark>, Option<Mark>),
        lane: usize,
        mut began: Beginning<S::Value>,
    ) -> Result<Option<NonFinite<S::Value>>, SweepError> {
        let mut adjoints = vec![S::Value::ZERO; S::identifiers(self.tape())];
        for (at, seed) in began.seeds.iter().filter(|(at, _)| at % began.lanes == lane) {
            if let Some(adjoint) = adjoints.get_mut(at / began.lanes) {
                *adjoint = *seed;
            }
        }
        let mut arrays = began.arrays.get_mut(lane).map(core::mem::take).unwrap_or_default();
        let mut found = None;
        S::visit(self.tape(), Order::Descending(ends.0, ends.1), &mut |record| {
            if found.is_none() {
                found = self.first_in(record, &mut adjoints, &mut arrays)?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Sweeps over a record, and returns the first adjoint that becomes non-finite.
    fn first_in(
        &self,
        record: &RecordView<'_, S::Value>,
        adjoints: &mut [S::Value],
        arrays: &mut Shadows<S::Value>,
    ) -> Result<Option<NonFinite<S::Value>>, SweepError> {
        let found = match record.kind {
            RecordKind::Inputs => None,
            RecordKind::Statement { result } => {
                first_in_statement(record, core::mem::replace(&mut adjoints[result], S::Value::ZERO), adjoints)
            }
            RecordKind::External(external) => first_in_call(self.entry(external)?, adjoints, arrays)?,
        };
        let location = self.externals().notes().and_then(|notes| notes.place(record.number));
        Ok(found.map(|found| NonFinite { location, ..found }))
    }
}

/// Sweeps over a statement whose result has the adjoint `seed`, and returns the first adjoint that becomes non-finite.
fn first_in_statement<V: Number>(record: &RecordView<'_, V>, seed: V, adjoints: &mut [V]) -> Option<NonFinite<V>> {
    if !all_finite(seed) {
        return Some(NonFinite::new(NonFiniteKind::Adjoint, seed, None));
    }
    let mut partials = Vec::new();
    if !seed.is_nought() {
        (record.partials)(&mut partials);
    }
    for (k, (slot, partial)) in record.arguments.iter().zip(partials).enumerate() {
        if *slot != 0 && counts(seed, partial) {
            adjoints[*slot] += seed.contribution(partial);
            let number = adjoints[*slot];
            if !all_finite(number) {
                let (argument, factors) = (Some(k), Some((seed, partial)));
                return Some(NonFinite { argument, factors, ..NonFinite::new(NonFiniteKind::Adjoint, number, None) });
            }
        }
    }
    None
}

/// Sweeps over an external function or a launch, and returns the first adjoint that becomes non-finite.
fn first_in_call<V: Number>(
    entry: &Entry<V>,
    adjoints: &mut [V],
    arrays: &mut Shadows<V>,
) -> Result<Option<NonFinite<V>>, SweepError> {
    let seed = entry.outputs.iter().map(|slot| adjoints[slot]).find(|adjoint| !all_finite(*adjoint));
    entry.reverse(1, adjoints, core::slice::from_mut(arrays))?;
    let found = |number| NonFinite::new(NonFiniteKind::Adjoint, number, None);
    if let Some(seed) = seed {
        return Ok(Some(found(seed)));
    }
    let argument = entry.inputs.iter().position(|slot| slot != 0 && !all_finite(adjoints[slot]));
    Ok(argument.map(|k| NonFinite { argument, ..found(adjoints[entry.inputs.get(k)]) }))
}
