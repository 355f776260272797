//! Checkpointing: parts of a computation that leave only their inputs on the tape, and are recorded when a sweep
//! reaches them.

mod fingerprint;
pub(crate) mod in_place;
mod placed;
mod pool;
mod rerun;
mod snapshots;
mod time_loop;

pub use pool::{ScopedNestedRecording, TapePool};
pub(crate) use rerun::{constants, convert, plain_at, rebuild, record as record_stage, refuse_views, same_values};
pub use time_loop::{Progress, TimeLoop};

use crate::exchange;
use crate::expr::Real;
use crate::tape::Tape;
use crate::variables::Variables;
use core::any::type_name_of_val;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use fingerprint::{Fingerprint, digest_of};
use placed::Nested;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::{External, Passive, Reverse, Scratch, SweepError, Taping, recording};

/// A stage of a computation: a function that is run without recording, and run again, recorded, when a sweep reaches
/// it.
///
/// On the tape a stage leaves one entry, with the values of its inputs: a *checkpoint*. So the tape never holds more
/// than the checkpoints and the records of one stage, and each stage is computed twice. Stages may contain stages.
///
/// `T` is the strategy under which the stage is recorded; it need not be the tape's. [`run`](Self::run) takes the
/// function twice, under [`Passive`] and under `T`: the run without recording costs as much as plain `f64`.
/// [`checkpoint!`](crate::checkpoint!) makes both of one generic function.
///
/// In a recording for a [program](crate::programs), or one that keeps [guards](crate::Tape::set_guards) for replays, a
/// stage of the same strategy is recorded when it is called, as long as the recording has up to a million numbers: a
/// stage that keeps a checkpoint cannot be computed again.
///
/// A stage may depend only on its inputs. Variables from outside must be declared by making them inputs, in a tuple for
/// example; a stage that uses a variable without declaring it panics, with a message that says so. Values from outside
/// are constants. A stage must compute the same each time: if the second run gives other outputs, by a single bit, the
/// sweep returns [`SweepError::NotReproducible`] with the name of the stage.
///
/// Values are compared, slopes cannot be. Derivatives are wrong without an error when the taped function agrees with
/// the plain one in the value alone: when it takes another branch on something that is not an input, and both branches
/// give the same value there; when it is another formula that gives the same value there; when it uses `x.value()`,
/// which is a constant to the derivative. Give one generic function for both, and test its derivative with
/// [`check_gradient!`](macro@crate::check_gradient).
///
/// ```
/// use tapewright::{checkpoint::Stage, prelude::*};
///
/// fn steps<S: Strategy>(n: usize, x: &Real<S>) -> Real<S> {
///     (0..n).fold(*x, |x, _| x.sin().eval())
/// }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.input(0.7);
///     let y = (0..10).fold(x, |x, _| {
///         tapewright::checkpoint!(Jacobian, &x, |x| steps(100, x)) // records 100 statements in each sweep, now none
///     });
///     (x, y)
/// });
/// assert_eq!(tape.memory().statements, 0);
/// let checkpointed = tape.sweep(&[(&y, 1.0)])?.of(&x)?;
/// let all_at_once = gradient::<Jacobian>(|x| steps(1000, &x[0]), &[0.7])[0];
/// assert_eq!(checkpointed, all_at_once);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct Stage<T> {
    name: Option<String>,
    checked: bool,
    strategy: PhantomData<fn() -> T>,
}

impl<T> Default for Stage<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Stage<T> {
    /// A stage without a name, whose second run is checked.
    #[must_use]
    pub const fn new() -> Self {
        Self { name: None, checked: true, strategy: PhantomData }
    }

    /// A name for messages; the name of the function's type if there is none.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets if the outputs of the second run are compared with the first outputs, bit for bit, which is the default.
    /// The comparison costs up to 512 bytes for each stage, and little time. It compares values, not slopes.
    #[must_use]
    pub const fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// Runs the stage, and puts it on the tape of its inputs, whose strategy is `S`: `plain` computes its outputs under
    /// [`Passive`], `taped` under `T`.
    ///
    /// If all inputs are passive (or the recording is [paused](crate::pause)), the outputs are passive and nothing is
    /// kept; nor is anything if there are no outputs. Under `Passive` this is a call of `plain`. Under `Tangent` the
    /// stage is recorded immediately, and swept forward.
    ///
    /// # Panics
    ///
    /// When the stage uses a variable that is not among its inputs, when the inputs are of two recordings or of one
    /// that is not active on this thread, when the tape is out of identifiers, and when the function does; nothing has
    /// been recorded then.
    #[track_caller]
    pub fn run<S, X, Y, Z>(
        self,
        inputs: &X,
        plain: impl FnOnce(&X::With<Passive<S::Value>>) -> Y,
        taped: impl Fn(&X::With<T>) -> Z + Send + Sync + 'static,
    ) -> Y::With<S>
    where
        S: Taping,
        T: Reverse<Value = S::Value>,
        X: Variables<S>,
        X::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<T> = X::With<T>> + Send + Sync + 'static,
        Y: Variables<Passive<S::Value>>,
        Z: Variables<T>,
    {
        let arguments = inputs.arguments();
        let at = plain_at(inputs, &arguments);
        let in_place = if const { in_place::is_possible::<S, T>() } {
            in_place::record::<S, T, _, _>(inputs, &taped)
        } else {
            None
        };
        let run = || exchange::noticed(|| recording::isolated(|| plain(&at)));
        let (exchanged, outputs) = if in_place.is_some() {
            run()
        } else {
            in_place::apart::<S, _>(|| in_place::read(inputs), |(_, y): &(bool, Y)| in_place::is_empty(y), run)
        };
        if let Some((_, recorded)) = in_place
            && recorded.has_values_of(&outputs)
        {
            return recorded.in_shape_of(&outputs);
        }
        let values = outputs.values();
        let (views, made) = (inputs.views(), outputs.views());
        let has_views = !views.is_empty() || !made.is_empty();
        let (_, active) = placed::flow::<S>(&arguments, &views, has_views, exchanged);
        if values.is_empty() && made.is_empty() && !exchanged || !active {
            return constants(&outputs);
        }
        let rule = Recorded::<T, X::With<Passive<S::Value>>> {
            inputs: at,
            count: arguments.len(),
            print: self
                .checked
                .then(|| Fingerprint::of(&values).with(made.iter().map(|view| digest_of(&view.values())))),
            name: self.name.map_or(Cow::Borrowed(type_name_of_val(&taped)), Cow::Owned),
            taped: Box::new(move |number, x, outputs: &mut Outputs<T>| outputs.take(number, &taped(x))),
            pool: S::keep::<TapePool<T>>(&placed::dependences(&views), &arguments).unwrap_or_default(),
        };
        placed::put::<S, _, _>(&arguments, &views, &outputs, (Box::new(rule), exchanged))
    }
}

impl<T> fmt::Debug for Stage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stage {}", self.name.as_deref().unwrap_or("without a name"))
    }
}

/// Runs a [`Stage`] of one generic function, or of a closure that can be compiled twice: `checkpoint!(T, &inputs, f)`,
/// where `T` is the strategy under which the stage is recorded.
#[macro_export]
macro_rules! checkpoint {
    ($strategy:ty, $inputs:expr, $function:expr) => {
        $crate::checkpoint::Stage::<$strategy>::new().run($inputs, $function, $function)
    };
}

/// A stage for a closure that is not generic: it runs under `T` both times, first with passive variables, which costs a
/// little more than `f64`.
///
/// ```
/// use tapewright::{checkpoint::closure_stage, prelude::*};
///
/// fn f<S: Reverse<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let x = (x[0].clone(), x[1].clone());
///     closure_stage(|(x, y): &(Real<S>, Real<S>)| -> Real<S> { (x * y).sin().into() }, &x)
/// }
/// assert_eq!(gradient::<PrimalValue>(f, &[2.0, 0.0]), [0.0, 2.0]);
/// ```
///
/// # Panics
///
/// When [`Stage::run`] does.
#[track_caller]
pub fn closure_stage<S, X, Y>(function: impl Fn(&X) -> Y + Send + Sync + 'static, inputs: &X) -> Y
where
    S: Reverse,
    X: Variables<S, With<S> = X>,
    X::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<S> = X> + Send + Sync + 'static,
    Y: Variables<S>,
    Y::With<Passive<S::Value>>: Variables<Passive<S::Value>, With<S> = Y>,
{
    let function = Arc::new(function);
    let plainly = Arc::clone(&function);
    let unrecorded = move |x: &X::With<Passive<S::Value>>| {
        let y = plainly(&constants::<_, S, _>(x));
        rerun::assert_own(None, &y);
        constants(&y)
    };
    let name = type_name_of_val(&*function);
    Stage::<S>::new().named(name).run(inputs, unrecorded, move |x: &X| function(x))
}

/// Recording of a stage on its own tape: variables, and slots of views, at both ends.
struct Taped<T: Taping> {
    inputs: Scratch<Real<T>>,
    outputs: Scratch<Real<T>>,
    from: rerun::Slots,
    to: rerun::Slots,
}

impl<T: Taping> Taped<T> {
    fn ends(&self) -> rerun::Ends<'_, T> {
        let Self { inputs, outputs, from, to } = self;
        rerun::Ends { inputs, outputs, from, to }
    }
}

/// The function of a stage: appends its outputs at these inputs, which are of a recording with this number.
type Function<T, X> = Box<dyn Fn(RecordingId, &X, &mut Outputs<T>) + Send + Sync>;

/// Outputs of a stage that has been recorded.
struct Outputs<T: Taping> {
    variables: Scratch<Real<T>>,
    /// Slots of the views, and digests of their values.
    slots: rerun::Slots,
    digests: SmallVec<[u64; 1]>,
}

impl<T: Reverse> Outputs<T> {
    /// Takes over variables and views of a collection, which must be of this recording.
    fn take(&mut self, number: RecordingId, outputs: &impl Variables<T>) {
        rerun::assert_own(Some(number), outputs);
        outputs.visit(&mut |slice| self.variables.extend_from_slice(slice));
        outputs.visit_views(&mut |view| {
            self.slots.push(view.dependence.slot());
            self.digests.push(digest_of(&view.values()));
        });
    }
}

/// A stage on the tape. The function is behind a pointer, so that all stages with the same inputs are compiled once.
struct Recorded<T: Reverse, X: Variables<Passive<T::Value>>> {
    inputs: X,
    count: usize,
    taped: Function<T, X::With<T>>,
    print: Option<Fingerprint>,
    pool: TapePool<T>,
    name: Cow<'static, str>,
}

impl<T, X> Recorded<T, X>
where
    T: Reverse,
    X: Variables<Passive<T::Value>> + Send + Sync + 'static,
{
    /// Records the stage on this tape, and compares its outputs, and their number, with the outputs of the first run.
    fn record(&self, tape: &mut Tape<T>, count: usize) -> Result<Taped<T>, SweepError> {
        let mut made = Outputs { variables: Scratch::new(), slots: rerun::Slots::new(), digests: SmallVec::new() };
        let run = &mut |number, x: &_| (self.taped)(number, x, &mut made);
        let (inputs, from, ()) = rerun::record_with_views(tape, &self.inputs, run)?;
        if inputs.len() != self.count {
            let (found, expected) = (inputs.len(), self.count);
            rerun::contradiction::<X>(format_args!("`visit` gives {found} variables, and gave {expected} before"));
        }
        let Outputs { variables: outputs, slots: to, digests } = made;
        let mut values = Scratch::new();
        values.extend(outputs.iter().map(Real::peek));
        let difference = if values.len() == count {
            self.print.as_ref().and_then(|print| print.difference(&values))
        } else {
            Some(0..0)
        };
        let same = self.print.as_ref().is_none_or(|print| print.arrays(count) == &digests[..]);
        match difference {
            None if !same => Err(self.not_reproducible(0..count)),
            None => Ok(Taped { inputs, outputs, from, to }),
            Some(outputs) => Err(self.not_reproducible(outputs)),
        }
    }

    fn not_reproducible(&self, outputs: Range<usize>) -> SweepError {
        SweepError::NotReproducible { stage: self.name.to_string(), outputs }
    }
}

impl<T, X> External<T::Value> for Recorded<T, X>
where
    T: Reverse,
    X: Variables<Passive<T::Value>> + Send + Sync + 'static,
{
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn reverse(&self, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.reverse_lanes(1, outputs, inputs)
    }

    fn reverse_lanes(&self, lanes: usize, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        let tape = &mut self.pool.lend();
        let taped = self.record(tape, outputs.len() / lanes)?;
        rerun::sweep_lanes(tape, taped.ends(), outputs, inputs, lanes)
    }

    fn forward(&self, inputs: &[T::Value], outputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.forward_views(inputs, Vec::new(), outputs).map(drop)
    }

    fn keeps_zeros(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        // Memory that the inputs own in addition to their values, and the function to what it is called with, is not
        // known.
        let name = if let Cow::Owned(name) = &self.name { name.capacity() } else { 0 };
        (self.count * size_of::<T::Value>()).saturating_sub(size_of::<X>())
            + self.print.as_ref().map_or(0, Fingerprint::bytes)
            + size_of_val(&*self.taped)
            + name
    }
}

impl<T, X> Nested<T::Value> for Recorded<T, X>
where
    T: Reverse,
    X: Variables<Passive<T::Value>> + Send + Sync + 'static,
{
    fn reverse_views(
        &self,
        outputs: &[T::Value],
        views: Vec<Shadow<T::Value>>,
        inputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        let tape = &mut self.pool.lend();
        let taped = self.record(tape, outputs.len())?;
        if taped.to.len() != views.len() {
            // For a stage that is not checked, this is the first place that notices.
            return Err(self.not_reproducible(0..outputs.len()));
        }
        rerun::sweep(tape, taped.ends(), (outputs, views), inputs)
    }

    fn forward_views(
        &self,
        inputs: &[T::Value],
        views: Vec<Shadow<T::Value>>,
        outputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        let tape = &mut self.pool.lend();
        let taped = self.record(tape, outputs.len())?;
        rerun::sweep_forward(tape, taped.ends(), (inputs, views), outputs)
    }
}
