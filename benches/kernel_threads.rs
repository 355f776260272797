//! Array kernels on two threads beside one, by the larger of the threads' processor times: a gradient, transfers of
//! elements beside a loop that computes much and moves little, searches beside arithmetic without memory, and scans and
//! folds beside a long polynomial.
//!
//! `cargo bench --bench kernel_threads --features rayon`
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use cpu_time::ThreadTime;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;
use std::time::Duration;
use tapewright::kernels::{
    Field1, Indices, Node, Term, View, associative, gather, parallel_fold, parallel_for, parallel_max_at,
    parallel_scan, parallel_sum, scatter_add,
};
use tapewright::prelude::*;
use tapewright_problems::kernels::norm_res;

const N: usize = 10_000_000;
const ROUNDS: usize = 7;
/// Elements of the views whose elements are moved, and transfers one after the other in a recording.
const MOVED: usize = 8_000_000;
const TRANSFERS: usize = 3;

/// The processor time that each of the pool's threads has used.
fn now(pool: &ThreadPool) -> Vec<Duration> {
    pool.broadcast(|_| ThreadTime::now().as_duration())
}

/// Processor time that the busier thread needs for this.
fn busier<T>(pool: &ThreadPool, work: impl FnOnce() -> T) -> (f64, T) {
    let before = now(pool);
    let result = work();
    let times = now(pool).into_iter().zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64());
    (times.fold(0.0, f64::max), result)
}

fn main() {
    gradients();
    transfers();
    extrema();
    scans();
}

fn gradients() {
    let numbers: Vec<f64> = (0..N).map(|k| (k * 37 % 101) as f64 / 101.0).collect();
    let mut tapes = [1, 2].map(|threads| {
        (ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"), Tape::<Jacobian>::new())
    });
    let mut ratios = Vec::new();
    let mut gradients: [Vec<f64>; 2] = Default::default();
    for round in 0..=ROUNDS {
        let mut largest = [0.0; 2];
        for (k, (pool, tape)) in tapes.iter_mut().enumerate() {
            let (numbers, gradient) = (&numbers, &mut gradients[k]);
            // What is timed is the launches and the sweep, not the making of views and the copying of the gradient.
            let (before, after) = pool.install(|| {
                let (x, sum, before) = tape.record(|scope| {
                    let (x, b) = (scope.view([N], numbers), scope.view([N], numbers));
                    let (mut q, mut y, mut y2) = (x.clone(), View::zeros([N]), View::zeros([N]));
                    let before = now(pool);
                    (x, norm_res(&mut q, &b, &mut y, &mut y2), before)
                });
                let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
                let after = now(pool);
                gradient.clear();
                gradient.extend_from_slice(&adjoints.of_view(&x).expect("x"));
                (before, after)
            });
            let times = after.into_iter().zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64());
            largest[k] = times.fold(0.0, f64::max);
        }
        if round > 0 {
            ratios.push(largest[0] / largest[1]);
            println!("one thread {:.1} ms, two {:.1} ms", largest[0] * 1e3, largest[1] * 1e3);
        }
    }
    assert!(gradients[0] == gradients[1], "the same bits on any number of threads");
    ratios.sort_by(f64::total_cmp);
    println!("laplacian of {N}: two threads are {:.2} × as fast as one, the median of {ROUNDS}", ratios[ROUNDS / 2]);
}

/// Smallest times over all rounds, on one thread and on two.
type Least = [f64; 2];

fn gain(least: Least) -> f64 {
    least[0] / least[1]
}

/// Four steps of a polynomial.
fn four(p: Term<impl Node>, x: impl Field1) -> Term<impl Node> {
    (((p * x.at::<0>() + 0.1) * x.at::<0>() + 0.2) * x.at::<0>() + 0.3) * x.at::<0>() + 0.4
}

/// A polynomial of degree 24 at each element.
fn polynomial(pool: &ThreadPool, x: &View<Passive, 1>, y: &mut View<Passive, 1>) -> f64 {
    let launch = |y: &mut View<Passive, 1>| {
        parallel_for(y.all(), (y, x), |(_, x)| {
            (four(four(four(four(four(four(x.at::<0>() * 0.5, x), x), x), x), x), x),)
        });
    };
    pool.install(|| busier(pool, || launch(y)).0)
}

/// Launches and sweep of transfers one after the other; `each` does one of them, possibly to a view of zeros.
fn moved(
    pool: &ThreadPool,
    tape: &mut Tape<Jacobian>,
    numbers: &[f64],
    each: &(impl Fn(&View<Jacobian, 1>, &mut View<Jacobian, 1>) -> View<Jacobian, 1> + Sync),
) -> [f64; 2] {
    pool.install(|| {
        let (launches, x, sum) = tape.record(|scope| {
            let x = scope.view([MOVED], numbers);
            let mut zeros: Vec<View<Jacobian, 1>> = (0..TRANSFERS).map(|_| View::zeros([MOVED])).collect();
            let (launches, y) = busier(pool, || zeros.iter_mut().fold(x.clone(), |y, zeros| each(&y, zeros)));
            (launches, x, parallel_sum(y.all(), &y, |y| y.at::<0>().square()))
        });
        let (sweep, adjoints) = busier(pool, || tape.sweep(&[(&sum, 1.0)]).expect("its own output"));
        assert!(adjoints.of_view(&x).expect("x").iter().all(|adjoint| adjoint.is_finite()));
        [launches, sweep]
    })
}

fn transfers() {
    let numbers: Vec<f64> = (0..MOVED).map(|k| (k * 37 % 101) as f64 / 101.0).collect();
    let pools = [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"));
    // The ends of the edges of a grid, and places all over the view; both with repetitions.
    let edges: Vec<usize> = (0..MOVED).map(|k| (k / 2 + if k % 2 == 0 { 1 } else { 2000 }) % (MOVED / 2)).collect();
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % MOVED
    };
    let anywhere: Vec<usize> = (0..MOVED).map(|_| random()).collect();
    let (x, mut y) = (View::<Passive, 1>::new([MOVED], &numbers), View::zeros([MOVED]));
    for (name, list) in [("edges of a grid", edges), ("random places", anywhere)] {
        let list = &Indices::new(&list);
        let mut tapes = [(); 4].map(|()| Tape::<Jacobian>::new());
        let (mut ideal, mut least): (Least, [[Least; 2]; 2]) = ([f64::MAX; 2], [[[f64::MAX; 2]; 2]; 2]);
        for round in 0..=ROUNDS {
            for (k, pool) in pools.iter().enumerate() {
                let long = polynomial(pool, &x, &mut y);
                let gathered = moved(pool, &mut tapes[k], &numbers, &|x, _| gather(x, list));
                let scattered = moved(pool, &mut tapes[2 + k], &numbers, &|x, sums| {
                    scatter_add(x, list, sums);
                    sums.clone()
                });
                // The first round makes the arrays that later ones use again.
                if round > 0 {
                    ideal[k] = ideal[k].min(long);
                    for (least, found) in least.iter_mut().zip([gathered, scattered]) {
                        least.iter_mut().zip(found).for_each(|(least, found)| least[k] = least[k].min(found));
                    }
                }
            }
        }
        println!("{name}, {MOVED} elements: a long polynomial gains {:.2} from the second thread", gain(ideal));
        for (what, [launches, sweep]) in ["gather", "scatter_add"].iter().zip(least) {
            for (part, least) in [("launches", launches), ("sweep", sweep)] {
                let [one, two] = least.map(|seconds| seconds * 1e3);
                let share = gain(least) / gain(ideal);
                println!("  {what}, {part}: {one:.1} ms and {two:.1} ms, gain {:.2}, {share:.2} of that", gain(least));
            }
        }
    }
}

/// Elements of the search for an extremum.
const SEARCHED: usize = 8_000_000;
/// Searches that are timed together, which take as long as the arithmetic that they are compared with.
const SEARCHES: usize = 10;

/// Arithmetic without memory, in as many pieces as a search has blocks.
fn arithmetic() -> f64 {
    let piece = |k: usize| (0..32_768).fold(k as f64, |x, _| x * 0.999_999 + 1e-9);
    (0..SEARCHED / 32_768).into_par_iter().map(piece).sum()
}

/// Prints by how much two threads are faster than one at this, and at arithmetic measured beside it.
fn beside_arithmetic(name: &str, pools: &[ThreadPool; 2], search: impl Fn() + Sync) {
    let (mut gains, mut of_arithmetic) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [one, two] =
            pools.each_ref().map(|pool| pool.install(|| busier(pool, || (0..SEARCHES).for_each(|_| search())).0));
        gains.push(one / two);
        let [alone, both] = pools.each_ref().map(|pool| pool.install(|| busier(pool, || black_box(arithmetic())).0));
        of_arithmetic.push(alone / both);
        println!("{name}: one thread {:.1} ms, two {:.1} ms", one * 1e3, two * 1e3);
    }
    [&mut gains, &mut of_arithmetic].into_iter().for_each(|all| all.sort_by(f64::total_cmp));
    let (gain, possible) = (gains[ROUNDS / 2], of_arithmetic[ROUNDS / 2]);
    println!("{name} of {SEARCHED}: two threads are {gain:.2} × as fast as one, arithmetic {possible:.2} ×");
}

/// The largest value with its place, and the sum of the same elements.
fn extrema() {
    let numbers: Vec<f64> = (0..SEARCHED).map(|k| (k * 37 % 1_000_003) as f64).collect();
    let x = View::<Passive, 1>::new([SEARCHED], &numbers);
    let pools = [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"));
    beside_arithmetic("maximum and place", &pools, || {
        black_box(parallel_max_at(x.all(), &x, |x| x.at::<0>()));
    });
    beside_arithmetic("sum", &pools, || {
        black_box(parallel_sum(x.all(), &x, |x| x.at::<0>()));
    });
}

/// Number of elements that are scanned.
const SCANNED: usize = 8_000_000;

/// Something that takes time, which it returns.
type Timed<'a> = Box<dyn Fn(&ThreadPool, &mut Tape<Jacobian>) -> f64 + Sync + 'a>;

/// Times a launch that makes a view, or its sweep with the adjoints 2y.
fn scan<'a>(
    numbers: &'a [f64],
    sweep: bool,
    launch: impl Fn(&View<Jacobian, 1>) -> View<Jacobian, 1> + Sync + 'a,
) -> Timed<'a> {
    Box::new(move |pool, tape| {
        let (sum, time) = tape.record(|scope| {
            let x = scope.view([SCANNED], numbers);
            let (time, y) = busier(pool, || launch(&x));
            let sum = if sweep { parallel_sum(y.all(), &y, |y| y.at::<0>().square()) } else { Real::constant(0.0) };
            (sum, time)
        });
        if sweep { busier(pool, || _ = tape.sweep(&[(&sum, 1.0)]).expect("its own output")).0 } else { time }
    })
}

/// Times a fold, or its sweep.
fn fold<'a>(
    numbers: &'a [f64],
    sweep: bool,
    launch: impl Fn(&View<Jacobian, 1>) -> Real<Jacobian> + Sync + 'a,
) -> Timed<'a> {
    Box::new(move |pool, tape| {
        let (time, result) = tape.record(|scope| {
            let x = scope.view([SCANNED], numbers);
            busier(pool, || launch(&x))
        });
        if sweep { busier(pool, || _ = tape.sweep(&[(&result, 1.0)]).expect("its own output")).0 } else { time }
    })
}

/// Scans and folds by associative rules on one and two threads, beside the same ones in order.
fn scans() {
    // Factors near 1, so that products stay ordinary numbers.
    let numbers: Vec<f64> = (0..SCANNED).map(|k| 1.0 + ((k * 37 % 101) as f64 - 50.0) * 1e-6).collect();
    let x = &numbers;
    let cases: [(&str, Timed<'_>); 16] = [
        ("scan of sums in order", scan(x, false, |x| parallel_scan(x, |a, b| a + b))),
        ("scan of sums", scan(x, false, |x| parallel_scan(x, associative(|a, b| a + b)))),
        ("scan of products in order", scan(x, false, |x| parallel_scan(x, |a, b| a * b))),
        ("scan of products", scan(x, false, |x| parallel_scan(x, associative(|a, b| a * b)))),
        ("fold of sums in order", fold(x, false, |x| parallel_fold(x, |a, b| a + b))),
        ("fold of sums", fold(x, false, |x| parallel_fold(x, associative(|a, b| a + b)))),
        ("fold of products in order", fold(x, false, |x| parallel_fold(x, |a, b| a * b))),
        ("fold of products", fold(x, false, |x| parallel_fold(x, associative(|a, b| a * b)))),
        ("sweep: scan of sums in order", scan(x, true, |x| parallel_scan(x, |a, b| a + b))),
        ("sweep: scan of sums", scan(x, true, |x| parallel_scan(x, associative(|a, b| a + b)))),
        ("sweep: scan of products in order", scan(x, true, |x| parallel_scan(x, |a, b| a * b))),
        ("sweep: scan of products", scan(x, true, |x| parallel_scan(x, associative(|a, b| a * b)))),
        ("sweep: fold of sums in order", fold(x, true, |x| parallel_fold(x, |a, b| a + b))),
        ("sweep: fold of sums", fold(x, true, |x| parallel_fold(x, associative(|a, b| a + b)))),
        ("sweep: fold of products in order", fold(x, true, |x| parallel_fold(x, |a, b| a * b))),
        ("sweep: fold of products", fold(x, true, |x| parallel_fold(x, associative(|a, b| a * b)))),
    ];
    let mut tapes = [1, 2].map(|threads| {
        (ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"), Tape::<Jacobian>::new())
    });
    let (passive, mut y) = (View::<Passive, 1>::new([SCANNED], x), View::zeros([SCANNED]));
    let mut ideal: Least = [f64::MAX; 2];
    let mut least: Vec<Least> = cases.iter().map(|_| [f64::MAX; 2]).collect();
    for round in 0..=ROUNDS {
        for (k, (pool, tape)) in tapes.iter_mut().enumerate() {
            let time = polynomial(pool, &passive, &mut y);
            let times = cases.iter().map(|(_, case)| pool.install(|| case(pool, tape))).collect::<Vec<_>>();
            if round > 0 {
                ideal[k] = ideal[k].min(time);
                least.iter_mut().zip(times).for_each(|(least, time)| least[k] = least[k].min(time));
            }
        }
    }
    println!("polynomial: {:.2} × as fast on two threads", gain(ideal));
    for ((name, _), least) in cases.iter().zip(least) {
        let ([one, two], gain, share) = (least, gain(least), gain(least) / gain(ideal));
        println!(
            "{name}: {:.1} ms, on two threads {:.1} ms, {gain:.2} × as fast: {share:.2} of what arithmetic gains",
            one * 1e3,
            two * 1e3,
        );
    }
}
