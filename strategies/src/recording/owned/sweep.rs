//! Sweeps of recordings with their external functions.

use super::non_finite::Beginning;
use crate::error::refusal::catch_device_errors;
use crate::external::{Entry, Mark, Passage};
use crate::kernel::Arena;
use crate::kernel::launch::Launch;
use crate::kernel::memory::Shadows;
use crate::outline::{Outline, Passes, Touched};
use crate::policy::Policy;
use crate::recording::current::list::OwnedTape;
use crate::recording::current::state::Place;
use crate::rows::RowSweep;
use crate::{Number, Reverse, SweepError};
use std::sync::Arc;

/// Clears the slot of passive variables, to which sweeps add. An earlier sweep may have left there a variable of a
/// finished recording, to which nothing could be added.
#[inline(always)]
fn forget_passive<V: Number>(adjoints: &mut [V], lanes: usize) {
    if const { V::VARIABLE } {
        adjoints.iter_mut().take(lanes).for_each(|adjoint| *adjoint = V::ZERO);
    }
}

impl<S: Reverse> OwnedTape<S> {
    /// Calls [`Reverse::reverse`], with the external functions of the recording among its statements.
    ///
    /// # Errors
    ///
    /// The errors of [`Reverse::reverse`] and [`check_singular`](Self::check_singular), and errors of rules.
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

    /// Sweeps in reverse from one position to an earlier one; from the end of the recording if `from` is `None`, and to
    /// its start if `to` is.
    ///
    /// Afterwards the adjoints of all variables from before `to` are those that follow from the adjoints at `from`.
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    ///
    /// # Panics
    ///
    /// When a position belongs to another recording, or `from` lies before `to`.
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
        let mut passage = Passage::new(arrays);
        let outcome = catch_device_errors(|| {
            S::reverse_through(self.tape(), adjoints, ends, &mut |external, _, adjoints| {
                passage.reverse(self.entry(external)?, 0..1, adjoints)
            })?;
            passage.finish()
        });
        self.watched(outcome, ends, began, adjoints)
    }

    /// Sweeps like [`reverse_between`](Self::reverse_between), with several adjoint vectors in the layout of
    /// [`Reverse::reverse_lanes_through`].
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    ///
    /// # Panics
    ///
    /// In the cases listed at `reverse_between`, and when `lanes` is 0.
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
        let mut passage = Passage::new(arrays);
        let outcome = catch_device_errors(|| {
            S::reverse_lanes_through(self.tape(), lanes, adjoints, ends, &mut |external, lanes, adjoints| {
                passage.reverse(self.entry(external)?, lanes, adjoints)
            })?;
            passage.finish()
        });
        self.watched(outcome, ends, began, adjoints)
    }

    /// Returns an outline of the recording, if the strategy makes outlines.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    #[doc(hidden)]
    pub fn outline(&self) -> Result<Option<Outline>, SweepError> {
        let list = &self.externals().list;
        S::outline(self.tape(), &|entry, each| list.get(entry).map_or(Passes::Always, |entry| entry.passes(each)))
    }

    /// Sweeps like [`reverse_lanes_between`](Self::reverse_lanes_between) over the complete recording, with seeds in
    /// these slots only, and leaves out records that the seeds do not reach. Returns slots outside of which all
    /// adjoints are 0 afterwards.
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    #[doc(hidden)]
    pub fn reverse_outlined(
        &self,
        (outline, seeded): (&Outline, &mut dyn Iterator<Item = usize>),
        lanes: usize,
        adjoints: &mut [S::Value],
        arrays: &mut [Shadows<S::Value>],
    ) -> Result<Touched, SweepError> {
        self.check_singular()?;
        forget_passive(adjoints, lanes);
        arrays.iter_mut().for_each(|arrays| arrays.draw_from(self.memory_of_arrays()));
        let began = S::Policy::tracing(|| Beginning::of(lanes, adjoints, arrays));
        let mut passage = Passage::new(arrays);
        let mut touched = Touched::default();
        let outcome = catch_device_errors(|| {
            let seeds = (outline, seeded);
            touched = S::reverse_outlined(self.tape(), (lanes, adjoints), seeds, &mut |external, lanes, adjoints| {
                passage.reverse(self.entry(external)?, lanes, adjoints)
            })?;
            passage.finish()
        });
        self.watched(outcome, (None, None), began, adjoints).map(|()| touched)
    }

    /// Calls [`Reverse::reverse_rows`], if the recording has no external functions and no launches.
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    #[doc(hidden)]
    pub fn reverse_rows(
        &self,
        adjoints: &mut [S::Value],
        rows: RowSweep<'_, S::Value>,
    ) -> Result<Option<usize>, SweepError> {
        self.check_singular()?;
        // Whoever traces is told of complete sweeps.
        if !self.externals().list.is_empty() || S::Policy::tracing(|| ()).is_some() {
            return Ok(None);
        }
        forget_passive(adjoints, rows.lanes);
        S::reverse_rows(self.tape(), adjoints, rows)
    }

    /// Returns true if the recording has no external functions and no launches.
    #[must_use]
    pub fn has_statements_only(&self) -> bool {
        self.externals().list.is_empty()
    }

    /// Returns true if the recording contains a launch that every sweep must run.
    #[must_use]
    pub fn must_be_swept(&self) -> bool {
        self.externals().list.iter().filter_map(Entry::launch).any(Launch::always)
    }

    /// Calls [`Reverse::forward_through`] for the complete recording, with its external functions among its statements.
    /// `arrays` has the tangents of views along each direction.
    ///
    /// # Errors
    ///
    /// The errors of [`Reverse::forward_through`] and [`check_singular`](Self::check_singular), and errors of rules,
    /// among them missing rules.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`Reverse::forward_through`].
    pub fn forward(
        &self,
        lanes: usize,
        tangents: &mut [S::Value],
        arrays: &mut [Shadows<S::Value>],
    ) -> Result<(), SweepError> {
        self.check_singular()?;
        arrays.iter_mut().for_each(|arrays| arrays.draw_from(self.memory_of_arrays()));
        catch_device_errors(|| {
            S::forward_through(self.tape(), lanes, tangents, &mut |external, lanes, tangents| {
                let (entry, lanes) = (self.entry(external)?, lanes.len());
                (0..lanes).try_for_each(|lane| entry.forward((lane, lanes), tangents, &mut arrays[lane]))
            })
        })
    }

    /// Returns true if the position is one of the present recording, in its present part or in an earlier part that was
    /// not forgotten.
    #[must_use]
    pub fn has(&self, place: Place) -> bool {
        if place.number == self.number() {
            return place.is_before(self.place());
        }
        self.state().parts.iter().rev().any(|part| place.number == part.end.number && place.is_before(part.end))
    }

    /// The memory of the recording's arrays, which sweeps share.
    fn memory_of_arrays(&self) -> Option<&Arc<Arena<S::Value>>> {
        self.externals().arrays.pool.as_ref()
    }

    /// The external function or launch with this index.
    pub(crate) fn entry(&self, external: usize) -> Result<&Entry<S::Value>, SweepError> {
        self.externals().list.get(external).ok_or_else(|| SweepError::left_out(external))
    }

    /// Returns the marks of these positions. Panics if one is not of this recording, or the second is behind the first.
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
