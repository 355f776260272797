//! Runs cases under strategies, and compares with the oracle.

use crate::event::{Event, Tally, contradiction};
use crate::generate;
use crate::launches::{MAPS, REDUCTIONS};
use crate::oracle::expect::expect;
use crate::program::{Action, Case, Recording};
use crate::session::Session;
use crate::shapes;
use crate::shrink::{cases, shrink};
use crate::subject::{Row, SUBJECTS};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};
use tapewright_test_support::Random;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// The first seed; each program has the next.
    pub seed: u64,
    /// The number of programs.
    pub programs: u64,
    /// The time at most.
    pub time: Duration,
    /// The number of failures to stop after.
    pub failures: usize,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Report {
    /// The programs that were run.
    pub programs: u64,
    /// The time that it took.
    pub time: Duration,
    /// The numbers that were compared.
    pub tally: Tally,
    /// What failed, in words, with seeds and smallest programs.
    pub failures: Vec<String>,
}

thread_local! {
    /// Whether panics of this thread are not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn listen_to_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if QUIET.get() {
                LAST_PANIC.set(info.to_string());
            } else {
                before(info);
            }
        }));
    });
}

/// Does something whose panics are not printed; the panic, if there is one.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    listen_to_panics();
    let was = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f)).map_err(|_| LAST_PANIC.take());
    QUIET.set(was);
    result
}

/// What is done with a case under a strategy, or the panic.
fn events(subject: usize, case: &Case) -> Result<Vec<Event>, String> {
    let Row { double, single, .. } = SUBJECTS[subject];
    let run = if case.single { single.expect("a strategy in both precisions") } else { double };
    quietly(|| run(case))
}

/// Runs a case under a strategy; what is wrong, if anything is.
fn fault(subject: usize, case: &Case, tally: &mut Tally) -> Option<String> {
    match events(subject, case) {
        Err(panic) => Some(panic),
        Ok(seen) => match quietly(|| expect(case, &seen, (SUBJECTS[subject].in_place)())) {
            Err(panic) => Some(format!("the oracle: {panic}")),
            Ok(Err(complaint)) => Some(complaint),
            Ok(Ok(wants)) => contradiction(&seen, &wants, tally),
        },
    }
}

/// The strategies of a seed, of those that have the case's statements; for a case with replays one of them replays.
fn subjects(seed: u64, case: &Case) -> [usize; 2] {
    let mut random = Random::new(seed ^ 0x5EED);
    let replays = |recording: &Recording| recording.actions.iter().any(|action| matches!(action, Action::Replay(_)));
    let has = |row: &Row| (!case.single || row.single.is_some()) && (!case.functions || row.functions);
    let all: Vec<usize> = (0..SUBJECTS.len()).filter(|subject| has(&SUBJECTS[*subject])).collect();
    let mut first = all.clone();
    if case.recordings.iter().any(replays) {
        first.retain(|subject| SUBJECTS[*subject].replays);
    }
    [*random.pick(&first), *random.pick(&all)]
}

/// What is wrong with a seed's case, with the smallest program.
fn story(seed: u64, subject: usize, case: &Case, first: &str) -> String {
    // Another fault than the first one may be the smaller one's; so only faults of the same kind count.
    let kind = |fault: &str| fault.contains("panicked at");
    let same =
        |case: &Case| fault(subject, case, &mut Tally::default()).is_some_and(|found| kind(&found) == kind(first));
    let smallest = shrink(case, Duration::from_secs(20), cases, &same);
    let found = fault(subject, &smallest, &mut Tally::default()).unwrap_or_default();
    let program = format!("{smallest:?}");
    let legend = legend(&program);
    format!(
        "seed {seed} under {}:\n{first}\n\nthe smallest program:\n{found}\n{program}\n{legend}\nrun it again by\n\
         TAPEWRIGHT_FUZZ_SEED={seed} TAPEWRIGHT_FUZZ_PROGRAMS=1 cargo test -p tapewright-fuzz-tests{}\n",
        SUBJECTS[subject].name,
        if cfg!(feature = "wide") { " --features tapewright-fuzz-tests/wide" } else { "" }
    )
}

/// What the numbers of statements mean.
pub(crate) fn legend(program: &str) -> String {
    let tables = [
        ("Shape", shapes::TEXTS),
        ("Table", shapes::FUNCTIONS),
        ("Update", shapes::UPDATES),
        ("Closed", shapes::CLOSED),
        ("Map", MAPS),
        ("Reduction", &REDUCTIONS),
    ];
    let mut lines = String::new();
    for (name, texts) in tables {
        for (k, text) in texts.iter().enumerate() {
            let entry = format!("{name}({k})");
            if [',', ' '].iter().any(|end| program.contains(&format!("{entry}{end}"))) {
                lines.extend([entry.as_str(), " is ", text, "\n"]);
            }
        }
    }
    lines
}

/// Runs programs on all processors until the amount is done, or enough of them have failed.
///
/// # Panics
///
/// When the fuzzer itself is wrong; what programs do is caught.
#[must_use]
pub fn fuzz(amount: Amount) -> Report {
    let (next, stop, start) = (AtomicU64::new(0), AtomicBool::new(false), Instant::now());
    let results = Mutex::new((0, Tally::default(), Vec::new()));
    let work = || {
        let (mut done, mut tally) = (0, Tally::default());
        while !stop.load(Ordering::Relaxed) && start.elapsed() < amount.time {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= amount.programs {
                break;
            }
            let seed = amount.seed.wrapping_add(number);
            let case = generate::case(seed);
            for subject in subjects(seed, &case) {
                if let Some(first) = fault(subject, &case, &mut tally)
                    && !stop.load(Ordering::Relaxed)
                {
                    let story = story(seed, subject, &case, &first);
                    let stories = &mut results.lock().expect("no panic under the lock").2;
                    stories.push(story);
                    stop.store(stories.len() >= amount.failures, Ordering::Relaxed);
                }
            }
            done += 1;
        }
        let mut all = results.lock().expect("no panic under the lock");
        all.0 += done;
        all.1.add(tally);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    let (programs, tally, failures) = results.into_inner().expect("no panic under the lock");
    Report { programs, time: start.elapsed(), tally, failures }
}

/// Runs a case under a strategy.
pub(crate) fn run<E: crate::subject::Engine>(case: &Case) -> Vec<Event> {
    Session::<E>::run(case)
}
