//! Tapes that a user holds, and what belongs to them: recordings, positions, adjoints and reports of memory.

pub(crate) mod adjoints;
#[cfg(feature = "ndarray")]
mod arrays;
mod forward;
mod inputs;
mod outline;
mod parts;
mod position;
mod replay;
mod scope;
mod sparsity;
mod sweep;
mod trace;

pub use adjoints::several::{ArrayAdjoints, LaneAdjoints, LaneVector};
pub use adjoints::single::{AdjointVector, Adjoints};
pub use position::Position;
pub use replay::NewInputs;
pub use scope::{Recording, Scope};
pub use tapewright_strategies::{MemoryReport, MemoryUsage, Replay};

use inputs::Inputs;
use outline::Outlined;
use parts::Parts;
use scope::register;

use crate::error::Error;
use crate::expr::Real;
use crate::pattern::Memory;
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use std::sync::Mutex;
use tapewright_strategies::kernel::launch::Inspection;
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::{HiddenBranches, OwnedTape, on_behalf_of};
use tapewright_strategies::storage::{SpillOptions, SpillUsage, catch_storage_errors};
use tapewright_strategies::{Capacity, Number, Reverse, Spills};

/// A reusable tape of strategy `S`: records a computation, then sweeps it as often as you like.
///
/// A tape is an owned, `Send` value. Each [`record`](Self::record) starts anew on the same memory: the second recording
/// of the same computation allocates nothing.
///
/// When the allocator has no memory for records, values or adjoints, a statement or a sweep panics, and the message
/// says how many bytes were needed. Everything that was recorded before is intact, and the tape can be used.
///
/// ```
/// use tapewright::prelude::*;
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (x, y) = tape.record(|scope| {
///     let x = scope.inputs(&[5.2, -3.9]);
///     let y: Real<_> = (x[0].exp() * x[1] * x[1]).into();
///     (x, y)
/// });
/// let adjoints = tape.sweep(&[(&y, 1.0)])?;
/// assert!((adjoints.of(&x[1])? + 1413.92348662618).abs() < 1e-9);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct Tape<S: Reverse> {
    owned: OwnedTape<S>,
    adjoints: AdjointVector<S::Value>,
    /// Adjoint vectors of sweeps with several lanes, once there was such a sweep.
    lanes: Option<LaneVector<S::Value>>,
    inputs: Inputs,
    parts: Parts,
    /// Inputs of the recording of a driver; the memory is reused.
    variables: Vec<Real<S>>,
    /// True if the slots of `variables` are consecutive, in order.
    in_order: bool,
    /// Memory for sparsity patterns, once a pattern was found.
    patterns: Mutex<Option<Box<Memory>>>,
    /// The outline of the recording, once it was swept several times.
    outlined: Outlined,
}

const NONE: Range<usize> = 0..0;

impl<S: Reverse> Default for Tape<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Reverse> Tape<S> {
    pub(crate) fn owned(&self) -> &OwnedTape<S> {
        &self.owned
    }

    pub(crate) const fn owned_mut(&mut self) -> &mut OwnedTape<S> {
        &mut self.owned
    }

    /// Memory that is kept from one sparsity pattern to the next.
    pub(crate) const fn patterns(&self) -> &Mutex<Option<Box<Memory>>> {
        &self.patterns
    }

    /// The number of records.
    pub(crate) fn record_count(&self) -> usize {
        S::next_record(self.owned.tape())
    }

    /// The slot of a variable of the present recording; `None` if it is passive.
    pub(crate) fn slot(&self, variable: &Real<S>) -> Result<Option<usize>, Error> {
        adjoints::single::slot(&self.owned, &self.parts, variable)
    }

    /// An empty tape, with memory for a small recording: the first 64 statements of up to four arguments each take none
    /// from the allocator.
    #[must_use]
    pub fn new() -> Self {
        Self::from_tape(S::Tape::default())
    }

    /// A tape from a strategy's own tape, for strategies whose tapes have settings.
    #[must_use]
    pub fn from_tape(tape: S::Tape) -> Self {
        let mut tape = Self::without_memory(tape);
        tape.owned.prepare();
        tape
    }

    fn without_memory(tape: S::Tape) -> Self {
        Self {
            owned: OwnedTape::new(tape),
            adjoints: AdjointVector::new(),
            lanes: None,
            inputs: Inputs::NONE,
            parts: Parts::default(),
            variables: Vec::new(),
            in_order: false,
            patterns: Mutex::new(None),
            outlined: Outlined::default(),
        }
    }

    /// A tape with memory reserved for a recording of this size; the memory is touched.
    ///
    /// # Panics
    ///
    /// When [`reserve`](Self::reserve) does.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(capacity: Capacity) -> Self {
        let mut tape = Self::without_memory(S::Tape::default());
        tape.reserve(capacity);
        tape
    }

    /// Reserves memory for a recording of this size and touches it, so that the recording meets no page fault. Forgets
    /// the present recording. The memory that [`Reuse`](crate::Reuse) indices take for each variable alive is not
    /// reserved.
    ///
    /// # Panics
    ///
    /// When a recording of this size takes more bytes than there can be, or more than the allocator has. The tape is
    /// empty then, and can be used.
    #[track_caller]
    pub fn reserve(&mut self, capacity: Capacity) {
        self.reset();
        let number = size_of::<S::Value>();
        let adjoints = capacity.bytes(number, number, 0) / number;
        S::reserve(self.owned.tape_mut(), capacity);
        self.owned.reserve_notes(capacity);
        self.adjoints.clear(1 + adjoints);
    }

    /// Records the statements of `f`, which registers the inputs; the recording before is forgotten.
    ///
    /// While `f` runs, this tape is the thread's innermost: statements of its variables are recorded on it. Recordings
    /// may be nested. When `f` panics, the recording ends and the tape can be used again.
    #[inline]
    pub fn record<R>(&mut self, f: impl FnOnce(&mut Scope<S>) -> R) -> R {
        self.forget();
        let Self { owned, inputs, parts, adjoints, lanes, .. } = self;
        owned.record_after(&mut || forget_arrays(adjoints, lanes), |number| f(&mut Scope::new(number, inputs, parts)))
    }

    /// [`record`](Self::record) for tapes whose records may be written to disk: returns the error that a statement met.
    ///
    /// Everything recorded before that statement is intact: variables that `f` has stored outside can be swept from.
    /// Values that `f` was changing stay as they were at the error.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when records had to be written and could not be.
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::{Spilled, storage::SpillOptions};
    ///
    /// let mut tape = Tape::<Jacobian<f64, Linear, Spilled>>::spilled(SpillOptions::default().memory(16 << 20))?;
    /// let (x, y) = tape.try_record(|scope| {
    ///     let x = scope.input(2.0);
    ///     (x, (x * x).eval())
    /// })?;
    /// assert_eq!(tape.sweep(&[(&y, 1.0)])?.of(&x)?, 4.0);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn try_record<R>(&mut self, f: impl FnOnce(&mut Scope<S>) -> R) -> Result<R, Error> {
        Ok(catch_storage_errors(|| self.record(f))?)
    }

    /// Why the recording has constants that depend on its inputs, if it has some.
    pub(crate) fn constants(&self) -> Option<&'static str> {
        self.owned.constants()
    }

    /// The records.
    pub(crate) fn records(&self) -> &S::Tape {
        self.owned.tape()
    }

    /// Starts a recording that lasts until [`Recording::finish`]. Prefer [`record`](Self::record) where a closure will
    /// do.
    #[must_use]
    pub fn start(self) -> Recording<S> {
        let Self { owned, mut adjoints, variables, mut lanes, .. } = self;
        forget_arrays(&mut adjoints, &mut lanes);
        Recording::new(owned, adjoints, variables)
    }

    /// Forgets the recording and keeps the memory.
    pub fn reset(&mut self) {
        self.owned.reset();
        self.forget();
        forget_arrays(&mut self.adjoints, &mut self.lanes);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn forget(&mut self) {
        self.inputs.clear();
        self.parts.clear();
    }

    /// Records `f` at `x`, the only inputs, whose variables stay in the tape.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn record_at<R>(&mut self, x: &[S::Value], f: impl FnOnce(&[Real<S>]) -> R) -> R {
        self.forget();
        let Self { owned, inputs, variables, in_order, adjoints, lanes, .. } = self;
        let caller = Location::caller();
        owned.record_after(&mut || forget_arrays(adjoints, lanes), |number| {
            *in_order = on_behalf_of::<S::Policy, _>(caller, || register(number, inputs, x, variables));
            f(variables)
        })
    }

    /// Lends the inputs that `record_at` made, until `give_variables`.
    pub(crate) fn take_variables(&mut self) -> Vec<Real<S>> {
        core::mem::take(&mut self.variables)
    }

    /// Returns what `take_variables` has lent.
    pub(crate) fn give_variables(&mut self, variables: Vec<Real<S>>) {
        self.variables = variables;
    }

    /// Descriptions of the launches of kernels in the recording and of their reverse sweeps, in the order of the
    /// launches.
    #[must_use]
    pub fn launches(&self) -> Vec<Inspection> {
        self.owned.launches()
    }

    /// Comparisons of the recording that may have hidden a derivative: an active variable equals a passive one, or is
    /// tested for smallness and found small.
    ///
    /// Foreign generic code over [`Closed`](crate::Closed) is full of such comparisons. It asks if a rotation's angle
    /// or an entry of a matrix is 0, goes on with a constant if so, and the derivative is lost without an error. All
    /// comparisons of closed variables are checked. Comparisons of [`Real`] variables are checked under the policies
    /// [`Checked`](crate::Checked), where sweeps fail with the first, and [`Tracing`](crate::policy::Tracing), which
    /// knows the line of the program, too. Compare [`value`](crate::Ex::value)s where a branch is meant.
    ///
    /// For drivers that make a tape themselves, and for forward mode, there is
    /// [`hidden_branches`](crate::hidden_branches).
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::{Closed, strategies::num_traits::Float};
    ///
    /// /// sin(x)/x, as it is often written: right in value, wrong in its second derivative at 0.
    /// fn sinc<T: Float>(x: T) -> T { if x == T::zero() { T::one() } else { x.sin() / x } }
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// tape.record(|scope| sinc(Closed::from(scope.input(0.0))));
    /// let branches = tape.hidden_branches();
    /// assert_eq!(branches.count(), 1);
    /// println!("{branches}"); // the line of `x == T::zero()`
    /// # assert!(branches.first().is_some());
    /// ```
    #[must_use]
    pub fn hidden_branches(&self) -> HiddenBranches {
        self.owned.hidden_branches()
    }

    /// Bytes of the recording, stream by stream, including the adjoint vector.
    ///
    /// The report leaves out vectors that a thread keeps for sweeps over any tape: with [`Reuse`](crate::Reuse) indices
    /// under strategies that keep values, a copy of the values.
    #[must_use]
    pub fn memory(&self) -> MemoryReport {
        let identifiers = match S::identifiers(self.owned.tape()) {
            0 | 1 => 0, // the slot of passive variables alone
            n => n,
        };
        let used = identifiers.min(self.adjoints.adjoints.len()) * size_of::<S::Value>();
        let reserved = self.adjoints.adjoints.bytes();
        let report = S::memory(self.owned.tape()).stream("adjoints", MemoryUsage { used, reserved });
        let (functions, nested) = self.owned.external_bytes();
        let kept = |reserved| MemoryUsage { used: 0, reserved };
        let (used, reserved) = self.lanes.as_ref().map_or((0, 0), |lanes| lanes.bytes(identifiers));
        let further = [
            ("lanes", MemoryUsage { used, reserved }),
            ("identifiers", kept(self.owned.pool_bytes())),
            ("arrays", self.owned.array_bytes()),
            ("array adjoints", {
                let all = core::iter::once(&self.adjoints.arrays).chain(self.lanes.iter().flat_map(LaneVector::arrays));
                let (used, reserved) = all.map(Shadows::bytes).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                MemoryUsage { used, reserved }
            }),
            ("externals", functions),
            ("snapshots", self.owned.snapshot_bytes()),
            ("nested", kept(nested)),
            ("trace", self.owned.trace_bytes()),
            ("patterns", kept(self.pattern_bytes())),
            ("outline", kept(self.outlined.bytes())),
        ];
        further
            .into_iter()
            .filter(|(_, usage)| usage.reserved > 0)
            .fold(report, |report, (name, usage)| report.stream(name, usage))
    }

    fn pattern_bytes(&self) -> usize {
        self.patterns.try_lock().map_or(0, |kept| kept.as_ref().map_or(0, |memory| memory.bytes()))
    }

    /// The strategy's own tape, for settings such as limits.
    pub fn tape_mut(&mut self) -> &mut S::Tape {
        self.owned.tape_mut()
    }
}

/// Returns the memory of the adjoints of views to the tape, for the next recording.
#[cold]
fn forget_arrays<V: Number>(adjoints: &mut AdjointVector<V>, lanes: &mut Option<LaneVector<V>>) {
    adjoints.arrays.clear();
    lanes.iter_mut().for_each(LaneVector::forget_arrays);
}

impl<S: Spills> Tape<S> {
    /// A tape whose records and arrays spill to files with these budgets, in this directory, or to
    /// [stores](SpillOptions::store) of the program.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when the file cannot be created, or the store not opened, or the memory budget is below two
    /// slabs.
    pub fn spilled(options: SpillOptions) -> Result<Self, Error> {
        Ok(Self::from_tape(S::spilled(options)?))
    }

    /// Bytes of records, and of arrays that launches of kernels keep, in memory and on disk.
    #[must_use]
    pub fn spill_usage(&self) -> SpillUsage {
        S::usage(self.owned.tape())
    }
}

impl<S: Reverse> fmt::Debug for Tape<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tape of recording {} with {} identifiers",
            self.owned.number(),
            S::identifiers(self.owned.tape()) - 1
        )
    }
}
