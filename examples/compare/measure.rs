//! Bytes and times of one workload under each strategy.
//!
//! Strategies in memory, a second tape of the first of them, the plain function and the hand-written adjoint are timed
//! in turns, see [`rounds`](crate::rounds), in processor time. The second tape runs the same code as the first, so it
//! shows what differences mean nothing. What other strategies are compared with is the first tape in one round and the
//! second in the next, because where a tape lies in memory can make it faster or slower as a whole. Spilled tapes are
//! timed apart, by the clock on the wall and in few rounds.

use crate::check;
use crate::cli::Request;
use crate::rounds::{self, CPU, Clock, Entrant, Group, Parts, Pass, Rounds, Split, Spread, WALL};
use crate::strategies::{Run, Strategy};
use crate::taped::Contender;
use std::hint::black_box;
use tapewright::{Error, MemoryReport, Passive, Real};
use tapewright_problems::{Checksums, Problem, total};

/// What was found out about one workload.
pub(crate) struct Outcome {
    pub(crate) workload: &'static str,
    pub(crate) size: String,
    pub(crate) inputs: usize,
    /// Gradients that make the workload; times and bytes are for one of them.
    pub(crate) evaluations: usize,
    pub(crate) checksums: Checksums,
    /// How well central differences agree: the largest relative difference of three directions.
    pub(crate) differences: f64,
    /// The plain `f64` function, round by round, in seconds.
    pub(crate) primal: Vec<f64>,
    /// The generic function under `Passive`, as a multiple of the plain one.
    pub(crate) passive: Spread,
    /// Seconds of the hand-written adjoint.
    pub(crate) by_hand: f64,
    /// A second tape of the first strategy in memory, as a multiple of the first tape.
    pub(crate) twin: Option<Spread>,
    pub(crate) rows: Vec<Row>,
    /// What was wrong or could not be run, a line each.
    pub(crate) failures: Vec<String>,
}

impl Outcome {
    /// Whether ratios mean something: two tapes that run the same code differ by nothing that can be told from noise.
    pub(crate) fn is_fair(&self) -> bool {
        self.twin.is_none_or(|twin| twin.low <= 1.0 && 1.0 <= twin.high)
    }
}

/// One strategy's figures, for one evaluation.
pub(crate) struct Row {
    pub(crate) strategy: Strategy,
    pub(crate) memory: MemoryReport,
    /// Seconds, of processor time in memory, and by the clock on the wall where records are spilled.
    pub(crate) record: f64,
    pub(crate) reverse: f64,
    /// A `reverse` below this is not known; 0 where it was timed by a clock of its own.
    pub(crate) resolution: f64,
    /// Recording and sweep, round by round.
    totals: Vec<f64>,
}

impl Row {
    fn new(strategy: Strategy, memory: MemoryReport, parts: &[Parts], split: Split) -> Self {
        let reverse = Spread::of(parts.iter().map(|parts| parts.total - parts.record));
        Self {
            strategy,
            memory,
            record: Spread::of(parts.iter().map(|parts| parts.record)).median,
            reverse: reverse.median,
            resolution: if split == Split::Difference { reverse.half_width() } else { 0.0 },
            totals: totals(parts),
        }
    }

    pub(crate) fn tape_bytes(&self) -> usize {
        tape_bytes(&self.memory)
    }

    pub(crate) fn adjoint_bytes(&self) -> usize {
        self.memory.usage("adjoints").used
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tape_bytes() + self.adjoint_bytes()
    }

    /// Seconds of recording and sweep.
    pub(crate) fn seconds(&self) -> f64 {
        Spread::of(self.totals.iter().copied()).median
    }

    /// Recording and sweep as a multiple of other times, round by round; of their median if the rounds are not the
    /// same.
    pub(crate) fn multiple_of(&self, others: &[f64]) -> Spread {
        if self.totals.len() == others.len() && !self.strategy.is_spilled() {
            return ratio(&self.totals, others);
        }
        let other = Spread::of(others.iter().copied()).median;
        Spread::of(self.totals.iter().map(|seconds| seconds / other))
    }

    /// Recording and sweep as a multiple of those of another strategy.
    pub(crate) fn against(&self, other: &Self) -> Spread {
        self.multiple_of(&other.totals)
    }
}

/// Bytes of records and primal values, and of the tapes for stages, which are empty now.
pub(crate) fn tape_bytes(memory: &MemoryReport) -> usize {
    let counted = |name: &str| name != "adjoints" && name != "tables";
    let used = memory.streams().iter().filter(|(name, _)| counted(name)).map(|(_, usage)| usage.used);
    used.sum::<usize>() + memory.usage("nested").reserved
}

fn totals(parts: &[Parts]) -> Vec<f64> {
    parts.iter().map(|parts| parts.total).collect()
}

/// Of numbers of the same rounds.
fn ratio(of: &[f64], to: &[f64]) -> Spread {
    Spread::of(of.iter().zip(to).map(|(a, b)| a / b))
}

/// A strategy of the request with the tape that it runs on.
type Contestant<'p> = (Strategy, Box<dyn Contender + 'p>);

/// Checks and times a workload under every strategy of the request.
pub(crate) fn measure<P: Problem>(problem: &P, request: &Request, progress: &dyn Fn(&str)) -> Outcome {
    let say = |what: &str| progress(&format!("{}: {what}", problem.name()));
    say("hand-written adjoint");
    let by_hand = total(problem, |k, x, g| problem.adjoint(k, x, g));
    let mut failures = Vec::new();
    let contestants = contestants(problem, request, &say, &mut failures);
    for (strategy, contender) in &contestants {
        failures.extend(wrong(problem, *strategy, &by_hand, contender.found()));
    }
    say("rounds");
    let (mut rows, twin, times) = in_turns(problem, contestants, request);
    for (strategy, run) in wanted::<P>(request).filter(|(strategy, _)| strategy.is_spilled()) {
        say(&strategy.title());
        match run(problem, request).and_then(|contender| alone(strategy, contender, request.rounds.at_most(FEW))) {
            Ok((row, found)) => {
                failures.extend(wrong(problem, strategy, &by_hand, &found));
                rows.push(row);
            }
            Err(error) => failures.push(failure(problem, strategy, &error)),
        }
    }
    failures.extend(check::bytes(problem.name(), by_hand.1.len(), &rows));
    say("central differences");
    let (differences, off) = check::central_differences(problem, &by_hand.1);
    failures.extend(off);
    Outcome {
        workload: problem.name(),
        size: problem.size(),
        inputs: by_hand.1.len(),
        evaluations: problem.evaluations(),
        checksums: Checksums::of(by_hand.0, &by_hand.1),
        differences,
        passive: ratio(&times.passive, &times.primal),
        by_hand: Spread::of(times.by_hand).median,
        primal: times.primal,
        twin,
        rows,
        failures,
    }
}

pub(crate) fn wanted<P: Problem>(request: &Request) -> impl Iterator<Item = (Strategy, Run<P>)> {
    Strategy::runs::<P>().filter(|(strategy, _)| request.strategies.contains(strategy))
}

/// Those strategies that are timed in turns, and the first of them once more at the end.
fn contestants<'p, P: Problem>(
    problem: &'p P,
    request: &Request,
    say: &dyn Fn(&str),
    failures: &mut Vec<String>,
) -> Vec<Contestant<'p>> {
    let in_turns = || wanted::<P>(request).filter(|(strategy, _)| !strategy.is_spilled());
    let mut contestants = Vec::new();
    for (strategy, run) in in_turns().chain(in_turns().take(1)) {
        say(&strategy.title());
        match run(problem, request) {
            Ok(contender) => contestants.push((strategy, contender)),
            Err(error) => failures.push(failure(problem, strategy, &error)),
        }
    }
    contestants
}

fn failure(problem: &impl Problem, strategy: Strategy, why: &Error) -> String {
    let flag = if matches!(why, Error::Storage(_)) { "; --directory names another place for the files" } else { "" };
    format!("FAILED: {} under {}: {why}{flag}", problem.name(), strategy.title())
}

/// What is wrong with the value and the gradient that a strategy has found.
fn wrong(
    problem: &impl Problem,
    strategy: Strategy,
    (value, gradient): &(f64, Vec<f64>),
    found: &(f64, Vec<f64>),
) -> Vec<String> {
    let title = strategy.title();
    let sums = check::checksums(problem, &title, &Checksums::of(found.0, &found.1));
    sums.into_iter().chain(check::same(problem, &title, (*value, gradient), (found.0, &found.1))).collect()
}

/// The times of plain functions, round by round.
struct Plain {
    primal: Vec<f64>,
    passive: Vec<f64>,
    by_hand: Vec<f64>,
}

/// Times strategies and plain functions in turns. The last strategy is the first one's twin, and has no row.
fn in_turns<P: Problem>(
    problem: &P,
    mut contestants: Vec<Contestant<'_>>,
    request: &Request,
) -> (Vec<Row>, Option<Spread>, Plain) {
    const NO_FILES: &str = "tapes in memory meet no error";
    let mut strategies: Vec<Entrant<'_>> = Vec::new();
    for (_, contender) in &mut contestants {
        strategies.push(Box::new(|pass| contender.pass(pass)));
    }
    let mut scratch = problem.inputs(0);
    let primal = entrant(problem, |k, x| _ = black_box(problem.plain(k, x)));
    let passive = entrant(problem, |k, x| _ = black_box(problem.eval::<Passive>(k, Real::wrap_slice(x)).value()));
    let by_hand = entrant(problem, move |k, x| _ = black_box(problem.adjoint(k, x, &mut scratch)));
    let groups = [strategies, vec![primal, passive], vec![by_hand]];
    let mut groups = groups.map(|entrants| Group::new(entrants, CPU).expect(NO_FILES));
    let parts = rounds::run(&mut groups, CPU, request.rounds).expect(NO_FILES);
    let split = groups[0].split();
    drop(groups);
    let plain = |group: usize, entrant: usize| totals(&parts[group][entrant]);
    let plain = Plain { primal: plain(1, 0), passive: plain(1, 1), by_hand: plain(2, 0) };
    let row = |((strategy, contender), parts): (&Contestant<'_>, &Vec<Parts>)| {
        Row::new(*strategy, contender.memory().clone(), parts, split)
    };
    let mut rows: Vec<Row> = contestants.iter().zip(&parts[0]).map(row).collect();
    let is_twin = |row: &mut Row| row.strategy == contestants[0].0;
    let second = if rows.len() > 1 { rows.pop_if(is_twin) } else { None };
    let twin = second.map(|second| {
        let twin = second.against(&rows[0]);
        let taking_turns = rows[0].totals.iter_mut().zip(&second.totals).skip(1).step_by(2);
        taking_turns.for_each(|(first, second)| *first = *second);
        twin
    });
    (rows, twin, plain)
}

/// A function without a tape.
pub(crate) fn entrant<'e, P: Problem>(problem: &'e P, mut run: impl FnMut(usize, &[f64]) + 'e) -> Entrant<'e> {
    let mut x = problem.inputs(0);
    Box::new(move |pass: &Pass| {
        let start = (pass.clock)();
        for k in pass.evaluations(problem.evaluations()) {
            problem.inputs_into(k, &mut x);
            run(k, black_box(&x));
        }
        Ok(Parts { record: 0.0, total: ((pass.clock)() - start) / pass.count as f64 })
    })
}

/// Rounds where more would take too long.
pub(crate) const FEW: usize = 3;

/// One spilled tape: its figures, and the value and gradient it computes.
fn alone(
    strategy: Strategy,
    mut contender: Box<dyn Contender + '_>,
    rounds: Rounds,
) -> Result<(Row, (f64, Vec<f64>)), Error> {
    const CLOCK: Clock = WALL;
    let mut group = [Group::new(vec![Box::new(|pass: &Pass| contender.pass(pass)) as Entrant<'_>], CLOCK)?];
    let parts = rounds::run(&mut group, CLOCK, rounds)?;
    let split = group[0].split();
    drop(group);
    let row = Row::new(strategy, contender.memory().clone(), &parts[0][0], split);
    Ok((row, contender.found().clone()))
}
