//! Functions that are recorded, and whose rules run in every sweep, because another process waits for what the rules
//! send.

mod launch;

use crate::expr::Real;
use crate::kernels::{View, make_room, note};
use crate::schedule::Action;
use crate::variables::{Variables, ViewParts, ViewRef};
use core::cell::Cell;
use core::fmt;
use core::hash::{Hash, Hasher};
use launch::{Exchanged, Part};
use std::hash::DefaultHasher;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::kernel::launch::OperandView;
use tapewright_strategies::{External, Number, Taping};

thread_local! {
    /// Number of exchanges that have been made on this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Digest of the actions of the time loops that are running on this thread.
    static ACTIONS: Cell<u64> = const { Cell::new(0) };
}

/// Runs `f`, and returns true if `f` has exchanged anything, and the result of `f`.
pub(crate) fn noticed<R>(f: impl FnOnce() -> R) -> (bool, R) {
    let before = COUNT.get();
    let result = f();
    (COUNT.get() != before, result)
}

/// Runs a block whose derivatives are computed immediately, which is possible only if the block exchanges nothing.
///
/// # Panics
///
/// When the block exchanges something.
#[track_caller]
pub(crate) fn refused_in<R>(what: &str, block: impl FnOnce() -> R) -> R {
    let (exchanged, result) = noticed(block);
    assert!(!exchanged, "{what} has exchanged something, with messages say, and what it owes to others would be lost");
    result
}

/// Runs a part of a time loop, and restores the digest of actions afterwards.
pub(crate) fn in_a_plan<R>(f: impl FnOnce() -> R) -> R {
    struct Back(u64);
    impl Drop for Back {
        fn drop(&mut self) {
            ACTIONS.set(self.0);
        }
    }
    let _back = Back(ACTIONS.get());
    f()
}

/// Adds the next action of a time loop to the digest.
pub(crate) fn note_action(action: Option<Action>) {
    let mut hasher = DefaultHasher::new();
    (ACTIONS.get(), action).hash(&mut hasher);
    ACTIONS.set(hasher.finish());
}

/// Returns a digest of the actions of the surrounding time loops so far, 0 outside of time loops. It differs between
/// programs whose loops follow different schedules. For rules of an [`Exchange`].
#[must_use]
pub fn schedule_digest() -> u64 {
    ACTIONS.get()
}

/// A function that exchanges values with something outside this program: with other processes, say, that differentiate
/// their parts of the same computation. Crates for message passing are built on it.
///
/// [`external`](crate::external()) does not record functions of passive inputs, and sweeps skip a rule to which no
/// adjoint arrives. An exchange must not be skipped, because another process waits for the message: it is recorded in
/// the innermost recording of its strategy on this thread, whatever its inputs are, and every sweep that passes the
/// exchange calls its rule, with zeros if nothing else arrives. It takes views as well as variables. Stages and time
/// loops whose first run has exchanged anything are never skipped, either.
///
/// 1. [`of`](Self::of) the inputs; this panics where they cannot be recorded, before anything has been exchanged.
/// 2. Exchange [`values`](Self::values), together with [`flow`](Self::flow), on which both sides should agree.
/// 3. [`finish`](Self::finish) with what came back, and the rule for sweeps.
///
/// A rule sees values in one sequence: collection by collection, of each first its variables, then the elements of its
/// views. [`External::reverse`] is called for one adjoint vector, [`External::reverse_lanes`] once for several: the
/// rule should implement it, because the provided method leaves out vectors of zeros. Under `Tangent`,
/// [`External::forward`] is called once for each direction. Infinite and NaN adjoints are passed unchanged, as if the
/// rule [kept zeros](External::keeps_zeros).
///
/// ```
/// use std::sync::Mutex;
/// use tapewright::{External, SweepError, exchange::Exchange, prelude::*};
///
/// /// A mirror: gives back what it gets, and notes each time.
/// struct Mirror;
/// static NOTES: Mutex<Vec<Vec<f64>>> = Mutex::new(Vec::new());
/// impl External<f64> for Mirror {
///     fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
///         NOTES.lock().unwrap().push(outputs.to_vec());
///         inputs.copy_from_slice(outputs);
///         Ok(())
///     }
/// }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.inputs(&[1.0, 2.0]);
///     let exchange = Exchange::of(&x);
///     let values = exchange.values();
///     let y = exchange.finish(&x, &values, Mirror);
///     // Nothing depends on this one. It takes part all the same.
///     let constant = [Real::<Jacobian>::constant(3.0)];
///     Exchange::of(&constant).finish(&constant, &[3.0], Mirror);
///     (x, y)
/// });
/// assert_eq!(tape.sweep(&[(&y[1], 5.0)])?.of_all(&x)?, [0.0, 5.0]);
/// assert_eq!(*NOTES.lock().unwrap(), [vec![0.0], vec![0.0, 5.0]]);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct Exchange<'x, S: Taping> {
    flow: Flow,
    arguments: Vec<(S::Value, &'x S::Id)>,
    views: Vec<ViewRef<'x, S::Value>>,
    parts: Vec<Part>,
}

impl<'x, S: Taping> Exchange<'x, S> {
    /// An exchange of these inputs: of variables, views, or collections of them.
    ///
    /// # Panics
    ///
    /// When an input belongs to another recording than the innermost of this strategy on this thread, or, in forward
    /// mode, to another evaluation than the one that runs; when the strategy has no exchanges.
    #[must_use]
    #[track_caller]
    pub fn of<X: Variables<S> + 'x>(inputs: impl IntoIterator<Item = &'x X>) -> Self {
        const { assert!(!S::Value::VARIABLE, "variables of a recording mean nothing in another process: exchange `Dual`s") }
        let flow = S::innermost();
        let mut exchange = Self { flow, arguments: Vec::new(), views: Vec::new(), parts: Vec::new() };
        for input in inputs {
            input.visit(&mut |slice| exchange.arguments.extend(slice.iter().map(|x| (x.peek(), x.id()))));
            let first = exchange.views.len();
            input.visit_views(&mut |view| exchange.views.push(view));
            launch::add_parts(
                &mut exchange.parts,
                input.count(),
                exchange.views[first..].iter().map(|view| OperandView {
                    before: view.dependence.slot(),
                    after: None,
                    length: view.values.len(),
                }),
            );
        }
        let dependences: Vec<_> = exchange.views.iter().map(|view| view.dependence).collect();
        let of_inputs = S::flow(&dependences, &exchange.arguments);
        assert!(
            of_inputs == Flow::Nowhere || of_inputs == flow,
            "an exchange is recorded in the innermost recording of its strategy, and these inputs belong to another one \
             (exchange the variables of a recording while no other is made inside it)"
        );
        assert!(
            flow != Flow::Nowhere || !S::is_active(&exchange.arguments),
            "{} has no exchanges (implement `Taping::innermost`)",
            core::any::type_name::<S>()
        );
        COUNT.set(COUNT.get() + 1);
        exchange
    }

    /// Kind of the derivatives that this exchange passes on: see [`Flow`].
    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// Returns true if no input has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of the inputs, in the order of the rule.
    #[must_use]
    pub fn values(&self) -> Vec<S::Value> {
        let mut values = Vec::with_capacity(self.len());
        let (mut arguments, mut views) = (self.arguments.iter(), self.views.iter());
        for part in &self.parts {
            match part {
                Part::Variables(count) => values.extend(arguments.by_ref().take(*count).map(|(value, _)| *value)),
                Part::View(_) => views.next().into_iter().for_each(|view| values.extend(view.values.iter())),
            }
        }
        values
    }

    /// Puts the exchange on the tape. The outputs are collections of the same shapes as `shapes`, with these values in
    /// the order of the rule.
    ///
    /// # Panics
    ///
    /// When there are not as many values as the shapes say, and when the tape is out of identifiers; in forward mode,
    /// when the rule fails.
    #[track_caller]
    pub fn finish<'y, Y: Variables<S, With<S> = Y> + 'y>(
        self,
        shapes: impl IntoIterator<Item = &'y Y>,
        values: &[S::Value],
        rule: impl External<S::Value>,
    ) -> Vec<Y> {
        let shapes: Vec<&Y> = shapes.into_iter().collect();
        make_room::<S>(self.flow);
        let mut made = Made::<S>::new(self.flow, values);
        shapes.iter().for_each(|shape| made.add(*shape));
        assert!(made.rest.is_empty(), "an exchange has returned {} numbers too many", made.rest.len());
        let variables = made.record(self, rule);
        let (mut variables, mut views) = (variables.into_iter(), made.views.into_iter());
        let rebuild = |shape: &&Y| {
            let mut variable = |_: &Real<S>| variables.next().expect("a variable for each place");
            let mut view = |_: ViewRef<'_, S::Value>| views.next().expect("a view for each place");
            shape.map_with(&mut variable, &mut view)
        };
        shapes.iter().map(rebuild).collect()
    }
}

impl<S: Taping> fmt::Debug for Exchange<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange of {} numbers", self.len())
    }
}

/// Outputs under construction.
struct Made<'v, S: Taping> {
    flow: Flow,
    /// Values that have not been used yet.
    rest: &'v [S::Value],
    /// Values of the variables among the outputs.
    scalars: Vec<S::Value>,
    views: Vec<ViewParts<S::Value>>,
    parts: Vec<Part>,
}

impl<'v, S: Taping> Made<'v, S> {
    const fn new(flow: Flow, values: &'v [S::Value]) -> Self {
        Self { flow, rest: values, scalars: Vec::new(), views: Vec::new(), parts: Vec::new() }
    }

    #[track_caller]
    fn take(&mut self, count: usize) -> &'v [S::Value] {
        let (these, rest) = self.rest.split_at_checked(count).unwrap_or_else(|| {
            panic!(
                "an exchange has returned {} numbers, and its outputs have more",
                self.scalars.len() + self.rest.len()
            )
        });
        self.rest = rest;
        these
    }

    /// Makes a collection of this shape.
    #[track_caller]
    fn add<Y: Variables<S>>(&mut self, shape: &Y) {
        let count = shape.count();
        let scalars = self.take(count);
        self.scalars.extend_from_slice(scalars);
        let first = self.views.len();
        let mut used = Vec::new();
        shape.visit_views(&mut |view| {
            let elements = self.take(view.values.len());
            let mut buffer = View::<S, 1>::empty(self.flow, elements.len());
            buffer.assign(elements);
            let dependence = self.flow.fresh::<S>();
            used.push(OperandView { before: 0, after: Some(dependence.slot()), length: elements.len() });
            self.views.push(ViewParts { values: buffer.share(), dependence, shares: false });
        });
        debug_assert_eq!(self.views.len() - first, used.len(), "a slot for each view");
        launch::add_parts(&mut self.parts, count, used);
    }

    /// Records the exchange, or carries its tangents; returns the variables among the outputs.
    #[track_caller]
    fn record(&mut self, exchange: Exchange<'_, S>, rule: impl External<S::Value>) -> Vec<Real<S>> {
        let nothing = Dependence::Nothing;
        let inputs = exchange.views.iter().map(|view| view.dependence);
        let dependences: Vec<_> = inputs.chain(self.views.iter().map(|_| &nothing)).collect();
        let kept = |view: &ViewRef<'_, S::Value>| view.values.clone();
        let passive =
            if self.flow.is_kept_for_replays() { exchange.views.iter().map(kept).collect() } else { Vec::new() };
        let launch = Exchanged::new(rule, exchange.parts, core::mem::take(&mut self.parts), passive);
        let mut variables = Vec::with_capacity(self.scalars.len());
        let mut each = |value, id| variables.push(Real::from_parts(value, id));
        let moving = note::<S>(self.flow, launch, &dependences, &exchange.arguments, &self.scalars, &mut each);
        self.views.iter_mut().zip(moving).for_each(|(view, moving)| view.dependence = moving);
        variables
    }
}
