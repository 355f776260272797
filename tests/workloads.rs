//! The workloads: every strategy, the hand-written adjoint and central differences agree; sizes are as they should be;
//! and the numbers of other tools come out.

use tapewright::prelude::*;
use tapewright_problems::objects::{self, Bytes, Gradients};
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Burgers, Checksums, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, total};

/// Valid sizes by construction: a workload that cannot be made fails the test.
fn made<P, E: std::fmt::Display>(problem: Result<P, E>) -> P {
    problem.unwrap_or_else(|error| panic!("{error}"))
}

/// Value and gradient of evaluation `k` by a strategy.
fn taped<S: Reverse<Value = f64>>(problem: &impl Problem, k: usize) -> (f64, Vec<f64>) {
    value_and_gradient::<S>(|x| problem.eval(k, x), &problem.inputs(k))
}

fn by_hand(problem: &impl Problem, k: usize) -> (f64, Vec<f64>) {
    let x = problem.inputs(k);
    let mut gradient = vec![f64::NAN; x.len()];
    let value = problem.adjoint(k, &x, &mut gradient);
    (value, gradient)
}

/// The largest magnitude; NaN if there is one.
fn max_norm(x: impl IntoIterator<Item = f64>) -> f64 {
    x.into_iter().fold(0.0, |norm: f64, x| if x.abs() <= norm || norm.is_nan() { norm } else { x.abs() })
}

#[track_caller]
fn assert_close(what: &str, (ours, reference): (&[f64], &[f64]), tolerance: f64) {
    assert_eq!(ours.len(), reference.len(), "{what}");
    let difference = max_norm(ours.iter().zip(reference).map(|(a, b)| a - b));
    let bound = tolerance * max_norm(reference.iter().copied());
    assert!(difference <= bound, "{what}: gradients differ by {difference:e}, more than {bound:e}");
}

/// Central differences of the plain version in three random directions, to 10⁻⁶ of the gradient's norm.
#[track_caller]
fn assert_is_slope(problem: &impl Problem, k: usize, gradient: &[f64]) {
    let x = problem.inputs(k);
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let mut random = SplitMix64::new(7);
    for _ in 0..3 {
        let mut direction: Vec<f64> = x.iter().map(|_| random.symmetric()).collect();
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        for d in &mut direction {
            *d /= length;
        }
        let step = 1e-5;
        let at = |t: f64| {
            let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + t * d).collect();
            problem.plain(k, &moved)
        };
        let difference = (at(step) - at(-step)) / (2.0 * step);
        let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let error = (difference - slope).abs();
        assert!(error <= 1e-6 * norm, "{} ({}): {difference} ≠ {slope}", problem.name(), problem.size());
    }
}

/// Everything that must agree in evaluation `k`.
#[track_caller]
fn assert_consistent(problem: &impl Problem, k: usize) {
    let what = format!("{} ({})", problem.name(), problem.size());
    let x = problem.inputs(k);
    let plain = problem.plain(k, &x);
    assert!(plain.is_finite(), "{what}: {plain}");
    assert_eq!(problem.eval::<Passive>(k, Real::wrap_slice(&x)).value(), plain, "{what}: passive");

    let (value, jacobian) = taped::<Jacobian>(problem, k);
    assert_eq!(value, plain, "{what}: value under Jacobian");
    let (value, primal_value) = taped::<PrimalValue>(problem, k);
    assert_eq!(value, plain, "{what}: value under PrimalValue");
    let (value, stages) = value_and_gradient::<PrimalValue>(|x| problem.eval_in_stages(k, x), &x);
    assert_eq!(value, plain, "{what}: value in stages");
    let (value, adjoint) = by_hand(problem, k);
    assert!((value - plain).abs() <= 1e-13 * plain.abs(), "{what}: value of the adjoint {value}, not {plain}");

    assert_close(&format!("{what}, PrimalValue and Jacobian"), (&primal_value, &jacobian), 1e-12);
    assert_close(&format!("{what}, in stages and Jacobian"), (&stages, &jacobian), 1e-12);
    assert_close(&format!("{what}, adjoint and Jacobian"), (&adjoint, &jacobian), 1e-12);
    assert_is_slope(problem, k, &jacobian);
}

/// Statements and arguments of evaluation `k` under a strategy.
fn counts<S: Reverse<Value = f64>>(problem: &impl Problem, k: usize) -> (usize, usize) {
    let mut tape = Tape::<S>::new();
    let x = problem.inputs(k);
    tape.record(|scope| {
        let x = scope.inputs(&x);
        problem.eval(k, &x)
    });
    (tape.memory().statements, tape.memory().arguments)
}

/// Statements are the same in every strategy; Jacobian keeps the active arguments only.
#[track_caller]
fn assert_counts(problem: &impl Problem, k: usize, statements: usize, arguments: usize) {
    let what = format!("{} ({})", problem.name(), problem.size());
    assert_eq!(counts::<Jacobian>(problem, k), (statements, arguments), "{what}");
    let (of_primal_value, with_passive) = counts::<PrimalValue>(problem, k);
    assert_eq!(of_primal_value, statements, "{what}");
    assert!(with_passive >= arguments, "{what}: {with_passive}");
}

/// Value and gradients of all evaluations, summed, are those of other tools.
#[track_caller]
fn assert_checksums(problem: &impl Problem, gradient_at: impl FnMut(usize, &[f64], &mut [f64]) -> f64) {
    let reference = problem.checksums().expect("the default size has checksums");
    let (value, gradient) = total(problem, gradient_at);
    let ours = Checksums::of(value, &gradient);
    assert!(ours.difference(&reference) <= 1e-10, "{}: {ours:?}, not {reference:?}", problem.name());
}

#[track_caller]
fn assert_checksums_everywhere(problem: &impl Problem) {
    assert_checksums_taped::<Jacobian>(problem);
    assert_checksums_taped::<PrimalValue>(problem);
    assert_checksums(problem, |k, x, gradient| problem.adjoint(k, x, gradient));
}

#[track_caller]
fn assert_checksums_taped<S: Reverse<Value = f64>>(problem: &impl Problem) {
    let mut tape = Tape::<S>::new();
    assert_checksums(problem, |k, x, gradient| {
        tape.gradient(|x| problem.eval(k, x), x, gradient).expect("the output belongs to the recording")
    });
}

#[test]
fn burgers_agrees_with_its_adjoint_and_with_differences() {
    for (n, steps) in [(3, 1), (3, 4), (4, 2), (12, 7)] {
        assert_consistent(&made(Burgers::new(n, steps)), 0);
    }
}

#[test]
fn burgers_takes_three_statements_a_point_and_step() {
    for (n, steps) in [(3, 1), (12, 7), (128, 32)] {
        let updates = steps * 2 * (n - 2) * (n - 2);
        assert_counts(&made(Burgers::new(n, steps)), 0, 3 * updates + n * n, 14 * updates + 5 * n * n - 1);
    }
}

#[test]
fn burgers_has_the_checksums_of_other_tools() {
    assert_checksums_everywhere(&Burgers::default());
}

/// Bytes of records, or of closures with their pointers, and of adjoints.
fn bytes<S: Reverse<Value = f64>>(problem: &impl Problem) -> (usize, usize) {
    let mut tape = Tape::<S>::new();
    let x = problem.inputs(0);
    tape.gradient(|x| problem.eval(0, x), &x, &mut vec![0.0; x.len()]).expect("of this recording");
    let report = tape.memory();
    let [adjoints, tables] = ["adjoints", "tables"].map(|stream| report.usage(stream).used);
    (report.total().used - adjoints - tables, adjoints)
}

/// Row S14: Stan's form has an object with a virtual function for each operation, and a pointer to it. Records and
/// closures are for statements, so there are fewer of them, and each is smaller than the objects of its operations.
#[test]
fn s14_records_and_closures_take_fewer_bytes_than_an_object_for_each_operation() {
    let (burgers, expsq) = (made(Burgers::new(12, 7)), ExpSq::default());
    let mut memory = Gradients::default();
    for problem in [&burgers, &made(Burgers::new(3, 1))] {
        let (_, expected) = by_hand(problem, 0);
        let mut found = vec![0.0; expected.len()];
        memory.of(|x| objects::burgers(problem, x), &problem.inputs(0), &mut found);
        assert_close("burgers2d by objects", (&found, &expected), 1e-12);
    }
    let (value, expected) = by_hand(&expsq, 3);
    let mut found = [0.0; 2];
    assert_eq!(memory.of(objects::expsq, &expsq.inputs(3), &mut found), value);
    assert_close("expsq by objects", (&found, &expected), 1e-15);

    // An exponential takes 24 bytes and a product 40, with the pointer to virtual functions, and 8 on the stack each;
    // inputs and results have an adjoint.
    let object = memory.bytes_of(objects::expsq, &expsq.inputs(0));
    assert_eq!(object, Bytes { objects: 24 + 40 + 40 + 3 * 8, adjoints: 5 * 8 });
    // Each update has 14 operations and 3 statements, each term of the energy 4 and 1.
    let (points, updates) = (12 * 12, 7 * 2 * 10 * 10);
    let objects = memory.bytes_of(|x| objects::burgers(&burgers, x), &burgers.inputs(0));
    assert_eq!(objects.adjoints, 8 * (2 * points + 1 + 14 * updates + 4 * points));
    for (of_expsq, of_burgers) in [
        (bytes::<Continuation>(&expsq), bytes::<Continuation>(&burgers)),
        (bytes::<Jacobian>(&expsq), bytes::<Jacobian>(&burgers)),
        (bytes::<PrimalValue>(&expsq), bytes::<PrimalValue>(&burgers)),
    ] {
        // With adjoints, Stan's tape takes 184 bytes for a statement of four operations.
        assert!(of_expsq.0 < object.objects / 2 && of_expsq.0 + of_expsq.1 < 184, "{of_expsq:?}, objects {object:?}");
        assert!(
            2 * of_burgers.0 < objects.objects && 2 * of_burgers.1 < objects.adjoints,
            "{of_burgers:?}, {objects:?}"
        );
    }
}

#[test]
fn gmm_agrees_with_its_adjoint_and_with_differences() {
    for (d, k, n) in [(1, 1, 1), (2, 1, 5), (1, 3, 7), (3, 4, 20), (9, 2, 6)] {
        assert_consistent(&made(Gmm::synthetic(d, k, n)), 0);
    }
    assert_consistent(&Gmm::iris(), 0);
}

#[test]
fn gmm_with_another_prior_agrees_with_its_adjoint_and_with_differences() {
    let text = "2 2 3\n 0.1\n -0.2\n 1 2\n 3 4\n 0.1 -0.2 0.3\n 0.2 0.1 -0.4\n 0 1\n 2 2\n 3 5\n 1.5 2\n";
    let problem = made(Gmm::from_text(text));
    assert_eq!((problem.prior().gamma, problem.prior().m), (1.5, 2));
    assert_consistent(&problem, 0);
}

/// Each difference, product with Q and running sum is a statement.
#[test]
fn gmm_counts_every_running_sum() {
    for (d, k, n) in [(1, 1, 1), (3, 4, 20), (10, 25, 1000)] {
        let triangle = d * (d - 1) / 2;
        let square = 3 * d + triangle;
        let factors = k * (d + triangle + 1);
        let statements = 2 * k * d + n * (k * (square + 1) + k + 2) + (k + 1) + factors + 1;
        let of_square = 3 * d + 3 * triangle + (3 * d - 1);
        let of_point = k * (of_square + 3) + (3 * k - 1) + 2;
        let of_prior = k * (3 * (d + triangle) - 1) + 3 * k - 1;
        let arguments = k * (3 * d - 1) + n * of_point + (2 * n - 1) + (3 * k + 1) + of_prior + 3;
        assert_counts(&made(Gmm::synthetic(d, k, n)), 0, statements, arguments);
    }
}

/// One component in one dimension: no mixture is left, only a normal density with precision e^2q, and the prior.
#[test]
fn gmm_of_one_component_in_one_dimension_is_a_normal_density() {
    let (q, mu, points, gamma, m) = (0.25_f64, -0.5, [1.0, 2.5, -3.0_f64], 2.0_f64, 3.0);
    let problem = made(Gmm::from_text("1 1 3\n0.7\n-0.5\n0.25\n1 2.5 -3\n2 3\n"));
    let ln_pi = std::f64::consts::PI.ln();
    let density: f64 =
        points.iter().map(|x| q - 0.5 * ((2.0 * q).exp() * (x - mu).powi(2)) - 0.5 * (ln_pi + 2.0_f64.ln())).sum();
    // n′ = 1 + m + 1 = 5 and lnΓ(5/2) = ln(3√π/4).
    let normalizer = 5.0 * (gamma.ln() - 0.5 * 2.0_f64.ln()) - (0.75_f64.ln() + 0.5 * ln_pi);
    let expected = density + 0.5 * gamma * gamma * (2.0 * q).exp() - m * q - normalizer;
    let value = problem.plain(0, &problem.inputs(0));
    assert!((value - expected).abs() < 1e-11 * expected.abs(), "{value} ≠ {expected}");
}

#[test]
fn laplacian_agrees_with_its_adjoint_and_with_differences() {
    for n in [1, 2, 3, 50] {
        assert_consistent(&made(Laplacian::new(n)), 0);
    }
}

#[test]
fn laplacian_takes_six_statements_an_unknown() {
    for n in [2, 3, 50, 100_000] {
        assert_counts(&made(Laplacian::new(n)), 0, 6 * n - 2, 11 * n - 5);
    }
}

#[test]
fn laplacian_has_the_checksums_of_other_tools() {
    assert_checksums_everywhere(&Laplacian::default());
}

#[test]
fn repeated_sin_agrees_with_its_adjoint_and_with_differences() {
    for n in [1, 2, 100] {
        let problem = made(RepeatedSin::new(n));
        assert_consistent(&problem, 0);
        assert_counts(&problem, 0, n, n);
    }
}

#[test]
fn repeated_sin_has_the_checksums_of_other_tools() {
    assert_checksums_everywhere(&RepeatedSin::default());
}

#[test]
fn libor_agrees_with_its_adjoint_and_with_differences() {
    for (rates, maturities, paths) in [(5, 1, 2), (12, 5, 3), (80, 40, 4)] {
        let problem = made(Libor::new(rates, maturities, paths));
        for k in 0..paths {
            assert_consistent(&problem, k);
        }
    }
}

/// How many swaptions pay depends on the path. Each that does is a statement of two arguments; the first has one.
#[test]
fn libor_takes_three_statements_a_move() {
    let problem = Libor::default();
    let moves: usize = (0..40).map(|n| 79 - n).sum();
    for k in (0..problem.evaluations()).step_by(100) {
        let (statements, _) = counts::<Jacobian>(&problem, k);
        let paying = statements - (3 * moves + 40 + 2 * 40 + 15 + 40);
        assert!((0..=15).contains(&paying), "path {k}: {paying} swaptions pay");
        let of_payoff = if paying == 0 { 2 * 40 + 39 } else { 2 * paying - 1 + 3 * 40 };
        assert_counts(&problem, k, statements, 13 * moves + (6 * 40 - 2) + 2 * 15 + of_payoff);
    }
}

#[test]
fn libor_has_the_checksums_of_other_tools() {
    assert_checksums_everywhere(&Libor::default());
}

#[test]
fn lstm_agrees_with_its_adjoint_and_with_differences() {
    for (layers, width, rows) in [(1, 1, 2), (1, 4, 3), (2, 3, 5), (3, 2, 40)] {
        assert_consistent(&made(Lstm::synthetic(layers, width, rows)), 0);
    }
}

#[test]
fn lstm_takes_nine_statements_a_cell() {
    for (l, b, c) in [(1, 1, 2), (2, 3, 5), (2, 14, 1024)] {
        let statements = (c - 1) * (9 * l * b + 5 * b + 1) + 1;
        // In the first step the state is passive, which saves three arguments a cell.
        let arguments = (c - 1) * (21 * l * b + 10 * b) - 3 * l * b;
        assert_counts(&made(Lstm::synthetic(l, b, c)), 0, statements, arguments);
    }
}

/// One cell and one step, written out.
#[test]
fn lstm_of_one_cell_is_the_formula() {
    let text = "1 2 1\n\n0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8\n\n0.9 1.1 1.2\n\n0.25 -0.5\n\n2\n3\n";
    let problem = made(Lstm::from_text(text));
    let sigmoid = |a: f64| 1.0 / (1.0 + (-a).exp());
    let x = 2.0 * 0.9;
    let (forget, ingate) = (sigmoid(x * 0.1 + 0.5), sigmoid(0.25 * 0.2 + 0.6));
    let (outgate, change) = (sigmoid(x * 0.3 + 0.7), (0.25_f64 * 0.4 + 0.8).tanh());
    let cell: f64 = -0.5 * forget + ingate * change;
    let prediction = outgate * cell.tanh() * 1.1 + 1.2;
    let expected = -3.0 * (prediction - (2.0 + prediction.exp()).ln());
    let value = problem.plain(0, &problem.inputs(0));
    assert!((value - expected).abs() < 1e-14, "{value} ≠ {expected}");
    assert_consistent(&problem, 0);
}

#[test]
fn expsq_agrees_with_its_adjoint_and_with_differences() {
    let problem = made(ExpSq::new(5));
    for k in 0..5 {
        assert_consistent(&problem, k);
        assert_counts(&problem, k, 1, 3);
    }
}

#[test]
fn expsq_has_the_checksums_of_other_tools() {
    assert_checksums_everywhere(&ExpSq::default());
}

#[test]
fn other_sizes_have_no_checksums() {
    assert!(made(Burgers::new(128, 31)).checksums().is_none());
    assert!(made(Laplacian::new(99)).checksums().is_none());
    assert!(made(RepeatedSin::new(99)).checksums().is_none());
    assert!(made(Libor::new(80, 40, 999)).checksums().is_none());
    assert!(made(ExpSq::new(99)).checksums().is_none());
    assert!(Gmm::default().checksums().is_none() && Lstm::default().checksums().is_none());
}

#[test]
fn checksums_notice_a_wrong_gradient() {
    let reference = Checksums::of(1.0, &[3.0, 4.0]);
    assert_eq!(reference, Checksums { value: 1.0, sum: 7.0, norm: 5.0 });
    assert_eq!(reference.difference(&reference), 0.0);
    assert!(Checksums::of(1.0, &[3.0, 4.1]).difference(&reference) > 1e-2);
    assert!(Checksums::of(f64::NAN, &[3.0, 4.0]).difference(&reference).is_nan());
}
