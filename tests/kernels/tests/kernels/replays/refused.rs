//! Replays that are refused leave everything as it was, and memory is used again.

use super::*;
use tapewright::kernels::parallel_scan;

/// Launches around a comparison.
fn with_a_branch(k: &[Real<S>], x: &mut Views) -> Results {
    parallel_for(x[0].all(), (&mut x[0], &k[0]), |(x, k)| (x.at::<0>().square() * k,));
    let (sum, largest) = (norm_squared(&x[0]), parallel_max(x[0].all(), &x[0], |x| x.at::<0>()));
    let running = parallel_scan(&x[0], |a, b| a * b + 1.0);
    let factor = if k[1] > 0.0 { (sum * k[1]).eval() } else { (sum - k[1]).eval() };
    parallel_for(x[1].all(), (&mut x[1], &factor, &running), |(x, f, r)| (x.at::<0>() * f * r.at::<0>(),));
    (vec![norm_squared(&x[1]), largest, sum], vec![running])
}

#[test]
fn a_guard_between_launches_that_fails_leaves_everything_as_it_was() {
    let mut start = at(37, 2);
    start.variables[1] = 0.5;
    let mut recording = made(true, &start, with_a_branch);
    for seed in 3..6 {
        let before = recording.found();
        let mut other = at(37, seed);
        other.variables[1] = -0.5;
        let error = recording.replay(&other).expect_err("another branch");
        assert!(matches!(error, Error::Sweep(SweepError::BranchChanged { .. })), "{error}");
        assert_eq!(recording.found(), before, "as it was");
        other.variables[1] = 0.125;
        recording.replay(&other).expect("the same branch");
        assert_eq!(recording.found(), made(true, &other, with_a_branch).found());
        // The old inputs of those that are not named are the latest ones that were accepted.
        recording.tape.replay(&[]).expect("replayed");
        assert_eq!(recording.found(), made(true, &other, with_a_branch).found());
    }
}

fn unsupported<T>(outcome: Result<T, Error>, words: &str) {
    match outcome {
        Err(Error::Sweep(SweepError::Unsupported { what })) => assert!(what.contains(words), "{words:?} not in {what}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused: {words}"),
    }
}

#[test]
fn launches_of_recordings_without_guards_are_not_replayed() {
    let start = at(5, 0);
    let mut recording = made(false, &start, with_a_branch);
    let before = recording.found();
    unsupported(recording.replay(&at(5, 1)), "set_guards(true)");
    // What is recorded afterwards is another matter.
    recording.tape.set_guards(true);
    unsupported(recording.replay(&at(5, 1)), "set_guards(true)");
    assert_eq!(recording.found(), before);
    // Nor are parts without guards; without launches there is nothing to be kept.
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (k, x) = tape.record(|scope| (scope.input(1.0), scope.view([3], &[1.0, 2.0, 3.0])));
    tape.set_guards(false);
    let y = tape.resume(|scope| (scope.renew(&k).expect("of it") * 2.0).eval());
    tape.new_inputs().variable(&k, 4.0).and_then(|new| new.view(&x, &[0.0; 3])?.replay()).expect("no launches");
    assert_eq!(tape.value_of(&y).expect("of it"), 8.0);
    tape.resume(|scope| norm_squared(&scope.renew_view(&x).expect("of it")));
    unsupported(tape.replay(&[(&k, 1.0)]), "set_guards(true)");
    // A plain maximum must not be replayed as that of the point where it was.
    let mut tape = Tape::<S>::new();
    let (k, _) = tape.record(|scope| {
        let k = scope.inputs(&[1.0, 2.0]);
        let view = View::of_variables([2], &k);
        (k, parallel_max(view.all(), &view, |v| v.at::<0>()))
    });
    unsupported(tape.replay(&[(&k[0], 3.0)]), "set_guards(true)");
}

#[test]
fn views_that_cannot_be_given_values_are_refused() {
    let start = at(5, 0);
    let mut recording = made(true, &start, |k, x| {
        let mut y = x[0].clone();
        parallel_for(y.all(), (&mut y, &k[0]), |(y, k)| (y.at::<0>() * k,));
        (vec![norm_squared(&y)], vec![y, View::zeros([5])])
    });
    let before = recording.found();
    let other = made(true, &start, with_a_branch);
    let Made { tape, views, results: (_, ends), variables } = &mut recording;
    unsupported(tape.new_inputs().view(&ends[0], &[1.0; 5]).and_then(|new| new.replay()), "no input");
    unsupported(tape.new_inputs().view(&ends[1], &[1.0; 5]), "passive view");
    unsupported(tape.new_inputs().variable(&Real::constant(1.0), 2.0), "passive variable");
    let found = tape.new_inputs().view(&other.views[0], &[1.0; 5]).map(drop);
    assert!(matches!(found, Err(Error::ForeignVariable { .. })));
    assert!(matches!(tape.values_of_view(&other.views[0]), Err(Error::ForeignVariable { .. })));
    let found = tape.new_inputs().view(&views[0], &[1.0; 4]).map(drop);
    assert!(matches!(found, Err(Error::LengthMismatch { .. })));
    // The last of two values counts, and values that are not replayed are forgotten.
    drop(tape.new_inputs().variable(&variables[0], 9.0).expect("an input"));
    assert_eq!(recording.found(), before);
    let twice = recording.tape.new_inputs().view(&recording.views[0], &[3.0; 5]).expect("an input");
    twice.view(&recording.views[0], &start.views[0]).and_then(|new| new.replay()).expect("replayed");
    assert_eq!(recording.found(), before);
}

fn squares<T: Taping<Value = f64>>((k, x): &(Real<T>, View<T, 1>)) -> View<T, 1> {
    let mut y = x.clone();
    parallel_for(y.all(), (&mut y, k), |(y, k)| (y.at::<0>() * y.at::<0>() * k,));
    y
}

#[test]
fn stages_over_views_of_another_strategy_are_refused_before_anything_changes() {
    let mut start = at(5, 0);
    start.variables[1] = 0.5;
    let mut recording = made(true, &start, |k, x| {
        let first = norm_squared(&x[0]);
        let staged = checkpoint!(Jacobian, &(k[0], x[0].clone()), squares);
        (vec![norm_squared(&staged), first], vec![])
    });
    let before = recording.found();
    unsupported(recording.replay(&at(5, 1)), "over views");
    assert_eq!(recording.found(), before);
}

#[test]
fn stages_over_views_are_replayed() {
    let program = |k: &[Real<S>], x: &mut Views| {
        let first = norm_squared(&x[0]);
        let staged = closure_stage(squares, &(k[0], x[0].clone()));
        (vec![norm_squared(&staged), first], vec![staged])
    };
    let mut recording = made(true, &at(5, 0), program);
    for seed in 1..4 {
        recording.replay(&at(5, seed)).expect("a stage of the same strategy");
        assert_eq!(recording.found(), made(true, &at(5, seed), program).found());
    }
}

#[test]
fn parts_are_replayed_and_forgotten() {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (k, x, y) = tape.record(|scope| {
        let (k, x) = (scope.input(0.5), scope.view([5], &numbers(5, 1)));
        let mut y = View::new([5], &numbers(5, 2));
        parallel_for(1..4, (&mut y, &x, &k), |(y, x, k)| (y.at::<0>() * x.at::<1>() * k,));
        (k, x, y)
    });
    let middle = tape.position();
    let sum_of = |x: &View<S, 1>, y: &View<S, 1>| parallel_sum(x.all(), (x, y), |(x, y)| x.at::<0>() * y.at::<0>());
    let end = |tape: &mut Tape<S>, seed: usize| {
        tape.resume(|scope| {
            let w = scope.view([5], &numbers(5, seed));
            let mut y = scope.renew_view(&y).expect("of it");
            parallel_for(0..2, (&mut y, &w), |(y, w)| (y.at::<0>().exp() * w.at::<0>(),));
            let x = scope.renew_view(&x).expect("of it");
            (w, sum_of(&x, &y))
        })
    };
    let (forgotten, _) = end(&mut tape, 3);
    tape.reset_to(&middle).expect("a part's end");
    let (w, sum) = end(&mut tape, 4);
    assert!(tape.new_inputs().view(&forgotten, &[0.0; 5]).is_err());
    let new = [numbers(5, 11), numbers(5, 12)];
    let replay = tape.new_inputs().variable(&k, -1.5).and_then(|inputs| inputs.view(&x, &new[0])?.view(&w, &new[1]));
    replay.and_then(|inputs| inputs.replay()).expect("replayed");
    let mut fresh = Tape::<S>::new();
    let (fk, fx, fw, fsum) = fresh.record(|scope| {
        let (k, x, w) = (scope.input(-1.5), scope.view([5], &new[0]), scope.view([5], &new[1]));
        let mut y = View::new([5], &numbers(5, 2));
        parallel_for(1..4, (&mut y, &x, &k), |(y, x, k)| (y.at::<0>() * x.at::<1>() * k,));
        parallel_for(0..2, (&mut y, &w), |(y, w)| (y.at::<0>().exp() * w.at::<0>(),));
        let sum = sum_of(&x, &y);
        (k, x, w, sum)
    });
    assert_eq!(tape.value_of(&sum).expect("of it").to_bits(), fsum.value().to_bits());
    let expected = fresh.sweep(&[(&fsum, 1.0)]).expect("swept");
    let found = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    assert_eq!(found.of(&k).expect("of it").to_bits(), expected.of(&fk).expect("of it").to_bits());
    for (found_view, expected_view) in [(&x, &fx), (&w, &fw)] {
        let expected = expected.of_view(expected_view).expect("of it");
        assert_eq!(bits(&found.of_view(found_view).expect("of it")), bits(&expected));
    }
}

#[test]
fn memory_of_replays_is_used_again() {
    let step = |_: &[Real<S>], x: &mut Views| {
        let mut now = x[0].clone();
        for _ in 0..20 {
            let mut next = View::zeros(now.shape());
            parallel_for(now.all(), (&now, &mut next), |(x, _)| (x.at::<0>() + 0.5 * x.or_zero::<1>(),));
            now = next;
        }
        (vec![parallel_sum(now.all(), &now, |x| x.at::<0>().sin())], vec![])
    };
    let mut recording = made(true, &at(37, 0), step);
    let reserved = |recording: &Made| recording.tape.memory().usage("arrays").reserved;
    let mut sizes = Vec::new();
    for k in 0..4 {
        recording.replay(&at(37, k)).expect("replayed");
        sizes.push(reserved(&recording));
    }
    // The first one finds fewer buffers that it can use again.
    assert!(sizes[1..].windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
    // The inputs, and the argument of the sine: linear launches keep nothing.
    let one = recording.tape.memory().usage("arrays").used / 3;
    assert!(one < 37 * 8 + 2 * 256 + 64, "{one} bytes for each of three arrays of 37 numbers");
}

#[test]
fn a_reduction_of_a_view_that_could_be_written_is_differentiated() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.view([3], &[1.0, 2.0, 3.0]);
        let y = parallel_sum(x.all(), &mut x, |x| x.at::<0>().square());
        (x, y)
    });
    assert_eq!(*tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("of it"), [2.0, 4.0, 6.0]);
}
