//! Derivatives in one call.

use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::forward::{assert_outputs, check_entries};
use crate::sparse::{prefers_forward, weight};
use crate::tape::{Scope, Tape};
use tapewright_strategies::storage::{catch_storage_errors, uses_devices};
use tapewright_strategies::{Number as _, Reverse, Scratch};

/// The gradient of `f` at `x`, one entry for each input.
///
/// Makes a new tape for each call; for many gradients keep one and call [`Tape::gradient`].
///
/// # Panics
///
/// When `f` returns a variable of another recording, when the tape is out of identifiers, when records cannot be
/// written to disk or read back, and when `f` does. Under the policy [`Checked`](crate::Checked) when a statement has
/// no derivative: [`Tape::gradient`] returns that as an error.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[1] + x[0].sin()).into() }
/// assert_eq!(gradient::<PrimalValue>(f, &[0.0, 3.0]), [4.0, 0.0]);
/// ```
///
/// [`Passive`](crate::Passive) records nothing, so there is nothing to sweep:
///
/// ```compile_fail,E0277
/// # use tapewright::prelude::*;
/// gradient::<Passive>(|x| (x[0] * x[1]).into(), &[0.0, 3.0]);
/// ```
#[track_caller]
pub fn gradient<S: Reverse>(f: impl FnOnce(&[Real<S>]) -> Real<S>, x: &[S::Value]) -> Vec<S::Value> {
    value_and_gradient(f, x).1
}

/// The value and the gradient of `f` at `x`.
///
/// # Panics
///
/// When [`gradient`] does.
#[track_caller]
pub fn value_and_gradient<S: Reverse>(
    f: impl FnOnce(&[Real<S>]) -> Real<S>,
    x: &[S::Value],
) -> (S::Value, Vec<S::Value>) {
    let mut gradient = vec![S::Value::ZERO; x.len()];
    let value = Tape::new().gradient(f, x, &mut gradient).unwrap_or_else(|error| panic!("{error}"));
    (value, gradient)
}

/// The values of `f` at `x`, and `seeds`ᵀ·J: the gradient of Σ seedᵢ·fᵢ, by one reverse sweep.
///
/// # Errors
///
/// [`Error::LengthMismatch`] when there are not as many seeds as outputs, [`Error::ForeignVariable`] when `f` returns a
/// variable of another recording, [`Error::Storage`] when records had to be written to disk, or read back, and could
/// not be, [`Error::Sweep`] as [`Tape::sweep`].
///
/// # Panics
///
/// When the tape is out of identifiers, and when `f` does.
#[allow(clippy::type_complexity, reason = "two vectors, or what is wrong")]
pub fn vjp<S: Reverse>(
    f: impl FnOnce(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
    seeds: &[S::Value],
) -> Result<(Vec<S::Value>, Vec<S::Value>), Error> {
    let mut tape = Tape::new();
    let run = |scope: &mut Scope<S>| {
        let inputs = scope.inputs(x);
        let outputs = f(&inputs);
        (inputs, outputs)
    };
    let (inputs, outputs) = if S::SPILLS || uses_devices() { tape.try_record(run)? } else { tape.record(run) };
    let product = tape.sweep_all(&outputs, seeds)?.of_all(&inputs)?;
    Ok((outputs.iter().map(Real::peek).collect(), product))
}

/// The values of `f` at `x`, and its Jacobian matrix: `jacobian[i][j]` is ∂fᵢ/∂xⱼ.
///
/// By one reverse sweep for every eight rows, whose adjoints take as much memory as eight adjoint vectors, see
/// [`Tape::sweep_lanes`]: row i is then bit for bit what a sweep for it alone finds. If there are at least five more
/// rows than columns, by one forward sweep for every eight columns, see [`Tape::jvp_lanes`], which adds up the same
/// products in another order; but not where entries are not finite in either direction, where an external function has
/// no forward rule, or it fails, and where there are [exchanges](crate::exchange::Exchange).
///
/// At a single point [`jacobian_forward`](crate::jacobian_forward) may cost less still, because it records nothing. A
/// matrix that is mostly zeros takes far fewer sweeps: see [`sparse_jacobian`](crate::sparse::sparse_jacobian).
///
/// # Panics
///
/// When [`gradient`] does.
#[allow(clippy::type_complexity, reason = "a vector and a matrix by rows")]
#[track_caller]
pub fn jacobian<S: Reverse>(
    f: impl FnOnce(&[Real<S>]) -> Vec<Real<S>>,
    x: &[S::Value],
) -> (Vec<S::Value>, Vec<Vec<S::Value>>) {
    let mut tape = Tape::new();
    let (inputs, outputs) = tape.record(|scope| {
        let inputs = scope.inputs(x);
        let outputs = f(&inputs);
        (inputs, outputs)
    });
    let mut entries = vec![S::Value::ZERO; inputs.len() * outputs.len()];
    tape.whole(&inputs, &outputs, &mut entries).unwrap_or_else(|error| panic!("{error}"));
    let rows = (0..outputs.len()).map(|i| entries[i * inputs.len()..][..inputs.len()].to_vec()).collect();
    (outputs.iter().map(Real::peek).collect(), rows)
}

impl<S: Reverse> Tape<S> {
    /// Writes the Jacobian matrix by rows, found by reverse sweeps, or by forward sweeps if these cost less.
    fn whole(&mut self, inputs: &[Real<S>], outputs: &[Real<S>], entries: &mut [S::Value]) -> Result<(), Error> {
        // Other processes wait for the exchanges of the same number of sweeps, whatever the number of inputs here;
        // without inputs no forward sweep would look at the outputs.
        let either = !inputs.is_empty() && !self.owned().must_be_swept();
        if either && prefers_forward(inputs.len(), outputs.len()) {
            match self.columns(inputs, outputs, entries) {
                // A forward rule is missing or fails, or the strategy has no forward sweeps.
                Err(Error::Sweep(_)) => {}
                Err(error) => return Err(error),
                // Infinite terms may cancel, or meet a zero, in one direction and not in the other. Rows must be what a
                // reverse sweep finds.
                Ok(()) => {
                    let (mut seeds, mut sums) = (Scratch::new(), Scratch::new());
                    if self.is_finite(inputs, outputs, entries.iter(), (&mut seeds, &mut sums))? {
                        return Ok(());
                    }
                }
            }
        }
        self.rows(inputs, outputs, entries)
    }

    /// Returns true if all entries of the Jacobian matrix that forward sweeps have found are finite, and one reverse
    /// sweep over all rows finds finite adjoints, too. The vectors are scratch memory.
    pub(crate) fn is_finite<'e>(
        &mut self,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
        mut entries: impl Iterator<Item = &'e S::Value>,
        (seeds, sums): (&mut Vec<S::Value>, &mut Vec<S::Value>),
    ) -> Result<bool, Error> {
        let is_finite = |number: &S::Value| (0..S::Value::PARTS).all(|k| number.part(k).is_finite());
        if !entries.all(is_finite) {
            return Ok(false);
        }
        seeds.clear();
        seeds.extend((0..outputs.len()).map(weight::<S::Value>));
        sums.clear();
        sums.resize(inputs.len(), S::Value::ZERO);
        self.sweep_from(outputs.iter().zip(seeds.iter().copied()))?.write(inputs, sums)?;
        Ok(sums.iter().all(is_finite))
    }

    /// Records `f` at `x`, sweeps, writes the gradient and returns the value. A second call with the same function
    /// allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when `gradient` is not as long as `x`, [`Error::ForeignVariable`] when `f` returns a
    /// variable of another recording, [`Error::Storage`] when records had to be written to disk, or read back, and
    /// could not be, [`Error::Sweep`] as [`sweep`](Self::sweep).
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers, and when `f` does.
    #[inline]
    #[track_caller]
    pub fn gradient(
        &mut self,
        f: impl FnOnce(&[Real<S>]) -> Real<S>,
        x: &[S::Value],
        gradient: &mut [S::Value],
    ) -> Result<S::Value, Error> {
        same_length(("inputs", x.len()), ("gradient entries", gradient.len()))?;
        let output = self.record_stored(x, f)?;
        self.sweep_out(&output, gradient)?;
        Ok(output.peek())
    }

    /// Records `f` at `x`, sweeps, and writes values and Jacobian matrix: `values[i]` is output `i`, and
    /// `jacobian[i * x.len() + j]` is ∂fᵢ/∂xⱼ. The sweeps are those of [`jacobian`](crate::jacobian()). A second call
    /// with the same function allocates nothing, if `f` does not; it may return an array.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when `jacobian` has not `values.len() * x.len()` entries; `f` has not run then.
    /// Otherwise the errors of [`gradient`](Self::gradient).
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers, when `f` does not return as many outputs as there are `values`, and when
    /// `f` does.
    ///
    /// ```
    /// use tapewright::prelude::*;
    ///
    /// fn f<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 2] { [(x[0] * x[1]).into(), x[1]] }
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (mut values, mut jacobian) = ([0.0; 2], [0.0; 4]);
    /// tape.jacobian(f, &[2.0, 3.0], &mut values, &mut jacobian)?;
    /// assert_eq!((values, jacobian), ([6.0, 3.0], [3.0, 2.0, 0.0, 1.0]));
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    #[track_caller]
    pub fn jacobian<Y: AsRef<[Real<S>]>>(
        &mut self,
        f: impl FnOnce(&[Real<S>]) -> Y,
        x: &[S::Value],
        values: &mut [S::Value],
        jacobian: &mut [S::Value],
    ) -> Result<(), Error> {
        check_entries(x, values, jacobian)?;
        let outputs = self.record_stored(x, f)?;
        self.sweep_whole(outputs.as_ref(), values, jacobian)
    }

    /// Records `f` at `x`, the only inputs, and returns an error if records could not be stored.
    #[inline]
    #[track_caller]
    pub(crate) fn record_stored<R>(&mut self, x: &[S::Value], f: impl FnOnce(&[Real<S>]) -> R) -> Result<R, Error> {
        if S::SPILLS || uses_devices() {
            return Ok(catch_storage_errors(|| self.record_at(x, f))?);
        }
        Ok(self.record_at(x, f))
    }

    /// Writes values and Jacobian matrix of the recording that `record_at` made.
    #[track_caller]
    pub(crate) fn sweep_whole(
        &mut self,
        outputs: &[Real<S>],
        values: &mut [S::Value],
        jacobian: &mut [S::Value],
    ) -> Result<(), Error> {
        assert_outputs(outputs.len(), values.len());
        values.iter_mut().zip(outputs).for_each(|(value, output)| *value = output.peek());
        let inputs = self.take_variables();
        let swept = self.whole(&inputs, outputs, jacobian);
        self.give_variables(inputs);
        swept
    }
}
