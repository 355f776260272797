//! A chain of sines in √n stages of √n, beside the full tape.

use crate::{Options, bytes, gradient_on, mb, seconds};
use std::hint::black_box;
use std::process::Command;
use tapewright::{Jacobian, Real, Tape};
use tapewright_problems::{Problem, RepeatedSin};
use tapewright_test_support::median;

/// The function on a tape: in stages, or as a whole.
fn eval(problem: RepeatedSin, staged: bool, x: &[Real<Jacobian>]) -> Real<Jacobian> {
    if staged { problem.eval_in_stages(0, x) } else { problem.eval(0, x) }
}

/// Seconds of the first gradient of a process.
pub(super) fn cold(sines: usize, staged: bool) -> f64 {
    let problem = RepeatedSin::new(sines).unwrap_or_else(|error| panic!("{error}"));
    let mut slope = [0.0];
    let taken = gradient_on(&mut Tape::new(), |x| eval(problem, staged, x), &problem.inputs(0), &mut slope);
    let mut expected = [0.0];
    problem.adjoint(0, &problem.inputs(0), &mut expected);
    assert!((slope[0] - expected[0]).abs() <= 1e-12 * expected[0].abs(), "the slope is right");
    taken
}

/// [`cold`] in a new process.
fn in_new_process(sines: usize, staged: bool) -> f64 {
    let own = std::env::current_exe().expect("the name of this program");
    let arguments = [String::from("--cold"), sines.to_string(), u8::from(staged).to_string()];
    let output = Command::new(own).args(arguments).output().expect("this program can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{text:?} is no number of seconds"))
}

/// One length of the chain.
struct Measured {
    primal: f64,
    /// Of the full tape, and in stages.
    warm: [f64; 2],
    cold: [f64; 2],
    bytes: [usize; 2],
    /// Bytes of a tape with one stage on it.
    stage: usize,
}

fn measure_one(sines: usize, rounds: usize) -> Measured {
    let problem = RepeatedSin::new(sines).unwrap_or_else(|error| panic!("{error}"));
    let x = problem.inputs(0);
    let mut slopes = [[0.0], [0.0]];
    let mut tapes = [Tape::<Jacobian>::new(), Tape::new()];
    let (mut primal, mut warm, mut cold) = (Vec::new(), [Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    // So often that a measurement takes a few milliseconds.
    let repeats = (300_000 / sines).max(1);
    for round in 0..=rounds {
        let plain = seconds(|| (0..repeats).for_each(|_| _ = black_box(problem.plain(0, black_box(&x))))).0;
        let on_tapes = [false, true].map(|staged| {
            let (tape, slope) = (&mut tapes[usize::from(staged)], &mut slopes[usize::from(staged)]);
            (0..repeats).map(|_| gradient_on(tape, |x| eval(problem, staged, x), &x, slope)).sum::<f64>()
        });
        if round == 0 {
            continue; // warms up
        }
        primal.push(plain / repeats as f64);
        for (k, staged) in [false, true].into_iter().enumerate() {
            warm[k].push(on_tapes[k] / repeats as f64);
            cold[k].push(in_new_process(sines, staged));
        }
    }
    assert_eq!(slopes[0], slopes[1], "stages change no bit of a gradient");
    // Stages are gone from the tape only with the next recording.
    let bytes = tapes.each_ref().map(|tape| bytes(&tape.memory()));
    let distance = sines.isqrt().max(1);
    let mut alone = Tape::<Jacobian>::new();
    gradient_on(&mut alone, |x| RepeatedSin::stage(distance, &x[0]), &x, &mut slopes[0]);
    let stage = alone.memory().total().reserved;
    Measured { primal: median(primal), warm: warm.map(median), cold: cold.map(median), bytes, stage }
}

pub(super) fn measure(options: &Options) -> Vec<String> {
    println!("repeated_sin in √n stages of √n sines, beside the full tape");
    println!("bound: full tape + 1.15 × primal; one stage: bytes of a tape that holds nothing else");
    let header =
        ["sines", "primal", "full tape", "in stages", "÷ bound", "÷ full", "cold full", "cold stages", "÷ full"];
    print!("{:>9}", header[0]);
    header[1..].iter().for_each(|title| print!(" {title:>11}"));
    println!(" {:>11} {:>11} {:>11}", "full tape", "in stages", "one stage");
    let (mut rows, mut faster) = (Vec::new(), [Vec::new(), Vec::new()]);
    for sines in &options.sines {
        let found = measure_one(*sines, options.rounds);
        let Measured { primal, warm, cold, bytes, stage } = &found;
        let bound = warm[0] + 1.15 * primal;
        print!("{sines:>9} {:>8.3} ms {:>8.3} ms {:>8.3} ms", 1e3 * primal, 1e3 * warm[0], 1e3 * warm[1]);
        print!(" {:>11.2} {:>11.2}", warm[1] / bound, warm[1] / warm[0]);
        print!(" {:>8.3} ms {:>8.3} ms {:>11.2}", 1e3 * cold[0], 1e3 * cold[1], cold[1] / cold[0]);
        println!(" {:>8.3} MB {:>8.3} MB {:>8.3} MB", mb(bytes[0]), mb(bytes[1]), mb(*stage));
        for (k, variant) in ["full", "staged"].into_iter().enumerate() {
            let evaluations = (k + 1) * sines;
            rows.push(format!("sines,{sines},{variant} warm,{},{:e},{evaluations}\n", bytes[k], warm[k]));
            rows.push(format!("sines,{sines},{variant} cold,{},{:e},{evaluations}\n", bytes[k], cold[k]));
        }
        for (sizes, times) in faster.iter_mut().zip([warm, cold]) {
            if times[1] < times[0] {
                sizes.push(*sines);
            }
        }
    }
    for (how, sizes) in ["warm", "cold"].into_iter().zip(faster) {
        println!("{how}: in stages faster than on the full tape at {}", listed(&sizes));
    }
    println!();
    rows
}

fn listed(sizes: &[usize]) -> String {
    if sizes.is_empty() {
        return String::from("no size");
    }
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ") + " sines"
}
