//! Computing a recording again at other inputs.

use super::Tape;
use super::adjoints::slot;
use crate::error::Error;
use crate::expr::Real;
use tapewright_strategies::{Replay, SweepError};

/// # Replays
impl<S: Replay> Tape<S> {
    /// Whether comparisons leave *guards* in later recordings of this tape, so that a [`replay`](Self::replay) finds out when the
    /// program would have taken another branch. Without them it does not.
    ///
    /// A guard is left by `<`, `<=`, `>`, `>=`, `==`, `!=` and `partial_cmp` between variables, expressions and floats, and by the
    /// step functions `floor`, `ceil`, `round`, `trunc` and `signum`, whose results are passive; by the questions that
    /// [`Closed`](crate::Closed) variables answer (`is_nan`, `is_finite`, `is_sign_negative`, `classify`, `total_cmp`, `is_zero`, …),
    /// and by their casts to integers; all that unless every variable in it is passive. It does not matter whether the recording is
    /// [paused](crate::pause). `max`, `min`, `abs` and the like need none: they are computed anew.
    ///
    /// Branches that look at [`value`](crate::Ex::value), or at a variable cast to a float, leave none. What is computed while the
    /// recording is paused is a constant, and stays what it was when it was recorded. A guard takes about 80 bytes, listed as
    /// `guards` in [`memory`](Self::memory).
    ///
    /// While a recording keeps guards, a comparison of a variable that arithmetic would refuse panics as arithmetic does: one of a
    /// recording that is not active, and one of an earlier part of this one that was not [renewed](crate::Scope::renew).
    pub fn set_guards(&mut self, keep: bool) {
        self.owned.set_guards(keep);
    }

    /// Gives inputs new values, and computes all variables of the recording again; inputs that are not named keep theirs.
    ///
    /// Later sweeps find the derivatives at the new point: bit for bit those of a new recording there, as long as the program takes
    /// the same branches. Nothing is written but values, so it costs less than to record again. Variables that you hold do not
    /// change; ask for values by [`value_of`](Self::value_of).
    ///
    /// ```
    /// use tapewright::prelude::*;
    ///
    /// let mut tape = Tape::<PrimalValue>::new();
    /// tape.set_guards(true);
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(2.0);
    ///     let y: Real<_> = if x > 1.0 { (x * x * x).into() } else { x.exp().into() };
    ///     (x, y)
    /// });
    /// tape.replay(&[(&x, 3.0)])?;
    /// assert_eq!((tape.value_of(&y)?, tape.sweep(&[(&y, 1.0)])?.of(&x)?), (27.0, 27.0));
    ///
    /// let error = tape.replay(&[(&x, 0.5)]).expect_err("another branch");
    /// assert!(error.to_string().contains("record again"));
    /// assert_eq!(tape.value_of(&y)?, 27.0); // as before
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// Recordings of partials alone have no such method:
    ///
    /// ```compile_fail,E0599
    /// # use tapewright::prelude::*;
    /// let mut tape = Tape::<Jacobian>::new();
    /// let x = tape.record(|scope| scope.input(1.0));
    /// let _ = tape.replay(&[(&x, 2.0)]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when a variable belongs to another recording. [`Error::Sweep`] with
    ///
    /// * [`SweepError::Unsupported`] when a variable is no input, or when the recording has a statement of which only partials are
    ///   known: a function of slices some of whose arguments are passive, or one made by [`with_partials`](crate::with_partials);
    /// * [`SweepError::BranchChanged`] when a comparison that left a guard comes out differently;
    /// * [`SweepError::NoRule`] or [`SweepError::Rule`] when an external function cannot be computed again.
    ///
    /// In all these cases the recording is as it was before. [`Error::Storage`] when records cannot be read back from disk; values
    /// are then of no use until a replay succeeds.
    ///
    /// # Panics
    ///
    /// When a rule does; values are then of no use until a replay succeeds.
    pub fn replay(&mut self, inputs: &[(&Real<S>, S::Value)]) -> Result<(), Error> {
        let passive = || SweepError::Unsupported { what: "a replay cannot give a passive variable a value".into() };
        let located = |(input, value): &(&Real<S>, S::Value)| -> Result<_, Error> {
            Ok((slot(&self.owned, &self.parts, input)?.ok_or_else(passive)?, *value))
        };
        let inputs: Vec<_> = inputs.iter().map(located).collect::<Result<_, _>>()?;
        Ok(self.owned.replay(&inputs)?)
    }

    /// The value of a variable after the latest [`replay`](Self::replay), or as recorded.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable belongs to another recording.
    pub fn value_of(&self, variable: &Real<S>) -> Result<S::Value, Error> {
        let slot = slot(&self.owned, &self.parts, variable)?;
        Ok(slot.map_or_else(|| variable.value(), |slot| S::values(self.owned.tape())[slot]))
    }
}
