//! Reverse sweeps of a recording.

use super::adjoints::single::{slot, sweep_into, view_slot};
use super::scope::consecutive;
use super::{AdjointVector, Adjoints, NONE, Tape};
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::kernels::View;
use tapewright_strategies::Number as _;
use tapewright_strategies::Reverse;
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::kernel::targets::Space;

/// # Sweeps
impl<S: Reverse> Tape<S> {
    /// Sweeps the recording in reverse from these outputs with these seeds, and gives access to ∂(Σ seed·output)/∂input
    /// for every input.
    ///
    /// The recording stays as it is: sweep it again with other seeds. Outputs may be passive, may be inputs, and may
    /// occur several times; their seeds add up.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when an output belongs to another recording; [`Error::Sweep`] with
    /// [`SweepError::Singular`](crate::SweepError::Singular) under the policy [`Checked`](crate::Checked) when a
    /// statement of the recording has no derivative, and with what rules of external functions say.
    #[inline]
    pub fn sweep(&mut self, seeds: &[(&Real<S>, S::Value)]) -> Result<Adjoints<'_, S>, Error> {
        self.sweep_from(seeds.iter().map(|(y, seed)| (*y, *seed)))
    }

    /// [`sweep`](Self::sweep) with outputs and seeds from two slices.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the slices differ in length, else as [`sweep`](Self::sweep).
    pub fn sweep_all(&mut self, outputs: &[Real<S>], seeds: &[S::Value]) -> Result<Adjoints<'_, S>, Error> {
        same_length(("outputs", outputs.len()), ("seeds", seeds.len()))?;
        self.sweep_from(outputs.iter().zip(seeds.iter().copied()))
    }

    /// [`sweep`](Self::sweep) into an adjoint vector of the caller: several threads can sweep one recording
    /// simultaneously, each with a vector of its own, and a vector can serve several tapes in turn.
    ///
    /// # Errors
    ///
    /// The errors of [`sweep`](Self::sweep).
    ///
    /// ```
    /// use tapewright::{prelude::*, tape::AdjointVector};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(3.0);
    ///     (x, [(x * x).eval(), x.sin().eval()])
    /// });
    /// let slopes = std::thread::scope(|threads| {
    ///     let sweeps = y.map(|y| {
    ///         let (tape, x) = (&tape, &x);
    ///         threads.spawn(move || tape.sweep_with(&mut AdjointVector::new(), &[(&y, 1.0)]).and_then(|a| a.of(x)))
    ///     });
    ///     sweeps.map(|sweep| sweep.join().expect("no panic"))
    /// });
    /// assert_eq!(slopes, [Ok(6.0), Ok(3.0_f64.cos())]);
    /// ```
    pub fn sweep_with<'a>(
        &'a self,
        adjoints: &'a mut AdjointVector<S::Value>,
        seeds: &[(&Real<S>, S::Value)],
    ) -> Result<Adjoints<'a, S>, Error> {
        let seeds = seeds.iter().map(|(y, seed)| (*y, *seed));
        sweep_into(&self.owned, &self.parts, &self.inputs, &self.outlined, adjoints, seeds)?;
        Ok(self.adjoints_in(adjoints))
    }

    /// [`sweep`](Self::sweep) from variables and from one view, with a seed for each element of it.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when there are not as many seeds as elements, else as [`sweep`](Self::sweep).
    pub fn sweep_view<const R: usize, M: Space<S::Value>>(
        &mut self,
        seeds: &[(&Real<S>, S::Value)],
        (view, elements): (&View<S, R, M>, &[S::Value]),
    ) -> Result<Adjoints<'_, S>, Error> {
        same_length(("elements of a view", view.len()), ("seeds", elements.len()))?;
        let view = view_slot(&self.owned, &self.parts, view)?;
        let mut slots = Vec::with_capacity(seeds.len());
        for (output, seed) in seeds {
            slots.push((slot(&self.owned, &self.parts, output)?, *seed));
        }
        self.adjoints.clear(S::identifiers(self.owned.tape()));
        self.adjoints.arrays.add(view, elements);
        let vector = self.adjoints.everything();
        for (slot, seed) in slots {
            if let Some(slot) = slot {
                vector[slot] += seed;
            }
        }
        self.adjoints.reverse(&self.owned, &self.inputs.hull)?;
        Ok(self.adjoints_in(&self.adjoints))
    }

    pub(super) fn adjoints_in<'a>(&'a self, adjoints: &'a AdjointVector<S::Value>) -> Adjoints<'a, S> {
        let (values, arrays, whole) = (&*adjoints.adjoints, &adjoints.arrays, adjoints.under.is_none());
        Adjoints { owned: &self.owned, parts: &self.parts, inputs: &self.inputs, values, arrays, whole }
    }

    /// The adjoints of the latest sweep.
    pub(crate) fn latest_adjoints(&self) -> Adjoints<'_, S> {
        self.adjoints_in(&self.adjoints)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn sweep_from<'y>(
        &mut self,
        seeds: impl Iterator<Item = (&'y Real<S>, S::Value)> + Clone,
    ) -> Result<Adjoints<'_, S>, Error> {
        let Self { owned, parts, inputs, outlined, adjoints, .. } = self;
        sweep_into(owned, parts, inputs, outlined, adjoints, seeds)?;
        Ok(self.adjoints_in(&self.adjoints))
    }

    /// Sweeps the recording that `record_at` made, from one output with seed 1, and moves the adjoints of its inputs to
    /// `gradient`, which must have an element for each input.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn sweep_out(&mut self, output: &Real<S>, gradient: &mut [S::Value]) -> Result<(), Error> {
        let slot = slot(&self.owned, &self.parts, output)?;
        self.adjoints.clear(S::identifiers(self.owned.tape()));
        if let Some(slot) = slot {
            self.adjoints.adjoints[slot] = S::Value::ONE;
        }
        if slot.is_some() || self.owned.must_be_swept() {
            self.adjoints.reverse_dirty(&self.owned)?;
        } else {
            self.owned.check_singular()?;
        }
        if self.in_order {
            // The length is hidden so that a few adjoints, just stored one by one, are not loaded back as a vector:
            // that load would wait until the stores have left the store buffer (4 of 30 ns for a tiny function).
            let n = core::hint::black_box(self.inputs.hull.len());
            let adjoints = &mut self.adjoints.adjoints[self.inputs.hull.start..][..n];
            for (entry, adjoint) in gradient[..n].iter_mut().zip(adjoints) {
                *entry = core::mem::replace(adjoint, S::Value::ZERO);
            }
            self.adjoints.dirty = NONE;
            return Ok(());
        }
        self.adjoints.dirty = self.inputs.hull.clone();
        self.adjoints_in(&self.adjoints).write(&self.variables, gradient)
    }

    /// Sweeps from these outputs with these seeds, and adds the adjoint of each input to its sum. `shadows` are seeds
    /// of views, by slot; the result has the adjoints of the views in the slots `asked`.
    pub(crate) fn sweep_through(
        &mut self,
        (outputs, seeds): (&[Real<S>], &[S::Value]),
        shadows: impl Iterator<Item = (usize, Shadow<S::Value>)>,
        (inputs, sums): (&[Real<S>], &mut [S::Value]),
        asked: &[usize],
    ) -> Result<Vec<Shadow<S::Value>>, Error> {
        self.adjoints.clear(S::identifiers(self.owned.tape()));
        shadows.for_each(|(slot, shadow)| self.adjoints.arrays.give(slot, shadow));
        let vector = self.adjoints.everything();
        for (output, seed) in outputs.iter().zip(seeds) {
            if let Some(slot) = slot(&self.owned, &self.parts, output)? {
                vector[slot] += *seed;
            }
        }
        self.adjoints.reverse(&self.owned, &self.inputs.hull)?;
        let found = asked.iter().map(|slot| self.adjoints.arrays.take(*slot)).collect();
        if consecutive(inputs) && inputs.len() == self.inputs.hull.len() {
            let adjoints = &mut self.adjoints.adjoints[self.inputs.hull.clone()];
            for (sum, adjoint) in sums.iter_mut().zip(adjoints) {
                *sum += core::mem::replace(adjoint, S::Value::ZERO);
            }
            self.adjoints.dirty = NONE;
            return Ok(found);
        }
        let adjoints = self.adjoints_in(&self.adjoints);
        for (sum, input) in sums.iter_mut().zip(inputs) {
            *sum += adjoints.of(input)?;
        }
        Ok(found)
    }
}
