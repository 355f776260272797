//! A function that is recorded once for each pattern of branches.

use super::evaluations::{Branches, Evaluations};
use super::recorded::{Alone, Function, ProgramReal, Recorded};
use super::scenarios::Scenarios;
use crate::error::{Error, same_length};
use crate::tape::Tape;
use core::fmt;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::program::{Found, Lent, Pattern, Room, Slopes, SpareLines, Uniform, into_columns};
use tapewright_strategies::{InRegisters, Instructions, SweepError};

/// Scenarios of one task of a thread. Sums over scenarios are added up in such chunks, so that results have the same
/// bits for any number of threads.
const CHUNK: usize = 1024;

/// Scenarios whose data are written at once, one behind the other.
pub(super) const ROWS: usize = 16;

/// Scenarios of one task of a thread that records them one by one.
const CHUNK_ALONE: usize = 16;

/// Maximum number of recordings, unless the user sets another one.
pub(crate) const MOST_PATTERNS: usize = 16;

/// What a program keeps of a recording.
#[derive(Clone)]
pub(crate) enum Kept<V: InRegisters> {
    Pattern(Arc<Pattern<V>>),
    /// The recording has something that is no instruction; the text says what.
    Refused(Arc<str>),
}

impl<V: InRegisters> Kept<V> {
    /// Returns true if both are the same recording.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pattern(one), Self::Pattern(other)) => Arc::ptr_eq(one, other),
            (Self::Refused(one), Self::Refused(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Checks that the recording has as many parameters and data.
    fn check(&self, parameters: usize, data: usize) -> Result<(), Error> {
        let Self::Pattern(pattern) = self else { return Ok(()) };
        let counts = pattern.counts();
        same_length(("parameters of the program", counts.0), ("given", parameters))?;
        same_length(("data of a scenario of the program", counts.1), ("given", data))
    }
}

/// The recordings that one run of a program has used.
pub(crate) struct Used<V: InRegisters> {
    recordings: Vec<Kept<V>>,
    /// Number of recordings in a row that no scenario followed, not even the one that was to: in registers a comparison
    /// may come out otherwise than on a tape, by rounding. Or only this one, since each of the others has other values
    /// where values were read, as where functions fail.
    idle: usize,
}

impl<V: InRegisters> Used<V> {
    /// Number of recordings in a row without followers after which a run makes no more.
    const MOST_IDLE: usize = 2;

    pub(crate) const fn new() -> Self {
        Self { recordings: Vec::new(), idle: 0 }
    }

    /// Notes if the last recording has no followers.
    pub(crate) const fn note(&mut self, is_idle: bool) {
        self.idle = if is_idle { self.idle + 1 } else { 0 };
    }
}

/// A function of *parameters*, which are the same for all scenarios, and *data*, which differ, that is recorded once;
/// see the [module](super).
///
/// A program can be used by several threads at once. It keeps its recordings; `f` is called again only for scenarios
/// that branch otherwise.
pub struct Program<'f, V: InRegisters = f64> {
    function: Box<Function<'f, V>>,
    kept: Mutex<Vec<Kept<V>>>,
    lines: SpareLines,
    most_patterns: usize,
    width: Option<usize>,
    /// Number of data by which there are derivatives, from the first one.
    active: usize,
    #[cfg(feature = "rayon")]
    in_parallel: bool,
}

impl<'f, V: InRegisters> Program<'f, V> {
    /// A program that computes `f(parameters, data)`, with one output or several: `|p, d| [f(p, d)]`, or a vector.
    pub fn new<O: AsRef<[ProgramReal<V>]>>(
        f: impl Fn(&[ProgramReal<V>], &[ProgramReal<V>]) -> O + Send + Sync + 'f,
    ) -> Self {
        Self {
            function: Box::new(move |parameters, data| f(parameters, data).as_ref().to_vec()),
            kept: Mutex::default(),
            lines: SpareLines::default(),
            most_patterns: MOST_PATTERNS,
            width: None,
            active: usize::MAX,
            #[cfg(feature = "rayon")]
            in_parallel: false,
        }
    }

    /// Sets the maximum number of recordings, one for each pattern of branches: 16 by default, at least 1. Scenarios
    /// that none of them fits are recorded one by one.
    #[must_use]
    pub fn most_patterns(self, most: usize) -> Self {
        Self { most_patterns: most.max(1), ..self }
    }

    /// Sets the number of scenarios in a block. By default it is 64 for `f64` and 128 for `f32`, and less for programs
    /// whose blocks would take more than 16 MiB. Gradients of means differ with it in the last places.
    ///
    /// In a block that is not full, as many scenarios are computed as there are, rounded up to a multiple of 8, 16 for
    /// `f32`. `in_blocks_of(1)` is for one scenario at a time, as in an optimizer or a solver that evaluates the
    /// function at one point after the other: scenarios are computed one by one, by scalar functions, with the bits of
    /// a [replay](crate::Tape::replay).
    ///
    /// ```
    /// use tapewright::programs::{Program, scenarios};
    ///
    /// let rosenbrock = Program::new(|x, _| {
    ///     [((1.0 - x[0]).square() + 100.0 * (x[1] - x[0].square()).square()).eval()]
    /// })
    /// .in_blocks_of(1);
    /// let one = scenarios(1, 0, |_, _| {}); // no data: the inputs are parameters
    /// let found = rosenbrock.gradient(&[1.0, 2.0], one)?;
    /// assert_eq!((found.mean(0), found.mean_gradient(0)), (100.0, vec![-400.0, 200.0]));
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When it is neither 1 nor a power of two from 8, 16 for `f32`, to 1024.
    #[must_use]
    #[track_caller]
    pub fn in_blocks_of(self, scenarios: usize) -> Self {
        let least = Pattern::<V>::LEAST_WIDTH;
        let is_block = scenarios >= least && scenarios.is_power_of_two() && scenarios <= CHUNK;
        assert!(
            scenarios == 1 || is_block,
            "blocks of {scenarios} scenarios: write 1, or a power of two from {least} to {CHUNK}"
        );
        Self { width: Some(scenarios), ..self }
    }

    /// Sets the number of data by which there are derivatives: the first ones.
    pub(crate) fn by_first(self, active: usize) -> Self {
        Self { active, ..self }
    }

    /// Computes scenarios on the threads of rayon's current pool. The results have the same bits for any number of
    /// threads.
    #[cfg(feature = "rayon")]
    #[must_use]
    pub fn in_parallel(self) -> Self {
        Self { in_parallel: true, ..self }
    }

    /// The values of all scenarios.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the numbers of parameters, or of data, are not those of earlier calls, or data of
    /// scenarios differ in length; [`Error::ForeignVariable`] when the function returns a variable of another
    /// recording; [`Error::Sweep`] when an external function in it fails.
    ///
    /// # Panics
    ///
    /// When `f` or the source of scenarios does, and when `f` changes the number of its outputs.
    pub fn values(&self, parameters: &[V], scenarios: impl Scenarios<V>) -> Result<Evaluations<V>, Error> {
        self.run(Slopes::Nothing, parameters, &scenarios)
    }

    /// The values of all scenarios, and the gradient by the parameters of the mean of each output:
    /// [`Evaluations::mean_gradient`].
    ///
    /// # Errors
    ///
    /// The errors of [`values`](Self::values).
    ///
    /// # Panics
    ///
    /// When [`values`](Self::values) does.
    pub fn gradient(&self, parameters: &[V], scenarios: impl Scenarios<V>) -> Result<Evaluations<V>, Error> {
        self.run(Slopes::Parameters, parameters, &scenarios)
    }

    /// The values of all scenarios, the gradient by the parameters as [`gradient`](Self::gradient) has it, and the
    /// gradients of each scenario by its data: [`Evaluations::gradients`].
    ///
    /// # Errors
    ///
    /// The errors of [`values`](Self::values).
    ///
    /// # Panics
    ///
    /// When [`values`](Self::values) does.
    pub fn gradients(&self, parameters: &[V], scenarios: impl Scenarios<V>) -> Result<Evaluations<V>, Error> {
        self.run(Slopes::All, parameters, &scenarios)
    }

    fn run(&self, slopes: Slopes, parameters: &[V], source: &dyn Scenarios<V>) -> Result<Evaluations<V>, Error> {
        let columns = source.columns()?;
        let start = || Job {
            program: self,
            slopes,
            parameters,
            source,
            columns,
            found: Evaluations {
                values: Vec::new(),
                gradients: Vec::new(),
                outputs: 0,
                sums: Vec::new(),
                branches: Branches::default(),
            },
            splits: BTreeMap::new(),
            left: (0..source.count()).collect(),
            alone: Vec::new(),
        };
        let mut job = start();
        let mut used = Used::new();
        if let [_] = job.left[..]
            && let Some(kept) = self.latest(parameters, columns)?
        {
            // Optimizers evaluate at one point after the other, which mostly follows: it is not computed only to see.
            job.run(&kept)?;
            if !job.left.is_empty() {
                job = start();
            }
        }
        while let Some(first) = job.left.first().copied() {
            let Some(kept) = self.fitting(&mut used, job.parameters, || job.data(first))? else { break };
            let others = job.left.len() - 1;
            let at_reads = job.run(&kept)?;
            let is_left = job.left.first() == Some(&first);
            if is_left {
                job.alone.push(job.left.remove(0));
            }
            used.note(job.left.len() == others && (is_left || at_reads && others > 0));
        }
        job.record_others()?;
        Ok(job.finished())
    }

    /// Calls `run` for each chunk of scenarios, on threads if asked for, with what `room` makes for each thread.
    #[cfg_attr(not(feature = "rayon"), allow(clippy::unused_self, reason = "there is one thread only"))]
    fn in_chunks<T, R: Send>(
        &self,
        chunk: usize,
        scenarios: &[usize],
        room: impl Fn() -> T + Sync + Send,
        run: impl Fn(&mut T, &[usize]) -> R + Sync + Send,
    ) -> Vec<R> {
        #[cfg(feature = "rayon")]
        if self.in_parallel {
            use rayon::iter::ParallelIterator;
            use rayon::slice::ParallelSlice;
            return scenarios.par_chunks(chunk).map_init(room, run).collect();
        }
        let mut room = room();
        scenarios.chunks(chunk).map(|chunk| run(&mut room, chunk)).collect()
    }

    /// Returns a recording that a scenario follows and that the run has not used yet; records the function if none is
    /// kept. A new recording takes the place of the one that has not been used for longest if there are
    /// [`most_patterns`](Self::most_patterns). Returns `None` if the run has used as many.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the numbers of inputs are not those of recordings; errors of the function.
    pub(crate) fn fitting(
        &self,
        used: &mut Used<V>,
        parameters: &[V],
        data: impl FnOnce() -> Vec<V>,
    ) -> Result<Option<Kept<V>>, Error> {
        if used.recordings.len() >= self.most_patterns || used.idle >= Used::<V>::MOST_IDLE {
            return Ok(None);
        }
        let data = data();
        let kept = if let Some(kept) = self.known(used, parameters, &data)? {
            kept
        } else {
            let new = self.record(parameters, &data)?;
            // Another thread may have recorded the same meanwhile.
            self.known(used, parameters, &data)?.unwrap_or(new)
        };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !other.is(&kept));
        if all.len() >= self.most_patterns {
            all.remove(0);
        }
        all.push(kept.clone());
        used.recordings.push(kept.clone());
        Ok(Some(kept))
    }

    /// Returns the recording that was used last, unless it was refused.
    fn latest(&self, parameters: &[V], columns: usize) -> Result<Option<Kept<V>>, Error> {
        let latest = self.kept.lock().unwrap_or_else(PoisonError::into_inner).last().cloned();
        let latest = latest.filter(|kept| matches!(kept, Kept::Pattern(_)));
        latest.iter().try_for_each(|kept| kept.check(parameters.len(), columns))?;
        Ok(latest)
    }

    /// Returns what is kept for a scenario, and not used yet.
    fn known(&self, used: &Used<V>, parameters: &[V], data: &[V]) -> Result<Option<Kept<V>>, Error> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().try_for_each(|kept| kept.check(parameters.len(), data.len()))?;
        all.retain(|kept| !used.recordings.iter().any(|used| used.is(kept)));
        for kept in &all {
            if let Kept::Pattern(pattern) = kept
                && pattern.fits(parameters, data, || self.lend(pattern))?
            {
                return Ok(Some(kept.clone()));
            }
        }
        Ok(all.into_iter().find(|kept| matches!(kept, Kept::Refused(_))))
    }

    /// Lends external functions to a thread, recorded once more if others use them.
    pub(crate) fn lend(&self, pattern: &Pattern<V>) -> Result<Lent<V>, Error> {
        pattern.lend(|parameters, data| {
            let mut tape = Tape::new();
            // As the recording of the pattern, so that the same functions are called.
            tape.set_guards(true);
            Ok(Recorded::on(&mut tape, &self.function, parameters, data)?.calls())
        })
    }

    /// Computes one scenario by a recording of its own.
    pub(crate) fn alone(
        &self,
        tape: &mut Tape<Instructions<V>>,
        slopes: Slopes,
        parameters: &[V],
        data: &[V],
    ) -> Result<Alone<V>, Error> {
        Recorded::on(tape, &self.function, parameters, data)?.alone(slopes, self.active)
    }

    /// Records the function at these inputs.
    pub(super) fn record(&self, parameters: &[V], data: &[V]) -> Result<Kept<V>, Error> {
        let mut tape = Tape::new();
        tape.set_guards(true);
        let recorded = Recorded::on(&mut tape, &self.function, parameters, data)?;
        match recorded.pattern(self.width, &self.lines) {
            Ok(pattern) => Ok(Kept::Pattern(Arc::new(pattern.by_first(self.active)))),
            Err(Error::Sweep(SweepError::Unsupported { what })) => Ok(Kept::Refused(what.into())),
            Err(error) => Err(error),
        }
    }
}

impl<V: InRegisters> fmt::Debug for Program<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "A program with {} recordings", kept.len())
    }
}

/// One run of a program.
struct Job<'a, 'f, V: InRegisters> {
    program: &'a Program<'f, V>,
    slopes: Slopes,
    parameters: &'a [V],
    source: &'a dyn Scenarios<V>,
    columns: usize,
    found: Evaluations<V>,
    /// Scenarios that left recordings, by file and line of a comparison, or by the name of an external function.
    splits: BTreeMap<(String, Option<u32>), usize>,
    /// Scenarios that have to be computed yet.
    left: Vec<usize>,
    /// Scenarios whose recordings are refused.
    alone: Vec<usize>,
}

impl<V: InRegisters> Job<'_, '_, V> {
    /// The data of one scenario.
    fn data(&self, scenario: usize) -> Vec<V> {
        let mut data = vec![V::ZERO; self.columns];
        self.source.write(scenario, &mut data);
        data
    }

    /// Makes memory for the results of this many outputs.
    fn prepare(&mut self, outputs: usize) {
        let (found, count) = (&mut self.found, self.source.count());
        if found.outputs == 0 && outputs > 0 {
            found.outputs = outputs;
            found.values = vec![V::ZERO; outputs * count];
            if self.slopes != Slopes::Nothing {
                found.sums = vec![vec![V::ZERO; self.parameters.len()]; outputs];
            }
            if self.slopes == Slopes::All {
                found.gradients = vec![Vec::new(); outputs * count];
            }
        }
        assert!(found.outputs == outputs, "the function of a program had {} outputs, and now {outputs}", found.outputs);
    }

    /// Computes the scenarios that are left, as far as they branch as this recording does. Returns true if all others
    /// have other values than recorded where these were read.
    fn run(&mut self, kept: &Kept<V>) -> Result<bool, Error> {
        match kept {
            Kept::Pattern(pattern) => self.follow(pattern),
            Kept::Refused(why) => {
                self.alone.push(self.left.remove(0));
                self.found.branches.refusal.get_or_insert_with(|| why.to_string());
                Ok(false)
            }
        }
    }

    fn follow(&mut self, pattern: &Pattern<V>) -> Result<bool, Error> {
        let (_, _, outputs) = pattern.counts();
        self.prepare(outputs);
        let calls = || self.program.lend(pattern);
        let Some(uniform) = pattern.uniform(self.slopes, calls, self.parameters)? else { return Ok(false) };
        let scenarios = core::mem::take(&mut self.left);
        let chunks = self.chunks(pattern, &uniform, &scenarios)?;
        let (mut sums, mut others, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for (chunk, (found, slopes)) in scenarios.chunks(CHUNK).zip(&chunks) {
            self.take(chunk, (found, slopes), &mut sums);
            others.extend(found.others.iter().map(|(scenario, _)| *scenario));
            steps.extend(found.others.iter().map(|(_, step)| *step));
        }
        others.sort_unstable();
        steps.sort_unstable();
        for steps in steps.chunk_by(|a, b| a == b) {
            let (name, line) = pattern.place(steps[0]);
            *self.splits.entry((name.to_owned(), line)).or_insert(0) += steps.len();
        }
        self.found.branches.recordings += usize::from(others.len() < scenarios.len());
        if self.slopes != Slopes::Nothing {
            let each = sums.len() / outputs.max(1);
            for output in 0..outputs {
                let count = scenarios.len() - others.len();
                let gradient =
                    pattern.finish(self.slopes, &uniform, (output, count), &sums[output * each..][..each])?;
                self.found.sums[output].iter_mut().zip(gradient).for_each(|(sum, slope)| *sum += slope);
            }
        }
        self.left = others;
        Ok(steps.iter().all(|step| pattern.is_read(*step)))
    }

    /// Computes scenarios in chunks, on threads if asked for. Returns what was found, and derivatives by data.
    #[allow(clippy::type_complexity, reason = "what was found, and derivatives")]
    fn chunks(
        &self,
        pattern: &Pattern<V>,
        uniform: &Uniform<V>,
        scenarios: &[usize],
    ) -> Result<Vec<(Found<V>, Vec<V>)>, Error> {
        let run = |memory: &mut (Result<Room<V>, Error>, Vec<V>), chunk: &[usize]| {
            let (room, numbers) = memory;
            let room = room.as_mut().map_err(|error| error.clone())?;
            let data = &mut |scenarios: &[usize], columns: &mut [V]| {
                if self.columns == 0 {
                    return;
                }
                let width = columns.len() / self.columns;
                for (k, scenarios) in scenarios.chunks(ROWS).enumerate() {
                    let rows = numbers.chunks_exact_mut(self.columns).zip(scenarios);
                    rows.for_each(|(row, scenario)| self.source.write(*scenario, row));
                    let rows: SmallVec<[&[V]; ROWS]> =
                        numbers.chunks_exact(self.columns).take(scenarios.len()).collect();
                    into_columns(&rows, columns, (k * ROWS, width));
                }
            };
            let mut slopes = vec![V::ZERO; chunk.len() * pattern.slopes(self.slopes)];
            Ok((pattern.run(self.slopes, (room, uniform), chunk, data, &mut slopes)?, slopes))
        };
        let room = || {
            let room = pattern.room(self.slopes, || self.program.lend(pattern), uniform);
            (room, vec![V::ZERO; ROWS * self.columns])
        };
        self.program.in_chunks(CHUNK, scenarios, room, run).into_iter().collect()
    }

    /// Takes over the results of a chunk.
    fn take(&mut self, chunk: &[usize], (found, slopes): (&Found<V>, &[V]), sums: &mut Vec<V>) {
        let outputs = self.found.outputs;
        for output in 0..outputs {
            for (k, scenario) in chunk.iter().enumerate() {
                let at = output * chunk.len() + k;
                self.found.values[scenario * outputs + output] = found.values[at];
                if self.slopes == Slopes::All {
                    self.found.gradients[scenario * outputs + output] =
                        slopes[(k * outputs + output) * self.columns..][..self.columns].to_vec();
                }
            }
        }
        sums.resize(found.totals.len(), V::ZERO);
        sums.iter_mut().zip(&found.totals).for_each(|(sum, part)| *sum += *part);
    }

    /// Records the scenarios that no recording fits, one by one.
    fn record_others(&mut self) -> Result<(), Error> {
        let mut scenarios = core::mem::take(&mut self.alone);
        scenarios.append(&mut self.left);
        if scenarios.is_empty() {
            return Ok(());
        }
        scenarios.sort_unstable();
        let run = |tape: &mut Tape<Instructions<V>>, chunk: &[usize]| -> Result<Vec<Alone<V>>, Error> {
            let one = |scenario: &usize| {
                let data = self.data(*scenario);
                self.program.alone(tape, self.slopes, self.parameters, &data)
            };
            chunk.iter().map(one).collect()
        };
        let parts = self.program.in_chunks(CHUNK_ALONE, &scenarios, Tape::new, run);
        for (chunk, part) in scenarios.chunks(CHUNK_ALONE).zip(parts) {
            for (scenario, one) in chunk.iter().zip(part?) {
                self.take_alone(*scenario, one);
            }
        }
        self.found.branches.alone += scenarios.len();
        Ok(())
    }

    /// Takes over the results of a scenario that was recorded alone.
    fn take_alone(&mut self, scenario: usize, one: Alone<V>) {
        let outputs = one.values.len();
        self.prepare(outputs);
        self.found.values[scenario * outputs..][..outputs].copy_from_slice(&one.values);
        for (sum, gradient) in self.found.sums.iter_mut().zip(one.by_parameters) {
            sum.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum += slope);
        }
        for (output, gradient) in one.by_data.into_iter().enumerate() {
            self.found.gradients[scenario * outputs + output] = gradient;
        }
    }

    fn finished(self) -> Evaluations<V> {
        let mut splits: Vec<_> = self.splits.into_iter().collect();
        splits.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
        let text = |(name, line): (String, Option<u32>)| {
            line.map_or_else(|| format!("`{name}`, which failed"), |line| format!("{name}:{line}"))
        };
        let mut found = self.found;
        found.branches.splits = splits.into_iter().map(|(place, count)| (text(place), count)).collect();
        found
    }
}
