//! Gradients by records and by closures, beside those by an object with a virtual function for each operation.
//!
//! `cargo bench -p tapewright-problems --bench objects` prints, for burgers2d and expsq, the bytes and the time of a
//! gradient: medians over turns, in each of which every form takes its own. All gradients are checked first.

#![allow(clippy::cast_precision_loss, reason = "counts are small")]

#[path = "../../turns.rs"]
mod turns;

use std::hint::black_box;
use tapewright::{Continuation, Jacobian, PrimalValue, Reverse, Tape};
use tapewright_problems::objects::{self, Gradients};
use tapewright_problems::{Burgers, ExpSq, Problem};
use tapewright_test_support::median;
use turns::seconds;

/// One way to compute gradients: its name, its bytes, and the gradients of evaluations from 0 on, added up.
struct Form<'p> {
    name: &'static str,
    bytes: usize,
    run: Box<dyn FnMut(usize) -> Vec<f64> + 'p>,
}

/// Adds up the gradients of this many evaluations.
fn added(
    problem: &impl Problem,
    evaluations: usize,
    mut gradient_at: impl FnMut(usize, &[f64], &mut [f64]),
) -> Vec<f64> {
    let mut x = problem.inputs(0);
    let (mut gradient, mut sum) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for k in 0..evaluations {
        problem.inputs_into(k, &mut x);
        gradient_at(k, black_box(&x), &mut gradient);
        sum.iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope);
    }
    sum
}

fn taped<'p, S: Reverse<Value = f64> + 'p>(name: &'static str, problem: &'p impl Problem) -> Form<'p> {
    let mut tape = Tape::<S>::new();
    let x = problem.inputs(0);
    tape.gradient(|x| problem.eval(0, x), &x, &mut vec![0.0; x.len()]).expect("of this recording");
    // The tables of a tape are the same whatever it holds.
    let bytes = tape.memory().total().used - tape.memory().usage("tables").used;
    let run = move |evaluations| {
        added(problem, evaluations, |k, x, gradient| {
            tape.gradient(|x| problem.eval(k, x), x, gradient).expect("of this recording");
        })
    };
    Form { name, bytes, run: Box::new(run) }
}

/// Prints a row for each form, times in units of which a second has `per_second`.
fn table(problem: &impl Problem, of_objects: Form<'_>, evaluations: usize, (unit, per_second): (&str, f64)) {
    let mut forms = [
        of_objects,
        taped::<Continuation>("Continuation", problem),
        taped::<Jacobian>("Jacobian", problem),
        taped::<PrimalValue>("PrimalValue", problem),
    ];
    let expected = added(problem, evaluations, |k, x, gradient| _ = problem.adjoint(k, x, gradient));
    for form in &mut forms {
        for (found, expected) in (form.run)(evaluations).iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{}: {found} ≠ {expected}", form.name);
        }
    }
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..31 {
        for (form, times) in forms.iter_mut().zip(&mut times) {
            times.push(seconds(|| (form.run)(evaluations)));
        }
    }
    println!(
        "\n{}, {}: a gradient\n\n| | bytes | {unit} | objects take |\n|---|--:|--:|--:|",
        problem.name(),
        problem.size()
    );
    for (form, taken) in forms.iter().zip(&times) {
        let ratio = median(times[0].iter().zip(taken).map(|(objects, taken)| objects / taken).collect());
        let time = median(taken.clone()) / evaluations as f64 * per_second;
        println!("| {} | {} | {time:.1} | {ratio:.2} × |", form.name, form.bytes);
    }
}

fn main() {
    let (burgers, expsq) = (Burgers::default(), ExpSq::new(10_000).expect("some"));
    let (mut memory, x) = (Gradients::default(), burgers.inputs(0));
    let bytes = memory.bytes_of(|x| objects::burgers(&burgers, x), &x);
    let run = |evaluations| {
        added(&burgers, evaluations, |_, x, gradient| _ = memory.of(|x| objects::burgers(&burgers, x), x, gradient))
    };
    let form = Form { name: "objects", bytes: bytes.objects + bytes.adjoints, run: Box::new(run) };
    table(&burgers, form, 1, ("ms", 1e3));
    let mut memory = Gradients::default();
    let bytes = memory.bytes_of(objects::expsq, &expsq.inputs(0));
    let run = |evaluations| added(&expsq, evaluations, |_, x, gradient| _ = memory.of(objects::expsq, x, gradient));
    let form = Form { name: "objects", bytes: bytes.objects + bytes.adjoints, run: Box::new(run) };
    table(&expsq, form, expsq.evaluations(), ("ns", 1e9));
}
