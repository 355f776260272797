//! Functions that read values, and functions with entries that are no instructions: beside a tape for each scenario.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of steps and of kinds")]

use crate::{COUNT, data, datum};
use tapewright::checkpoint::closure_stage;
use tapewright::implicit::{self, Equations};
use tapewright::kernels::{View, parallel_for, parallel_max_at, parallel_sum};
use tapewright::prelude::*;
use tapewright::programs::{Branches, Program};
use tapewright::{External, SweepError, checkpoint, external, pause, preaccumulate, with_partials};

/// Fails unless a program of this function of two parameters and two data gives what a tape gives that records each
/// scenario, to the last bit. Returns how it branched.
macro_rules! check {
    ($f:ident) => {{
        let program = Program::new(|p, d| [$f(p, d)]);
        let mut branches = Vec::new();
        // The second set of parameters meets the recordings of the first one.
        for p in [[0.5, 1.25], [0.75, -1.0]] {
            let found = program.gradients(&p, data(COUNT)).unwrap();
            let mut sum = [0.0; 2];
            for k in 0..COUNT {
                let x = [p, datum(k)].concat();
                let (value, gradient) = value_and_gradient::<Jacobian>(|x| $f(&x[..2], &x[2..]), &x);
                assert_eq!(
                    (found.values[k], &found.gradients[k][..]),
                    (value, &gradient[2..]),
                    "scenario {k} at {p:?}"
                );
                sum.iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope);
            }
            let means = found.mean_gradient(0);
            assert!(means.iter().zip(sum).all(|(a, b)| (a - b / COUNT as f64).abs() < 1e-13), "{means:?} {sum:?}");
            branches.push(found.branches().clone());
        }
        branches
    }};
}

/// The functions of the tests are rows: their name, parameters and data, and value.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($p:ident, $d:ident) $body:block)*) => { $(
        $(#[$doc])*
        fn $name<S: Reverse<Value = f64>>($p: &[Real<S>], $d: &[Real<S>]) -> Real<S> $body
    )* };
}

functions! {
    /// Branches on the value of a datum.
    branches_on_a_value(p, d) {
        let x = (&p[0] * &d[0]).eval();
        if x.value() > 0.7 { (&x * &x).into() } else { (&x * &p[1]).into() }
    }
    /// Makes a constant of an expression of a datum.
    makes_a_constant(p, d) {
        let scale = (&p[0] * &d[0]).value();
        (&d[0] * &p[1] * scale).into()
    }
    /// Reads a datum that takes three values.
    reads_a_kind(p, d) {
        match d[1].value() as u32 {
            2 => (&p[0] * &d[0]).into(),
            3 => (&p[1] * &d[0] * &d[1]).into(),
            _ => (&d[0] * &d[0]).into(),
        }
    }
    /// Takes as many steps as a parameter says.
    takes_steps(p, d) {
        let steps = (&p[0] * 8.0).value() as usize;
        (0..steps).fold(d[0].clone(), |x, _| (&x * &p[1]).into())
    }
    /// Converts closed variables to floats.
    casts(p, d) {
        use tapewright::Closed;
        let x = Closed::from(d[0].clone()) * Closed::from(p[0].clone());
        let y = x.clone() * x.value().floor();
        (y.as_real() * &p[1]).into()
    }
    prints(p, d) {
        let text = format!("{} {:?}", p[0], d[0]);
        assert!(!text.is_empty());
        (&p[0] * &d[0] * &p[1]).into()
    }
    an_external_function(p, d) {
        let inputs = [p[0].clone(), d[0].clone()];
        let sum = external(&inputs, &[p[0].value() + d[0].value()], Sum);
        (&sum[0] * &p[1]).into()
    }
    given_partials(p, d) {
        let product = with_partials(&[p[0].clone(), d[0].clone()], p[0].value() * d[0].value(), &[d[0].value(), p[0].value()]);
        (&product * &p[1]).into()
    }
    a_block(p, d) {
        let [product] = preaccumulate(&[p[0].clone(), d[0].clone()], |x| [(x[0] * x[1].sin()).eval()]);
        (&product * &p[1]).into()
    }
    a_pause(p, d) {
        let constant = pause(|| (&p[0] * &d[0]).eval());
        (&constant * &p[1] * &d[0]).into()
    }
    a_root(p, d) {
        let x = (p[0].value() * d[0].value()).abs().sqrt();
        let product = (&p[0] * &d[0]).abs().eval();
        let root = implicit::root(Square, x, &[product]).expect("a solution");
        (&root * &p[1]).into()
    }
    a_stage_of_another_strategy(p, d) {
        let product = (&p[0] * &d[0]).eval();
        let stage = checkpoint!(Jacobian, &product, |x| (0..5).fold(*x, |x, _| x.sin().into()));
        (&stage * &p[1]).into()
    }
    /// Elements of views that are read as numbers may decide anything.
    reads_an_element(p, d) {
        let scale = squares(d).values()[0];
        (&p[0] * &d[1] * scale).into()
    }
    branches_on_an_element(p, d) {
        if squares(d).to_vec()[0] > 2.0 { (&p[0] * &d[1]).into() } else { (&p[1] * &d[0]).into() }
    }
    makes_a_constant_of_a_view(p, d) {
        let x = squares(d);
        let constant = x.constant::<S>();
        (parallel_sum(x.all(), (&x, &constant), |(x, c)| x.at::<0>() * c.at::<0>()) * &p[0]).into()
    }
    prints_a_view(p, d) {
        let text = format!("{:?}", squares(d));
        (&p[0] * &d[0] * text.len() as f64).into()
    }
    takes_the_place_of_the_largest(p, d) {
        let x = squares(&[d[0].clone(), Real::from(2.0)]);
        let (largest, [place]) = parallel_max_at(x.all(), &x, |x| x.at::<0>());
        (largest * &p[0] + &d[1] * place as f64).into()
    }
    reads_an_element_in_a_stage(p, d) {
        let x = squares(d);
        let inside = |x: &View<S, 1>| {
            let scale = x.values()[0];
            (parallel_sum(x.all(), x, |x| x.at::<0>()) * scale).eval()
        };
        (closure_stage(inside, &x) * &p[0]).into()
    }
    /// What comes of the first launch goes through a statement, and into the second one.
    a_launch_between(p, d) {
        let mut x: View<S, 1> = View::of_variables([3], &[p[0].clone(), d[0].clone(), d[1].clone()]);
        let sum = parallel_sum(x.all(), &x, |x| x.at::<0>().sin()).exp().eval();
        parallel_for(x.all(), (&mut x, &sum), |(x, sum)| (x.at::<0>() * sum,));
        (parallel_sum(x.all(), &x, |x| x.at::<0>()) * &p[1]).into()
    }
    /// Has an external function in some scenarios only.
    an_external_function_in_one_branch(p, d) {
        if d[1] > 3.5 { an_external_function(p, d) } else { (&p[0] * &d[0] * &p[1]).into() }
    }
}

fn squares<S: Taping<Value = f64>>(x: &[Real<S>]) -> View<S, 1> {
    let mut y = View::of_variables([x.len()], x);
    parallel_for(y.all(), &mut y, |y| (y.at::<0>().square(),));
    y
}

struct Sum;
impl External<f64> for Sum {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs.iter_mut().for_each(|adjoint| *adjoint += outputs[0]);
        Ok(())
    }
}

/// x² = p.
struct Square;
impl Equations for Square {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[0] - p[0]).into()]
    }
}

/// The number of scenarios that one run recorded alone, and the reason.
fn alone(branches: &[Branches]) -> Vec<(usize, &str)> {
    branches.iter().map(|branches| (branches.alone, branches.refusal.as_deref().unwrap_or("none"))).collect()
}

#[test]
fn values_that_differ_in_all_scenarios_are_read_in_recordings_of_their_own() {
    for branches in [check!(branches_on_a_value), check!(makes_a_constant), check!(casts)] {
        for (run, branches) in branches.into_iter().enumerate() {
            // Parameters are among what is read; the recordings of the first run fit none of the second.
            assert!(branches.recordings <= 16, "run {run}: {branches}");
            assert_eq!(branches.alone, COUNT - branches.recordings, "run {run}: {branches}");
            assert!(branches.splits[0].0.contains("alone.rs:"), "{branches}");
        }
    }
}

#[test]
fn recordings_for_parameters_whose_value_was_read_make_room_for_others() {
    let program = Program::new(|p, d| [takes_steps(p, d)]).most_patterns(2);
    for steps in [1, 2, 3, 1, 5, 2, 2] {
        let found = program.gradients(&[f64::from(steps) / 8.0, 2.0], &[[3.0, 0.0], [5.0, 0.0]]).unwrap();
        let power = f64::from(1 << steps);
        assert_eq!(found.values, [3.0 * power, 5.0 * power]);
        assert_eq!(found.gradients, [[power, 0.0]; 2]);
        assert_eq!((found.branches().recordings, found.branches().alone), (1, 0));
    }
}

#[test]
fn values_that_are_the_same_in_many_scenarios_share_recordings() {
    for (branches, most) in [(check!(reads_a_kind), 3), (check!(takes_steps), 1), (check!(prints), 1)] {
        for branches in branches {
            assert_eq!((branches.recordings, branches.alone), (most, 0), "{branches}");
        }
    }
}

#[test]
fn entries_that_are_no_instructions_are_recorded_alone() {
    let partials = "statements of which only partials are known (`with_partials`, `preaccumulate`, `statement`) are no \
                    instructions";
    let launches = "launches are no instructions if what is computed of their results goes on into later launches over \
                    the same views, or decides about another function before those";
    let not_again = |name: &str| format!("{name} is no instruction: it cannot be computed again");
    let paused = "what is computed of variables in a pause is a constant of a recording";
    for branches in [check!(given_partials), check!(a_block)] {
        assert_eq!(alone(&branches), [(COUNT, partials); 2]);
    }
    for (branches, name) in [(check!(an_external_function), "Sum"), (check!(a_root), "Square")] {
        let why = not_again(&format!("programs::alone::{name}"));
        assert_eq!(alone(&branches), [(COUNT, &why[..]); 2]);
    }
    let branches = check!(a_stage_of_another_strategy);
    assert!(
        alone(&branches).iter().all(|(count, why)| *count == COUNT && why.ends_with(&not_again(""))),
        "{branches:?}"
    );
    assert_eq!(alone(&check!(a_launch_between)), [(COUNT, launches); 2]);
    assert_eq!(alone(&check!(a_pause)), [(COUNT, paused); 2]);
    let read = [check!(reads_an_element), check!(branches_on_an_element), check!(makes_a_constant_of_a_view)];
    let others = [check!(prints_a_view), check!(takes_the_place_of_the_largest), check!(reads_an_element_in_a_stage)];
    for branches in read.iter().chain(&others) {
        let is_read = |(count, why): &(usize, &str)| *count == COUNT && why.contains("`parallel_max_at`");
        assert!(alone(branches).iter().all(is_read), "{branches:?}");
    }
    let branches = &check!(an_external_function_in_one_branch)[1];
    assert!(branches.recordings == 1 && branches.alone == COUNT / 3, "{branches}");
    assert!(branches.to_string().contains(&not_again("programs::alone::Sum")), "{branches}");
}

#[cfg(feature = "threads")]
#[test]
fn scenarios_that_are_recorded_alone_have_the_same_bits_on_any_number_of_threads() {
    let run = |threads: usize| {
        let program = Program::new(|p, d| [an_external_function(p, d)]).in_parallel();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| program.gradients(&[0.5, 1.25], data(COUNT)).unwrap())
    };
    let one = run(1);
    let plain = Program::new(|p, d| [an_external_function(p, d)]);
    assert_eq!(one, plain.gradients(&[0.5, 1.25], data(COUNT)).unwrap());
    assert_eq!([run(2), run(5)], [one.clone(), one]);
}

#[test]
fn values_of_variables_of_earlier_recordings_are_constants() {
    let mut tape = Tape::<tapewright::strategies::Instructions>::new();
    let earlier = tape.record(|scope| scope.input(3.0));
    let program = Program::new(move |p, d| [(p[0] * d[0] * earlier.value()).eval()]);
    let found = program.gradients(&[2.0], &[[1.0], [5.0]]).unwrap();
    assert_eq!((&found.values[..], &found.gradients[..]), (&[6.0, 30.0][..], &[vec![6.0], vec![6.0]][..]));
    assert_eq!(found.branches().alone, 0);
}

#[test]
fn an_external_function_that_fails_is_an_error_and_the_program_goes_on() {
    struct Fails;
    impl External<f64> for Fails {
        fn reverse(&self, outputs: &[f64], _: &mut [f64]) -> Result<(), SweepError> {
            Err(SweepError::Unsupported { what: format!("the seed {}", outputs[0]) })
        }
    }
    let program =
        Program::new(|p, d| [if d[0] > 1.0 { external(&[p[0]], &[1.0], Fails)[0] } else { (p[0] * d[0]).eval() }]);
    assert_eq!(program.values(&[1.0], &[[2.0], [0.5]]).unwrap().values, [1.0, 0.5]);
    let error = program.gradient(&[1.0], &[[0.5], [2.0]]).unwrap_err();
    assert!(error.to_string().contains("the seed 1"), "{error}");
    assert_eq!(program.gradient(&[1.0], &[[0.5]]).unwrap().mean_gradient(0), [0.5]);
}

/// Functions of slices with passive arguments in some of the recordings.
fn slices<S: Strategy>(k: usize, x: &[Real<S>]) -> Real<S> {
    let constants = [0.25, 0.75, 1.25].map(Real::from);
    let product = (x[0] * x[1]).eval();
    let y = if k.is_multiple_of(3) { tapewright::dot(&[product, constants[0], x[1]], &constants) } else { product };
    let z =
        if k.is_multiple_of(2) { tapewright::norm(&[constants[1], y, constants[2]]) } else { (y * x[1] * x[0]).into() };
    (z * x[0]).into()
}

#[test]
fn functions_of_slices_with_passive_arguments_leave_nothing_with_the_next_recording() {
    let mut tape = Tape::<tapewright::strategies::Instructions>::new();
    for k in 0..20 {
        let at = [0.5 + k as f64, 2.0];
        let (inputs, y) = tape.record(|scope| {
            let inputs = scope.inputs(&at);
            let y = slices(k, &inputs);
            (inputs, y)
        });
        for _ in 0..2 {
            let found = tape.sweep(&[(&y, 1.0)]).unwrap().of_all(&inputs).unwrap();
            assert_eq!(found, gradient::<Jacobian>(|x| slices(k, x), &at), "recording {k}");
        }
        tape.replay(&[(&inputs[0], 3.0)]).unwrap();
        let value = slices::<Passive>(k, Real::wrap_slice(&[3.0, 2.0])).value();
        assert_eq!(tape.value_of(&y).unwrap(), value, "recording {k}");
    }
}
