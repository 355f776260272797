//! One recording or one sweep in a function that callgrind can tell from the rest: `benches/instructions.sh` runs it
//! and counts.
//!
//! `instructions WORKLOAD STRATEGY PART`, where PART is `record` or `sweep`, checks the gradient. With fewer arguments
//! it lists all there are.
#![forbid(unsafe_code)]

use std::hint::black_box;
use tapewright::{Jacobian, PrimalValue, Reverse, Tape};
use tapewright_problems::{Burgers, Gmm, Libor, Lstm, Problem};

const WORKLOADS: [&str; 4] = ["burgers2d", "gmm", "libor", "lstm"];
const STRATEGIES: [&str; 2] = ["jacobian", "primal_value"];
const PARTS: [&str; 2] = ["record", "sweep"];

/// What is counted. Callgrind finds it by its name, so no closure may be inside, and no other function may have
/// the same body: the compiler would make one of both.
#[inline(never)]
fn counted_by_callgrind(part: &mut dyn FnMut()) {
    part();
}

/// The gradient of the first evaluation, twice. The second time the tape is warm, and one part is counted.
fn run<S: Reverse<Value = f64>>(problem: &impl Problem, part: &str) {
    let x = problem.inputs(0);
    let (mut gradient, mut expected) = (x.clone(), x.clone());
    let (mut inputs, mut output) = (Vec::new(), None);
    let mut tape = Tape::<S>::new();
    for counted in [None, Some(part)] {
        let run = |part, f: &mut dyn FnMut()| if counted == Some(part) { counted_by_callgrind(f) } else { f() };
        run("record", &mut || {
            output = Some(tape.record(|scope| {
                scope.inputs_into(black_box(&x), &mut inputs);
                problem.eval(0, &inputs)
            }));
        });
        let output = output.as_ref().expect("it has been recorded");
        run("sweep", &mut || {
            let adjoints = tape.sweep(&[(output, 1.0)]).expect("the output belongs to the recording");
            adjoints.write(&inputs, &mut gradient).expect("there is room for all inputs");
        });
    }
    problem.adjoint(0, &x, &mut expected);
    let largest = expected.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    let right = gradient.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-12 * largest);
    assert!(right, "the gradient of {} is not that of the hand-written adjoint", problem.name());
}

fn under(strategy: &str, problem: &impl Problem, part: &str) {
    match strategy {
        "jacobian" => run::<Jacobian>(problem, part),
        "primal_value" => run::<PrimalValue>(problem, part),
        other => panic!("no strategy is called {other}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [workload, strategy, part] = &arguments[..] else {
        for (workload, strategy) in WORKLOADS.iter().flat_map(|w| STRATEGIES.map(|s| (w, s))) {
            PARTS.iter().for_each(|part| println!("{workload} {strategy} {part}"));
        }
        return;
    };
    assert!(PARTS.contains(&part.as_str()), "no part is called {part}");
    match workload.as_str() {
        "burgers2d" => under(strategy, &Burgers::new(32, 8).expect("a possible size"), part),
        "gmm" => under(strategy, &Gmm::iris(), part),
        "libor" => under(strategy, &Libor::new(80, 40, 1).expect("a possible size"), part),
        "lstm" => under(strategy, &Lstm::synthetic(2, 6, 30).expect("a possible size"), part),
        other => panic!("no workload is called {other}"),
    }
}
