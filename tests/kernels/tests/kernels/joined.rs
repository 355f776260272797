//! Launches whose sweeps share a parallel region, beside the same launches apart from one another.

use super::{close, numbers};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use tapewright::kernels::{Indices, LoopCounts, View, counted, gather, parallel_for, parallel_sum, scatter_add};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Number;
use tapewright::tape::AdjointVector;
use tapewright::{Dual, Float, Linear, Reuse, Spilled, Unary, pause};

/// Points of several blocks and many parts, the last of which are not full.
const N: usize = 70_003;

/// Launches between those of a program.
enum Between<S: Reverse> {
    Nothing,
    /// One over another range, which no region can share.
    Launch(View<S, 1>),
}

impl<S: Reverse> Between<S> {
    fn run(&mut self) {
        if let Self::Launch(view) = self {
            parallel_for(view.all(), view, |x| (2.0 * x.at::<0>(),));
        }
    }
}

/// Seven launches that use at a point what others have written there: a chain, a view with two readers, views that are
/// written in place, a clone, a passive variable, and a passive view that is read beside the point.
fn program<S: Reverse>(x: &View<S, 1>, between: &mut Between<S>) -> Real<S> {
    let (mut y, mut z, mut w) = (View::zeros([N]), View::zeros([N]), x.clone());
    let passive = View::filled([N], S::Value::from_f64(0.25));
    parallel_for(x.all(), (x, &mut y), |(x, _)| (x.at::<0>() * x.at::<0>(),));
    between.run();
    parallel_for(x.all(), (&y, &mut z), |(y, _)| (y.at::<0>() / (1.0 + y.at::<0>().square()),));
    between.run();
    parallel_for(x.all(), (&y, &mut w), |(y, w)| (y.at::<0>() * w.at::<0>(),));
    between.run();
    parallel_for(x.all(), (&mut z, &mut w), |(z, w)| (z.at::<0>().sin() * w.at::<0>(), w.at::<0>() + z.at::<0>()));
    between.run();
    let old = z.clone();
    parallel_for(x.all(), &mut z, |z| (z.at::<0>() * z.at::<0>(),));
    between.run();
    parallel_for(x.all(), &mut w, |w| (0.5 * w.at::<0>(),));
    between.run();
    let k = Real::constant(S::Value::from_f64(0.75));
    parallel_for(x.all(), (&old, &z, &w, &passive, &k, &mut y), |(old, z, w, passive, k, _)| {
        (old.at::<0>() * z.at::<0>() + k * w.at::<0>() * passive.or_zero::<1>(),)
    });
    between.run();
    parallel_sum(y.all(), (&y, &w), |(y, w)| y.at::<0>() * w.at::<0>())
}

/// Numbers with special ones at both ends of parts and of blocks.
fn start<V: Number>() -> Vec<V> {
    let mut start = numbers(N, 3);
    for (at, special) in [(0, -0.0), (255, f64::INFINITY), (256, f64::NAN), (32_768, 0.0), (N - 1, 1e200)] {
        start[at] = special;
    }
    start.into_iter().map(V::from_f64).collect()
}

fn record<S: Reverse>(tape: &mut Tape<S>, apart: bool) -> (View<S, 1>, Real<S>) {
    tape.record(|scope| {
        let x = scope.view([N], &start::<S::Value>());
        let mut between = if apart { Between::Launch(scope.view([1], &[S::Value::ONE])) } else { Between::Nothing };
        let sum = program(&x, &mut between);
        (x, sum)
    })
}

/// A gradient, in digits that tell all numbers apart.
fn text<V: core::fmt::Debug>(gradient: &[V]) -> String {
    format!("{gradient:?}")
}

fn swept<S: Reverse>(mut tape: Tape<S>, apart: bool) -> (String, LoopCounts) {
    let (x, sum) = record(&mut tape, apart);
    let (adjoints, counts) = counted(|| tape.sweep(&[(&sum, S::Value::ONE)]).expect("swept"));
    (text(&adjoints.of_view(&x).expect("an input")), counts)
}

fn check<S: Reverse>(tape: impl Fn() -> Tape<S>, regions: usize) {
    let ((joined, few), (apart, many)) = (swept(tape(), false), swept(tape(), true));
    assert!(joined == apart, "the bits differ");
    assert_eq!((few.loops, many.loops, many.regions), (8, 8, 8));
    assert_eq!(few.regions, regions);
}

#[test]
fn k17_launches_that_share_a_region_have_the_bits_of_launches_apart() {
    // The sum; the last launch, which reads beside the point; the one before, which has nothing in common with the one
    // before it; and the first five, of which the first three use seven arrays and the others six.
    check(Tape::<Jacobian>::new, 5);
    check(Tape::<PrimalValue<f64, Reuse>>::new, 5);
    check(Tape::<Jacobian<f32>>::new, 5);
    check(Tape::<PrimalValue<Dual<f64, 1>>>::new, 5);
}

#[test]
fn arrays_that_may_be_on_disk_are_read_launch_by_launch() {
    let spilled = || Tape::<Jacobian<f64, Linear, Spilled>>::spilled(SpillOptions::default().memory(4 << 20));
    let (found, counts) = swept(spilled().expect("a directory for temporary files"), false);
    assert!(found == swept(Tape::<Jacobian>::new(), true).0, "the bits differ");
    // The one launch that keeps no array stands alone.
    assert_eq!((counts.loops, counts.regions), (8, 8));
}

#[test]
fn several_adjoint_vectors_share_regions_each_for_itself() {
    let swept = |apart: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, sum) = record(&mut tape, apart);
        let (adjoints, counts) = counted(|| tape.sweep_lanes(&[(&sum, [1.0, -2.5, f64::INFINITY])]).expect("swept"));
        let found = [0, 1, 2].map(|lane| text(&adjoints.of_view(&x, lane).expect("an input")));
        (found, counts.regions)
    };
    let ((joined, few), (apart, many)) = (swept(false), swept(true));
    assert!(joined == apart, "the bits differ");
    assert_eq!((few, many), (3 * 5, 3 * 8));
}

#[test]
fn a_sweep_may_stop_between_launches_that_could_share_a_region() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, positions, end) = tape.record(|scope| {
        let x = scope.view([N], &numbers(N, 3));
        let (mut y, mut positions) = (x.clone(), vec![scope.position()]);
        for _ in 0..4 {
            parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>() + 0.5,));
            positions.push(scope.position());
        }
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
        (x, sum, positions, scope.position())
    });
    let expected = text(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("an input"));
    for stop in &positions {
        let mut adjoints = AdjointVector::new();
        tape.seed(&mut adjoints, &[(&y, 1.0)]).expect("its own output");
        tape.sweep_between(&mut adjoints, &end, stop).expect("swept");
        let found = tape.sweep_from_position(&mut adjoints, stop).expect("swept");
        assert!(text(&found.of_view(&x).expect("an input")) == expected, "the bits differ");
    }
}

/// Regions of the sweep of a program over a view of this shape. The sum at its end has one adjoint for all elements, and
/// needs no loop.
fn regions(shape: [usize; 2], program: impl FnOnce(&mut View<Jacobian, 2>)) -> usize {
    let mut tape = Tape::<Jacobian>::new();
    let sum = tape.record(|scope| {
        let mut x = scope.view(shape, &numbers(shape[0] * shape[1], 2));
        program(&mut x);
        parallel_sum(x.all(), &x, |x| x.at::<0, 0>())
    });
    counted(|| tape.sweep(&[(&sum, 1.0)]).expect("swept").of(&sum).is_err()).1.regions
}

/// Two launches that write a view in place.
macro_rules! twice {
    ($shape:expr, $range:expr, $x:ident => $expression:expr) => {
        regions($shape, |v| (0..2).for_each(|_| parallel_for($range(&*v), &mut *v, |$x| ($expression,))))
    };
}

#[test]
fn other_ranges_neighbors_and_small_views_have_regions_of_their_own() {
    let large = [300, 301];
    assert_eq!(twice!(large, |v: &View<Jacobian, 2>| v.all(), x => x.at::<0, 0>().square()), 1);
    assert_eq!(twice!(large, |v: &View<Jacobian, 2>| v.interior(1), x => x.at::<0, 0>().square()), 2);
    assert_eq!(twice!(large, |v: &View<Jacobian, 2>| v.all(), x => x.at::<0, 0>() * x.periodic::<0, 1>()), 2);
    // 65,535, 65,536 and 65,792 points.
    assert_eq!(twice!([257, 255], |v: &View<Jacobian, 2>| v.all(), x => x.at::<0, 0>().square()), 2);
    assert_eq!(twice!([256, 256], |v: &View<Jacobian, 2>| v.all(), x => x.at::<0, 0>().square()), 2);
    assert_eq!(twice!([256, 257], |v: &View<Jacobian, 2>| v.all(), x => x.at::<0, 0>().square()), 1);
}

#[test]
fn a_gather_between_two_launches_ends_the_region() {
    let count = |between: bool| {
        let (mut tape, places) = (Tape::<Jacobian>::new(), Indices::new(&[5, 7]));
        let sum = tape.record(|scope| {
            let mut x = scope.view([N], &numbers(N, 2));
            parallel_for(x.all(), &mut x, |x| (x.at::<0>().square(),));
            if between {
                scatter_add(&gather(&x, &places), &places, &mut x);
            }
            parallel_for(x.all(), &mut x, |x| (x.at::<0>().square(),));
            parallel_sum(x.all(), &x, |x| x.at::<0>())
        });
        counted(|| tape.sweep(&[(&sum, 1.0)]).is_ok()).1.regions
    };
    assert_eq!(count(false), 1);
    assert!(count(true) >= 2);
}

#[test]
fn a_region_has_sixteen_launches_or_eight_arrays_at_most() {
    let large = [300, 301];
    let linear = |x: &mut View<Jacobian, 2>| parallel_for(x.all(), &mut *x, |x| (x.at::<0, 0>() * 0.5 + 1.0,));
    assert_eq!(regions(large, |x| (0..16).for_each(|_| linear(x))), 1);
    assert_eq!(regions(large, |x| (0..17).for_each(|_| linear(x))), 2);
    // One array of adjoints, and one of values for each launch.
    let square = |x: &mut View<Jacobian, 2>| parallel_for(x.all(), &mut *x, |x| (x.at::<0, 0>().square(),));
    assert_eq!(regions(large, |x| (0..7).for_each(|_| square(x))), 1);
    assert_eq!(regions(large, |x| (0..8).for_each(|_| square(x))), 2);
}

#[test]
fn launches_without_a_common_array_have_regions_of_their_own() {
    let count = |common: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let sum = tape.record(|scope| {
            let (x, y) = (scope.view([N], &numbers(N, 1)), scope.view([N], &numbers(N, 2)));
            let (mut u, mut v) = (View::zeros([N]), View::zeros([N]));
            parallel_for(x.all(), (&x, &mut u), |(x, _)| (x.at::<0>().square(),));
            parallel_for(x.all(), (if common { &x } else { &y }, &mut v), |(y, _)| (y.at::<0>().square(),));
            parallel_sum(u.all(), (&u, &v), |(u, v)| u.at::<0>() * v.at::<0>())
        });
        counted(|| tape.sweep(&[(&sum, 1.0)]).is_ok()).1.regions
    };
    // One for the sum.
    assert_eq!((count(true), count(false)), (1 + 1, 1 + 2));
}

/// Rows that are longer than a part, or shorter, and of a few points; with a condition that reads beside the point,
/// beyond a border, which has no partial derivative.
#[test]
fn parts_of_rows_have_the_bits_of_launches_apart() {
    for shape in [[2, 40_001], [300, 301], [9_000, 9], [70_000, 1]] {
        let run = |apart: bool| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, sum) = tape.record(|scope| {
                let x = scope.view(shape, &numbers(shape[0] * shape[1], 3));
                let mut beside = scope.view([1], &[1.0]);
                let mut between = || {
                    if apart {
                        parallel_for(beside.all(), &mut beside, |b| (2.0 * b.at::<0>(),));
                    }
                };
                let (mut y, mut z, mut w) = (View::zeros(shape), View::zeros(shape), View::zeros(shape));
                parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0, 0>() * x.at::<0, 0>(),));
                between();
                parallel_for(x.all(), (&y, &mut z), |(y, _)| {
                    (y.nearest::<-1, 1>().ge(0.5).select(y.at::<0, 0>() + 1.0, y.at::<0, 0>().square()),)
                });
                between();
                parallel_for(x.all(), (&z, &y, &mut w), |(z, y, _)| (z.at::<0, 0>() * y.at::<0, 0>(),));
                (x, parallel_sum(w.all(), &w, |w| w.at::<0, 0>()))
            });
            let (adjoints, counts) = counted(|| tape.sweep(&[(&sum, 1.0)]).expect("swept"));
            (text(&adjoints.of_view(&x).expect("an input")), counts.regions)
        };
        let ((together, one), (apart, three)) = (run(false), run(true));
        assert!(together == apart, "{shape:?}: the bits differ");
        assert_eq!((one, three), (1, 3), "{shape:?}");
    }
}

static PANICS: AtomicBool = AtomicBool::new(false);

/// 3x, whose derivative may panic at 7.
#[derive(Clone, Copy, Debug)]
struct Tripled;
impl Unary for Tripled {
    fn value<V: Float>(x: V) -> V {
        V::from_f64(3.0) * x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        if PANICS.load(Ordering::Relaxed) && x.as_f64() == 7.0 {
            resume_unwind(Box::new("a rule"));
        }
        V::from_f64(3.0)
    }
}

/// The sum of w², where w is written by launches of a region. One of them, at the beginning or in the middle,
/// overwrites an active view with constants, so that no operand of it gets adjoints.
fn overwritten(apart: bool, late: bool) -> (Vec<f64>, LoopCounts) {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut between = if apart { Between::Launch(scope.view([1], &[1.0])) } else { Between::Nothing };
        let mut z = scope.view([N], &vec![2.0; N]);
        let x = z.clone();
        let (a, b) = (View::new([N], &numbers(N, 4)), View::new([N], &numbers(N, 5)));
        let mut w = x.clone();
        if late {
            parallel_for(w.all(), (&mut w, &z), |(w, z)| (w.at::<0>() * z.at::<0>(),));
            between.run();
        }
        parallel_for(z.all(), (&mut z, &a, &b), |(_, a, b)| (a.at::<0>() * b.at::<0>(),));
        between.run();
        parallel_for(w.all(), (&mut w, &z), |(w, z)| (w.at::<0>() * z.at::<0>(),));
        between.run();
        (x, parallel_sum(w.all(), &w, |w| w.at::<0>().square()))
    });
    counted(|| tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("an input").into_owned())
}

#[test]
fn a_launch_that_overwrites_with_constants_may_stand_in_a_region() {
    let product: Vec<f64> = numbers(N, 4).iter().zip(numbers(N, 5)).map(|(a, b)| a * b).collect();
    for late in [false, true] {
        let ((found, joined), (expected, apart)) = (overwritten(false, late), overwritten(true, late));
        // Two products share a region; the constants take no loop.
        assert_eq!(apart.regions - joined.regions, usize::from(late), "{joined:?} and {apart:?}");
        assert!(found == expected, "the same bits");
        for (slope, product) in found.iter().zip(&product) {
            // w = x·ab, or x²·ab, at x = 2.
            let formula = if late { 32.0 } else { 4.0 } * product * product;
            assert!(close(*slope, formula, 1.0), "{slope} for {formula}");
        }
    }
}

#[test]
fn after_a_panic_in_a_shared_region_the_recording_can_be_swept() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, sum) = tape.record(|scope| {
        let mut at = vec![1.0; N];
        at[30_000] = 7.0;
        let x = scope.view([N], &at);
        let (mut y, mut z) = (View::zeros([N]), View::zeros([N]));
        parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>() * x.at::<0>(),));
        parallel_for(x.all(), (&x, &mut z), |(x, _)| (x.at::<0>().unary::<Tripled>(),));
        parallel_for(x.all(), (&y, &mut z), |(y, z)| (y.at::<0>() * z.at::<0>(),));
        (x, parallel_sum(z.all(), &z, |z| z.at::<0>()))
    });
    PANICS.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| _ = tape.sweep(&[(&sum, 1.0)]))).is_err());
    PANICS.store(false, Ordering::Relaxed);
    let (adjoints, counts) = counted(|| tape.sweep(&[(&sum, 1.0)]).expect("swept"));
    let found = adjoints.of_view(&x).expect("an input");
    assert_eq!(counts.regions, 1);
    // ∂3x³ = 9x².
    assert!(found.iter().enumerate().all(|(k, found)| *found == if k == 30_000 { 441.0 } else { 9.0 }));
}

#[cfg(feature = "threads")]
#[test]
fn shared_regions_have_the_same_bits_on_any_number_of_threads() {
    let expected = swept(Tape::<Jacobian>::new(), true).0;
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let (found, counts) = pool.install(|| swept(Tape::<Jacobian>::new(), false));
        assert!(found == expected, "{threads} threads: the bits differ");
        assert_eq!(counts.regions, 5);
    }
}

/// Three launches that share a region, over numbers of any kind. The last one has a factor that is constant.
fn chain<S: Reverse>(x: &View<S, 1>, factor: &dyn Fn(&View<S, 1>) -> View<S, 1>) -> Real<S> {
    let (mut y, mut z) = (x.clone(), View::zeros([N]));
    parallel_for(x.all(), &mut y, |y| (y.at::<0>() * y.at::<0>(),));
    let factor = factor(&y);
    assert!(!factor.is_active());
    parallel_for(x.all(), (&y, x, &mut z), |(y, x, _)| (y.at::<0>() / (1.0 + x.at::<0>().square()),));
    parallel_for(x.all(), (&mut z, &factor), |(z, factor)| (z.at::<0>() * factor.at::<0>(),));
    parallel_sum(z.all(), &z, |z| z.at::<0>())
}

/// Half of the elements, as constants.
fn halves<S: Reverse>(y: &View<S, 1>) -> View<S, 1> {
    let halves: Vec<S::Value> = y.to_vec().into_iter().map(|y| y * S::Value::from_f64(0.5)).collect();
    View::new(y.shape(), &halves)
}

fn record_chain<S: Reverse>(
    tape: &mut Tape<S>,
    start: &[S::Value],
    factor: &dyn Fn(&View<S, 1>) -> View<S, 1>,
) -> (View<S, 1>, Real<S>) {
    tape.record(|scope| {
        let x = scope.view([N], start);
        let sum = chain(&x, factor);
        (x, sum)
    })
}

fn sweep_chain<S: Reverse>(tape: &mut Tape<S>, (x, sum): &(View<S, 1>, Real<S>)) -> (Vec<S::Value>, LoopCounts) {
    let (adjoints, counts) = counted(|| tape.sweep(&[(sum, S::Value::ONE)]).expect("swept"));
    (adjoints.of_view(x).expect("an input").into_owned(), counts)
}

#[test]
fn a_pause_between_launches_does_not_end_their_region() {
    let mut tape = Tape::<Jacobian>::new();
    let given = record_chain(&mut tape, &start(), &halves);
    let (expected, counts) = sweep_chain(&mut tape, &given);
    assert_eq!((counts.loops, counts.regions), (3, 1));
    let paused = record_chain(&mut tape, &start(), &|y| {
        let mut factor = View::zeros([N]);
        pause(|| parallel_for(y.all(), (y, &mut factor), |(y, _)| (0.5 * y.at::<0>(),)));
        factor
    });
    let (found, counts) = sweep_chain(&mut tape, &paused);
    assert!(text(&found) == text(&expected), "the bits differ");
    assert_eq!((counts.loops, counts.regions), (3, 1));
}

#[test]
fn launches_share_regions_after_a_replay() {
    let new: Vec<f64> = start::<f64>().into_iter().rev().collect();
    let constant = |_: &View<PrimalValue, 1>| View::new([N], &numbers(N, 7));
    let recorded = |start: &[f64]| {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        let found = record_chain(&mut tape, start, &constant);
        (tape, found)
    };
    let (mut tape, found) = recorded(&start());
    tape.new_inputs().view(&found.0, &new).expect("an input").replay().expect("all is kept");
    let (mut again, expected) = recorded(&new);
    assert_eq!(tape.value_of(&found.1).expect("its own").to_bits(), expected.1.value().to_bits());
    let ((found, counts), (expected, apart)) = (sweep_chain(&mut tape, &found), sweep_chain(&mut again, &expected));
    assert!(text(&found) == text(&expected), "the bits differ");
    assert_eq!((counts, counts.regions), (apart, 1));
}

#[test]
fn several_vectors_of_arrays_on_disk_are_swept_launch_by_launch() {
    let swept = |mut tape: Tape<Jacobian<f64, Linear, Spilled>>| {
        let (x, sum) = record_chain(&mut tape, &start(), &halves);
        let (adjoints, counts) = counted(|| tape.sweep_lanes(&[(&sum, [1.0, -2.5])]).expect("swept"));
        ([0, 1].map(|lane| text(&adjoints.of_view(&x, lane).expect("an input"))), counts.regions)
    };
    let options = || SpillOptions::default().slab(4096).memory(4 << 20);
    let tape = || Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options()).expect("a directory for temporary files");
    let mut expected = Tape::<Jacobian>::new();
    let recorded = record_chain(&mut expected, &start(), &halves);
    let lanes = expected.sweep_lanes(&[(&recorded.1, [1.0, -2.5])]).expect("swept");
    let expected = [0, 1].map(|lane| text(&lanes.of_view(&recorded.0, lane).expect("an input")));
    assert!(swept(tape()) == (expected, 2 * 3), "the bits differ, or launches have shared a region");
}

#[test]
fn launches_over_packs_run_lane_by_lane_and_have_the_bits_of_numbers() {
    let lanes: [Vec<f64>; 2] = [start(), numbers(N, 5)];
    let packs: Vec<Pack<2>> = (0..N).map(|k| Pack([lanes[0][k], lanes[1][k]])).collect();
    let mut tape = Tape::<Jacobian<Pack<2>>>::new();
    let recorded = record_chain(&mut tape, &packs, &halves);
    let (found, counts) = sweep_chain(&mut tape, &recorded);
    // A loop for each lane of each launch.
    assert_eq!((counts.loops, counts.regions), (2 * 3, 2 * 3));
    for (k, numbers) in lanes.iter().enumerate() {
        let mut tape = Tape::<Jacobian>::new();
        let recorded = record_chain(&mut tape, numbers, &halves);
        let (expected, counts) = sweep_chain(&mut tape, &recorded);
        assert_eq!(counts.regions, 1);
        let lane: Vec<f64> = found.iter().map(|slope| slope.lane(k)).collect();
        assert!(text(&lane) == text(&expected), "the bits of lane {k} differ");
    }
}
