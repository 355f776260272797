//! External functions as instructions: beside a tape for each scenario.

use crate::beside_tapes::BesideTapes;
use crate::{COUNT, assert_bits_of_tapes, assert_threads_may_share, data, datum};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tapewright::checkpoint::closure_stage;
use tapewright::external::Rules;
use tapewright::prelude::*;
use tapewright::programs::Program;
use tapewright::{Dual, External, SweepError, external};

/// x·y and x·x + y, with slopes at the values that were computed last.
fn pair<S: Taping<Value = f64>>(x: &Real<S>, y: &Real<S>) -> Vec<Real<S>> {
    let values = |x: f64, y: f64| [x * y, x * x + y];
    let at = [x.peek(), y.peek()];
    let state = Arc::new(Mutex::new(at));
    let kept = Arc::clone(&state);
    let rules = Rules::new("pair", move |outputs, inputs| {
        let [x, y] = *state.lock().unwrap();
        inputs[0] += outputs[0] * y + outputs[1] * 2.0 * x;
        inputs[1] += outputs[0] * x + outputs[1];
        Ok(())
    });
    let rules = rules.replay(move |inputs, outputs| {
        *kept.lock().unwrap() = [inputs[0], inputs[1]];
        outputs.copy_from_slice(&values(inputs[0], inputs[1]));
        Ok(())
    });
    external(&[x.clone(), y.clone()], &values(at[0], at[1]), rules)
}

/// The functions of the tests are rows: their name, parameters and data, and values.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($p:ident, $d:ident) $body:block)*) => {
        $(
            $(#[$doc])*
            fn $name<S: Reverse<Value = f64>>($p: &[Real<S>], $d: &[Real<S>]) -> Vec<Real<S>> $body
        )*
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        fn all<S: Reverse<Value = f64>>(index: usize, p: &[Real<S>], d: &[Real<S>]) -> Vec<Real<S>> {
            [$($name::<S>),*][index](p, d)
        }
    };
}

functions! {
    of_data(_p, d) { pair(&d[0], &d[1]) }
    of_parameters(p, d) {
        let found = pair(&p[0], &p[1]);
        vec![(&found[0] * &d[0]).into(), (&found[1] + &d[1]).into()]
    }
    of_both(p, d) { vec![pair(&p[0], &d[0])[1].clone()] }
    /// One argument twice, and one that is passive.
    twice_the_same(p, d) {
        let squares = pair(&d[0], &d[0]);
        let passive = pair(&Real::from(0.75), &p[0]);
        vec![(&squares[0] * &passive[1] + &squares[1]).into()]
    }
    in_a_chain(p, d) {
        let mut x = (&p[0] * &d[0]).eval();
        for _ in 0..3 {
            let next = pair(&x, &d[1]);
            x = (next[0].sin() + &next[1] * &p[1] * 0.125).into();
        }
        vec![x.clone(), (&x * &x).into()]
    }
    /// A result that nobody uses, and a call that nobody needs.
    partly_unused(p, d) {
        let _ = pair(&d[1], &p[1]);
        vec![(&pair(&d[0], &p[0])[0] * &d[1]).into()]
    }
    /// An output that is an input as it is, and one that is constant.
    beside_plain_outputs(p, d) { vec![d[1].clone(), Real::from(3.0), pair(&d[0], &p[1])[1].clone(), p[0].clone()] }
    behind_a_branch(p, d) {
        if d[1] > 3.5 { vec![pair(&d[0], &p[0])[0].clone()] } else { vec![(&d[0] * &p[1]).into()] }
    }
    in_front_of_a_branch(p, d) {
        let found = pair(&d[0], &p[0]);
        if found[0] > 0.75 { vec![found[1].clone()] } else { vec![(&found[0] * &p[1]).into()] }
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-13 * (1.0 + expected.abs())
}

#[test]
fn each_scenario_gives_what_a_tape_gives_that_records_it() {
    for (index, name) in NAMES.iter().enumerate() {
        for width in [1, 8, 64] {
            let beside = BesideTapes { name, width, count: COUNT, datum, tolerance: 1e-13 };
            let (on_program, on_tape) = (|p: &[_], d: &[_]| all(index, p, d), |x: &[_]| all(index, &x[..2], &x[2..]));
            beside.check(on_program, on_tape, [[0.5, 1.25], [0.75, -1.0]], |program, p, found| {
                for output in 0..found.values.len() / COUNT {
                    let means = found.mean_gradient(output);
                    assert_eq!(program.gradient(p, data(COUNT)).unwrap().mean_gradient(output), means, "{name}");
                }
                assert_eq!(program.values(p, data(COUNT)).unwrap().values, found.values, "{name}");
                assert_eq!(found.branches().alone, 0, "{name}: {}", found.branches());
            });
        }
    }
}

#[test]
fn a_program_of_width_one_has_the_bits_of_tapes() {
    for (index, name) in NAMES.iter().enumerate() {
        assert_bits_of_tapes(name, |p, d| all(index, p, d), |x| all(index, &x[..2], &x[2..]));
    }
}

#[test]
fn threads_have_functions_of_their_own() {
    assert_threads_may_share(in_a_chain);
}

/// Only the lanes of its scenarios are computed in a block that is not full; in others lies what was there before.
#[test]
fn a_short_block_takes_nothing_from_the_block_before() {
    let f = |p: &[Real<_>], d: &[Real<_>]| {
        let of_slice = tapewright::logsumexp(&[(p[0] * d[0]).eval(), d[1], p[1]]);
        let [first, second]: [_; 2] = pair(&of_slice, &(p[1] * d[1]).into()).try_into().unwrap();
        let failing = root(&(d[0] * d[0] + 1.0).into(), &Arc::default());
        [(first * p[0] + d[1]).eval(), (second.sin() * failing * p[1]).into()]
    };
    let p = [0.5, 1.25];
    for width in [8, 16, 64] {
        for count in [1, 2, 7, 8, 9, 15, 17, 40] {
            let short: Vec<_> = (0..count).map(datum).collect();
            let long = vec![[0.0, f64::NAN]; width];
            let expected = Program::new(f).in_blocks_of(width).gradients(&p, &short[..]).unwrap();
            let program = Program::new(f).in_blocks_of(width);
            // In one run, and in a run of its own.
            let both = program.gradients(&p, &[&long[..], &short[..]].concat()[..]).unwrap();
            assert_eq!(both.values[2 * width..], expected.values, "{width}, {count}");
            assert_eq!(both.gradients[2 * width..], expected.gradients, "{width}, {count}");
            assert!(program.gradients(&p, &short[..]).unwrap() == expected, "{width}, {count}");
        }
    }
}

/// √x, which fails for negative numbers, and counts its calls.
struct Root(f64, Arc<AtomicUsize>);
impl External<f64> for Root {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs[0] += outputs[0] * (0.5 / self.0.sqrt());
        Ok(())
    }
    fn replay(&mut self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        if inputs[0] < 0.0 {
            return Err(SweepError::rule("root", "a negative number"));
        }
        assert!(inputs[0] < 100.0, "too large");
        (self.0, outputs[0]) = (inputs[0], inputs[0].sqrt());
        Ok(())
    }
    fn is_instruction(&self) -> bool {
        true
    }
}

fn root<S: Taping<Value = f64>>(x: &Real<S>, calls: &Arc<AtomicUsize>) -> Real<S> {
    external(std::slice::from_ref(x), &[x.peek().sqrt()], Root(x.peek(), Arc::clone(calls))).remove(0)
}

#[test]
fn scenarios_in_which_a_function_fails_take_another_recording() {
    let calls = Arc::new(AtomicUsize::new(0));
    let f = |_: &[_], d: &[Real<tapewright::strategies::Instructions>]| {
        // Not a comparison that a recording notes.
        if d[0].peek() < 0.0 { vec![(d[0] * 3.0).eval()] } else { vec![(root(&d[0], &calls) * d[1]).eval()] }
    };
    for width in [1, 64] {
        let program = Program::new(f).in_blocks_of(width);
        let data: Vec<_> = (0..COUNT).map(|k| [if k % 4 == 3 { -1.0 } else { k as f64 / 8.0 }, 2.0]).collect();
        let found = program.gradients(&[], &data[..]).unwrap();
        for (k, [x, _]) in data.iter().enumerate() {
            let (value, slopes) =
                if *x < 0.0 { (-3.0, [3.0, 0.0]) } else { (x.sqrt() * 2.0, [1.0 / x.sqrt(), x.sqrt()]) };
            assert!(close(found.values[k], value) && close(found.gradients[k][1], slopes[1]), "{k}");
            assert!(found.gradients[k][0] == slopes[0] || close(found.gradients[k][0], slopes[0]), "{k}");
        }
        assert_eq!((found.branches().recordings, found.branches().alone), (2, 0));
        let failed = ("`programs::calls::Root`, which failed".to_owned(), COUNT / 4);
        assert_eq!(found.branches().splits, [failed]);
    }
}

#[test]
fn scenarios_with_values_of_their_own_do_not_use_up_recordings() {
    let calls = Arc::new(AtomicUsize::new(0));
    let recordings = AtomicUsize::new(0);
    // A value is read where the function fails, as entries of linear algebra do.
    let f = |_: &[_], d: &[Real<tapewright::strategies::Instructions>]| {
        recordings.fetch_add(1, Ordering::Relaxed);
        let fails = d[0].peek() < 0.0;
        [if fails { (d[0].value() * d[1]).eval() } else { root(&d[0], &calls) }]
    };
    let data: Vec<_> =
        (0..1000).map(|k| [if k % 4 == 0 { -1.0 - f64::from(k) } else { f64::from(k) / 16.0 }, 2.0]).collect();
    let program = Program::new(f);
    let found = program.gradients(&[], &data[..]).unwrap();
    assert!(found.values.iter().zip(&data).all(|(y, [x, d])| *y == if *x < 0.0 { x * d } else { x.sqrt() }));
    // The first one, two that nobody else follows, and the other 247 that fail.
    let branches = found.branches();
    assert_eq!((branches.recordings, branches.alone), (4, 247), "{branches}");
    assert_eq!(recordings.load(Ordering::Relaxed), 251);
    assert_eq!(branches.splits[1], ("`programs::calls::Root`, which failed".to_owned(), 249));
}

#[test]
fn scenarios_that_branch_otherwise_do_not_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let program = Program::new(|_, d| [if d[0] > 0.0 { root(&d[0], &calls) } else { (d[0] * 2.0).eval() }]);
    let data: Vec<_> = (0..COUNT).map(|k| [if k % 5 == 0 { 4.0 } else { -200.0 - k as f64 }]).collect();
    let found = program.gradients(&[], &data[..]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), COUNT / 5);
    assert_eq!((found.values[5], found.gradients[5][0], found.gradients[6][0]), (2.0, 0.25, 2.0));
}

#[test]
fn zero_times_an_infinite_slope_is_zero() {
    let calls = Arc::new(AtomicUsize::new(0));
    for width in [1, 64] {
        let program = Program::new(|p, d| [(root(&d[0], &calls) * d[1] + p[0] * d[1]).eval()]).in_blocks_of(width);
        // A root of 0 with the factor 0, in a block with others.
        let found = program.gradients(&[2.0], &[[4.0, 3.0], [0.0, 0.0], [0.0, 1.0], [9.0, 0.0]]).unwrap();
        assert_eq!(found.gradients, [[0.75, 4.0], [0.0, 2.0], [f64::INFINITY, 2.0], [0.0, 5.0]]);
        assert_eq!(found.mean_gradient(0), [1.0]);
    }
}

#[test]
fn a_program_survives_a_panic_of_a_function() {
    let calls = Arc::new(AtomicUsize::new(0));
    let program = Program::new(|p, d| [(root(&d[0], &calls) * p[0]).eval()]);
    let expected = program.gradients(&[3.0], &[[4.0], [9.0]]).unwrap();
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program.gradients(&[3.0], &[[4.0], [1e3]])));
    assert!(panicked.is_err());
    assert_eq!(program.gradients(&[3.0], &[[4.0], [9.0]]).unwrap(), expected);
}

/// Weighted sums of squares, with more results than a program keeps partial derivatives of.
struct Sums {
    x: Vec<f64>,
    results: usize,
    replays: Arc<AtomicUsize>,
}
impl Sums {
    const INPUTS: usize = 40;

    fn weight(j: usize, k: usize) -> f64 {
        1.0 / (1 + j + 2 * k) as f64
    }
    fn values(&self) -> Vec<f64> {
        let sum = |k| self.x.iter().enumerate().map(|(j, x)| Self::weight(j, k) * x * x).sum();
        (0..self.results).map(sum).collect()
    }
}
impl External<f64> for Sums {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        for (j, (input, x)) in inputs.iter_mut().zip(&self.x).enumerate() {
            *input += outputs.iter().enumerate().map(|(k, seed)| seed * 2.0 * Self::weight(j, k) * x).sum::<f64>();
        }
        Ok(())
    }
    fn replay(&mut self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        self.replays.fetch_add(1, Ordering::Relaxed);
        if inputs[0].is_nan() {
            return Err(SweepError::rule("sums", "not a number"));
        }
        self.x.copy_from_slice(inputs);
        outputs.copy_from_slice(&self.values());
        Ok(())
    }
    fn is_instruction(&self) -> bool {
        true
    }
}

/// Three functions of sums.
fn sums<S: Reverse<Value = f64>>(
    results: usize,
    replays: &Arc<AtomicUsize>,
    p: &[Real<S>],
    d: &[Real<S>],
) -> Vec<Real<S>> {
    let input = |j: usize| match j % 3 {
        0 => d[1].clone(),
        1 => p[j % 2].clone(),
        _ => (&d[0] * &p[0] * (1.0 + j as f64 / 8.0)).into(),
    };
    let x: Vec<Real<S>> = (0..Sums::INPUTS).map(input).collect();
    let rule = Sums { x: x.iter().map(Real::peek).collect(), results, replays: Arc::clone(replays) };
    let found = external(&x, &rule.values(), rule);
    let all = found.iter().fold(Real::from(0.0), |sum: Real<S>, found| (sum * 0.5 + found).into());
    vec![(&all * &d[1]).into(), found[results - 1].clone(), (&all - &found[0]).sin().into()]
}

#[test]
fn functions_with_many_results_are_called_again_in_the_reverse_sweep() {
    // Calls in a scenario, with their reverse sweeps: partial derivatives; again for two outputs, and for the third.
    for (results, each) in [(1, 1), (2, 3), (8, 3), (40, 3)] {
        let count = Arc::new(AtomicUsize::new(0));
        for width in [8, 64] {
            let beside = BesideTapes { name: "sums", width, count: COUNT, datum, tolerance: 1e-13 };
            let (on_program, on_tape) =
                (|p: &[_], d: &[_]| sums(results, &count, p, d), |x: &[_]| sums(results, &count, &x[..2], &x[2..]));
            beside.check(on_program, on_tape, [[0.5, 1.25], [0.75, -1.0]], |program, p, found| {
                assert_eq!(found.branches().alone, 0, "{}", found.branches());
                count.store(0, Ordering::Relaxed);
                program.gradients(p, data(COUNT)).unwrap();
                assert_eq!(count.load(Ordering::Relaxed), each * COUNT);
            });
        }
    }
}

#[test]
fn functions_that_failed_are_not_called_again() {
    let count = Arc::new(AtomicUsize::new(0));
    let program = Program::new(|p, d| sums(8, &count, p, d)[..2].to_vec());
    let data: Vec<_> = (0..COUNT).map(datum).collect();
    let expected = program.gradients(&[0.5, 1.25], &data[..]).unwrap();
    let mut with = data.clone();
    with.insert(70, [1.0, f64::NAN]);
    count.store(0, Ordering::Relaxed);
    let found = program.gradients(&[0.5, 1.25], &with[..]).unwrap();
    // The one that fails does so in the recording of the others, and in one of its own; it is recorded alone then.
    assert_eq!((count.load(Ordering::Relaxed), found.branches().alone), (2 * COUNT + 2, 1));
    assert!(found.values[140].is_nan() && found.gradients[140][1].is_nan());
    assert_eq!([&found.values[..140], &found.values[142..]].concat(), expected.values);
    assert_eq!([&found.gradients[..140], &found.gradients[142..]].concat(), expected.gradients);
    assert_eq!(found.branches().splits, [("`programs::calls::Sums`, which failed".to_owned(), 2)]);
}

#[test]
fn an_error_of_a_second_call_ends_the_run() {
    /// Copies of a number, which fail at each second call.
    struct Copies(usize);
    impl External<f64> for Copies {
        fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            inputs[0] += outputs.iter().sum::<f64>();
            Ok(())
        }
        fn replay(&mut self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
            self.0 += 1;
            outputs.fill(inputs[0]);
            if self.0.is_multiple_of(2) { Err(SweepError::rule("copies", "a second call")) } else { Ok(()) }
        }
        fn is_instruction(&self) -> bool {
            true
        }
    }
    let program = Program::new(move |_, d| {
        let copies = external(&[d[0]], &[d[0].peek(); 4], Copies(0));
        [copies.iter().fold(Real::from(0.0), |sum, copy| (sum + copy).eval())]
    });
    let error = program.gradients(&[], &[[2.0]]).unwrap_err();
    assert!(error.to_string().contains("a second call"), "{error}");
}

#[test]
fn second_derivatives_pass_through_functions() {
    /// x³, over duals.
    struct Cube(Dual<f64, 1>);
    impl External<Dual<f64, 1>> for Cube {
        fn reverse(&self, outputs: &[Dual<f64, 1>], inputs: &mut [Dual<f64, 1>]) -> Result<(), SweepError> {
            inputs[0] += outputs[0] * self.0 * self.0 * Dual::constant(3.0);
            Ok(())
        }
        fn replay(&mut self, inputs: &[Dual<f64, 1>], outputs: &mut [Dual<f64, 1>]) -> Result<(), SweepError> {
            self.0 = inputs[0];
            outputs[0] = inputs[0] * inputs[0] * inputs[0];
            Ok(())
        }
        fn is_instruction(&self) -> bool {
            true
        }
    }
    let program = Program::<Dual<f64, 1>>::new(|p, d| {
        let x = (p[0] * d[0]).eval();
        let value = x.peek() * x.peek() * x.peek();
        external(&[x], &[value], Cube(x.peek()))
    });
    let found = program.hessian_times(&[2.0], &[[1.0]], &[[1.0], [3.0]]).unwrap();
    // Means of 3·p²·d³ and of 6·p·d³.
    assert_eq!((found.mean_gradient(0)[0].value, found.mean_gradient(0)[0].tangents), (168.0, [168.0]));
    assert_eq!(found.branches().alone, 0);
}

#[test]
fn a_stage_that_compares_a_variable_from_outside_is_not_frozen() {
    let data = [[1.0, 2.0], [1.0, 3.0], [2.0, 2.0], [2.0, 5.0]];
    let compares = Program::new(|_, d| {
        let (y, x) = (d[1], d[0]);
        [closure_stage(
            move |x: &Real<tapewright::strategies::Instructions>| if y > 2.5 { (x * 2.0).eval() } else { *x },
            &x,
        )]
    });
    assert_eq!(compares.values(&[], &data).unwrap().values, [1.0, 2.0, 2.0, 4.0]);
    let reads = Program::new(|_, d| {
        let (y, x) = (d[1], d[0]);
        [closure_stage(move |x: &Real<tapewright::strategies::Instructions>| (x * y.value()).eval(), &x)]
    });
    assert_eq!(reads.values(&[], &data).unwrap().values, [2.0, 3.0, 4.0, 10.0]);
}

#[test]
fn a_stage_stays_checked_after_a_replay_that_fails() {
    use tapewright::checkpoint::Stage;
    type P = PrimalValue;
    for panics in [false, true] {
        let mut tape = Tape::<P>::new();
        let (x, z, y) = tape.record(|scope| {
            let (x, z) = (scope.input(2.0), scope.input(1.0));
            // Two functions that differ: a sweep says so.
            let plain = |x: &Real<Passive>| -> Real<Passive> { (x * x).into() };
            let y: Real<P> = Stage::<P>::new().run(&x, plain, |x: &Real<P>| -> Real<P> { (x * x * x).into() });
            let rules = Rules::new("fails", |outputs, inputs| {
                inputs[0] += outputs[0];
                Ok(())
            });
            let rules = rules.replay(move |inputs, outputs| {
                assert!(!panics || inputs[0] > 0.0, "negative");
                outputs[0] = inputs[0];
                if inputs[0] > 0.0 { Ok(()) } else { Err(SweepError::rule("fails", "negative")) }
            });
            let same = external(&[z], &[1.0], rules);
            (x, z, (y + same[0]).eval())
        });
        assert!(tape.sweep(&[(&y, 1.0)]).is_err());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tape.replay(&[(&z, -1.0)])));
        assert!(outcome.is_err() || outcome.unwrap().is_err());
        // The value is that of the recording, and the slope would be that of another function.
        assert_eq!(tape.value_of(&y).unwrap(), 5.0);
        let slope = tape.sweep(&[(&y, 1.0)]).map(|adjoints| adjoints.of(&x).unwrap());
        assert!(slope.is_err(), "{slope:?}");
    }
}

#[test]
fn the_number_of_results_that_nobody_uses_may_decide() {
    let program = Program::new(|_, d| {
        let repeat = |x: &Real<tapewright::strategies::Instructions>| if *x > 1.0 { vec![*x, *x] } else { vec![*x] };
        [if closure_stage(repeat, &d[0]).len() == 2 { (d[0] * 2.0).eval() } else { d[0] }]
    });
    assert_eq!(program.values(&[], &[[2.0], [0.5], [3.0]]).unwrap().values, [4.0, 0.5, 6.0]);
}

/// A rule that begins at its old result, as an iteration does, gets the recorded one: not what another call has left.
#[test]
fn what_one_call_leaves_does_not_reach_the_next() {
    for width in [1, 8] {
        let program = Program::<f64>::new(|_, d| {
            let rules = Rules::new("root", |outputs, inputs| {
                inputs[0] += outputs[0];
                Ok(())
            });
            let rules = rules.replay(|x, y| {
                for _ in 0..60 {
                    y[0] = 0.5 * (y[0] + x[0] / y[0]);
                }
                Ok(())
            });
            external(&[d[0]], &[d[0].peek().sqrt()], rules)
        });
        let program = program.in_blocks_of(width);
        for [x, root] in [[4.0, 2.0], [f64::NAN, f64::NAN], [9.0, 3.0]] {
            let found = program.values(&[], &[[x]; 3]).unwrap().values;
            let is_root = |value: &f64| *value == root || value.is_nan() && root.is_nan();
            assert!(found.iter().all(is_root), "{found:?} in blocks of {width}");
        }
    }
}
