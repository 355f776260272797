//! The driver that chooses.

use super::choice::{Size, Way};
use super::function::Function;
use crate::error::Error;
use crate::expr::Real;
use crate::forward::{Run, check_entries, entries_of, rows_of};
use crate::tape::Tape;
use core::fmt;
use core::marker::PhantomData;
use tapewright_strategies::{Forward, Reverse, Strategy};

/// Jacobian matrices of a function that is evaluated often, in forward mode `F` or by a tape of strategy `S`, whichever
/// costs less.
///
/// # Choice
///
/// The first evaluation records the function and counts statements and their arguments. From these, the number of
/// inputs and the number of outputs it estimates what the two ways cost, and takes the cheaper one from then on. It
/// counts again when the number of inputs or outputs differs from the evaluation before. Nothing is timed, so the
/// choice is the same in every run and on every machine. It is made for functions whose time is in their statements: of
/// a function that also computes much on plain numbers, forward mode computes that in each run. A function that has an
/// [external function](crate::external()) without a forward rule or an [exchange](crate::exchange::Exchange) in its
/// recording goes by the tape.
///
/// Both ways find the same derivatives up to rounding, except where infinite or NaN terms cancel or meet a zero: see
/// [`Tangent`](crate::Tangent).
pub struct DenseJacobian<F, S: Reverse> {
    tape: Tape<S>,
    outputs: Vec<Real<S>>,
    chosen: Option<Chosen>,
    always: Option<Way>,
    forward: PhantomData<F>,
}

/// A choice, and the numbers of inputs and outputs for which it was made.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    inputs: usize,
    outputs: usize,
    way: Way,
}

impl<F: Forward<Value = f64>, S: Reverse<Value = f64> + Strategy> DenseJacobian<F, S> {
    /// A driver that has not seen a function yet.
    #[must_use]
    pub fn new() -> Self {
        Self { tape: Tape::new(), outputs: Vec::new(), chosen: None, always: None, forward: PhantomData }
    }

    /// A driver that takes this way, whatever it costs.
    #[must_use]
    pub fn always(way: Way) -> Self {
        Self { always: Some(way), ..Self::new() }
    }

    /// The way of the latest evaluation.
    #[must_use]
    pub fn way(&self) -> Option<Way> {
        self.chosen.map(|chosen| chosen.way)
    }

    /// Writes the values of `f` at `x`, and its Jacobian matrix by rows: `jacobian[i * x.len() + j]` is ∂fᵢ/∂xⱼ. The
    /// third and later evaluations with the same function allocate nothing, if the function does not and has at most 16
    /// inputs in forward mode.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when `jacobian` has not `values.len() * x.len()` entries; `f` has not run then. By a
    /// tape also the errors of [`Tape::jacobian`].
    ///
    /// # Panics
    ///
    /// When `f` does not return as many outputs as there are `values`, when the tape is out of identifiers, and when
    /// `f` does.
    #[track_caller]
    pub fn evaluate(
        &mut self,
        f: &impl Function,
        x: &[f64],
        values: &mut [f64],
        jacobian: &mut [f64],
    ) -> Result<(), Error> {
        check_entries(x, values, jacobian)?;
        let [inputs, outputs] = [x.len(), values.len()];
        let known = self.chosen.filter(|chosen| (chosen.inputs, chosen.outputs) == (inputs, outputs));
        let mut way = known.map(|chosen| chosen.way).or(self.always);
        let recorded = way != Some(Way::Forward);
        if recorded {
            self.record(f, x)?;
        }
        let way = *way.get_or_insert_with(|| self.choose(inputs, outputs));
        self.chosen = Some(Chosen { inputs, outputs, way });
        if way == Way::Tape {
            return self.tape.sweep_whole(&self.outputs, values, jacobian);
        }
        if recorded {
            // Its memory is not needed.
            (self.tape, self.outputs) = (Tape::new(), Vec::new());
        }
        entries_of::<F>(Forwarded(f), x, values, jacobian);
        Ok(())
    }

    fn record(&mut self, f: &impl Function, x: &[f64]) -> Result<(), Error> {
        let Self { tape, outputs, .. } = self;
        outputs.clear();
        tape.record_stored(x, |x| outputs.extend_from_slice(f.outputs(x).as_ref()))
    }

    /// The cheaper way for the function in the recording.
    fn choose(&self, inputs: usize, outputs: usize) -> Way {
        if self.tape.owned().must_be_swept() || !self.tape.owned().has_forward_rules() {
            return Way::Tape;
        }
        let report = self.tape.memory();
        let (statements, arguments) = (report.statements, report.arguments);
        Size { inputs, outputs, directions: F::DIRECTIONS, statements, arguments }.cheaper()
    }
}

impl<F: Forward<Value = f64>, S: Reverse<Value = f64> + Strategy> Default for DenseJacobian<F, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F, S: Reverse> fmt::Debug for DenseJacobian<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DenseJacobian").field("chosen", &self.chosen).finish_non_exhaustive()
    }
}

/// A function that forward mode runs.
struct Forwarded<'f, F>(&'f F);

impl<S: Forward<Value = f64>, F: Function> Run<S> for Forwarded<'_, F> {
    #[inline(always)]
    fn run(&mut self, x: &[Real<S>], take: impl FnOnce(&[Real<S>])) {
        take(self.0.outputs(x).as_ref());
    }
}

/// The values of `f` at `x`, and its Jacobian matrix, in forward mode or by a tape: `jacobian[i][j]` is ∂fᵢ/∂xⱼ.
///
/// One run of forward mode is taken where `F` has as many directions as there are inputs, because a new tape alone
/// takes longer than a small function. For more inputs the function is recorded, and then it is the choice of
/// [`DenseJacobian`], which is the better one for a function that is evaluated often.
///
/// # Panics
///
/// When [`jacobian`](crate::jacobian()) or [`jacobian_forward`](crate::jacobian_forward) does. In forward mode also
/// when an external function has no forward rule.
#[track_caller]
#[allow(clippy::type_complexity, reason = "a vector and a matrix by rows")]
pub fn dense_jacobian<F: Forward<Value = f64>, S: Reverse<Value = f64> + Strategy>(
    f: &impl Function,
    x: &[f64],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    if x.len() <= F::DIRECTIONS {
        return rows_of::<F>(Forwarded(f), x);
    }
    let mut driver = DenseJacobian::<F, S>::new();
    driver.record(f, x).unwrap_or_else(|error| panic!("{error}"));
    if driver.choose(x.len(), driver.outputs.len()) == Way::Forward {
        return rows_of::<F>(Forwarded(f), x);
    }
    let DenseJacobian { tape, outputs, .. } = &mut driver;
    let (mut values, mut jacobian) = (vec![0.0; outputs.len()], vec![0.0; outputs.len() * x.len()]);
    tape.sweep_whole(outputs, &mut values, &mut jacobian).unwrap_or_else(|error| panic!("{error}"));
    (values, jacobian.chunks_exact(x.len()).map(<[f64]>::to_vec).collect())
}
