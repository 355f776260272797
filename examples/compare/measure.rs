//! Bytes and times of one workload under each strategy, by a [`Contest`].
//!
//! The plain function, the hand-written adjoint and a second tape of the first strategy take part. That tape runs the
//! same code as the first, so it shows what differences mean nothing. Times are processor times of the thread, except for
//! spilled tapes, for which they are times by the clock.

use crate::beside::Figures;
use crate::check;
use crate::cli::Request;
use crate::programs::{ByHand, Sequence, cpu};
use crate::strategies::{On, Run, Strategy};
use std::ops::Deref;
use tapewright::Error;
use tapewright::advisor::{self, Comparison, Contest, Entrant, Spread};
use tapewright_problems::{Checksums, Problem};

/// Results of one workload.
pub(crate) struct Outcome {
    pub(crate) workload: &'static str,
    pub(crate) size: String,
    /// Gradients that make the workload; times and bytes are for one of them.
    pub(crate) evaluations: usize,
    pub(crate) checksums: Checksums,
    /// How well central differences agree: the largest relative difference of three directions.
    pub(crate) differences: f64,
    /// The plain `f64` function, and the hand-written adjoint.
    pub(crate) function: advisor::Row,
    pub(crate) by_hand: advisor::Row,
    /// A second tape of the first strategy, as a multiple of the first tape.
    pub(crate) twin: Option<Spread>,
    /// The comparison, with the rows of the program as it is and in memory only.
    pub(crate) in_memory: Comparison,
    pub(crate) rows: Vec<Row>,
    /// Faults, a line each.
    pub(crate) failures: Vec<String>,
}

impl Outcome {
    /// True if ratios mean something: two tapes that run the same code differ by nothing that can be told from noise.
    pub(crate) fn is_fair(&self) -> bool {
        self.twin.is_none_or(|twin| twin.low <= 1.0 && 1.0 <= twin.high)
    }
}

/// One strategy's figures, for one evaluation.
pub(crate) struct Row {
    pub(crate) strategy: Strategy,
    measured: advisor::Row,
}

impl Deref for Row {
    type Target = advisor::Row;

    fn deref(&self) -> &advisor::Row {
        &self.measured
    }
}

/// Adds the function over `f64` to a comparison.
fn with_function<'p, P: Problem>(contest: On<'p, P>, of: &'p Sequence<P>) -> On<'p, P> {
    let plain = |k, x: &[f64], _: &mut [f64]| of.problem.plain(k, x);
    contest.enter("f64", move || Ok(Some(Box::new(ByHand::new(of, plain)) as Box<dyn Entrant>)))
}

/// Checks and times a workload under these strategies.
pub(crate) fn measure<P: Problem>(of: &Sequence<P>, runs: &[Run<P>], request: &Request) -> Result<Outcome, Error> {
    let (problem, x) = (&of.problem, of.problem.inputs(0));
    let adjoint = |k, x: &[f64], gradient: &mut [f64]| problem.adjoint(k, x, gradient);
    let contest = with_function(Contest::new(of, &x).clock(cpu), of);
    let mut contest = contest.enter("by hand", || Ok(Some(Box::new(ByHand::new(of, adjoint)) as Box<dyn Entrant>)));
    for (_, enter) in runs.iter().chain(runs.first()) {
        contest = enter(contest, of, request);
    }
    let mut all = match request.repetitions {
        Some(rounds) => contest.rounds(rounds),
        None => contest.seconds(request.seconds),
    }
    .run()?;
    let twin = all.rows.pop_if(|_| !runs.is_empty()).map(|twin| twin.against(&all.rows[2]));
    let strategies: Vec<advisor::Row> = all.rows.drain(2..).collect();
    let rows = runs.iter().zip(strategies).map(|((strategy, _), measured)| Row { strategy: *strategy, measured });
    let rows: Vec<Row> = rows.collect();
    let (by_hand, function) = (all.rows.remove(1), all.rows.remove(0));
    all.rows = rows.iter().filter(|row| row.strategy.is_in_memory()).map(|row| row.measured.clone()).collect();
    let mut failures: Vec<String> = rows.iter().filter_map(|row| check::same(problem.name(), row)).collect();
    failures.extend(check::same(problem.name(), &by_hand));
    let checksums = Checksums::of(all.value, &all.gradient);
    failures.extend(check::checksums(problem, &checksums));
    failures.extend(check::bytes(problem.name(), all.inputs, &rows));
    let (differences, off) = check::central_differences(problem, &all.gradient);
    failures.extend(off);
    Ok(Outcome {
        workload: problem.name(),
        size: problem.size(),
        evaluations: problem.evaluations(),
        checksums,
        differences,
        function,
        by_hand,
        twin,
        in_memory: all,
        rows,
        failures,
    })
}

/// The figures of one strategy. No tape is in memory yet when the plain function is timed.
pub(crate) fn figures<P: Problem>(of: &Sequence<P>, run: &Run<P>, request: &Request) -> Result<Figures, Error> {
    let x = of.problem.inputs(0);
    let contest = || Contest::new(of, &x).clock(cpu).seconds(0.5);
    let function = with_function(contest(), of).run()?;
    let found = run.1(contest(), of, request).run()?;
    let (row, evaluations) = (&found.rows[0], of.problem.evaluations());
    let seconds = |row: &advisor::Row| row.least * evaluations as f64;
    let value = if row.is_right() { found.value } else { f64::NAN };
    let Checksums { value, sum, norm } = Checksums::of(value, &found.gradient);
    let (primal, total) = (seconds(&function.rows[0]), seconds(row));
    Ok(Figures { evaluations, primal, total, bytes: row.bytes(), value, sum, norm })
}
