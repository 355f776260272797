//! Forward mode on a recording.

use super::adjoints::single::slot;
use super::{AdjointVector, Tape};
use crate::error::Error;
use crate::expr::Real;
use tapewright_strategies::Number as _;
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::{Reverse, Scratch};

/// # Forward sweeps
impl<S: Reverse> Tape<S> {
    /// The derivatives of `outputs` along a direction, by a forward sweep over the recording: `tangents` are the
    /// entries of the direction, for inputs; inputs that are not named have the entry 0. Nothing is recorded or
    /// recomputed.
    ///
    /// Outputs may be passive, with the derivative 0, and may be inputs. A variable that is not an input has the
    /// tangent of its statement, whatever `tangents` says.
    ///
    /// The first forward sweep over a recording reads it twice, to find where records begin, and keeps a byte for each
    /// record; further ones read it once. With [`Reuse`](crate::Reuse) indices under strategies that keep values every
    /// one reads it three times, and takes some memory for the values that are overwritten meanwhile. Several
    /// directions cost less in one sweep: see [`jvp_lanes`](Self::jvp_lanes). To differentiate a function along one
    /// direction at one point, [`jvp`](crate::jvp) is cheaper: this method is for recordings that exist anyway, such as
    /// for products with Jᵀ·J.
    ///
    /// ```
    /// use tapewright::prelude::*;
    ///
    /// let mut tape = Tape::<PrimalValue>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.inputs(&[3.0, 2.0]);
    ///     let y: Real<_> = (x[0] * x[1]).into();
    ///     (x, [y, (y * y).into()])
    /// });
    /// // JᵀJ·d, as in the method of Gauss and Newton.
    /// let d = tape.jvp(&[(&x[0], 1.0), (&x[1], 0.5)], &[&y[0], &y[1]])?;
    /// assert_eq!(d, [3.5, 42.0]);
    /// let product = tape.sweep(&[(&y[0], d[0]), (&y[1], d[1])])?.of_all(&x)?;
    /// assert_eq!(product, [2.0 * 3.5 + 24.0 * 42.0, 3.0 * 3.5 + 36.0 * 42.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when a variable belongs to another recording; [`Error::Sweep`] when an external
    /// function that a tangent reaches has no forward rule, or the rule fails, and when the strategy has no forward
    /// sweep (all recording strategies of this library have one); [`Error::Storage`] when records cannot be read back
    /// from disk.
    pub fn jvp(&mut self, tangents: &[(&Real<S>, S::Value)], outputs: &[&Real<S>]) -> Result<Vec<S::Value>, Error> {
        let mut vector = core::mem::take(&mut self.adjoints);
        let found = self.jvp_with(&mut vector, tangents, outputs);
        self.adjoints = vector;
        found
    }

    /// [`jvp`](Self::jvp) in a vector of the caller: several threads can sweep one recording simultaneously, each with
    /// a vector of its own.
    ///
    /// # Errors
    ///
    /// The errors of [`jvp`](Self::jvp).
    pub fn jvp_with(
        &self,
        vector: &mut AdjointVector<S::Value>,
        tangents: &[(&Real<S>, S::Value)],
        outputs: &[&Real<S>],
    ) -> Result<Vec<S::Value>, Error> {
        let tangents = tangents.iter().map(|(x, tangent)| (*x, *tangent));
        let mut results = Vec::with_capacity(outputs.len());
        self.carry(vector, tangents, core::iter::empty(), outputs.iter().copied(), |_, found| results.push(found))?;
        Ok(results)
    }

    /// [`jvp`](Self::jvp) with views: `shadows` are tangents of views, by slot; the result has the tangents of the
    /// views in the slots `asked`.
    pub(crate) fn jvp_of_views(
        &mut self,
        (inputs, tangents): (&[Real<S>], &[S::Value]),
        shadows: impl Iterator<Item = (usize, Shadow<S::Value>)>,
        (outputs, results): (&[Real<S>], &mut [S::Value]),
        asked: &[usize],
    ) -> Result<Vec<Shadow<S::Value>>, Error> {
        let mut vector = core::mem::take(&mut self.adjoints);
        let tangents = inputs.iter().zip(tangents.iter().copied());
        let carried = self.carry(&mut vector, tangents, shadows, outputs.iter(), |k, found| results[k] = found);
        self.adjoints = vector;
        carried?;
        Ok(asked.iter().map(|slot| self.adjoints.arrays.get(*slot).clone()).collect())
    }

    /// Passes the tangents of `outputs` to `each`, in order, and leaves the tangents of views in the vector.
    fn carry<'x>(
        &self,
        vector: &mut AdjointVector<S::Value>,
        tangents: impl Iterator<Item = (&'x Real<S>, S::Value)> + Clone,
        shadows: impl Iterator<Item = (usize, Shadow<S::Value>)>,
        outputs: impl Iterator<Item = &'x Real<S>>,
        mut each: impl FnMut(usize, S::Value),
    ) -> Result<(), Error> {
        let Self { owned, parts, inputs, .. } = self;
        let mut slots = Scratch::<Option<usize>>::new();
        for output in outputs {
            slots.push(slot(owned, parts, output)?);
        }
        vector.under = None;
        let identifiers = S::identifiers(owned.tape());
        if owned.has_statements_only() {
            vector.clear_inputs(identifiers, &inputs.hull);
        } else {
            vector.clear(identifiers);
        }
        let all = vector.everything();
        for (input, tangent) in tangents {
            if let Some(slot) = slot(owned, parts, input)? {
                all[slot] += tangent;
            }
        }
        let mut arrays = core::mem::take(&mut vector.arrays);
        shadows.for_each(|(slot, shadow)| arrays.give(slot, shadow));
        let tangents = vector.everything();
        // Reverse sweeps leave arbitrary values in the slot of passive variables.
        tangents.iter_mut().take(1).for_each(|passive| *passive = S::Value::ZERO);
        let swept = owned.forward(1, tangents, core::slice::from_mut(&mut arrays));
        if swept.is_ok() {
            let found = slots.iter().map(|slot| slot.map_or(S::Value::ZERO, |slot| tangents[slot]));
            found.enumerate().for_each(|(k, found)| each(k, found));
        }
        vector.arrays = arrays;
        Ok(swept?)
    }
}
