//! Replays beside recordings: one function evaluated again and again at other inputs, value and gradient.
//!
//! Values and gradients of all forms are compared before anything is timed. Thread CPU time, minima of rounds in which
//! everything is measured in turn.
//!
//! ```text
//! cargo bench --bench replays
//! ```

mod turns;

use clap::Parser;
use std::hint::black_box;
use tapewright::programs::{Program, rows, scenarios};
use tapewright::tape::Replay;
use tapewright::{Continuation, Hybrid, Jacobian, PrimalValue, Real, Reverse, Tape};
use tapewright_problems::{Gmm, Libor, Problem, RepeatedSin};
use turns::seconds;

#[derive(Parser)]
struct Options {
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 25)]
    rounds: usize,
    /// Measures only forms whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Writes a gradient, and returns the value.
type Evaluation<'p> = dyn FnMut(&[f64], &mut [f64]) -> f64 + 'p;

/// A way to value and gradient: its name, and what is timed.
struct Form<'p> {
    name: String,
    run: Box<Evaluation<'p>>,
}

fn recorded<'p, S: Reverse<Value = f64>>(name: &str, problem: &'p impl Problem) -> Form<'p> {
    let mut tape = Tape::<S>::new();
    let run = move |x: &[f64], gradient: &mut [f64]| {
        tape.gradient(|x| problem.eval(0, x), x, gradient).expect("the output belongs to the recording")
    };
    Form { name: format!("`{name}`, recorded and swept"), run: Box::new(run) }
}

/// Replays of one recording; with or without the sweep.
fn replayed<'p, S: Replay<Value = f64>>(name: &str, problem: &'p impl Problem, guards: bool, sweeps: bool) -> Form<'p> {
    let mut tape = Tape::<S>::new();
    tape.set_guards(guards);
    let (inputs, output) = tape.record(|scope| {
        let inputs = scope.inputs(&problem.inputs(0));
        let output: Real<S> = problem.eval(0, &inputs);
        (inputs, output)
    });
    let run = move |x: &[f64], gradient: &mut [f64]| {
        let at: Vec<_> = inputs.iter().zip(x).map(|(input, x)| (input, *x)).collect();
        tape.replay(&at).expect("the same branches");
        if sweeps {
            let adjoints = tape.sweep(&[(&output, 1.0)]).expect("its own output");
            gradient.copy_from_slice(&adjoints.of_all(&inputs).expect("its own inputs"));
        }
        tape.value_of(&output).expect("its own output")
    };
    let with = if guards { ", with guards" } else { "" };
    Form { name: format!("`{name}`, replayed{}{with}", if sweeps { " and swept" } else { "" }), run: Box::new(run) }
}

/// A program whose inputs are parameters, or data if not.
fn program<P: Problem + Sync>(problem: &P, by_data: bool) -> Form<'_> {
    let program = Program::new(move |p, d| [problem.eval(0, if by_data { d } else { p })]).in_blocks_of(1);
    let run = move |x: &[f64], gradient: &mut [f64]| {
        let found = if by_data {
            program.gradients(&[], rows(x, x.len())).expect("it is a program")
        } else {
            program.gradient(x, scenarios(1, 0, |_, _| {})).expect("it is a program")
        };
        let slopes = if by_data { found.gradients[0].clone() } else { found.mean_gradient(0) };
        gradient.copy_from_slice(&slopes);
        found.values[0]
    };
    Form { name: format!("program of width 1, by {}", if by_data { "data" } else { "parameters" }), run: Box::new(run) }
}

fn compare(problem: &(impl Problem + Sync), title: &str, options: &Options) {
    let x = problem.inputs(0);
    let mut forms = [
        recorded::<Jacobian>("Jacobian", problem),
        recorded::<Hybrid>("Hybrid", problem),
        recorded::<Continuation>("Continuation", problem),
        recorded::<PrimalValue>("PrimalValue", problem),
        replayed::<PrimalValue>("PrimalValue", problem, false, true),
        replayed::<PrimalValue>("PrimalValue", problem, true, true),
        replayed::<PrimalValue>("PrimalValue", problem, true, false),
        program(problem, false),
        program(problem, true),
    ];
    let mut expected = vec![0.0; x.len()];
    let mut gradient = expected.clone();
    // At other inputs than those of the recording.
    let x: Vec<f64> = x.iter().map(|x| 1.000_001 * x).collect();
    let value = (forms[0].run)(&x, &mut expected);
    for form in &mut forms {
        gradient.copy_from_slice(&expected);
        let found = (form.run)(&x, &mut gradient);
        assert!((found - value).abs() <= 1e-12 * value.abs(), "{title}, {}: {found}, not {value}", form.name);
        let most = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let off = gradient.iter().zip(&expected).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(off <= 1e-12 * most, "{title}, {}: gradients differ by {off}", form.name);
    }
    let once = seconds(|| (forms[0].run)(&x, &mut gradient));
    let times = (1..1000).find(|times| f64::from(*times) * once >= 2e-3).unwrap_or(1000);
    let mut least = vec![f64::INFINITY; forms.len()];
    for _ in 0..options.rounds.max(1) {
        for (least, form) in least.iter_mut().zip(&mut forms).filter(|(_, form)| form.name.contains(&options.only)) {
            let mut run = || (0..times).for_each(|_| _ = black_box((form.run)(black_box(&x), &mut gradient)));
            *least = least.min(seconds(&mut run) / f64::from(times));
        }
    }
    let fastest = least[..4].iter().fold(f64::INFINITY, |least, time| least.min(*time));
    println!("| {title} | µs | × the fastest recording and its sweep |\n|---|--:|--:|");
    for (form, time) in forms.iter().zip(&least) {
        println!("| {} | {:.2} | {:.2} |", form.name, 1e6 * time, time / fastest);
    }
    println!();
}

fn main() {
    let options = Options::parse();
    compare(&Libor::default(), "libor, a path of 80 rates and 40 maturities", &options);
    compare(&Gmm::iris(), "gmm, iris", &options);
    compare(&RepeatedSin::new(10_000).expect("a possible size"), "a chain of 10,000 statements", &options);
}
