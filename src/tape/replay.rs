//! Replays: a recording recomputed at other inputs.

use super::Tape;
use super::adjoints::single::{fetched, slot, view_slot};
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::kernels::View;
use core::fmt;
use std::borrow::Cow;
use tapewright_strategies::kernel::memory::{Buffer, SharedArray};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::{Replay, SweepError};

/// # Replays
impl<S: Replay> Tape<S> {
    /// Sets if later recordings of this tape keep the data that a [`replay`](Self::replay) needs in addition to the
    /// records: comparisons leave *guards*, so that a replay finds out when the program would have taken another
    /// branch, and launches of [kernels](crate::kernels) keep the views that they read. Without guards a replay does
    /// not notice another branch, and without the views that launches keep it fails.
    ///
    /// A guard is left by `<`, `<=`, `>`, `>=`, `==`, `!=` and `partial_cmp` between variables, expressions and floats,
    /// and by the step functions `floor`, `ceil`, `round`, `trunc` and `signum`, whose results are passive; by the
    /// queries of [`Closed`](crate::Closed) variables (`is_nan`, `is_finite`, `is_sign_negative`, `classify`,
    /// `total_cmp`, `is_zero`, …), and by their casts to integers; by [`value`](crate::Ex::value) and by casts to
    /// floats, which a replay must find unchanged, as the program may branch on them; all that unless every variable in
    /// the comparison is passive. It does not matter if the recording is [paused](crate::pause). `max`, `min`, `abs`
    /// and similar functions need no guard: they are recomputed.
    ///
    /// A value that is computed while the recording is paused is a constant, and stays as recorded. A guard takes about
    /// 80 bytes, listed as `guards` in [`memory`](Self::memory).
    ///
    /// While a recording keeps guards, a comparison of a variable that arithmetic would refuse panics as arithmetic
    /// does: a variable of a recording that is not active, and a variable of an earlier part of this recording that was
    /// not [renewed](crate::Scope::renew).
    ///
    /// Compare on the thread that records: on any other thread, a comparison panics, too, while the recording lasts.
    ///
    /// Stages, time loops and blocks that are preaccumulated by reverse mode are recorded where they are called, and
    /// keep no checkpoints, if they are of the tape's strategy and the recording has up to a million numbers:
    /// variables, and elements of arrays. Otherwise a replay cannot compute them again, and refuses.
    ///
    /// Launches keep input views and the passive views that they read; such views are not written in place then.
    /// `select` and similar functions in kernels need no guards, and an extremum is searched again. A reduction whose
    /// derivatives are all 0, such as a count, is an active variable.
    pub fn set_guards(&mut self, keep: bool) {
        self.owned.set_guards(keep);
    }

    /// Gives inputs new values, and recomputes all variables of the recording; inputs that are not named keep their
    /// values.
    ///
    /// Later sweeps find the derivatives at the new point, bit for bit as a new recording at that point would, as long
    /// as the program takes the same branches. The first replay lists the statements of the recording, in 24 bytes for
    /// each; later ones only compute. Variables that you hold do not change; ask for values by
    /// [`value_of`](Self::value_of). A [program](crate::programs::Program::in_blocks_of) of width 1 does the same for a
    /// function that is evaluated again and again, records anew where it branches otherwise, and may be shared by
    /// threads.
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
    /// * [`SweepError::Unsupported`] when a variable is not an input, or when the recording has a statement of which
    ///   only partials are known: a function of slices some of whose arguments are passive, or a statement made by
    ///   [`with_partials`](crate::with_partials), [`preaccumulate`](crate::preaccumulate) or
    ///   [`statement`](crate::statement); when it has launches of kernels and was made, or a part of it,
    ///   without [`set_guards`](Self::set_guards); and when it has a stage or time loop over views that is larger than
    ///   [`set_guards`](Self::set_guards) says;
    /// * [`SweepError::BranchChanged`] when a comparison that left a guard has another result;
    /// * [`SweepError::NoRule`] or [`SweepError::Rule`] when an external function cannot be recomputed.
    ///
    /// In all these cases the recording is as it was before. [`Error::Storage`] when records cannot be read back from
    /// disk; values are invalid then until a replay succeeds.
    ///
    /// # Panics
    ///
    /// When a rule panics. The recording is then as it was before, too, because the values are recomputed at the old
    /// inputs. If a rule panics during that as well, values are invalid until a replay succeeds.
    #[track_caller]
    pub fn replay(&mut self, inputs: &[(&Real<S>, S::Value)]) -> Result<(), Error> {
        inputs.iter().try_fold(self.new_inputs(), |new, (input, value)| new.variable(input, *value))?.replay()
    }

    /// A [`replay`](Self::replay) that gives views new values, too:
    ///
    /// ```
    /// use tapewright::kernels::{View, parallel_for, parallel_sum};
    /// use tapewright::prelude::*;
    ///
    /// let mut tape = Tape::<PrimalValue>::new();
    /// tape.set_guards(true); // else launches do not keep what a replay needs
    /// let (k, x, y, sum) = tape.record(|scope| {
    ///     let (k, x) = (scope.input(2.0), scope.view([3], &[1.0, 2.0, 3.0]));
    ///     let mut y = View::zeros([3]);
    ///     parallel_for(x.all(), (&x, &k, &mut y), |(x, k, _)| (k * x.at::<0>().square(),));
    ///     let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
    ///     (k, x, y, sum)
    /// });
    /// tape.new_inputs().variable(&k, 10.0)?.view(&x, &[0.0, 1.0, 4.0])?.replay()?;
    /// assert_eq!((tape.value_of(&sum)?, &*tape.values_of_view(&y)?), (170.0, &[0.0, 10.0, 160.0][..]));
    /// assert_eq!(*tape.sweep(&[(&sum, 1.0)])?.of_view(&x)?, [0.0, 20.0, 80.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub const fn new_inputs(&mut self) -> NewInputs<'_, S> {
        NewInputs { tape: self, variables: Vec::new(), views: Vec::new() }
    }

    /// The value of a variable after the latest [`replay`](Self::replay), or as recorded.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable belongs to another recording.
    pub fn value_of(&self, variable: &Real<S>) -> Result<S::Value, Error> {
        let slot = slot(&self.owned, &self.parts, variable)?;
        Ok(slot.map_or_else(|| variable.peek(), |slot| S::values(self.owned.tape())[slot]))
    }

    /// Values of a view after the latest replay, or as recorded; for a view that was written to, the last ones.
    ///
    /// The values are not kept: if there was a replay, the launches up to the one that wrote them run again.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the view belongs to another recording. [`Error::Sweep`] with
    /// [`SweepError::Unsupported`] when the recording was resumed since then, with launches that cannot be replayed.
    pub fn values_of_view<'v, const R: usize, M: Space<S::Value>>(
        &self,
        view: &'v View<S, R, M>,
    ) -> Result<Cow<'v, [S::Value]>, Error> {
        let found = match view_slot(&self.owned, &self.parts, view)? {
            0 => None,
            slot => self.owned.array_values(slot)?,
        };
        fetched(|| found.map_or_else(|| view.values.to_cow(), |found| Cow::Owned(found.to_vec())))
    }
}

/// New values of inputs, for a [replay](Tape::new_inputs). Inputs that are not named keep their values; if an input is
/// named twice, the later value counts.
#[must_use = "nothing happens before `replay` is called"]
pub struct NewInputs<'t, S: Replay> {
    tape: &'t mut Tape<S>,
    variables: Vec<(usize, S::Value)>,
    views: Vec<(usize, SharedArray<S::Value>)>,
}

impl<S: Replay> NewInputs<'_, S> {
    /// Gives a variable another value.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable belongs to another recording, [`Error::Sweep`] with
    /// [`SweepError::Unsupported`] when it is passive.
    pub fn variable(mut self, input: &Real<S>, value: S::Value) -> Result<Self, Error> {
        let slot = slot(&self.tape.owned, &self.tape.parts, input)?.ok_or_else(|| passive("variable", "a value"))?;
        self.variables.push((slot, value));
        Ok(self)
    }

    /// Gives a view other values, element by element, the last dimension running fastest: its values when
    /// [`Scope::view`](crate::Scope::view) made it, whatever was written to it later.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when there are not as many values as elements, else as [`variable`](Self::variable).
    pub fn view<const R: usize, M: Space<S::Value>>(
        mut self,
        input: &View<S, R, M>,
        values: &[S::Value],
    ) -> Result<Self, Error> {
        same_length(("elements of a view", input.len()), ("new values", values.len()))?;
        match view_slot(&self.tape.owned, &self.tape.parts, input)? {
            0 => Err(passive("view", "values")),
            slot => {
                self.views.push((slot, SharedArray::new(Buffer::copy_of(values))));
                Ok(self)
            }
        }
    }

    /// [`Tape::replay`] with these values.
    ///
    /// # Errors
    ///
    /// The errors of [`Tape::replay`], and [`Error::Sweep`] with [`SweepError::Unsupported`] when a view is not an
    /// input.
    ///
    /// # Panics
    ///
    /// When [`Tape::replay`] does.
    #[track_caller]
    pub fn replay(self) -> Result<(), Error> {
        Ok(self.tape.owned.replay(&self.variables, self.views)?)
    }
}

fn passive(input: &str, given: &str) -> Error {
    Error::Sweep(SweepError::Unsupported { what: format!("a replay cannot give a passive {input} {given}") })
}

impl<S: Replay> fmt::Debug for NewInputs<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variables, views) = (self.variables.len(), self.views.len());
        write!(f, "New values for {variables} variables and {views} views of recording {}", self.tape.owned.number())
    }
}
