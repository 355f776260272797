//! Operations on a recording while it runs.

use super::inputs::Inputs;
use super::outline::Outlined;
use super::parts::Parts;
use super::{AdjointVector, Tape};
use crate::expr::Real;
use crate::kernels::{View, checked};
use core::fmt;
use core::marker::PhantomData;
use std::sync::Mutex;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::external::Arrays;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::policy::AllowedIn;
use tapewright_strategies::recording::{self, OwnedTape, Running};
use tapewright_strategies::{Reverse, Taping};

/// Access to a running recording: registers inputs.
pub struct Scope<'a, S: Reverse> {
    number: RecordingId,
    inputs: &'a mut Inputs,
    pub(crate) parts: &'a Parts,
    here: PhantomData<(*const (), S)>,
}

/// Slot of the variable; `None` if it is passive.
#[cfg_attr(not(debug_assertions), inline(always))]
fn slot_of<S: Reverse>(variable: &Real<S>) -> Option<usize> {
    S::locate(variable.id()).map(|(_, slot)| slot)
}

/// Registers inputs in the running recording `number`, and adds their slots to `inputs`. Returns true if the slots are
/// consecutive, in order.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn register<S: Reverse>(
    number: RecordingId,
    inputs: &mut Inputs,
    values: &[S::Value],
    variables: &mut Vec<Real<S>>,
) -> bool {
    variables.clear();
    let first =
        recording::with_inputs::<S, _>(number, values, |tape| S::inputs(tape, values, Real::from_parts, variables));
    if let Some(first) = first {
        if !values.is_empty() {
            inputs.add(first..first + values.len());
        }
        return true;
    }
    variables.iter().filter_map(slot_of).for_each(|slot| inputs.add(slot..slot + 1));
    consecutive(variables)
}

/// Returns true if the variables have consecutive slots, in order.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn consecutive<S: Reverse>(variables: &[Real<S>]) -> bool {
    let Some(first) = variables.first().and_then(slot_of) else { return variables.is_empty() };
    variables.iter().enumerate().all(|(k, variable)| slot_of(variable) == Some(first + k))
}

impl<'a, S: Reverse> Scope<'a, S> {
    #[inline(always)]
    pub(crate) const fn new(number: RecordingId, inputs: &'a mut Inputs, parts: &'a Parts) -> Self {
        Self { number, inputs, parts, here: PhantomData }
    }
}

impl<S: Reverse> Scope<'_, S> {
    /// Registers an independent variable.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers, and while the recording is paused.
    #[inline]
    #[track_caller]
    pub fn input(&mut self, value: S::Value) -> Real<S> {
        let id = recording::with_inputs::<S, _>(self.number, &[value], |tape| S::input(tape, value));
        let variable = Real::from_parts(value, id);
        if let Some(slot) = slot_of(&variable) {
            self.inputs.add(slot..slot + 1);
        }
        variable
    }

    /// Registers an independent variable for each value.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers, and while the recording is paused.
    #[track_caller]
    pub fn inputs(&mut self, values: &[S::Value]) -> Vec<Real<S>> {
        let mut variables = Vec::new();
        self.inputs_into(values, &mut variables);
        variables
    }

    /// [`inputs`](Self::inputs) into a vector that is cleared first and keeps its memory.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers, and while the recording is paused.
    #[track_caller]
    pub fn inputs_into(&mut self, values: &[S::Value], variables: &mut Vec<Real<S>>) {
        register(self.number, self.inputs, values, variables);
    }

    /// Registers an array of independent variables: a view of this shape with these values, the last dimension running
    /// fastest.
    ///
    /// # Panics
    ///
    /// When there are not as many elements as the shape says, when the shape has a dimension of length 0, and while the
    /// recording is paused.
    #[must_use]
    #[track_caller]
    pub fn view<const R: usize>(&mut self, shape: [usize; R], values: &[S::Value]) -> View<S, R> {
        let values = checked(&shape, values);
        let (mut buffer, slot) =
            recording::with_arrays::<S, _>(self.number, |arrays| (arrays.buffer(values.len()), arrays.input_slot()));
        buffer.assign(values);
        self.enter(View::on(shape, buffer.share()), slot)
    }

    /// Registers an array of independent variables with the elements of a view, in its space. They are not copied, so
    /// that those of a view on a device stay there.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for, parallel_sum}, prelude::*};
    ///
    /// // Steps against the gradient of Σ (x − 1)², whose arrays would stay on a device.
    /// let mut x = View::<Passive, 1>::new([2], &[3.0, -1.0]);
    /// let mut tape = Tape::<Jacobian>::new();
    /// for _ in 0..60 {
    ///     let (start, sum) = tape.record(|scope| {
    ///         let start = scope.view_from(&x);
    ///         let sum = parallel_sum(start.all(), &start, |x| (x.at::<0>() - 1.0).square());
    ///         (start, sum)
    ///     });
    ///     let gradient = tape.sweep(&[(&sum, 1.0)])?.view_of(&start)?;
    ///     parallel_for(x.all(), (&mut x, &gradient), |(x, g)| (x.at::<0>() - 0.25 * g.at::<0>(),));
    /// }
    /// assert_eq!(x.values(), [1.0, 1.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the view is half written, and while the recording is paused.
    #[must_use]
    #[track_caller]
    pub fn view_from<T: Taping<Value = S::Value>, const R: usize, M: Space<S::Value>>(
        &mut self,
        view: &View<T, R, M>,
    ) -> View<S, R, M>
    where
        S::Policy: AllowedIn<M>,
    {
        let slot = recording::with_arrays::<S, _>(self.number, Arrays::input_slot);
        self.enter(view.constant(), slot)
    }

    /// Makes a view an input.
    fn enter<const R: usize, M: Space<S::Value>>(&self, mut view: View<S, R, M>, slot: usize) -> View<S, R, M> {
        view.set_dependence(Dependence::Recorded { number: self.number, slot });
        if Flow::Recorded(self.number).is_kept_for_replays() {
            recording::keep_input::<S>(self.number, slot, view.values.clone());
        }
        view
    }

    /// Id of this recording, which its variables carry.
    #[must_use]
    pub const fn number(&self) -> RecordingId {
        self.number
    }
}

impl<S: Reverse> fmt::Debug for Scope<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope of recording {}", self.number)
    }
}

/// A recording that is not bound to a closure: it records until [`finish`](Self::finish) or until it is dropped.
///
/// If it is leaked, its tape is leaked and stays active on this thread. A recording cannot be sent to another thread:
///
/// ```compile_fail,E0277
/// # use tapewright::prelude::*;
/// let recording = Tape::<Jacobian>::new().start();
/// std::thread::spawn(move || drop(recording));
/// ```
pub struct Recording<S: Reverse> {
    running: Running<S>,
    inputs: Inputs,
    parts: Parts,
    adjoints: AdjointVector<S::Value>,
    variables: Vec<Real<S>>,
}

impl<S: Reverse> Recording<S> {
    pub(crate) fn new(owned: OwnedTape<S>, adjoints: AdjointVector<S::Value>, variables: Vec<Real<S>>) -> Self {
        Self { running: owned.start(), inputs: Inputs::NONE, parts: Parts::default(), adjoints, variables }
    }

    /// Registers inputs.
    pub fn scope(&mut self) -> Scope<'_, S> {
        Scope::new(self.running.number(), &mut self.inputs, &self.parts)
    }

    /// Stops recording and returns the tape.
    ///
    /// # Panics
    ///
    /// When called by a rule of a slice function that is being recorded on this tape; the tape is then leaked.
    #[must_use]
    pub fn finish(self) -> Tape<S> {
        let Self { running, inputs, parts, adjoints, variables } = self;
        let (owned, patterns, outlined) = (running.finish(), Mutex::default(), Outlined::default());
        Tape { owned, adjoints, lanes: None, inputs, parts, variables, in_order: false, patterns, outlined }
    }
}

impl<S: Reverse> fmt::Debug for Recording<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recording {}", self.running.number())
    }
}
