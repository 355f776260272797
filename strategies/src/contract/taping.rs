//! The contract between the engine and a strategy.

use super::comparison::Comparison;
use super::flow::{Dependence, Flow};
use super::nary::Nary;
use super::statement::{Statement, Tree};
use super::variable::{Variable, listed};
use crate::lanes::{Launch, Launched};
use crate::{Arrays, Companion, External, Number, Policy, TapeNumber};

/// How a derivative is recorded: what a taping strategy must do with one statement.
///
/// A strategy is a type that is never instantiated. It names the number type, the identifier that a variable carries,
/// and what happens when the right-hand side of an assignment (a [`Statement`]) becomes a variable. Strategies that
/// keep a tape and can be swept also implement [`Reverse`](crate::Reverse).
///
/// Code that should accept every strategy is generic over `S: Taping` and computes with references (`&x * &y`);
/// everyday code is generic over [`Strategy`](crate::Strategy) and computes with values (`x * y`).
///
/// # Implementing a strategy
///
/// The complete toy below keeps, for each statement, a list of (partial, argument) pairs. It uses the helpers of
/// [`active`](crate::active) to find the tape of a statement, which detect stale and foreign variables.
///
/// ```
/// use tapewright_strategies::{active, Capacity, LinearId, MemoryReport, MemoryUsage, Nary, Reverse, Statement,
///     Strict, SweepError, TapeNumber, Taped, Taping};
///
/// pub struct Toy;
///
/// #[derive(Default)]
/// pub struct ToyTape { number: TapeNumber, records: Vec<Option<Vec<(f64, usize)>>> }
///
/// impl ToyTape {
///     fn push(&mut self, record: Option<Vec<(f64, usize)>>) -> LinearId {
///         self.records.push(record);
///         LinearId::new(self.number, self.records.len() as u64).expect("fewer than 2^32 statements")
///     }
/// }
///
/// /// Records a statement with the given partials where its arguments live.
/// #[track_caller]
/// fn push(partials: Vec<(f64, LinearId)>) -> LinearId {
///     let Some(number) = active::common_number(partials.iter().map(|(_, id)| *id)) else { return LinearId::PASSIVE };
///     active::with::<Toy, _>(number, |tape| {
///         let active = partials.iter().filter(|(_, id)| id.is_active());
///         tape.push(Some(active.map(|(p, id)| (*p, id.index() as usize)).collect()))
///     })
/// }
///
/// impl Taping for Toy {
///     type Value = f64;
///     type Id = LinearId;
///     type Raw = LinearId;
///     type Variable = Taped<f64, LinearId>;
///     type Policy = Strict;
///     fn passive() -> LinearId { LinearId::PASSIVE }
///     fn raw(id: &LinearId) -> LinearId { *id }
///     fn record<N: Statement<Self>>(statement: &N) -> LinearId {
///         let mut partials = Vec::new();
///         statement.partials(1.0, &mut |p, id| partials.push((p, id)));
///         push(partials)
///     }
///     fn record_nary<R: Nary<f64>>(arguments: &[&[Self::Variable]], constants: &[f64], _value: f64) -> LinearId {
///         let values: Vec<f64> = arguments.iter().copied().flatten().map(|x| x.value).collect();
///         let mut partials = vec![0.0; values.len()];
///         R::partials(&values, constants, &mut partials);
///         push(partials.into_iter().zip(arguments.iter().copied().flatten().map(|x| x.id)).collect())
///     }
/// }
///
/// impl Reverse for Toy {
///     type Tape = ToyTape;
///     fn begin(tape: &mut ToyTape, number: TapeNumber) { tape.number = number; tape.records.clear(); }
///     fn input(tape: &mut ToyTape, _value: f64) -> LinearId { tape.push(None) }
///     fn locate(id: &LinearId) -> Option<(TapeNumber, usize)> {
///         id.is_active().then(|| (id.number(), id.index() as usize))
///     }
///     fn identifiers(tape: &ToyTape) -> usize { tape.records.len() + 1 }
///     fn reverse(tape: &ToyTape, adjoints: &mut [f64]) -> Result<(), SweepError> {
///         for (i, record) in tape.records.iter().enumerate().rev() {
///             let Some(record) = record else { continue };      // an input keeps its adjoint
///             let seed = std::mem::take(&mut adjoints[i + 1]);
///             for (partial, argument) in record {
///                 // Zero times anything is zero, infinities and NaN included.
///                 if seed != 0.0 && *partial != 0.0 { adjoints[*argument] += seed * partial }
///             }
///         }
///         Ok(())
///     }
///     fn reserve(tape: &mut ToyTape, capacity: Capacity) { tape.records.reserve(capacity.statements) }
///     fn memory(tape: &ToyTape) -> MemoryReport {
///         let arguments = tape.records.iter().flatten().map(Vec::len).sum();
///         MemoryReport::new(tape.records.iter().flatten().count(), arguments)
///             .stream("records", MemoryUsage::of_vec(&tape.records))
///             .stream("arguments", MemoryUsage::exact(16 * arguments))
///     }
/// }
/// ```
///
/// `tapewright::conformance!(Toy)` then runs the conformance kit on it; what the toy does without is skipped. One
/// scenario fails: a list for each statement cannot be reserved before the statement comes. One list for all can.
pub trait Taping: Sized + 'static {
    /// The number type of values and partials.
    type Value: Number;
    /// What a variable carries to be found on the tape; `()` where nothing is recorded.
    type Id: Clone + 'static;
    /// A copy of an identifier without ownership, as rules and records pass it around.
    type Raw: Copy + 'static;
    /// Value and identifier together: [`Taped`](crate::Taped) for most strategies, the bare float for
    /// [`Passive`](crate::Passive).
    type Variable: Variable<Self::Value, Self::Id> + Send + Sync + 'static;
    /// What derivatives are at singular points.
    ///
    /// The nodes of statements see to [`Subgradient`](crate::Subgradient). For [`Checked`](crate::Checked), `record`
    /// asks [`singular_function`](crate::singular_function) and tells
    /// [`active::note_singular`](crate::active::note_singular).
    type Policy: Policy;

    /// The identifier of a variable that depends on no input.
    fn passive() -> Self::Id;

    /// The identifier without ownership.
    fn raw(id: &Self::Id) -> Self::Raw;

    /// Records a statement and returns the identifier of its result; [`passive`](Self::passive) when no argument is
    /// active.
    ///
    /// # Panics
    ///
    /// When an argument belongs to a recording that is not active on this thread, when two arguments belong to two
    /// recordings, or when the tape is out of identifiers; in each case nothing of the statement has been recorded.
    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> Self::Id;

    /// Notes that the values of two expressions were compared, for strategies whose recordings can be replayed and then
    /// have to find that the comparison comes out as it did: see [`Replay`](crate::Replay). Others need not know.
    #[inline(always)]
    #[track_caller]
    fn compare<A: Tree<Self>, B: Tree<Self>>(left: &A, right: &B, comparison: Comparison) {
        let _ = (left, right, comparison);
    }

    /// Records a statement whose number of arguments is known at run time only. `arguments` is one list cut in
    /// pieces; `value` is the value of `R` at them; there are `R::CONSTANTS` constants for each argument.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), and when the number of constants is another.
    #[track_caller]
    fn record_nary<R: Nary<Self::Value>>(
        arguments: &[&[Self::Variable]],
        constants: &[Self::Value],
        value: Self::Value,
    ) -> Self::Id;

    /// Whether a derivative of a function of these variables, given by values and identifiers, would go anywhere:
    /// whether its results must be recorded, or carry derivatives.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), where variables belong to recordings.
    #[track_caller]
    fn is_active(inputs: &[(Self::Value, &Self::Id)]) -> bool {
        let _ = inputs;
        true
    }

    /// Records an external function of these variables, whose results have these values, and gives `each` the variable
    /// for each of them, in order. Strategies whose tapes have [marks](crate::Reverse::mark) call
    /// [`active::record_external`].
    ///
    /// [`active::record_external`]: crate::active::record_external
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record); when the strategy has no external functions; in forward mode, when the rule fails.
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

    /// [`is_active`](Self::is_active) for one list of variables that is cut in pieces.
    #[doc(hidden)]
    #[track_caller]
    fn are_active(pieces: &[&[Self::Variable]]) -> bool {
        Self::is_active(&listed(pieces))
    }

    /// [`record_external`](Self::record_external) of one list of variables that is cut in pieces.
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

    /// Where the derivatives of a launch go: of a kernel over arrays that depend on these things, and over these
    /// variables.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record); when there are active variables, and the strategy has no arrays.
    #[track_caller]
    fn flow(arrays: &[&Dependence<Self::Value>], inputs: &[(Self::Value, &Self::Id)]) -> Flow {
        let _ = arrays;
        let name = core::any::type_name::<Self>();
        assert!(inputs.is_empty() || !Self::is_active(inputs), "{name} has no arrays (implement `Taping::flow`)");
        Flow::Nowhere
    }

    /// Where the derivatives go of something that is recorded whether or not anything it depends on is active: to the
    /// innermost recording of this strategy on this thread, or to the evaluation in forward mode that runs there;
    /// nowhere while these are [paused](crate::active::pause), and nowhere by default. Strategies that have arrays call
    /// [`active::innermost_flow`](crate::active::innermost_flow).
    #[must_use]
    fn innermost() -> Flow {
        Flow::Nowhere
    }

    /// Gives `f` the arrays of a recording.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record); when the strategy has no arrays.
    #[track_caller]
    fn with_arrays(number: TapeNumber, f: &mut dyn FnMut(&mut Arrays<Self::Value>)) {
        let _ = f;
        panic!("{} has no arrays, so recording {number} has none", core::any::type_name::<Self>())
    }

    /// Called before a launch that will be recorded under this number. Writes arrays that launches keep to disk if they
    /// take more memory than they may; by default nothing is done.
    ///
    /// # Panics
    ///
    /// When there is no such recording on this thread; as [`catch_storage_errors`](crate::catch_storage_errors) catches
    /// it, when they cannot be written.
    #[inline(always)]
    #[track_caller]
    fn make_room(number: TapeNumber) {
        let _ = number;
    }

    /// Records a launch of a kernel over arrays of this recording: `inputs` are the variables that it reads, `outputs`
    /// the values of the variables that it makes, each of which is given to `each`. `write` writes the launch where
    /// the recording keeps it.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record); when the strategy has no arrays.
    #[track_caller]
    fn record_launch(
        number: TapeNumber,
        inputs: &[(Self::Value, &Self::Id)],
        outputs: &[Self::Value],
        write: &mut dyn FnMut(&mut Launched<Self::Value>),
        each: &mut dyn FnMut(Self::Value, Self::Id),
    ) {
        let _ = (inputs, outputs, write, each);
        panic!("{} has no arrays, so recording {number} has none", core::any::type_name::<Self>())
    }

    /// Computes, in forward mode, the tangents of what a launch has written: `arrays` are what its operands depend on,
    /// `inputs` the variables that it reads, `outputs` the values of the variables that it makes, each of which is
    /// given to `each`. What the arrays that were written depend on is returned, in their order. The slots of the
    /// launch mean nothing.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record); when the strategy has no forward mode, and when the launch fails.
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

    /// What the tape of these arrays and variables keeps of this type for external functions, made if there is none
    /// yet; `None` if there is no tape.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), where variables belong to recordings.
    #[track_caller]
    fn keep<C: Companion + Default + Clone>(
        arrays: &[&Dependence<Self::Value>],
        inputs: &[(Self::Value, &Self::Id)],
    ) -> Option<C> {
        let _ = (arrays, inputs);
        None
    }
}
