//! Contests: the set of strategies that a comparison measures.

use super::comparison::{Comparison, Row};
use super::entrant::{Clock, Entrant, Start, Taped, Work, plain, wall};
use super::names;
use super::rounds::{Limit, Rounds, Times};
use super::{forward, rounds};
use crate::advisor::program::Program;
use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use core::fmt;
use std::time::Instant;
use tapewright_strategies::{
    Continuation, Forward, Hybrid, Jacobian, Linear, MemoryReport, Passive, PrimalValue, Reuse, Reverse, Shared,
    Spilled, Strategy,
};

/// A comparison of strategies of your choice, or of more strategies than [`compare`] has.
///
/// The program is compiled once for each strategy that is named, so name few.
///
/// ```
/// use tapewright::{advisor::Contest, prelude::*, program, Spilled};
///
/// fn f<S: Taping>(x: &[Real<S>]) -> Real<S> { (&x[0] * &x[1]).into() }
///
/// let f = program!(f: Taping);
/// let contest = Contest::new(&f, &[1.0, 2.0])
///     .with::<Jacobian>()
///     .with::<Jacobian<f64, Linear, Spilled>>()
///     .with_reusing::<PrimalValue<f64, Reuse>>()
///     .seconds(0.01);
/// let strategies = contest.run()?.rows.into_iter().map(|row| row.strategy);
/// assert!(strategies.eq(["Jacobian", "Jacobian<f64, Linear, Spilled>", "PrimalValue<f64, Reuse>"]));
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct Contest<'p, P> {
    program: &'p P,
    x: &'p [f64],
    entrants: Vec<(String, Start<'p>)>,
    limit: Limit,
    clock: Clock,
    apart: bool,
    lacks_reuse: bool,
}

impl<'p, P: Program> Contest<'p, P> {
    /// A comparison of a program at `x` that takes a second and has no strategy yet.
    #[must_use]
    pub fn new(program: &'p P, x: &'p [f64]) -> Self {
        Self {
            program,
            x,
            entrants: Vec::new(),
            limit: Limit::Seconds { seconds: 1.0, all: TURNS },
            clock: wall,
            apart: false,
            lacks_reuse: false,
        }
    }

    /// Adds a strategy to the comparison.
    #[must_use]
    pub fn with<S: Strategy<Value = f64> + Reverse>(self) -> Self {
        let program = self.program;
        self.on_tape(names::of::<S>(), || Ok(Tape::new()), move |x: &[Real<S>]| program.run(x))
    }

    /// Adds a strategy whose variables may not be `Copy`. It is left out if the program cannot be
    /// [run](Program::run_reusing) under it.
    #[must_use]
    pub fn with_reusing<S: Reverse<Value = f64>>(mut self) -> Self {
        let Self { program, x, .. } = self;
        if program.run_reusing::<Passive>(Real::wrap_slice(x)).is_none() {
            self.lacks_reuse = true;
            return self;
        }
        self.on_tape(names::of::<S>(), || Ok(Tape::new()), move |x: &[Real<S>]| reusing(program, x))
    }

    /// Adds an entrant with a name, a tape, and a function of its own: another form of the program, such as one in
    /// checkpointed stages, or a tape with options.
    ///
    /// ```
    /// use tapewright::{advisor::Contest, dot, prelude::*, program};
    ///
    /// fn squares<S: Taping>(x: &[Real<S>]) -> Real<S> {
    ///     x.iter().fold(Real::from(0.0), |sum, x| (sum + x * x).into())
    /// }
    ///
    /// let squares = program!(squares: Taping);
    /// let contest = Contest::new(&squares, &[1.0; 20]).with::<Jacobian>();
    /// let contest = contest.on_tape("dot", || Ok(Tape::<Jacobian>::new()), |x| dot(x, x));
    /// let rows = contest.seconds(0.01).run()?.rows;
    /// assert!(rows[1].is_right() && rows[1].bytes() < rows[0].bytes());
    /// println!("{:.2} times as long", rows[1].against(&rows[0]).median);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    #[must_use]
    pub fn on_tape<S: Reverse<Value = f64>>(
        mut self,
        name: impl Into<String>,
        tape: impl Fn() -> Result<Tape<S>, Error> + 'p,
        run: impl Fn(&[Real<S>]) -> Real<S> + Copy + 'p,
    ) -> Self {
        let Self { program, x, .. } = self;
        let start =
            move |clock| Ok(Some(Box::new(Taped::new(program, x, clock, tape()?, run)) as Box<dyn Entrant + 'p>));
        self.entrants.push((name.into(), Box::new(start)));
        self
    }

    /// Adds an [`Entrant`] of your own with a name; `start` makes it, and is called a few times. `None` leaves it out.
    #[must_use]
    pub fn enter(
        mut self,
        name: impl Into<String>,
        start: impl Fn() -> Result<Option<Box<dyn Entrant + 'p>>, Error> + 'p,
    ) -> Self {
        self.entrants.push((name.into(), Box::new(move |_| start())));
        self
    }

    /// Adds forward mode to the comparison, such as [`Tangent<8>`](crate::Tangent): it runs the function for as many
    /// inputs in one run as there are directions, and keeps no tape. It is left out if an external function of the
    /// program has no forward rule.
    #[must_use]
    pub fn with_forward<S: Strategy<Value = f64> + Forward>(mut self) -> Self {
        self.entrants.push(forward::start::<S, P>(self.program, self.x));
        self
    }

    /// Adds the strategies of [`compare`]: all four in memory, with linear indices and with reused indices; and forward
    /// mode if there are at most 32 inputs, with 1, 4 or 8 directions.
    #[must_use]
    pub fn usual(self) -> Self {
        let mut all = self.tapes();
        all.entrants.extend(forward::usual(all.program, all.x));
        all
    }

    /// Adds the strategies of [`compare`] that have a tape.
    pub(crate) fn tapes(self) -> Self {
        let linear = self.with::<Jacobian>().with::<PrimalValue>().with::<Hybrid>().with::<Continuation>();
        let reusing = linear.with_reusing::<Jacobian<f64, Reuse>>().with_reusing::<PrimalValue<f64, Reuse>>();
        reusing.with_reusing::<Hybrid<f64, Reuse>>().with_reusing::<Continuation<f64, Reuse>>()
    }

    /// Adds five strategies on the other layers: [`Jacobian`] on memory that is shared and, with both kinds of indices,
    /// on disk; [`PrimalValue`] on disk.
    ///
    /// Spilled tapes have the [default budget](tapewright_strategies::storage::SpillOptions), 64 MiB of memory.
    #[must_use]
    pub fn on_other_layers(self) -> Self {
        let linear = self.with::<Jacobian<f64, Linear, Shared>>().with::<Jacobian<f64, Linear, Spilled>>();
        let linear = linear.with::<PrimalValue<f64, Linear, Spilled>>();
        linear.with_reusing::<Jacobian<f64, Reuse, Spilled>>().with_reusing::<PrimalValue<f64, Reuse, Spilled>>()
    }

    /// Sets the time for all measurements. Each strategy gets three rounds at least, however long they take, one on
    /// each of three tapes; on the same tape if one round takes longer than all this time.
    #[must_use]
    pub const fn seconds(mut self, seconds: f64) -> Self {
        self.limit = Limit::Seconds { seconds, all: TURNS };
        self
    }

    /// Sets the number of rounds, in each of which every strategy is timed once, in place of the time.
    #[must_use]
    pub const fn rounds(mut self, rounds: usize) -> Self {
        self.limit = Limit::Rounds(rounds);
        self
    }

    /// Sets the clock: a function that returns seconds since some time in the past, by default the time that passes.
    /// The processor time of the thread is less disturbed by other programs. Spilled tapes, which wait for disks, are
    /// always timed by the time that passes, and each [entrant](Self::enter) times itself.
    #[must_use]
    pub const fn clock(mut self, clock: fn() -> f64) -> Self {
        self.clock = clock;
        self
    }

    /// Removes the strategies for which `keep` is false.
    pub(crate) fn only(mut self, mut keep: impl FnMut(&str) -> bool) -> Self {
        self.entrants.retain(|(name, _)| keep(name));
        self
    }

    /// Keeps one tape at a time if `apart` is true. By default all tapes are kept, and are timed in turns, so that a
    /// slow minute of the machine affects all of them.
    #[must_use]
    pub const fn apart(mut self, apart: bool) -> Self {
        self.apart = apart;
        self
    }

    /// Computes the gradient under each strategy, and times them.
    ///
    /// # Errors
    ///
    /// When records have to be written to disk and cannot be, and the errors of external functions.
    ///
    /// # Panics
    ///
    /// When the program does, or returns a variable of another recording.
    pub fn run(self) -> Result<Comparison, Error> {
        let Self { program, x, entrants, limit, clock, apart, lacks_reuse } = self;
        let size = if apart { 1 } else { entrants.len().max(1) };
        // Without strategies, the function alone is timed.
        let groups: Vec<_> = if entrants.is_empty() { vec![&[][..]] } else { entrants.chunks(size).collect() };
        let mut all = Measured { value: f64::NAN, plain: f64::INFINITY, found: Vec::new(), rows: Vec::new() };
        // For each group whose rounds are all done the number of its rows.
        let mut done = vec![None; groups.len()];
        for turn in 0..TURNS {
            let limit = match limit {
                Limit::Seconds { seconds, all } => {
                    Limit::Seconds { seconds: seconds / (groups.len() * all) as f64, all }
                }
                Limit::Rounds(rounds) => Limit::Rounds((rounds + turn) / TURNS),
            };
            if matches!(limit, Limit::Rounds(0)) {
                continue;
            }
            let mut first = 0;
            for (group, done) in groups.iter().zip(&mut done) {
                if let Some(rows) = done {
                    first += *rows;
                    continue;
                }
                let (mut names, mut started) = (Vec::new(), vec![plain(program, x, clock)]);
                for (name, start) in *group {
                    if let Some(entrant) = start(clock)? {
                        names.push(name);
                        started.push(entrant);
                    }
                }
                if all.measure(first, &names, &mut started, program.evaluations(), limit)? {
                    *done = Some(names.len());
                }
                first += names.len();
            }
        }
        let Measured { value, plain, found, rows } = all;
        let rows = rows.into_iter().map(|(name, memory, times)| Row::new(name, memory, times, plain)).collect();
        Ok(Comparison { lacks_reuse, ..Comparison::new(x.len(), (value, plain), &found, rows) })
    }
}

/// Number of times that all entrants are started anew: the address of a tape in memory makes a difference of up to a
/// quarter.
const TURNS: usize = 3;

/// Measurements so far.
struct Measured {
    /// The value of the function.
    value: f64,
    /// Seconds of the function on plain floats.
    plain: f64,
    /// Value and gradient under each strategy.
    found: Vec<(f64, Vec<f64>)>,
    /// For each strategy its name, its bytes, and its times in multiples of the function's time.
    rows: Vec<(String, MemoryReport, Vec<Times>)>,
}

impl Measured {
    /// Measures the function itself and some strategies, whose rows begin at `first`. Returns true if these are all
    /// their rounds.
    fn measure(
        &mut self,
        first: usize,
        names: &[&String],
        entrants: &mut [Box<dyn Entrant + '_>],
        evaluations: usize,
        limit: Limit,
    ) -> Result<bool, Error> {
        // What is found in a later turn is the same.
        let mut ran = Vec::new();
        if self.rows.len() <= first {
            self.value = entrants[0].found()?.0;
            ran.push(0.0);
            for (name, entrant) in names.iter().zip(&mut entrants[1..]) {
                let start = Instant::now();
                self.found.push(entrant.found()?);
                ran.push(start.elapsed().as_secs_f64() / evaluations as f64);
                // A sweep uses up snapshots of checkpoints, and a recording gives back the adjoints of arrays.
                let swept = entrant.memory();
                entrant.pass(Work::Record, 1)?;
                let memory = if entrant.memory().total().used > swept.total().used { entrant.memory() } else { swept };
                self.rows.push(((*name).clone(), memory, Vec::new()));
            }
        }
        let Rounds { first: plain, others, are_all } = rounds::rounds(entrants, &ran, limit)?;
        self.plain = self.plain.min(plain);
        for (k, mut times) in others.into_iter().enumerate() {
            self.rows[first + k].2.append(&mut times);
        }
        Ok(are_all)
    }
}

/// Runs a program with reused indices that was run so under `Passive`.
fn reusing<P: Program, S: Reverse<Value = f64>>(program: &P, x: &[Real<S>]) -> Real<S> {
    program.run_reusing(x).expect("a program runs with reused indices under all strategies or under none")
}

impl<P> fmt::Debug for Contest<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entrants.iter().map(|(name, _)| name)).finish()
    }
}

/// Runs a program at `x` under the strategies that are most often the best, checks their gradients against one another,
/// and measures bytes and times, in about a second, or in the time of some ten gradients of each if that is longer.
/// [`Contest`] has more strategies, and less or more time.
///
/// The tapes of all strategies exist simultaneously, so the comparison takes as much memory as all of them together;
/// see [`Contest::apart`].
///
/// # Errors
///
/// The errors of external functions of the program.
///
/// # Panics
///
/// When the program does, or returns a variable of another recording.
///
/// ```no_run
/// use tapewright::{advisor, prelude::*, program};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let mut y = x[0];
///     for _ in 0..1000 {
///         y = (y * x[1].sin() + x[0] / y).into();
///     }
///     y
/// }
///
/// let comparison = advisor::compare(&program!(f), &[5.2, -3.9])?;
/// println!("{comparison}");
/// std::fs::write("comparison.csv", comparison.csv())?;
/// std::fs::write("comparison.svg", comparison.svg())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare<P: Program>(program: &P, x: &[f64]) -> Result<Comparison, Error> {
    Contest::new(program, x).usual().run()
}
