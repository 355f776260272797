//! Sweeps of recordings with their external functions.

use super::non_finite::Beginning;
use crate::external::Entry;
use crate::kernel::{Arena, Launch, Shadows};
use crate::recording::current::list::OwnedTape;
use crate::recording::current::state::Place;
use crate::{Mark, Number, Policy, Reverse, SweepError};
use std::sync::Arc;

/// Clears the slot of passive variables, to which sweeps add. What an earlier sweep has left there may be a variable of
/// a recording that is over, and nothing could be added to it.
#[inline(always)]
fn forget_passive<V: Number>(adjoints: &mut [V], lanes: usize) {
    if const { V::VARIABLE } {
        adjoints.iter_mut().take(lanes).for_each(|adjoint| *adjoint = V::ZERO);
    }
}

impl<S: Reverse> OwnedTape<S> {
    /// [`Reverse::reverse`], with the external functions of the recording among its statements.
    ///
    /// # Errors
    ///
    /// As [`Reverse::reverse`], when a rule fails, and as [`check_singular`](Self::check_singular).
    #[inline(always)]
    pub fn reverse(&self, adjoints: &mut [S::Value], arrays: &mut Shadows<S::Value>) -> Result<(), SweepError> {
        forget_passive(adjoints, 1);
        if self.externals().list.is_empty() {
            self.check_singular()?;
            let began = S::Policy::tracing(|| Beginning::of(1, adjoints, core::slice::from_ref(arrays)));
            S::reverse(self.tape(), adjoints)?;
            return self.watched(Ok(()), (None, None), began, adjoints);
        }
        self.reverse_between(None, None, adjoints, arrays)
    }

    /// [`reverse`](Self::reverse) from one place to an earlier one; from the end, or to the start, if it is `None`.
    ///
    /// Afterwards the adjoints of all variables from before `to` are what the adjoints at `from` give.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    ///
    /// # Panics
    ///
    /// When the places are of another recording, or `from` lies before `to`.
    pub fn reverse_between(
        &self,
        from: Option<Place>,
        to: Option<Place>,
        adjoints: &mut [S::Value],
        arrays: &mut Shadows<S::Value>,
    ) -> Result<(), SweepError> {
        self.check_singular()?;
        forget_passive(adjoints, 1);
        let ends = self.ends(from, to);
        arrays.draw_from(self.memory_of_arrays());
        let arrays = core::slice::from_mut(arrays);
        let began = S::Policy::tracing(|| Beginning::of(1, adjoints, arrays));
        let outcome = S::reverse_through(self.tape(), adjoints, ends, &mut |external, _, adjoints| {
            self.entry(external)?.reverse(1, adjoints, arrays)
        });
        self.watched(outcome, ends, began, adjoints)
    }

    /// [`reverse_between`](Self::reverse_between) with several adjoint vectors, as
    /// [`Reverse::reverse_lanes_through`] has them.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    ///
    /// # Panics
    ///
    /// As `reverse_between`, and when there are no lanes.
    pub fn reverse_lanes_between(
        &self,
        lanes: usize,
        from: Option<Place>,
        to: Option<Place>,
        adjoints: &mut [S::Value],
        arrays: &mut [Shadows<S::Value>],
    ) -> Result<(), SweepError> {
        self.check_singular()?;
        forget_passive(adjoints, lanes);
        let ends = self.ends(from, to);
        arrays.iter_mut().for_each(|arrays| arrays.draw_from(self.memory_of_arrays()));
        let began = S::Policy::tracing(|| Beginning::of(lanes, adjoints, arrays));
        let outcome = S::reverse_lanes_through(self.tape(), lanes, adjoints, ends, &mut |external, lanes, adjoints| {
            self.entry(external)?.reverse(lanes.len(), adjoints, arrays.get_mut(lanes).unwrap_or_default())
        });
        self.watched(outcome, ends, began, adjoints)
    }

    /// Whether there is a launch in the recording that no sweep must leave out.
    #[must_use]
    pub fn must_be_swept(&self) -> bool {
        self.externals().list.iter().filter_map(Entry::launch).any(Launch::always)
    }

    /// [`Reverse::forward_through`] the whole recording, with its external functions among its statements.
    ///
    /// # Errors
    ///
    /// As [`Reverse::forward_through`], when a rule is missing or fails, and as
    /// [`check_singular`](Self::check_singular).
    ///
    /// # Panics
    ///
    /// As [`Reverse::forward_through`].
    pub fn forward(&self, tangents: &mut [S::Value], arrays: &mut Shadows<S::Value>) -> Result<(), SweepError> {
        self.check_singular()?;
        arrays.draw_from(self.memory_of_arrays());
        S::forward_through(self.tape(), tangents, &mut |external, _, tangents| {
            self.entry(external)?.forward(tangents, arrays)
        })
    }

    /// Whether this is a place of the present recording, in its present part or in an earlier one that was not
    /// forgotten.
    #[must_use]
    pub fn has(&self, place: Place) -> bool {
        if place.number == self.number() {
            return place.is_before(self.place());
        }
        self.state().parts.iter().any(|part| place.number == part.end.number && place.is_before(part.end))
    }

    /// The memory of the recording's arrays, which sweeps share.
    fn memory_of_arrays(&self) -> Option<&Arc<Arena<S::Value>>> {
        self.externals().arrays.pool.as_ref()
    }

    /// The external function with this number.
    pub(crate) fn entry(&self, external: usize) -> Result<&Entry<S::Value>, SweepError> {
        self.externals().list.get(external).ok_or_else(|| SweepError::left_out(external))
    }

    /// The marks of these places, of which the second is not behind the first.
    fn ends(&self, from: Option<Place>, to: Option<Place>) -> (Option<Mark>, Option<Mark>) {
        for place in from.into_iter().chain(to) {
            assert!(self.has(place), "a place of recording {} is none of recording {}", place.number, self.number());
        }
        assert!(
            from.zip(to).is_none_or(|(from, to)| to.is_before(from)),
            "a sweep goes from a place to an earlier one"
        );
        (from.map(|place| place.mark), to.map(|place| place.mark))
    }
}
