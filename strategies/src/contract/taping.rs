//! The contract between the engine and a strategy, and statements as strategies see them.

use super::branch::Branch;
use super::comparison::Comparison;
use super::flow::{Dependence, Flow};
use super::nary::Nary;
use super::variable::{Variable, listed};
use crate::external::{Arrays, TapeCache};
use crate::identifier::RecordingId;
use crate::kernel::launch::{Launch, LaunchSlot};
use crate::policy::Policy;
use crate::rules::{Curvature, Function, Operator};
use crate::shape::{Nothing, Shape};
use crate::{External, Number, Ternary};
use generic_array::{ArrayLength, typenum::Unsigned};

/// A taping strategy: what is recorded of each statement.
///
/// A strategy is a type that is never instantiated. It names the number type, the identifier that a variable carries,
/// and how the right-hand side of an assignment (a [`Statement`]) is recorded. Strategies that keep a tape and can be
/// swept also implement [`Reverse`](crate::Reverse).
///
/// Code that should accept every strategy is generic over `S: Taping` and computes with references (`&x * &y`);
/// everyday code is generic over [`Strategy`](crate::Strategy) and computes with values (`x * y`).
///
/// # Implementing a strategy
///
#[doc = include_str!("toy.md")]
pub trait Taping: Sized + 'static {
    /// The number type of values and partials.
    type Value: Number;
    /// The link from a variable to its record on the tape; `()` where nothing is recorded.
    type Id: Clone + 'static;
    /// A copy of an identifier without ownership, as statements and records store it.
    type Raw: Copy + 'static;
    /// Value and identifier together: [`Taped`](crate::contract::Taped) for most strategies, the bare float for
    /// [`Passive`](crate::Passive).
    type Variable: Variable<Self::Value, Self::Id> + Send + Sync + 'static;
    /// The policy for derivatives at singular points.
    ///
    /// The nodes of statements implement [`Subgradient`](crate::Subgradient). Under [`Checked`](crate::Checked),
    /// `record` calls [`singular_function`](crate::singular::singular_function) and reports the function by
    /// [`recording::note_singular`](crate::recording::note_singular).
    type Policy: Policy;

    /// Returns the identifier of a variable that depends on no input.
    fn passive() -> Self::Id;

    /// Returns a copy of the identifier without ownership.
    fn raw(id: &Self::Id) -> Self::Raw;

    /// Records a statement and returns the identifier of its result; [`passive`](Self::passive) when no argument is
    /// active.
    ///
    /// # Panics
    ///
    /// When an argument belongs to a recording that is not active on this thread, when two arguments belong to two
    /// recordings, or when the tape is out of identifiers. In each case no part of the statement has been recorded.
    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> Self::Id;

    /// Records a statement whose result replaces a variable, which may be among the statement's arguments: `x += …`. A
    /// strategy that reuses identifiers may let the variable keep its identifier.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); the variable is then unchanged.
    #[inline(always)]
    #[track_caller]
    fn assign<N: Statement<Self>>(variable: &mut Self::Variable, statement: &N) {
        *variable = Variable::new(statement.value(), Self::record(statement));
    }

    /// Notes that the values of two expressions were compared. Strategies whose recordings can be
    /// [replayed](crate::Replay) keep the comparison, to check that it comes out the same in a replay; the default does
    /// nothing.
    #[inline(always)]
    #[track_caller]
    fn compare<A: Tree<Self>, B: Tree<Self>>(left: &A, right: &B, comparison: Comparison) {
        let _ = (left, right, comparison);
    }

    /// True if recordings can keep guards of comparisons, so that they can be computed again at other inputs.
    const KEEPS_GUARDS: bool = false;

    /// Returns how many numbers the recording of these arrays and variables holds, variables and elements of arrays, if
    /// it keeps guards. What runs apart from such a recording, such as a stage, would not be computed again with it.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record) that concern the recordings of arguments.
    #[doc(hidden)]
    #[track_caller]
    fn length_if_guarded(arrays: &[&Dependence<Self::Value>], inputs: &[(Self::Value, &Self::Id)]) -> Option<usize> {
        let _ = (arrays, inputs);
        None
    }

    /// Returns false if a comparison hides nothing that depends on this variable. A comparison of such variables alone
    /// is not [noted](Self::note_branch). The default returns true.
    #[inline(always)]
    fn can_hide(id: &Self::Raw) -> bool {
        let _ = id;
        true
    }

    /// Notes a comparison on which the program may branch. It is called for every comparison under the policies
    /// [`Checked`](crate::Checked) and [`Tracing`](crate::policy::Tracing), and under other policies for comparisons of
    /// closed variables that may [hide a derivative](Branch). Strategies with recordings pass the comparison on to
    /// [`recording::note_branch`](crate::recording::note_branch); the default does nothing.
    #[inline(always)]
    fn note_branch(branch: &Branch<'_, Self::Value, Self::Raw>) {
        let _ = branch;
    }

    /// Records a statement whose number of arguments is known at run time only. `arguments` is one list, cut in pieces;
    /// `value` is the value of `R` at these arguments; `constants` has `R::CONSTANTS` entries for each argument.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record), and when the number of constants is wrong.
    #[track_caller]
    fn record_nary<R: Nary<Self::Value>>(
        arguments: &[&[Self::Variable]],
        constants: &[Self::Value],
        value: Self::Value,
    ) -> Self::Id;

    /// Returns true if a function of these variables, given by values and identifiers, has derivatives: if its results
    /// must be recorded, or carry tangents.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record) that concern the recordings of arguments.
    #[track_caller]
    fn is_active(inputs: &[(Self::Value, &Self::Id)]) -> bool {
        let _ = inputs;
        true
    }

    /// Records an external function of these variables, whose results have the values `outputs`, and calls `each` with
    /// value and identifier of each result, in order. Strategies whose tapes have [marks](crate::Reverse::mark) call
    /// [`recording::record_external`].
    ///
    /// [`recording::record_external`]: crate::recording::record_external
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); when the strategy has no external functions; in forward mode,
    /// when the rule fails.
    #[track_caller]
    fn record_external(
        inputs: &[(Self::Value, &Self::Id)],
        outputs: &[Self::Value],
        rule: Box<dyn External<Self::Value>>,
        each: &mut dyn FnMut(Self::Value, Self::Id),
    ) {
        let _ = (inputs, outputs, each);
        panic!(
            "{} has no external functions, so {} cannot be recorded (implement `Taping::record_external`)",
            core::any::type_name::<Self>(),
            rule.name()
        )
    }

    /// Calls [`is_active`](Self::is_active) with one list of variables that is cut in pieces.
    #[doc(hidden)]
    #[track_caller]
    fn are_active(pieces: &[&[Self::Variable]]) -> bool {
        Self::is_active(&listed(pieces))
    }

    /// Calls [`record_external`](Self::record_external) with one list of variables that is cut in pieces.
    #[doc(hidden)]
    #[track_caller]
    fn record_external_of(
        pieces: &[&[Self::Variable]],
        outputs: &[Self::Value],
        rule: Box<dyn External<Self::Value>>,
        each: &mut dyn FnMut(Self::Value, Self::Id),
    ) {
        Self::record_external(&listed(pieces), outputs, rule, each);
    }

    /// Returns the destination of the derivatives of a launch: a kernel over arrays with these dependences, and over
    /// these variables.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); when variables are active, and the strategy has no arrays.
    #[track_caller]
    fn flow(arrays: &[&Dependence<Self::Value>], inputs: &[(Self::Value, &Self::Id)]) -> Flow {
        let _ = arrays;
        let name = core::any::type_name::<Self>();
        assert!(inputs.is_empty() || !Self::is_active(inputs), "{name} has no arrays (implement `Taping::flow`)");
        Flow::Nowhere
    }

    /// Returns the destination of the derivatives of a launch that is recorded even if everything it depends on is
    /// passive: the innermost recording of this strategy on this thread, or the evaluation in forward mode that runs
    /// there. [`Flow::Nowhere`] while these are [paused](crate::recording::pause), and by default. Strategies that have
    /// arrays call [`recording::innermost_flow`](crate::recording::innermost_flow).
    #[must_use]
    fn innermost() -> Flow {
        Flow::Nowhere
    }

    /// Calls `f` with the arrays of a recording.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); when the strategy has no arrays.
    #[track_caller]
    fn with_arrays(number: RecordingId, f: &mut dyn FnMut(&mut Arrays<Self::Value>)) {
        let _ = f;
        panic!("{} has no arrays, so recording {number} has none", core::any::type_name::<Self>())
    }

    /// Called before a launch is recorded under this id. Writes arrays that launches keep to disk where they exceed
    /// their memory budget; the default does nothing.
    ///
    /// # Panics
    ///
    /// When there is no such recording on this thread; and when the arrays cannot be written, with an error that
    /// [`catch_storage_errors`](crate::error::catch_storage_errors) catches.
    #[inline(always)]
    #[track_caller]
    fn make_room(number: RecordingId) {
        let _ = number;
    }

    /// Records a launch of a kernel over arrays of this recording. `inputs` are the variables that the launch reads,
    /// `outputs` the values of the variables that it makes; `each` is called with value and identifier of each of the
    /// latter. `write` writes the launch into the slot where the recording keeps it.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); when the strategy has no arrays.
    #[track_caller]
    fn record_launch(
        number: RecordingId,
        inputs: &[(Self::Value, &Self::Id)],
        outputs: &[Self::Value],
        write: &mut dyn FnMut(&mut LaunchSlot<'_, Self::Value>),
        each: &mut dyn FnMut(Self::Value, Self::Id),
    ) {
        let _ = (inputs, outputs, write, each);
        panic!("{} has no arrays, so recording {number} has none", core::any::type_name::<Self>())
    }

    /// Computes, in forward mode, the tangents of the arrays and variables that a launch has written. `arrays` are the
    /// dependences of its operands, `inputs` the variables that it reads, `outputs` the values of the variables that it
    /// makes; `each` is called with value and identifier of each of the latter. Returns the dependences of the written
    /// arrays, in their order. The slots of the launch are meaningless here.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record); when the strategy has no forward mode, and when the launch
    /// fails.
    #[track_caller]
    fn carry_launch(
        launch: &dyn Launch<Self::Value>,
        arrays: &[&Dependence<Self::Value>],
        inputs: &[(Self::Value, &Self::Id)],
        outputs: &[Self::Value],
        each: &mut dyn FnMut(Self::Value, Self::Id),
    ) -> Vec<Dependence<Self::Value>> {
        let _ = (launch, arrays, inputs, outputs, each);
        panic!("{} has no forward mode", core::any::type_name::<Self>())
    }

    /// Returns the cache of type `C` that external functions keep in the tape of these arrays and variables, and makes
    /// it if there is none yet; `None` if there is no tape.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`record`](Self::record) that concern the recordings of arguments.
    #[track_caller]
    fn keep<C: TapeCache + Default + Clone>(
        arrays: &[&Dependence<Self::Value>],
        inputs: &[(Self::Value, &Self::Id)],
    ) -> Option<C> {
        let _ = (arrays, inputs);
        None
    }
}

/// A differentiable expression at given values, with local reverse mode inside one statement.
///
/// Implemented by the nodes of the engine's expression trees; strategies only call it.
pub trait Expression<S: Taping> {
    /// The structure of the partials, shared by all statements that are linear in the same places.
    type Shape: Shape;

    /// Returns the value, which was computed when the expression was built.
    fn value(&self) -> S::Value;

    /// Reports factors, and the leaves from left to right, with `seed` = ∂(statement)/∂(this node).
    fn backward(&self, seed: S::Value, sink: &mut impl Sink<S>);

    /// Reports factors and leaves in the order of [`backward`](Self::backward), for a branch that was not selected:
    /// every factor and partial is exactly 0.
    fn silence(&self, sink: &mut impl Sink<S>);

    /// Calls `visit` with seed·∂/∂leaf for each leaf, left to right.
    #[inline(always)]
    fn partials(&self, seed: S::Value, visit: &mut impl FnMut(S::Value, S::Raw)) {
        self.backward(seed, &mut Partials(visit));
    }
}

/// A receiver of the partials in a walk over a tree. Each purpose has its own type, so that each type of node needs one
/// function only.
pub trait Sink<S: Taping> {
    /// Takes the next factor: a distinct partial of the statement that is not ±1 by the operators; see [`Shape`].
    fn factor(&mut self, factor: S::Value);
    /// Takes the next leaf and its partial.
    fn leaf(&mut self, partial: S::Value, id: S::Raw);
    /// Announces that the partials of the next `leaves` leaves, at least one, have the singular partial of the function
    /// with this name as a factor. Called under [`Checked`](crate::Checked) only; see [`Policy`].
    #[inline(always)]
    fn singular(&mut self, function: &'static str, leaves: usize) {
        let _ = (function, leaves);
    }
    /// Returns true if the next partials count in this lane; they are 0 in lanes where they do not.
    #[inline(always)]
    fn counts(&self, lane: usize) -> bool {
        let _ = lane;
        true
    }
    /// Returns the lanes in which the next partials count, by 1 and 0, if the receiver can leave out the others: `None`
    /// inside for all lanes.
    #[inline(always)]
    fn lanes(&self) -> Option<Option<S::Value>> {
        None
    }
    /// Replaces the [`lanes`](Self::lanes).
    #[inline(always)]
    fn set_lanes(&mut self, lanes: Option<S::Value>) {
        let _ = lanes;
    }
}

struct Partials<'a, F>(&'a mut F);
impl<S: Taping, F: FnMut(S::Value, S::Raw)> Sink<S> for Partials<'_, F> {
    #[inline(always)]
    fn factor(&mut self, _: S::Value) {}
    #[inline(always)]
    fn leaf(&mut self, partial: S::Value, id: S::Raw) {
        (self.0)(partial, id);
    }
}

/// A tree that can be stored in a record: its leaves and constants, and its type when rebuilt.
///
/// Implemented by the nodes of the engine's expression trees. Strategies and generic code use [`Statement`] as their
/// bound.
pub trait Tree<S: Taping>: Expression<S> {
    /// The number of leaves (argument uses) as a typenum integer.
    type Args: Unsigned;
    /// The number of `f64` operands as a typenum integer.
    type Constants: Unsigned;
    /// The owned form of the tree, rebuilt from a record; by-value and by-reference forms share it.
    type Back: Twin<S>;

    /// Reports leaves and constants, each from left to right.
    fn store(&self, store: &mut impl Store<S>);
}

/// The right-hand side of an assignment, as a strategy sees it: a [`Tree`] whose counts can be lengths of arrays.
///
/// Implemented for every tree that qualifies. The bound on arrays is part of this trait and not of each node: its proof
/// is deep, and a chain of a hundred operators would exceed the compiler's recursion limit.
pub trait Statement<S: Taping>: Tree<S, Args: ArrayLength, Constants: ArrayLength> {}
impl<S: Taping, N: Tree<S, Args: ArrayLength, Constants: ArrayLength>> Statement<S> for N {}

/// A receiver of the leaves and constants of a statement.
pub trait Store<S: Taping> {
    /// Takes the next leaf.
    fn leaf(&mut self, value: S::Value, id: S::Raw);
    /// Takes the next constant.
    fn constant(&mut self, constant: S::Value);
}

/// A tree that owns its leaves and can be rebuilt from a record. Its leaves are values and raw identifiers, so that it
/// can be copied.
pub trait Twin<S: Taping>: Expression<S> + Copy + 'static {
    /// A hash of the type, for tables of strategies. Most types differ in it, but not all.
    const HASH: u32;
    /// The number of constants.
    const CONSTANTS: usize;
    /// True if a rebuilt tree computes its value from its leaves. Recordings with a tree for which this is false cannot
    /// be replayed.
    const REPLAYS: bool = true;
    /// The pairs of leaves in which the tree is not linear.
    const CURVATURE: Curvature = Curvature::Everywhere;
    /// Number of results in the tree that programs keep for derivatives.
    const KEPT: usize = 0;
    /// True if the value of the tree is the last of these results.
    const KEEPS_VALUE: bool = false;
    /// The same tree over another strategy, with leaves and constants in the same order: programs compute it over
    /// registers. [`Opaque`] for trees that have none.
    type Over<T: Taping>: Twin<T>;

    /// Rebuilds the tree, and its values, from the leaves and constants in the order of [`Tree::store`].
    fn load(source: &mut impl Load<S>) -> Self;

    /// Returns the value of the tree without building the tree: bit for bit the value of [`load`](Self::load), from
    /// leaves and constants in the same order. Called by replays.
    #[inline(always)]
    fn evaluate(source: &mut impl Load<S>) -> S::Value {
        Self::load(source).value()
    }
}

/// The tree over other strategies of a [`Twin`] that has none: there is no such tree, and programs do not take the
/// statement.
#[derive(Clone, Copy, Debug)]
pub enum Opaque {}

impl<S: Taping> Expression<S> for Opaque {
    type Shape = Nothing;
    fn value(&self) -> S::Value {
        match *self {}
    }
    fn backward(&self, _: S::Value, _: &mut impl Sink<S>) {
        match *self {}
    }
    fn silence(&self, _: &mut impl Sink<S>) {
        match *self {}
    }
}

impl<S: Taping> Twin<S> for Opaque {
    const HASH: u32 = 0;
    const CONSTANTS: usize = 0;
    const REPLAYS: bool = false;
    type Over<T: Taping> = Self;
    fn load(_: &mut impl Load<S>) -> Self {
        panic!("a statement that has no tree over other strategies cannot be computed there")
    }
}

/// A source of the leaves and constants of a statement.
pub trait Load<S: Taping> {
    /// Returns the next leaf. Its identifier says whether the leaf is active, but not which variable it is.
    fn leaf(&mut self) -> (S::Value, S::Raw);
    /// Returns the next constant.
    fn constant(&mut self) -> S::Value;

    /// Computes a function of one argument and its companion. Programs keep the results for derivatives.
    #[inline(always)]
    fn function<O: Function>(&mut self, x: S::Value) -> (S::Value, S::Value) {
        O::value_and_companion(x)
    }
    /// Computes a function of two arguments.
    #[inline(always)]
    fn operator<O: Operator>(&mut self, x: S::Value, y: S::Value) -> S::Value {
        O::value(x, y)
    }
    /// Computes a function of three arguments.
    #[inline(always)]
    fn ternary<R: Ternary>(&mut self, [x, y, z]: [S::Value; 3]) -> S::Value {
        x.ternary::<R>(y, z)
    }
}

/// A [`Taping`] strategy whose variables are `Copy`, so that generic code may write `x * y`.
///
/// | strategy | a record keeps |
/// |---|---|
/// | [`Jacobian`](crate::Jacobian) | partial derivatives |
/// | [`PrimalValue`](crate::PrimalValue) | what partial derivatives are computed from |
/// | [`Hybrid`](crate::Hybrid) | the smaller of the two, by type of statement |
/// | [`Continuation`](crate::Continuation) | a closure that propagates adjoints |
/// | [`Tangent`](crate::Tangent) | nothing: variables carry their derivatives along some directions |
/// | [`Passive`](crate::Passive) | nothing: plain arithmetic |
///
/// The first four keep a tape, and qualify with [`Linear`](crate::Linear) indices, the default. With
/// [`Reuse`](crate::Reuse) they are [`Taping`] only. The policies [`Checked`](crate::Checked),
/// [`Subgradient`](crate::Subgradient) and [`Traced`](crate::Traced) qualify if their strategy does.
///
/// Implemented for every strategy that qualifies; nobody implements it by hand.
#[diagnostic::on_unimplemented(
    message = "the variables of `{Self}` are not `Copy`, which code over `S: Strategy` needs",
    label = "a strategy with `Linear` indices is needed here",
    note = "write the function over `S: Taping`, with references such as `&x * &y`: it then runs under every strategy"
)]
pub trait Strategy: Taping<Id: Copy, Variable: Copy> {}
#[diagnostic::do_not_recommend]
impl<S: Taping<Id: Copy, Variable: Copy>> Strategy for S {}
