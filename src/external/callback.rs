//! Callbacks: entries on the tape that run code of the user when a sweep passes them.

use super::Arguments;
use crate::expr::Real;
use crate::tape::Scope;
use tapewright_strategies::{External, Number, Reverse, Scratch, SweepError, recording};

/// A callback of a sweep, called when the sweep passes the position where [`Scope::insert_callback`] put it.
///
/// The tape owns the callback, so it exists whenever the tape is swept, as often as that may be. It is dropped once,
/// with the recording. Do not consume data that the callback keeps: a second sweep calls it again.
///
/// Implemented for closures, too. Neither a closure nor an object can borrow data that may be gone when the tape is
/// swept:
///
/// ```compile_fail,E0373
/// # use tapewright::{external::CallbackAdjoints, prelude::*};
/// # let mut tape = Tape::<Jacobian>::new();
/// tape.record(|scope| {
///     let x = scope.input(1.0);
///     let slope = 2.0;
///     scope.insert_callback(&[x], &[2.0], |adjoints: &mut CallbackAdjoints<f64>| { // move is missing
///         let seed = adjoints.get_and_reset_output(0);
///         adjoints.increment_input(0, slope * seed);
///         Ok(())
///     })[0]
/// });
/// ```
///
/// ```compile_fail,E0597
/// # use tapewright::{SweepError, external::{Callback, CallbackAdjoints}, prelude::*};
/// struct Slopes(&'static [f64]);
/// impl Callback<f64> for Slopes {
///     fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, f64>) -> Result<(), SweepError> {
///         let seed = adjoints.get_and_reset_output(0);
///         adjoints.increment_input(0, self.0[0] * seed);
///         Ok(())
///     }
/// }
/// # let mut tape = Tape::<Jacobian>::new();
/// let slopes = vec![2.0];
/// let y = tape.record(|scope| {
///     let x = scope.input(1.0);
///     scope.insert_callback(&[x], &[2.0], Slopes(&slopes))[0]
/// });
/// ```
pub trait Callback<V: Number>: Send + Sync + 'static {
    /// Moves adjoints from the outputs to the inputs.
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, V>) -> Result<(), SweepError>;

    /// A name for messages.
    fn name(&self) -> String {
        core::any::type_name::<Self>().to_owned()
    }

    /// Bytes that the callback owns in addition to its own size, for memory reports.
    fn owned_bytes(&self) -> usize {
        0
    }
}

impl<V, F> Callback<V> for F
where
    V: Number,
    F: Fn(&mut CallbackAdjoints<'_, V>) -> Result<(), SweepError> + Send + Sync + 'static,
{
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, V>) -> Result<(), SweepError> {
        self(adjoints)
    }
}

/// The adjoints of the inputs and outputs of a [`Callback`], in the order in which they were given.
#[derive(Debug)]
pub struct CallbackAdjoints<'a, V> {
    outputs: &'a mut [V],
    inputs: &'a mut [V],
}

impl<V: Number> CallbackAdjoints<'_, V> {
    /// Returns the adjoint of output `k` and sets it to 0: where an output takes the place of an input, earlier
    /// statements must not see the adjoint of the output.
    ///
    /// # Panics
    ///
    /// When there is no such output.
    pub fn get_and_reset_output(&mut self, k: usize) -> V {
        core::mem::replace(&mut self.outputs[k], V::ZERO)
    }

    /// Adds to the adjoint of input `j`. Passive inputs ignore it.
    ///
    /// # Panics
    ///
    /// When there is no such input.
    pub fn increment_input(&mut self, j: usize, value: V) {
        self.inputs[j] += value;
    }

    /// Number of inputs.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Number of outputs.
    #[must_use]
    pub const fn outputs(&self) -> usize {
        self.outputs.len()
    }
}

/// A callback as an external function.
struct Called<C>(C);

impl<V: Number, C: Callback<V>> External<V> for Called<C> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let mut copy = Scratch::<V>::new();
        copy.extend_from_slice(outputs);
        self.0.compute_adjoint(&mut CallbackAdjoints { outputs: &mut copy, inputs })
    }

    fn owned_bytes(&self) -> usize {
        self.0.owned_bytes()
    }
}

impl<S: Reverse> Scope<'_, S> {
    /// Puts a callback on the tape after the last statement, and returns a variable for each output.
    ///
    /// A sweep calls the callback when it gets there: after the statements that were recorded later, before the
    /// statements that were recorded earlier. Adjoints of outputs that the callback does not ask for are forgotten. The
    /// callback is called in every sweep that passes, unless there are outputs and all their adjoints are 0; a callback
    /// without outputs is always called.
    ///
    /// [`external`](crate::external()) does the same for functions in the mathematical sense, finds the recording
    /// through its inputs, and has rules for other sweeps, too.
    ///
    /// ```
    /// use tapewright::{external::CallbackAdjoints, prelude::*};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(0.5);
    ///     let at = x.peek();
    ///     let y = scope.insert_callback(&[x], &[at.sin()], move |adjoints: &mut CallbackAdjoints<f64>| {
    ///         let seed = adjoints.get_and_reset_output(0);
    ///         adjoints.increment_input(0, seed * at.cos());
    ///         Ok(())
    ///     });
    ///     (x, y[0])
    /// });
    /// assert_eq!(tape.sweep(&[(&y, 1.0)])?.of(&x)?, 0.5_f64.cos());
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When an input is of another recording, when the recording is paused, and when the tape is out of identifiers.
    #[track_caller]
    pub fn insert_callback(
        &mut self,
        inputs: &[Real<S>],
        outputs: &[S::Value],
        callback: impl Callback<S::Value>,
    ) -> Vec<Real<S>> {
        let arguments: Arguments<'_, S> = inputs.iter().map(|x| (x.peek(), x.id())).collect();
        let mut results = Vec::with_capacity(outputs.len());
        let mut each = |value, id| results.push(Real::from_parts(value, id));
        recording::record_external::<S>(self.number(), &arguments, outputs, Box::new(Called(callback)), &mut each);
        results
    }
}
