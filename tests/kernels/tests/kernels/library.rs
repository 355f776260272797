//! Functions of complete views: against scalar statements, at special points, and under several strategies.

use super::{bits, numbers};
use tapewright::kernels::{Outside, View, convolve, cumulative_sum, logsumexp, softmax};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::{Dual, Number, Spilled, hvp, jvp, pause};
use tapewright_test_support::panic_message;

const SHAPES: [[usize; 3]; 5] = [[1, 1, 1], [2, 3, 4], [5, 1, 3], [3, 7, 1], [1, 40, 2]];

/// Elements along a dimension, line by line.
fn lines(shape: [usize; 3], along: usize) -> Vec<Vec<usize>> {
    let inner: usize = shape[along + 1..].iter().product();
    let count = shape.iter().product::<usize>() / shape[along];
    let first = |line: usize| line / inner * inner * shape[along] + line % inner;
    (0..count).map(|line| (0..shape[along]).map(|k| first(line) + k * inner).collect()).collect()
}

/// A function of variables to variables.
type Map<'a, S> = &'a dyn Fn(&[Real<S>]) -> Vec<Real<S>>;

/// A function along a dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Softmax,
    LogSumExp,
    CumulativeSum,
}
use Function::{CumulativeSum, LogSumExp, Softmax};

impl Function {
    fn by_views<S: Taping>(self, shape: [usize; 3], along: usize, x: &[Real<S>]) -> Vec<Real<S>> {
        let x = View::of_variables(shape, x);
        match self {
            Softmax => softmax(&x, along).to_variables(),
            LogSumExp => {
                let y: View<S, 2> = logsumexp(&x, along);
                y.to_variables()
            }
            CumulativeSum => cumulative_sum(&x, along).to_variables(),
        }
    }

    fn by_statements<S: Taping>(self, shape: [usize; 3], along: usize, x: &[Real<S>]) -> Vec<Real<S>> {
        let mut results = vec![Real::<S>::constant(S::Value::ZERO); x.len()];
        let lines = lines(shape, along);
        for line in &lines {
            let of_line: Vec<Real<S>> = line.iter().map(|k| x[*k].clone()).collect();
            let total = tapewright::logsumexp(&of_line);
            for (place, k) in line.iter().enumerate() {
                results[*k] = match self {
                    Softmax => (&x[*k] - &total).exp().into(),
                    LogSumExp => total.clone(),
                    CumulativeSum => tapewright::sum(&of_line[..=place]),
                };
            }
        }
        if self == LogSumExp {
            return lines.iter().map(|line| results[line[0]].clone()).collect();
        }
        results
    }
}

/// Asserts that numbers agree up to roundings of numbers of this size.
fn assert_near(name: &str, found: &[f64], expected: &[f64], scale: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 64.0 * f64::EPSILON * scale, "{name}: {found:e} and {expected:e}");
    }
}

fn each(mut f: impl FnMut(Function, [usize; 3], usize)) {
    for function in [Softmax, LogSumExp, CumulativeSum] {
        SHAPES.into_iter().for_each(|shape| (0..3).for_each(|along| f(function, shape, along)));
    }
}

fn same_jacobian<S: Reverse<Value = f64>>() {
    each(|function, shape, along| {
        let x = numbers(shape.iter().product(), 3);
        let (values, rows) = jacobian::<S>(|x| function.by_views(shape, along, x), &x);
        let (expected, slopes) = jacobian::<S>(|x| function.by_statements(shape, along, x), &x);
        let name = format!("{function:?} of {shape:?} along {along}");
        // Numbers below 1; values are sums of at most 40 of them.
        assert_near(&name, &values, &expected, 8.0);
        assert_near(&name, &rows.concat(), &slopes.concat(), 1.0);
    });
}

#[test]
fn functions_along_dimensions_are_those_of_statements_under_every_kind_of_strategy() {
    same_jacobian::<Jacobian>();
    same_jacobian::<PrimalValue>();
    same_jacobian::<Hybrid>();
}

#[test]
fn second_derivatives_and_tangents_along_dimensions_are_those_of_statements() {
    each(|function, shape, along| {
        let n = shape.iter().product();
        let (x, v) = (numbers(n, 1), numbers(n, 2));
        let name = format!("{function:?} of {shape:?} along {along}");
        let found = hvp::<Jacobian<Dual<f64, 1>>>(|x| squares(&function.by_views(shape, along, x)), &x, &v);
        let expected = hvp::<Jacobian<Dual<f64, 1>>>(|x| squares(&function.by_statements(shape, along, x)), &x, &v);
        let size = expected.2.iter().chain(&expected.1).fold(1.0_f64, |most, x| most.max(x.abs()));
        assert_near(&name, &found.1, &expected.1, size);
        assert_near(&name, &found.2, &expected.2, size);
        let found = jvp::<Tangent<1>>(|x| function.by_views(shape, along, x), &x, &v).expect("lengths agree");
        let expected = jvp::<Tangent<1>>(|x| function.by_statements(shape, along, x), &x, &v).expect("lengths agree");
        assert_near(&name, &found.1, &expected.1, 8.0);
    });
}

/// The forward sweep over a recording is that of forward mode.
#[test]
fn recordings_carry_the_tangents_of_forward_mode() {
    each(|function, shape, along| {
        let n = shape.iter().product();
        let (x, v) = (numbers(n, 1), numbers(n, 2));
        let (_, expected) = jvp::<Tangent<1>>(|x| function.by_views(shape, along, x), &x, &v).expect("lengths agree");
        let mut tape = Tape::<Jacobian>::new();
        let (inputs, outputs) = tape.record(|scope| {
            let inputs = scope.inputs(&x);
            let outputs = function.by_views(shape, along, &inputs);
            (inputs, outputs)
        });
        let (along, outputs): (Vec<_>, Vec<_>) = (inputs.iter().zip(v).collect(), outputs.iter().collect());
        assert_eq!(tape.jvp(&along, &outputs).expect("its own"), expected, "{function:?} of {shape:?}");
    });
}

#[test]
fn functions_of_packs_are_those_of_their_lanes() {
    let same = |f: Map<'_, Jacobian<Pack<2>>>, of_lane: Map<'_, Jacobian>, n: usize| {
        let lanes = [numbers(n, 1), numbers(n, 4)];
        let packs: Vec<Pack<2>> = (0..n).map(|k| Pack([lanes[0][k], lanes[1][k]])).collect();
        let found = gradient::<Jacobian<Pack<2>>>(|x| squares(&f(x)), &packs);
        for (k, numbers) in lanes.iter().enumerate() {
            let lane: Vec<f64> = found.iter().map(|slope| slope.lane(k)).collect();
            assert_eq!(lane, gradient::<Jacobian>(|x| squares(&of_lane(x)), numbers));
        }
    };
    each(|function, shape, along| {
        let n = shape.iter().product();
        same(&|x| function.by_views(shape, along, x), &|x| function.by_views(shape, along, x), n);
    });
    let (shape, small) = ([3, 4, 5], [2, 3, 3]);
    let n = 60 + 18;
    same(&|x| by_views(x, shape, small, Outside::Nearest), &|x| by_views(x, shape, small, Outside::Nearest), n);
}

#[test]
fn functions_in_single_precision_are_those_of_statements() {
    each(|function, shape, along| {
        #[allow(clippy::cast_possible_truncation, reason = "few digits are enough")]
        let x: Vec<f32> = numbers(shape.iter().product(), 3).iter().map(|x| *x as f32).collect();
        let (values, rows) = jacobian::<Jacobian<f32>>(|x| function.by_views(shape, along, x), &x);
        let (expected, slopes) = jacobian::<Jacobian<f32>>(|x| function.by_statements(shape, along, x), &x);
        let near = |a: &f32, b: &f32| (a - b).abs() <= 64.0 * f32::EPSILON * 8.0;
        assert!(values.iter().zip(&expected).all(|(a, b)| near(a, b)), "{function:?} of {shape:?} along {along}");
        let pairs = rows.iter().flatten().zip(slopes.iter().flatten());
        assert!(pairs.into_iter().all(|(a, b)| near(a, b)), "{function:?} of {shape:?} along {along}");
    });
}

/// All ranks have the same loops, so the same bits.
#[test]
fn ranks_make_no_difference() {
    let x = numbers(12, 2);
    let by_rank = |rank: usize| match rank {
        1 => {
            let x = View::<Passive, 1>::new([12], &x);
            let mask = View::new([3], &x.values()[..3]);
            [softmax(&x, 0), cumulative_sum(&x, 0), convolve(&x, &mask, Outside::Periodic)].map(|y| y.values().to_vec())
        }
        2 => {
            let x = View::<Passive, 2>::new([1, 12], &x);
            let mask = View::new([1, 3], &x.values()[..3]);
            [softmax(&x, 1), cumulative_sum(&x, 1), convolve(&x, &mask, Outside::Periodic)].map(|y| y.values().to_vec())
        }
        _ => {
            let x = View::<Passive, 4>::new([1, 1, 12, 1], &x);
            let mask = View::new([1, 1, 3, 1], &x.values()[..3]);
            [softmax(&x, 2), cumulative_sum(&x, 2), convolve(&x, &mask, Outside::Periodic)].map(|y| y.values().to_vec())
        }
    };
    let expected = by_rank(1);
    assert_eq!((by_rank(2), by_rank(4)), (expected.clone(), expected));
    let (two, four): (View<Passive, 1>, View<Passive, 3>) =
        (logsumexp(&View::<Passive, 2>::new([3, 4], &x), 1), logsumexp(&View::<Passive, 4>::new([1, 3, 4, 1], &x), 2));
    assert_eq!((two.values(), [1, 3, 1]), (four.values(), four.shape()));
}

fn squares<S: Taping>(y: &[Real<S>]) -> Real<S> {
    tapewright::dot(y, y)
}

/// Values of a function of one line, and its gradient for a seed on the first result.
fn at(function: Function, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (values, mut rows) = jacobian::<Jacobian>(|x| function.by_views([1, 1, x.len()], 2, x), x);
    (values, rows.swap_remove(0))
}

const INF: f64 = f64::INFINITY;
const OUTSIDE: [Outside; 3] = [Outside::Zero, Outside::Nearest, Outside::Periodic];

#[test]
fn the_logarithm_of_a_sum_has_its_limits_at_special_points() {
    assert_eq!(at(LogSumExp, &[3.0]), (vec![3.0], vec![1.0]));
    assert_eq!(at(LogSumExp, &[700.0, 700.0]).1, [0.5, 0.5]);
    assert_eq!(at(LogSumExp, &[1e4, -1e4]), (vec![1e4], vec![1.0, 0.0]));
    assert_eq!(at(LogSumExp, &[-INF, 2.0]), (vec![2.0], vec![0.0, 1.0]));
    assert_eq!(at(LogSumExp, &[-INF, -INF]), (vec![-INF], vec![0.5, 0.5]));
    assert_eq!(at(LogSumExp, &[INF, 0.0, INF, -INF]), (vec![INF], vec![0.5, 0.0, 0.5, 0.0]));
    let (values, slopes) = at(LogSumExp, &[f64::NAN, 1.0]);
    assert!(values.iter().chain(&slopes).all(|x| x.is_nan()));
}

#[test]
fn softmax_has_its_limits_at_special_points() {
    assert_eq!(at(Softmax, &[-5.0]), (vec![1.0], vec![0.0]));
    assert_eq!(at(Softmax, &[1e300, 1e300]), (vec![0.5, 0.5], vec![0.25, -0.25]));
    assert_eq!(at(Softmax, &[0.0, -INF]), (vec![1.0, 0.0], vec![0.0, 0.0]));
    assert_eq!(at(Softmax, &[-INF, -INF]).0, [0.5, 0.5]);
    assert_eq!(at(Softmax, &[INF, 0.0, -INF]).0, [1.0, 0.0, 0.0]);
    assert!(at(Softmax, &[0.0, f64::NAN]).0.iter().all(|x| x.is_nan()));
}

#[test]
fn a_line_without_seeds_gets_no_adjoint_even_from_nan() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, s, y) = tape.record(|scope| {
        let x = scope.view([2, 2], &[f64::NAN, 1.0, 0.0, 0.0]);
        let (s, y): (_, View<_, 1>) = (softmax(&x, 1), logsumexp(&x, 1));
        (x, s, y)
    });
    let adjoints = tape.sweep_view(&[], (&s, &[0.0, 0.0, 1.0, 0.0])).expect("its own");
    assert_eq!(*adjoints.of_view(&x).expect("an input"), [0.0, 0.0, 0.25, -0.25]);
    let adjoints = tape.sweep_view(&[], (&y, &[0.0, 1.0])).expect("its own");
    assert_eq!(*adjoints.of_view(&x).expect("an input"), [0.0, 0.0, 0.5, 0.5]);
}

#[test]
fn a_cumulative_sum_keeps_the_sign_of_a_zero_and_infinities_in_order() {
    let x = View::<Passive, 1>::new([4], &[-0.0, -0.0, INF, -INF]);
    let y = cumulative_sum(&x, 0);
    assert_eq!(y.values()[..2].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [(-0.0_f64).to_bits(); 2]);
    assert!(y.values()[2] == INF && y.values()[3].is_nan());
}

#[test]
fn what_sweeps_need_is_kept_and_no_more() {
    let kept = |function: Function| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| {
            let x = scope.view([10, 10, 10], &[0.5; 1000]);
            match function {
                Softmax => drop(softmax(&x, 2)),
                LogSumExp => drop(logsumexp::<_, 3, 2, _>(&x, 2)),
                CumulativeSum => drop(cumulative_sum(&x, 2)),
            }
        });
        tape.memory().usage("arrays").used
    };
    assert_eq!([kept(Softmax), kept(LogSumExp), kept(CumulativeSum)], [8512, 8512, 0]);
}

/// All functions, one after the other.
fn all_functions<S: Taping<Value = f64>>(x: &View<S, 2>, mask: &View<S, 2>) -> Vec<Real<S>> {
    let y = softmax(&cumulative_sum(&convolve(x, mask, Outside::Nearest), 0), 1);
    let sums: View<S, 1> = logsumexp(&convolve(&y, &View::new([1, 2], &[2.0, -1.0]), Outside::Zero), 0);
    sums.to_variables()
}

const FIRST: [f64; 6] = [1.0, 2.0, -0.5, 0.25, 3.0, -1.0];
const SECOND: [f64; 6] = [0.5, -2.0, 1.5, 0.0, 0.75, 4.0];

#[test]
fn replays_at_other_values_are_recordings_at_these_values() {
    let record = |numbers: &[f64; 6]| {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        let parts = tape.record(|scope| {
            let (x, mask) = (scope.view([2, 3], numbers), scope.view([2, 2], &numbers[1..5]));
            let y = all_functions(&x, &mask);
            (x, mask, y)
        });
        (tape, parts)
    };
    let (mut tape, (x, mask, y)) = record(&FIRST);
    let (again, (x_again, mask_again, y_again)) = record(&SECOND);
    let new = tape.new_inputs().view(&x, &SECOND).expect("its own").view(&mask, &SECOND[1..5]).expect("its own");
    new.replay().expect("all is kept");
    for (y, again) in y.iter().zip(&y_again) {
        assert_eq!(tape.value_of(y).expect("its own"), again.value());
    }
    let adjoints = tape.sweep(&[(&y[0], 1.0), (&y[2], -2.0)]).expect("its own");
    let mut again = again;
    let expected = again.sweep(&[(&y_again[0], 1.0), (&y_again[2], -2.0)]).expect("its own");
    assert_eq!(*adjoints.of_view(&x).expect("an input"), *expected.of_view(&x_again).expect("an input"));
    assert_eq!(*adjoints.of_view(&mask).expect("an input"), *expected.of_view(&mask_again).expect("an input"));
}

/// All functions of x times a factor: a softmax that is computed while the recording is paused, or numbers that are
/// given.
fn times_a_factor<S: Taping<Value = f64>>(
    x: &View<S, 2>,
    mask: &View<S, 2>,
    given: Option<&View<Passive, 2>>,
) -> (Vec<Real<S>>, View<Passive, 2>) {
    let computed = || pause(|| softmax(&cumulative_sum(&convolve(x, mask, Outside::Nearest), 0), 1));
    let factor = given.map_or_else(computed, View::constant);
    assert!(!factor.is_active());
    let mut product = x.clone();
    product *= &factor;
    (all_functions(&product, mask), factor.constant())
}

type Recorded<S> = (Tape<S>, View<S, 2>, View<S, 2>, Vec<Real<S>>, View<Passive, 2>);

fn record_times_a_factor<S: Reverse<Value = f64>>(
    mut tape: Tape<S>,
    x: &[f64; 6],
    given: Option<&View<Passive, 2>>,
) -> Recorded<S> {
    let (x, mask, y, factor) = tape.record(|scope| {
        let (x, mask) = (scope.view([2, 3], x), scope.view([2, 2], &x[1..5]));
        let (y, factor) = times_a_factor(&x, &mask, given);
        (x, mask, y, factor)
    });
    (tape, x, mask, y, factor)
}

/// Adjoints of x and of the mask for seeds on two results.
fn swept<S: Reverse<Value = f64>>((tape, x, mask, y, _): &mut Recorded<S>, seeds: [f64; 2]) -> [Vec<f64>; 2] {
    let adjoints = tape.sweep(&[(&y[0], seeds[0]), (&y[2], seeds[1])]).expect("its own");
    [&*x, &*mask].map(|view| adjoints.of_view(view).expect("an input").to_vec())
}

#[test]
fn functions_in_a_pause_are_constants_also_in_a_replay() {
    let tape = || {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        tape
    };
    let mut paused = record_times_a_factor(tape(), &FIRST, None);
    let mut given = record_times_a_factor(tape(), &FIRST, Some(&paused.4));
    assert_eq!(swept(&mut paused, [1.0, -2.0]), swept(&mut given, [1.0, -2.0]));
    // A replay leaves what was computed in the pause as it was.
    let mut expected = record_times_a_factor(tape(), &SECOND, Some(&given.4));
    let (tape, x, mask, y, _) = &mut paused;
    let new = tape.new_inputs().view(x, &SECOND).expect("its own").view(mask, &SECOND[1..5]).expect("its own");
    new.replay().expect("all is kept");
    for (y, expected) in y.iter().zip(&expected.3) {
        assert_eq!(tape.value_of(y).expect("its own"), expected.value());
    }
    assert_eq!(swept(&mut paused, [1.0, -2.0]), swept(&mut expected, [1.0, -2.0]));
}

#[test]
fn each_of_several_adjoint_vectors_is_that_of_a_sweep_of_its_own() {
    fn check<S: Reverse<Value = f64>>() {
        // Nothing, one result, both, and an infinite seed.
        let seeds = [[0.0, 0.0], [0.0, 1.0], [2.5, -1.0], [f64::INFINITY, 0.0]];
        let mut recorded = record_times_a_factor(Tape::<S>::new(), &FIRST, None);
        let expected = seeds.map(|seeds| swept(&mut recorded, seeds).map(|all| bits(&all)));
        let (tape, x, mask, y, _) = &mut recorded;
        let lanes = tape.sweep_lanes(&[(&y[0], seeds.map(|[a, _]| a)), (&y[2], seeds.map(|[_, b]| b))]);
        let lanes = lanes.expect("its own");
        for (lane, expected) in expected.iter().enumerate() {
            let found = [&*x, &*mask].map(|view| bits(&lanes.of_view(view, lane).expect("an input")));
            assert_eq!(found, *expected, "vector {lane}");
        }
    }
    check::<Jacobian>();
    check::<PrimalValue>();
}

#[test]
fn spilled_recordings_have_the_same_adjoints() {
    fn adjoints<S: Reverse<Value = f64>>(mut tape: Tape<S>) -> Vec<f64> {
        let (x, y) = tape.record(|scope| {
            let x = scope.view([40, 40], &numbers(1600, 1));
            let mut y = x.clone();
            for _ in 0..6 {
                y = softmax(&convolve(&y, &View::new([1, 3], &[1.0, -2.0, 3.0]), Outside::Periodic), 1);
            }
            let y: View<_, 1> = logsumexp(&y, 0);
            (x, y.to_variables())
        });
        tape.sweep(&[(&y[3], 1.0)]).expect("read back").of_view(&x).expect("an input").to_vec()
    }
    let options = SpillOptions::default().slab(4096).memory(2 * 4096 + 3 * (1600 * 8 + 512));
    let on_disk = Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options).expect("a directory");
    assert_eq!(adjoints(on_disk), adjoints(Tape::<Jacobian>::new()));
}

/// Bits of values and adjoints on a pool of this number of threads.
#[cfg(feature = "threads")]
fn on(threads: usize) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, mask, y) = tape.record(|scope| {
            let (x, mask) = (scope.view([300, 200], &numbers(60_000, 1)), scope.view([3, 3], &numbers(9, 2)));
            let y = all_functions(&x, &mask);
            (x, mask, y)
        });
        let seeds: Vec<_> = y.iter().zip(numbers(y.len(), 3)).collect();
        let adjoints = tape.sweep(&seeds).expect("its own");
        let mut found: Vec<u64> = y.iter().map(|y| y.value().to_bits()).collect();
        found.extend(adjoints.of_view(&x).expect("an input").iter().map(|x| x.to_bits()));
        found.extend(adjoints.of_view(&mask).expect("an input").iter().map(|x| x.to_bits()));
        found
    })
}

#[cfg(feature = "threads")]
#[test]
fn functions_have_the_same_bits_on_any_number_of_threads() {
    let expected = on(1);
    assert!([2, 3, 4].into_iter().all(|threads| on(threads) == expected));
}

/// The convolution by statements.
fn convolved<S: Taping>(
    (x, shape): (&[Real<S>], [usize; 3]),
    (mask, small): (&[Real<S>], [usize; 3]),
    outside: Outside,
) -> Vec<Real<S>> {
    let point = |k: usize, shape: [usize; 3]| [k / (shape[1] * shape[2]), k / shape[2] % shape[1], k % shape[2]];
    let along = |place: i64, length: i64| match outside {
        Outside::Zero => (0..length).contains(&place).then_some(place),
        Outside::Nearest => Some(place.clamp(0, length - 1)),
        Outside::Periodic => Some(place.rem_euclid(length)),
    };
    let signed = |k: usize| i64::try_from(k).expect("small");
    let element = |i: usize| {
        let i = point(i, shape);
        let mut terms = Vec::new();
        for (k, weight) in mask.iter().enumerate() {
            let k = point(k, small);
            let read = |d: usize| along(signed(i[d] + small[d] / 2) - signed(k[d]), signed(shape[d]));
            if let (Some(a), Some(b), Some(c)) = (read(0), read(1), read(2)) {
                let place = (a * signed(shape[1]) + b) * signed(shape[2]) + c;
                terms.push((weight * &x[usize::try_from(place).expect("inside")]).into());
            }
        }
        tapewright::sum(&terms)
    };
    (0..x.len()).map(element).collect()
}

#[test]
fn convolutions_and_both_their_adjoints_are_those_of_statements() {
    let whole = |n: usize, seed: usize| (0..n).map(|k| ((k * k + 3 * k + seed) % 9) as f64 - 4.0).collect::<Vec<_>>();
    let shapes = [
        ([1, 1, 1], [1, 1, 1]),
        ([4, 5, 6], [3, 2, 3]),
        ([1, 1, 40], [1, 1, 5]),
        ([2, 3, 4], [2, 3, 4]),
        ([1, 7, 3], [1, 4, 2]),
    ];
    for (shape, small) in shapes {
        for outside in OUTSIDE {
            let n = shape.iter().product::<usize>();
            let x = whole(n + small.iter().product::<usize>(), n);
            let name = format!("{shape:?}, {small:?}, {outside:?}");
            // Whole numbers, so that all is exact.
            let expected = jacobian::<Jacobian>(|x| convolved((&x[..n], shape), (&x[n..], small), outside), &x);
            let found = jacobian::<Jacobian>(|x| by_views(x, shape, small, outside), &x);
            assert_eq!(found, expected, "{name}");
            let v = whole(x.len(), 5);
            let expected = jvp::<Tangent<1>>(|x| convolved((&x[..n], shape), (&x[n..], small), outside), &x, &v);
            let found = jvp::<Tangent<1>>(|x| by_views(x, shape, small, outside), &x, &v);
            assert_eq!(found.expect("lengths agree"), expected.expect("lengths agree"), "{name}");
            let second = |f: Map<'_, Jacobian<Dual<f64, 1>>>| hvp::<Jacobian<Dual<f64, 1>>>(|x| squares(&f(x)), &x, &v);
            let expected = second(&|x| convolved((&x[..n], shape), (&x[n..], small), outside));
            assert_eq!(second(&|x| by_views(x, shape, small, outside)), expected, "{name}");
        }
    }
}

fn by_views<S: Taping>(x: &[Real<S>], shape: [usize; 3], small: [usize; 3], outside: Outside) -> Vec<Real<S>> {
    let n = shape.iter().product();
    convolve(&View::of_variables(shape, &x[..n]), &View::of_variables(small, &x[n..]), outside).to_variables()
}

#[test]
fn zero_times_anything_is_zero_in_sweeps_through_convolutions() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, mask, y) = tape.record(|scope| {
        let x = scope.view([3], &[INF, 1.0, 2.0]);
        let mask = scope.view([3], &[0.0, 1.0, f64::NAN]);
        let y = convolve(&x, &mask, Outside::Zero);
        (x, mask, y)
    });
    let adjoints = tape.sweep_view(&[], (&y, &[0.0, 0.0, 1.0])).expect("its own");
    let of_x = adjoints.of_view(&x).expect("an input");
    assert!(of_x[0] == 0.0 && of_x[1].is_nan() && of_x[2] == 1.0, "{of_x:?}");
    assert_eq!(*adjoints.of_view(&mask).expect("an input"), [0.0, 2.0, 1.0]);
}

#[test]
fn patterns_of_functions_of_views_are_exact() {
    let pattern = |f: &dyn Fn(&View<Jacobian, 2>) -> View<Jacobian, 2>| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[1.0, 2.0, 3.0, 4.0]);
            let y = f(&View::of_variables([2, 2], &x)).to_variables();
            (x, y)
        });
        let found = tape.jacobian_pattern(&x, &y).expect("there is one");
        (0..4).map(|row| found.row(row).to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(pattern(&|x| softmax(x, 1)), [[0, 1], [0, 1], [2, 3], [2, 3]]);
    assert_eq!(pattern(&|x| cumulative_sum(x, 0)), [vec![0], vec![1], vec![0, 2], vec![1, 3]]);
    let ahead = View::new([1, 2], &[1.0, 1.0]);
    assert_eq!(pattern(&|x| convolve(x, &ahead, Outside::Zero)), [vec![0, 1], vec![1], vec![2, 3], vec![3]]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = View::<Passive, 2>::zeros([2, 3]);
    for found in [panic_message(|| softmax(&x, 2)), panic_message(|| cumulative_sum(&x, 2))] {
        assert!(found.contains("shape [2, 3] has dimensions 0 to 1, and no dimension 2"), "{found}");
    }
    let found = panic_message(|| convolve(&x, &View::zeros([3, 1]), Outside::Zero));
    assert!(found.contains("a mask of shape [3, 1] is longer than a view of shape [2, 3]"), "{found}");
}
