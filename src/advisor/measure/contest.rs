//! Contests: the set of strategies that a comparison measures.

use super::comparison::{Comparison, Row};
use super::entrant::{Entrant, Start, Taped, plain};
use super::names;
use super::rounds::{Rounds, Times};
use super::{forward, rounds};
use crate::advisor::program::Program;
use crate::error::Error;
use crate::expr::Real;
use core::fmt;
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
    seconds: f64,
    apart: bool,
    lacks_reuse: bool,
}

impl<'p, P: Program> Contest<'p, P> {
    /// A comparison of a program at `x`, with no strategy yet, in one second.
    #[must_use]
    pub fn new(program: &'p P, x: &'p [f64]) -> Self {
        Self { program, x, entrants: Vec::new(), seconds: 1.0, apart: false, lacks_reuse: false }
    }

    /// Adds a strategy to the comparison.
    #[must_use]
    pub fn with<S: Strategy<Value = f64> + Reverse>(mut self) -> Self {
        let Self { program, x, .. } = self;
        let start = move || {
            let taped = Taped::new(move |x: &[Real<S>]| program.run(x), x);
            Some(Box::new(taped) as Box<dyn Entrant + 'p>)
        };
        self.entrants.push((names::of::<S>(), Box::new(start)));
        self
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
        let run = move |x: &[Real<S>]| reusing(program, x);
        let start = move || Some(Box::new(Taped::new(run, x)) as Box<dyn Entrant + 'p>);
        self.entrants.push((names::of::<S>(), Box::new(start)));
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
    /// Spilled tapes have the [default budget](crate::SpillOptions), 64 MiB of memory.
    #[must_use]
    pub fn on_other_layers(self) -> Self {
        let linear = self.with::<Jacobian<f64, Linear, Shared>>().with::<Jacobian<f64, Linear, Spilled>>();
        let linear = linear.with::<PrimalValue<f64, Linear, Spilled>>();
        linear.with_reusing::<Jacobian<f64, Reuse, Spilled>>().with_reusing::<PrimalValue<f64, Reuse, Spilled>>()
    }

    /// Sets the time for all measurements. Each strategy gets six rounds at least, however long they take, two on each
    /// of three tapes.
    #[must_use]
    pub const fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
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
        let Self { program, x, entrants, seconds, apart, lacks_reuse } = self;
        let size = if apart { 1 } else { entrants.len().max(1) };
        // Without strategies, the function alone is timed.
        let groups: Vec<_> = if entrants.is_empty() { vec![&[][..]] } else { entrants.chunks(size).collect() };
        let seconds = seconds / (groups.len() * TURNS) as f64;
        let mut all = Measured { value: f64::NAN, plain: f64::INFINITY, found: Vec::new(), rows: Vec::new() };
        for _ in 0..TURNS {
            let mut first = 0;
            for group in &groups {
                let started = group.iter().filter_map(|(name, start)| start().map(|entrant| (name.clone(), entrant)));
                let (names, mut started): (Vec<_>, Vec<_>) = started.unzip();
                started.insert(0, plain(program, x));
                all.measure(first, &names, &mut started, seconds)?;
                first += names.len();
            }
        }
        let Measured { value, plain, found, rows } = all;
        let rows = rows.into_iter().map(|(name, memory, times)| {
            let Times { record, total } = rounds::middle(&times);
            Row::new(name, &memory, Times { record: plain * record, total: plain * total })
        });
        let rows = rows.collect();
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
    /// Measures the function itself and some strategies, whose rows begin at `first`.
    fn measure(
        &mut self,
        first: usize,
        names: &[String],
        entrants: &mut [Box<dyn Entrant + '_>],
        seconds: f64,
    ) -> Result<(), Error> {
        let mut found = entrants.iter_mut().map(|entrant| entrant.found()).collect::<Result<Vec<_>, Error>>()?;
        let Rounds { first: plain, others } = rounds::rounds(entrants, seconds)?;
        (self.value, self.plain) = (found.remove(0).0, self.plain.min(plain));
        for (k, (mut times, found)) in others.into_iter().zip(found).enumerate() {
            if let Some(row) = self.rows.get_mut(first + k) {
                row.2.append(&mut times);
            } else {
                self.rows.push((names[k].clone(), entrants[k + 1].memory(), times));
                self.found.push(found);
            }
        }
        Ok(())
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
/// and measures bytes and times, in about a second, or in the time of some twenty gradients of each if that is longer.
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
