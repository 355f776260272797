//! The same programs over more points than one thread gets, on pools of several sizes.

use super::steps::{KINDS, ODD_KINDS, odd};
use super::{Made, Program, bits};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Float, Number, Unary};
use tapewright_test_support::Random;

/// Views of more than a block each, with rows that are longer than a block, shorter, and of length 1.
const SHAPES: [[usize; 4]; 5] =
    [[1, 1, 1, 33_501], [2, 3, 83, 80], [40_000, 1, 1, 1], [1, 2, 17_000, 1], [1, 3, 1, 12_003]];

fn on<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// NaN has several patterns of bits, which are not compared.
fn patterns<V: Number>(numbers: &[V]) -> Vec<u64> {
    let usual = |x: &V| if x.as_f64().is_nan() { V::from_f64(f64::NAN) } else { *x };
    bits(&numbers.iter().map(usual).collect::<Vec<_>>())
}

fn found<S: Reverse>(program: &Program<S::Value>) -> [Vec<u64>; 3] {
    let mut made = Made::<S>::of(program, Tape::new());
    let gradient = patterns(&made.gradient(&program.seeds));
    let seeds: Vec<_> = made.start.numbers.iter().map(|x| (x, S::Value::from_f64(0.5))).collect();
    let tangents = made.tape.jvp(&seeds, &made.outputs.iter().collect::<Vec<_>>()).expect("swept");
    [patterns(&made.values()), gradient, patterns(&tangents)]
}

/// A program of few steps over a large view, with as many odd numbers as are said.
fn large<V: Number>(seed: u64, kinds: &[&'static str], is_odd: bool) -> Program<V> {
    let kinds: Vec<_> = kinds.iter().copied().filter(|kind| !matches!(*kind, "variables" | "fold" | "scan")).collect();
    let mut program = Program::of_shape(seed, SHAPES[seed as usize % SHAPES.len()], &kinds);
    program.steps.truncate(3);
    if is_odd {
        let mut random = Random::new(seed);
        program.views.iter_mut().flatten().for_each(|x| *x = odd(&mut random, *x));
    }
    program
}

fn same_bits<S: Reverse<Value: Send + Sync>>(seed: u64, is_odd: bool) {
    let program = large::<S::Value>(seed, if is_odd { &ODD_KINDS } else { &KINDS }, is_odd);
    let expected = on(1, || found::<S>(&program));
    for threads in [3, 7] {
        let steps = &program.steps;
        assert!(on(threads, || found::<S>(&program)) == expected, "program {seed} on {threads} threads: {steps:?}");
    }
}

#[test]
fn programs_have_the_same_bits_on_any_number_of_threads() {
    same_bits::<Jacobian>(0, false);
    same_bits::<PrimalValue<f32, Reuse>>(101, true);
    same_bits::<Jacobian<f32>>(103, false);
}

#[test]
fn recordings_that_share_a_pool_do_not_meet() {
    let programs: Vec<_> = (1..4).map(|seed| large::<f32>(seed, &KINDS, false)).collect();
    let expected: Vec<_> = programs.iter().map(found::<Jacobian<f32>>).collect();
    let run = |k: usize| found::<Jacobian<f32>>(&programs[k]);
    let together = || rayon::join(|| rayon::join(|| run(0), || run(1)), || run(2));
    let ((a, b), c) = on(3, together);
    assert!([a, b, c] == expected[..]);
    // A pool inside a pool.
    assert!(on(2, || on(2, || run(0))) == expected[0]);
}

/// The identity, which refuses large numbers.
#[derive(Clone, Copy, Debug)]
struct Refuses;
impl Unary for Refuses {
    fn value<V: Float>(x: V) -> V {
        assert!(x.as_f64() < 100.0, "too large");
        x
    }
    fn derivative<V: Float>(_: V, y: V) -> V {
        assert!(y.as_f64() < 50.0, "too steep");
        V::ONE
    }
}

#[test]
fn a_panic_on_a_pool_ends_one_launch_or_one_sweep() {
    const N: usize = 100_000;
    for threads in [1, 3] {
        on(threads, || {
            let mut values = crate::numbers(N, 1);
            (values[77_777], values[5]) = (200.0, 60.0);
            let mut tape = Tape::<Jacobian>::new();
            let (x, steep, sum) = tape.record(|scope| {
                let x = scope.view([N], &values);
                let mut y = View::filled([N], 3.0);
                let launch = |y: &mut View<Jacobian, 1>, end: usize| {
                    parallel_for(0..end, (&x, y), |(x, y)| (x.at::<0>().unary::<Refuses>() * y.at::<0>(),));
                };
                let refused = catch_unwind(AssertUnwindSafe(|| launch(&mut y.clone(), N)));
                assert!(refused.is_err() && y.values().iter().all(|y| *y == 3.0));
                launch(&mut y, 70_000);
                let steep = parallel_sum(y.all(), &y, |y| y.at::<0>());
                let sum = parallel_sum(0..70_000, &x, |x| x.at::<0>().square());
                (x, steep, sum)
            });
            assert!(catch_unwind(AssertUnwindSafe(|| tape.sweep(&[(&steep, 1.0)]).map(drop))).is_err());
            let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
            let adjoints = adjoints.of_view(&x).expect("an input");
            let expected = |k: usize| if k < 70_000 { 2.0 * values[k] } else { 0.0 };
            assert!((0..N).all(|k| adjoints[k] == expected(k)), "{threads} threads");
        });
    }
}
