//! Steps of a sweep through stages, and the committed results that say where stages are faster than the full tape.

use crate::stages::repeated_sin;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tapewright::checkpoint::Stage;
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright::{External, SweepError, external};
use tapewright_problems::{Problem, RepeatedSin};

/// A moment at which code of the user sees a stage, or what lies in front of it.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    /// It is computed without a recording.
    Passive(usize),
    /// It is called again, with this input.
    Load(usize, f64),
    /// It returns, so it is recorded.
    Record(usize),
    /// A rule in it is called with this adjoint of its output.
    RollBack(usize, f64),
    /// The rule in it is dropped: the nested tape is wiped.
    Wiped(usize),
    /// The rule in front of it is called, with this adjoint.
    Before(usize, f64),
}

type Log = Arc<Mutex<Vec<Event>>>;

fn note(log: &Log, event: Event) {
    log.lock().expect("no panic").push(event);
}

/// The identity, which says when it is called, and when it is dropped if it is part of a stage.
struct Seen {
    log: Log,
    stage: usize,
    is_inside: bool,
}

impl External<f64> for Seen {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        let called = if self.is_inside { Event::RollBack } else { Event::Before };
        note(&self.log, called(self.stage, outputs[0]));
        inputs[0] += outputs[0];
        Ok(())
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if self.is_inside {
            note(&self.log, Event::Wiped(self.stage));
        }
    }
}

fn same<S: Taping<Value = f64>>(x: &Real<S>, log: &Log, stage: usize, is_inside: bool) -> Real<S> {
    external(std::slice::from_ref(x), &[x.value()], Seen { log: Arc::clone(log), stage, is_inside }).remove(0)
}

const STAGES: usize = 3;

/// Stage by stage from the last one: it gets the input that it had, is recorded alone, the adjoint of its output is
/// what the outer tape has gathered there, it is rolled back, its tape is wiped, and the outer sweep goes on with
/// what it added to its input. The stages are xₖ₊₁ = sin(sin xₖ), with a rule in front of each and at the end of each.
#[test]
fn a_stage_is_loaded_recorded_seeded_swept_added_and_wiped_in_this_order() {
    type S = Hybrid<f64, Reuse>;
    let log = Log::default();
    let mut tape = Tape::<S>::new();
    let (start, y) = tape.record(|scope| {
        let start = scope.input(0.7);
        let mut x = start.clone();
        for k in 0..STAGES {
            x = same(&x, &log, k, false);
            let (passive, recorded) = (Arc::clone(&log), Arc::clone(&log));
            x = Stage::<S>::new().run(
                &x,
                move |x| {
                    note(&passive, Event::Passive(k));
                    repeated_sin(2, x)
                },
                move |x| {
                    note(&recorded, Event::Load(k, x.value()));
                    let y = same(&repeated_sin(2, x), &recorded, k, true);
                    note(&recorded, Event::Record(k));
                    y
                },
            );
        }
        (start, x)
    });
    let forward: Vec<Event> = (0..STAGES).map(Event::Passive).collect();
    assert_eq!(std::mem::take(&mut *log.lock().expect("no panic")), forward);
    let states: Vec<f64> = std::iter::successors(Some(0.7), |x: &f64| Some(x.sin())).take(7).collect();
    for seed in [1.0, -2.0] {
        let mut adjoint = seed;
        let mut expected = Vec::new();
        for k in (0..STAGES).rev() {
            let [input, middle] = [states[2 * k], states[2 * k + 1]];
            expected.extend([
                Event::Load(k, input),
                Event::Record(k),
                Event::RollBack(k, adjoint),
                Event::Wiped(k),
                Event::Before(k, adjoint * middle.cos() * input.cos()),
            ]);
            adjoint = adjoint * middle.cos() * input.cos();
        }
        assert_eq!(tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of(&start)), Ok(adjoint));
        assert_eq!(std::mem::take(&mut *log.lock().expect("no panic")), expected);
    }
}

fn result(file: &str) -> String {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let path = Path::new(&here).join("../../benches/results").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A row of the committed table: sines, warm and cold quotients as printed and as computed from the times, megabytes
/// on the full tape and in stages.
struct Row {
    sines: usize,
    printed: [f64; 2],
    computed: [f64; 2],
    megabytes: [f64; 2],
}

fn rows(text: &str) -> Vec<Row> {
    let numbers = |line: &str| -> Vec<f64> { line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect() };
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("sines")).skip(1);
    let rows =
        table.map_while(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()).then(|| numbers(line)));
    rows.map(|row| {
        // sines, primal, full, stages, ÷ bound, ÷ full, cold full, cold stages, ÷ full, MB full, MB stages, MB of a
        // stage
        assert_eq!(row.len(), 12, "{row:?}");
        Row {
            sines: format!("{}", row[0]).parse().expect("a whole number"),
            printed: [row[5], row[8]],
            computed: [row[3] / row[2], row[7] / row[6]],
            megabytes: [row[9], row[10]],
        }
    })
    .collect()
}

/// Bytes of a tape beside its constant part; of nested tapes, all that they have reserved: what the benchmark prints.
fn bytes(report: &MemoryReport) -> usize {
    report.total().used - report.usage("tables").used + report.usage("nested").reserved
}

/// Times are the machine's that is named beside them. The test holds the text to the figures: the quotients are those
/// of the times, stages are said to be faster at the sizes at which they were, cold or warm, and nowhere else, and
/// the summary says the same. The reason, that a stage fits into a cache, is checked by the bytes that the same
/// program takes now.
#[test]
fn the_committed_results_say_where_stages_are_faster_and_where_not() {
    let (text, summary) = (result("checkpoints.txt"), result("README.md"));
    let rows = rows(&text);
    assert_eq!(rows.iter().map(|row| row.sines).collect::<Vec<_>>(), [1_000, 10_000, 100_000, 1_000_000, 10_000_000]);
    for (k, name) in ["warm", "cold"].into_iter().enumerate() {
        for row in &rows {
            // Times have three decimals and quotients two.
            let rounding = 0.005 + 0.0005 * (1.0 + row.computed[k]) / 0.02;
            assert!((row.printed[k] - row.computed[k]).abs() <= rounding, "{name}, {} sines", row.sines);
        }
        let faster: Vec<String> =
            rows.iter().filter(|row| row.computed[k] < 1.0).map(|row| row.sines.to_string()).collect();
        let said = if faster.is_empty() { String::from("no size") } else { format!("{} sines", faster.join(", ")) };
        let line = format!("{name}: in stages faster than on the full tape at {said}");
        assert!(text.contains(&line), "{line}");
    }
    let faster: Vec<String> =
        rows.iter().filter(|row| row.printed[1] < 1.0).map(|row| row.printed[1].to_string()).collect();
    assert!(!faster.is_empty(), "the row's claim");
    let says = format!(
        "faster than the full tape in new processes from 10⁶ sines on ({}), on warm memory never",
        faster.join(", ")
    );
    assert!(summary.contains(&says), "{says}");

    let row = &rows[2];
    let problem = RepeatedSin::new(row.sines).expect("a length");
    for (staged, megabytes) in [false, true].into_iter().zip(row.megabytes) {
        let mut tape = Tape::<Jacobian>::new();
        let eval = |x: &[Real<Jacobian>]| if staged { problem.eval_in_stages(0, x) } else { problem.eval(0, x) };
        tape.gradient(eval, &problem.inputs(0), &mut [0.0]).expect("lengths agree");
        #[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
        let now = bytes(&tape.memory()) as f64 / 1e6;
        assert!(now <= 1.05 * megabytes + 0.0005, "{now} MB, and {megabytes} in the committed results");
        assert!(!staged || now < 0.25, "a stage and all checkpoints fit into a second-level cache");
    }
}
