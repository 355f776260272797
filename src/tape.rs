//! A tape that a user holds.

use crate::error::{Error, same_length};
use crate::expr::Real;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use tapewright_strategies::active::{self, OwnedTape, Running};
use tapewright_strategies::num_traits::{One, Zero};
use tapewright_strategies::{
    Capacity, Float, MemoryReport, MemoryUsage, Reverse, SpillOptions, SpillUsage, Spills, TapeNumber,
    catch_storage_errors,
};

/// A reusable tape of strategy `S`: records a computation, then sweeps it as often as you like.
///
/// A tape is an owned, `Send` value. Each [`record`](Self::record) starts anew on the same memory: the second recording of
/// the same computation allocates nothing.
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
    /// The slots of this recording's inputs lie in here.
    inputs: Range<usize>,
    /// Reused by the drivers.
    pub(crate) variables: Vec<Real<S>>,
}

const NONE: Range<usize> = 0..0;

impl<S: Reverse> Default for Tape<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Reverse> Tape<S> {
    /// An empty tape.
    #[must_use]
    pub fn new() -> Self {
        Self::from_tape(S::Tape::default())
    }

    /// A tape from a strategy's own tape, for strategies whose tapes have settings.
    #[must_use]
    pub fn from_tape(tape: S::Tape) -> Self {
        Self { owned: OwnedTape::new(tape), adjoints: AdjointVector::new(), inputs: NONE, variables: Vec::new() }
    }

    /// A tape with room for a recording of this size, its memory already touched.
    #[must_use]
    pub fn with_capacity(capacity: Capacity) -> Self {
        let mut tape = Self::new();
        tape.reserve(capacity);
        tape
    }

    /// Makes room for a recording of this size and touches the memory, so that the recording meets no page fault. Forgets
    /// the present recording.
    pub fn reserve(&mut self, capacity: Capacity) {
        self.reset();
        S::reserve(self.owned.tape_mut(), capacity);
        self.adjoints.clear(1 + capacity.inputs + capacity.statements);
    }

    /// Records what `f` computes from the inputs that it registers; whatever was recorded before is forgotten.
    ///
    /// While `f` runs, this tape is the thread's innermost: statements of its variables are recorded on it. Recordings may
    /// be nested. When `f` panics, the recording ends and the tape can be used again.
    #[inline]
    pub fn record<R>(&mut self, f: impl FnOnce(&mut Scope<S>) -> R) -> R {
        self.inputs = NONE;
        let inputs = &mut self.inputs;
        self.owned.record(|number| f(&mut Scope { number, inputs, here: PhantomData }))
    }

    /// [`record`](Self::record) for tapes whose records may be written to disk: returns the error that a statement met.
    ///
    /// Everything recorded before that statement is intact: variables that `f` has put into places outside can be swept from. What
    /// `f` was in the middle of stays as it was.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when records had to be written and could not be.
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::{SpillOptions, Spilled};
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

    /// Starts a recording that lasts until [`Recording::finish`]. Prefer [`record`](Self::record) where a closure will do.
    #[must_use]
    pub fn start(self) -> Recording<S> {
        let Self { owned, adjoints, variables, .. } = self;
        Recording { running: owned.start(), inputs: NONE, adjoints, variables }
    }

    /// Forgets the recording and keeps the memory.
    pub fn reset(&mut self) {
        self.owned.reset();
        self.inputs = NONE;
    }

    /// Sweeps the recording in reverse from these outputs with these seeds, and gives access to ∂(Σ seed·output)/∂input
    /// for every input.
    ///
    /// The recording stays as it is: sweep it again with other seeds. Outputs may be passive, may be inputs, and may occur
    /// several times; their seeds add up.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when an output belongs to another recording.
    #[inline]
    pub fn sweep(&mut self, seeds: &[(&Real<S>, S::Value)]) -> Result<Adjoints<'_, S>, Error> {
        self.sweep_from(seeds.iter().map(|(y, seed)| (*y, *seed)))
    }

    /// [`sweep`](Self::sweep) with outputs and seeds from two slices.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the slices differ in length, else as `sweep`.
    pub fn sweep_all(&mut self, outputs: &[Real<S>], seeds: &[S::Value]) -> Result<Adjoints<'_, S>, Error> {
        same_length(("outputs", outputs.len()), ("seeds", seeds.len()))?;
        self.sweep_from(outputs.iter().zip(seeds.iter().copied()))
    }

    /// [`sweep`](Self::sweep) into an adjoint vector of the caller: several threads can sweep one recording at once, each
    /// with a vector of its own, and a vector can serve several tapes in turn.
    ///
    /// # Errors
    ///
    /// As `sweep`.
    ///
    /// ```
    /// use tapewright::{AdjointVector, prelude::*};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(3.0);
    ///     (x, [(x * x).eval(), x.sin().eval()])
    /// });
    /// let slopes = std::thread::scope(|threads| {
    ///     let sweeps = y.map(|y| {
    ///         let (tape, x) = (&tape, &x);
    ///         threads.spawn(move || tape.sweep_with(&mut AdjointVector::new(), &[(&y, 1.0)]).and_then(|a| a.of(x)))
    ///     });
    ///     sweeps.map(|sweep| sweep.join().expect("no panic"))
    /// });
    /// assert_eq!(slopes, [Ok(6.0), Ok(3.0_f64.cos())]);
    /// ```
    pub fn sweep_with<'a>(
        &'a self,
        adjoints: &'a mut AdjointVector<S::Value>,
        seeds: &[(&Real<S>, S::Value)],
    ) -> Result<Adjoints<'a, S>, Error> {
        sweep_into(&self.owned, &self.inputs, adjoints, seeds.iter().map(|(y, seed)| (*y, *seed)))?;
        Ok(Adjoints { owned: &self.owned, adjoints: &adjoints.adjoints })
    }

    #[inline(always)]
    fn sweep_from<'y>(
        &mut self,
        seeds: impl Iterator<Item = (&'y Real<S>, S::Value)> + Clone,
    ) -> Result<Adjoints<'_, S>, Error> {
        sweep_into(&self.owned, &self.inputs, &mut self.adjoints, seeds)?;
        Ok(Adjoints { owned: &self.owned, adjoints: &self.adjoints.adjoints })
    }

    /// Records `f` at `x`, the only inputs, whose variables stay in the tape.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn record_at<R>(&mut self, x: &[S::Value], f: impl FnOnce(&[Real<S>]) -> R) -> R {
        self.inputs = NONE;
        let Self { owned, inputs, variables, .. } = self;
        owned.record(|number| {
            register(number, inputs, x, variables);
            f(variables)
        })
    }

    /// Sweeps the recording that `record_at` made, from one output with seed 1, and moves the adjoints of its inputs to
    /// `gradient`, which is as long.
    #[inline(always)]
    pub(crate) fn sweep_out(&mut self, output: &Real<S>, gradient: &mut [S::Value]) -> Result<(), Error> {
        let slot = slot(&self.owned, output)?;
        self.adjoints.clear(S::identifiers(self.owned.tape()));
        if let Some(slot) = slot {
            self.adjoints.adjoints[slot] = S::Value::one();
            self.adjoints.reverse(&self.owned, &self.inputs)?;
        }
        if consecutive(&self.variables) {
            // The length is hidden so that a few adjoints, just stored one by one, are not loaded back as a vector: that
            // load would wait until the stores have left the store buffer (4 of 30 ns for a tiny function).
            let n = core::hint::black_box(self.inputs.len());
            let adjoints = &mut self.adjoints.adjoints[self.inputs.start..];
            for (entry, adjoint) in gradient.iter_mut().zip(adjoints).take(n) {
                *entry = core::mem::replace(adjoint, S::Value::zero());
            }
            self.adjoints.dirty = NONE;
            return Ok(());
        }
        Adjoints { owned: &self.owned, adjoints: &self.adjoints.adjoints }.write(&self.variables, gradient)
    }

    /// Bytes of the recording, stream by stream, with the adjoint vector among them.
    #[must_use]
    pub fn memory(&self) -> MemoryReport {
        let identifiers = match S::identifiers(self.owned.tape()) {
            0 | 1 => 0, // the slot of passive variables alone
            n => n.min(self.adjoints.adjoints.len()),
        };
        let used = identifiers * size_of::<S::Value>();
        let reserved = self.adjoints.adjoints.capacity() * size_of::<S::Value>();
        let report = S::memory(self.owned.tape()).stream("adjoints", MemoryUsage { used, reserved });
        match self.owned.pool_bytes() {
            0 => report,
            bytes => report.stream("identifiers", MemoryUsage { used: 0, reserved: bytes }),
        }
    }

    /// The strategy's own tape, for settings such as limits.
    pub fn tape_mut(&mut self) -> &mut S::Tape {
        self.owned.tape_mut()
    }
}

impl<S: Spills> Tape<S> {
    /// A tape whose records spill to a file with these budgets, in this directory.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when the file cannot be created, or the memory budget is below two slabs.
    pub fn spilled(options: SpillOptions) -> Result<Self, Error> {
        Ok(Self::from_tape(S::spilled(options)?))
    }

    /// Bytes of records in memory and on disk.
    #[must_use]
    pub fn spill_usage(&self) -> SpillUsage {
        S::usage(self.owned.tape())
    }
}

/// Adjoints of one sweep, kept for the next.
///
/// Every [`Tape`] has one; make your own to sweep one recording from several threads, see [`Tape::sweep_with`].
#[derive(Clone, Debug, Default)]
pub struct AdjointVector<V> {
    adjoints: Vec<V>,
    /// Outside these slots all adjoints are 0.
    dirty: Range<usize>,
}

impl<V: Float> AdjointVector<V> {
    /// A vector that grows when it is used.
    #[must_use]
    pub const fn new() -> Self {
        Self { adjoints: Vec::new(), dirty: NONE }
    }

    /// Makes the vector long enough and 0 everywhere.
    #[inline(always)]
    fn clear(&mut self, identifiers: usize) {
        // The hull may be that of a sweep over another tape, or one that was cut short.
        if !self.dirty.is_empty() {
            self.adjoints[self.dirty.clone()].fill(V::zero());
            self.dirty = NONE;
        }
        if identifiers > self.adjoints.len() {
            // Grown by doubling, like the tape, and without copying what is 0 anyway.
            let length = identifiers.max(2 * self.adjoints.len());
            self.adjoints = Vec::new();
            self.adjoints = vec![V::zero(); length];
        }
    }

    /// Sweeps from the seeds that are set.
    #[inline(always)]
    fn reverse<S: Reverse<Value = V>>(&mut self, owned: &OwnedTape<S>, inputs: &Range<usize>) -> Result<(), Error> {
        self.dirty = 0..self.adjoints.len(); // should a rule panic, or records be unreadable
        S::reverse(owned.tape(), &mut self.adjoints)?;
        self.dirty = inputs.clone();
        Ok(())
    }
}

/// The adjoint slot of a variable; `None` if it is passive.
#[inline(always)]
fn slot<S: Reverse>(owned: &OwnedTape<S>, variable: &Real<S>) -> Result<Option<usize>, Error> {
    match S::locate(variable.id()) {
        None => Ok(None),
        Some((number, slot)) if number == owned.number() => Ok(Some(slot)),
        Some((number, _)) => Err(Error::ForeignVariable { variable: number.get(), recording: owned.number().get() }),
    }
}

/// Sweeps from these outputs with these seeds.
#[inline(always)]
fn sweep_into<'y, S: Reverse>(
    owned: &OwnedTape<S>,
    inputs: &Range<usize>,
    adjoints: &mut AdjointVector<S::Value>,
    seeds: impl Iterator<Item = (&'y Real<S>, S::Value)> + Clone,
) -> Result<(), Error> {
    for (output, _) in seeds.clone() {
        slot(owned, output)?;
    }
    adjoints.clear(S::identifiers(owned.tape()));
    adjoints.dirty = 0..adjoints.adjoints.len();
    for (output, seed) in seeds {
        if let Some(slot) = slot(owned, output)? {
            adjoints.adjoints[slot] += seed;
        }
    }
    adjoints.reverse(owned, inputs)
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

/// What a recording can do while it is running: register inputs.
pub struct Scope<'a, S: Reverse> {
    number: TapeNumber,
    /// The hull of the inputs' slots.
    inputs: &'a mut Range<usize>,
    here: PhantomData<(*const (), S)>,
}

/// Makes a hull that holds the variables' slots too.
#[inline(always)]
fn extend_hull<S: Reverse>(hull: &mut Range<usize>, variables: &[Real<S>]) {
    for variable in variables {
        if let Some((_, slot)) = S::locate(variable.id()) {
            let grown = hull.start.min(slot)..hull.end.max(slot + 1);
            *hull = if hull.start == hull.end { slot..slot + 1 } else { grown };
        }
    }
}

/// Registers inputs in the running recording `number`, and puts them into the hull.
#[inline(always)]
#[track_caller]
fn register<S: Reverse>(
    number: TapeNumber,
    hull: &mut Range<usize>,
    values: &[S::Value],
    variables: &mut Vec<Real<S>>,
) {
    variables.clear();
    variables.reserve(values.len());
    active::with::<S, _>(number, |tape| {
        S::inputs(tape, values, |value, id| variables.push(Real::from_parts(value, id)));
    });
    extend_hull(hull, variables);
}

/// Whether the variables have consecutive slots, in order.
#[inline(always)]
fn consecutive<S: Reverse>(variables: &[Real<S>]) -> bool {
    let slot = |variable: &Real<S>| S::locate(variable.id()).map(|(_, slot)| slot);
    let Some(first) = variables.first().and_then(slot) else { return variables.is_empty() };
    variables.iter().enumerate().all(|(k, variable)| slot(variable) == Some(first + k))
}

impl<S: Reverse> Scope<'_, S> {
    /// Registers an independent variable.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers.
    #[inline]
    #[track_caller]
    pub fn input(&mut self, value: S::Value) -> Real<S> {
        let id = active::with::<S, _>(self.number, |tape| S::input(tape, value));
        let variable = Real::from_parts(value, id);
        extend_hull(self.inputs, core::slice::from_ref(&variable));
        variable
    }

    /// Registers an independent variable for each value.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers.
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
    /// When the tape is out of identifiers.
    #[track_caller]
    pub fn inputs_into(&mut self, values: &[S::Value], variables: &mut Vec<Real<S>>) {
        register(self.number, self.inputs, values, variables);
    }

    /// The number of this recording, which its variables carry.
    #[must_use]
    pub const fn number(&self) -> TapeNumber {
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
/// If it is leaked, its tape is leaked and stays active on this thread.
pub struct Recording<S: Reverse> {
    running: Running<S>,
    inputs: Range<usize>,
    adjoints: AdjointVector<S::Value>,
    variables: Vec<Real<S>>,
}

impl<S: Reverse> Recording<S> {
    /// Registers inputs.
    pub fn scope(&mut self) -> Scope<'_, S> {
        Scope { number: self.running.number(), inputs: &mut self.inputs, here: PhantomData }
    }

    /// Stops recording and returns the tape.
    ///
    /// # Panics
    ///
    /// When called by a rule of a slice function that is being recorded on this tape; the tape is then leaked.
    #[must_use]
    pub fn finish(self) -> Tape<S> {
        let Self { running, inputs, adjoints, variables } = self;
        Tape { owned: running.finish(), adjoints, inputs, variables }
    }
}

impl<S: Reverse> fmt::Debug for Recording<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recording {}", self.running.number())
    }
}

/// The result of a sweep.
pub struct Adjoints<'a, S: Reverse> {
    owned: &'a OwnedTape<S>,
    adjoints: &'a [S::Value],
}

impl<S: Reverse> Adjoints<'_, S> {
    /// The adjoint of an input: ∂(Σ seed·output)/∂input. 0 for passive variables, and for variables that are no inputs,
    /// whose adjoints a sweep consumes.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable belongs to another recording.
    #[inline]
    pub fn of(&self, variable: &Real<S>) -> Result<S::Value, Error> {
        Ok(slot(self.owned, variable)?.map_or_else(S::Value::zero, |slot| self.adjoints[slot]))
    }

    /// The adjoints of these variables.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn of_all(&self, variables: &[Real<S>]) -> Result<Vec<S::Value>, Error> {
        variables.iter().map(|variable| self.of(variable)).collect()
    }

    /// Writes the adjoints of these variables.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the slices differ in length, else as [`of`](Self::of).
    pub fn write(&self, variables: &[Real<S>], adjoints: &mut [S::Value]) -> Result<(), Error> {
        same_length(("variables", variables.len()), ("adjoints", adjoints.len()))?;
        for (adjoint, variable) in adjoints.iter_mut().zip(variables) {
            *adjoint = self.of(variable)?;
        }
        Ok(())
    }
}

impl<S: Reverse> fmt::Debug for Adjoints<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Adjoints of recording {}", self.owned.number())
    }
}
