//! Array kernels beside loops that were written by hand: values, gradients and the bytes that a recording keeps.
//!
//! Checksums and gradients are verified before anything is timed. Thread CPU time, the minimum of rounds. The loops by
//! hand are compiled for whatever this program is: compare a build for the baseline with one for the machine
//! (`RUSTFLAGS=-Ctarget-cpu=native`). `cargo bench --bench kernels`
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

use cpu_time::ThreadTime;
use std::hint::black_box;
use tapewright::kernels::{InstructionSet, LoopCounts, View, counted, parallel_for, parallel_row_sums, parallel_sum};
use tapewright::prelude::*;
use tapewright_problems::kernels::{burgers, norm_res};

/// The seconds of one call.
fn taken(f: impl FnOnce()) -> f64 {
    let start = ThreadTime::now();
    f();
    start.elapsed().as_secs_f64()
}

/// The least seconds of some rounds.
fn least(rounds: usize, repetitions: usize, mut f: impl FnMut()) -> f64 {
    f();
    let round = |_| taken(|| (0..repetitions).for_each(|_| f())) / repetitions as f64;
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

/// The same by hand.
#[inline(never)]
fn norm_res_by_hand(x: &mut [f64], b: &[f64], y: &mut [f64], y2: &mut [f64]) -> f64 {
    let n = x.len();
    x.iter_mut().for_each(|x| *x *= 3.0);
    y[0] = 2.0 * x[0] - b[0] - x.get(1).copied().unwrap_or(0.0);
    for i in 1..n.saturating_sub(1) {
        y[i] = 2.0 * x[i] - b[i] - x[i - 1] - x[i + 1];
    }
    if n > 1 {
        y[n - 1] = 2.0 * x[n - 1] - b[n - 1] - x[n - 2];
    }
    y2.iter_mut().zip(&*y).for_each(|(y2, y)| *y2 = y * y);
    let mut sums = [0.0; 16];
    let chunks = y2.chunks_exact(16);
    let rest: f64 = chunks.remainder().iter().sum();
    chunks.for_each(|chunk| sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x));
    sums.iter().sum::<f64>() + rest
}

/// Its gradient by hand, from what it has left in `y`.
#[inline(never)]
fn gradient_by_hand(y: &[f64], dy: &mut [f64], dx: &mut [f64], db: &mut [f64]) {
    let n = y.len();
    for i in 0..n {
        dy[i] = 2.0 * y[i];
        db[i] = -dy[i];
    }
    for i in 1..n - 1 {
        dx[i] = 3.0 * (2.0 * dy[i] - dy[i - 1] - dy[i + 1]);
    }
    dx[0] = 3.0 * (2.0 * dy[0] - dy[1]);
    dx[n - 1] = 3.0 * (2.0 * dy[n - 1] - dy[n - 2]);
}

/// A·x, row by row, and from the seeds ȳ of the product the adjoints ȳ·xᵀ and Aᵀ·ȳ.
#[inline(never)]
fn matvec_by_hand(a: &[f64], x: &[f64], y: &mut [f64], da: &mut [f64], dx: &mut [f64]) {
    let n = x.len();
    for (y, row) in y.iter_mut().zip(a.chunks_exact(n)) {
        let mut sums = [0.0; 16];
        let (rows, xs) = (row.chunks_exact(16), x.chunks_exact(16));
        let rest: f64 = rows.remainder().iter().zip(xs.remainder()).map(|(a, x)| a * x).sum();
        for (row, x) in rows.zip(xs) {
            sums.iter_mut().zip(row.iter().zip(x)).for_each(|(sum, (a, x))| *sum += a * x);
        }
        *y = sums.iter().sum::<f64>() + rest;
    }
    dx.fill(0.0);
    for (da, row) in da.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        let seed = black_box(1.0);
        da.iter_mut().zip(x).for_each(|(da, x)| *da = seed * x);
        dx.iter_mut().zip(row).for_each(|(dx, a)| *dx += seed * a);
    }
}

/// The sum of A·x and its gradient, where x is an operand of lower rank.
fn matvec(n: usize) {
    let numbers = |count: usize, of: usize| (0..count).map(|k| (k * 37 % of) as f64 / of as f64).collect::<Vec<f64>>();
    let (matrix, xs) = (numbers(n * n, 101), numbers(n, 97));
    let (mut y, mut da, mut dx) = (vec![0.0; n], vec![0.0; n * n], vec![0.0; n]);
    let mut tape = Tape::<Jacobian>::new();
    // Returns the seconds that copying A into the recording takes. A copy that is repeated alone stays in the cache.
    let mut gradient = |check: &mut dyn FnMut(&[f64], &[f64])| {
        let (a, x, sum, copied) = tape.record(|scope| {
            let start = ThreadTime::now();
            let (a, x) = (scope.view([n, n], &matrix), scope.view([n], &xs));
            let copied = start.elapsed().as_secs_f64();
            let y: View<_, 1> = parallel_row_sums(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at());
            let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
            (a, x, sum, copied)
        });
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
        check(&adjoints.of_view(&a).expect("an input"), &adjoints.of_view(&x).expect("an input"));
        copied
    };
    matvec_by_hand(&matrix, &xs, &mut y, &mut da, &mut dx);
    gradient(&mut |a, x| {
        assert_eq!(a, da);
        assert!(x.iter().zip(&dx).all(|(x, dx)| (x - dx).abs() <= 1e-12 * n as f64));
    });
    let hand = least(15, 5, || matvec_by_hand(black_box(&matrix), &xs, &mut y, &mut da, &mut dx));
    let (mut copied, mut views) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..75 {
        let mut seconds = 0.0;
        let all = taken(|| seconds = gradient(&mut |_, x| _ = black_box(x.len())));
        (copied, views) = (copied.min(seconds), views.min(all - seconds));
    }
    println!(
        "y = A·x, {n} x {n}: value and gradient by hand {:.2} ms, as launches {:.2} ms, {:.2} ×, and {:.2} ms to copy A in",
        1e3 * hand,
        1e3 * views,
        views / hand,
        1e3 * copied
    );
}

fn laplacian(n: usize) {
    let (rounds, repetitions) = (if n > 100_000 { 5 } else { 25 }, (100_000 / n).clamp(1, 5000));
    let numbers = |step: usize, of: usize| (0..n).map(|k| (k * step % of) as f64 / of as f64).collect::<Vec<f64>>();
    let (x0, b0) = (numbers(37, 101), numbers(53, 97));
    let (mut x, mut y, mut y2) = (x0.clone(), vec![0.0; n], vec![0.0; n]);
    let (mut dy, mut dx, mut db) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let copy = least(rounds, repetitions, || black_box(&mut x).copy_from_slice(&x0));
    let hand = least(rounds, repetitions, || {
        x.copy_from_slice(&x0);
        black_box(norm_res_by_hand(&mut x, &b0, &mut y, &mut y2));
    });
    let hand_gradient = least(rounds, repetitions, || {
        x.copy_from_slice(&x0);
        black_box(norm_res_by_hand(&mut x, &b0, &mut y, &mut y2));
        gradient_by_hand(black_box(&y), &mut dy, &mut dx, &mut db);
    });
    let passive = || View::<Passive, 1>::new([n], &b0);
    let (mut px, pb, mut py, mut py2) = (passive(), passive(), passive(), passive());
    let views = least(rounds, repetitions, || _ = black_box(norm_res(&mut px, &pb, &mut py, &mut py2).value()));

    let mut tape = Tape::<Jacobian>::new();
    let record = |tape: &mut Tape<Jacobian>, launches: bool| {
        tape.record(|scope| {
            let [mut x, b, mut y, mut y2] = [&x0, &b0, &b0, &b0].map(|from| scope.view([n], from));
            let sum = if launches { norm_res(&mut x, &b, &mut y, &mut y2) } else { 0.0.into() };
            (x, b, sum)
        })
    };
    let (x, b, sum) = record(&mut tape, true);
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
    let agree = |found: &[f64], expected: &[f64]| {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()))
    };
    assert!(agree(&adjoints.of_view(&x).expect("x"), &dx) && agree(&adjoints.of_view(&b).expect("b"), &db));
    drop((x, b));
    let inputs = least(rounds, repetitions, || _ = black_box(record(&mut tape, false)));
    let gradient = least(rounds, repetitions, || {
        let (x, b, sum) = record(&mut tape, true);
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
        black_box((adjoints.of_view(&x).expect("x"), adjoints.of_view(&b).expect("b")));
    });
    let (hand, hand_gradient, gradient) = (hand - copy, hand_gradient - copy, gradient - inputs);
    println!(
        "laplacian {n:>9}: by hand {:>11.3} µs, gradient by hand {:.2} ×, through views {:.2} ×, recorded gradient {:.2} × ({:.2} × that by hand, {:.2} × the values through views)",
        hand * 1e6,
        hand_gradient / hand,
        views / hand,
        gradient / hand,
        gradient / hand_gradient,
        gradient / views
    );
}

/// Row `j` of a field.
fn row(field: &[f64], n: usize, j: usize) -> &[f64] {
    &field[j * n..][..n]
}

/// The same by hand: rows as slices, and factors that are selected, so that the compiler finds loops for registers.
#[inline(never)]
fn burgers_by_hand(n: usize, fields: [&[f64]; 2], steps: usize, (a, nu): (f64, f64)) -> f64 {
    let [mut u, mut v] = fields.map(<[f64]>::to_vec);
    let (mut new_u, mut new_v) = (u.clone(), v.clone());
    for _ in 0..steps {
        for j in 1..n - 1 {
            let ([us, uc, un], [vs, vc, vn]) =
                ([j - 1, j, j + 1].map(|j| row(&u, n, j)), [j - 1, j, j + 1].map(|j| row(&v, n, j)));
            let (to_u, to_v) = (&mut new_u[j * n..][..n], &mut new_v[j * n..][..n]);
            for i in 1..n - 1 {
                let (u, v) = (uc[i], vc[i]);
                let step = |c: f64, west: f64, east: f64, south: f64, north: f64| {
                    let ax = u * if u >= 0.0 { c - west } else { east - c };
                    let ay = v * if v >= 0.0 { c - south } else { north - c };
                    c - a * (ax + ay) + nu * (east + west + north + south - 4.0 * c)
                };
                to_u[i] = step(u, uc[i - 1], uc[i + 1], us[i], un[i]);
                to_v[i] = step(v, vc[i - 1], vc[i + 1], vs[i], vn[i]);
            }
        }
        core::mem::swap(&mut u, &mut new_u);
        core::mem::swap(&mut v, &mut new_v);
    }
    u.iter().zip(&v).map(|(u, v)| u * u + v * v).sum()
}

fn burgers_at(n: usize, steps: usize, checksums: Option<[f64; 3]>) {
    let rounds = if n < 200 { 40 } else { 6 };
    let (dx, dt) = (1.0 / (n as f64 - 1.0), 1e-3);
    let numbers = (dt / dx, dt / (1000.0 * dx * dx));
    let field = |sign: f64| (0..n * n).map(|k| (k % n) as f64 * dx + sign * (k / n) as f64 * dx).collect::<Vec<f64>>();
    // The field v is x − y.
    let (u0, v0) = (field(1.0), field(-1.0));
    let hand = least(rounds, 1, || _ = black_box(burgers_by_hand(n, [&u0, &v0], steps, numbers)));
    let (mut pu, mut pv) = (View::<Passive, 2>::new([n, n], &u0), View::<Passive, 2>::new([n, n], &v0));
    let views = least(rounds, 1, || _ = black_box(burgers(&mut pu, &mut pv, steps, numbers).value()));
    let mut tape = Tape::<Jacobian>::new();
    let record = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let (mut u, mut v) = (scope.view([n, n], &u0), scope.view([n, n], &v0));
            let sum = burgers(&mut u, &mut v, steps, numbers);
            (u, v, sum)
        })
    };
    if let Some(expected) = checksums {
        let (u, v, sum) = record(&mut tape);
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
        let gradient = [adjoints.of_view(&u).expect("u"), adjoints.of_view(&v).expect("v")].concat();
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        for (found, expected) in [sum.value(), gradient.iter().sum(), norm].into_iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-10 * expected, "{found} and {expected}");
        }
    }
    let gradient = least(rounds, 1, || {
        let (u, v, sum) = record(&mut tape);
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
        black_box((adjoints.of_view(&u).expect("u"), adjoints.of_view(&v).expect("v")));
    });
    // What the recording keeps, and the user does not.
    let results = record(&mut tape);
    let kept = tape.memory().usage("arrays").used;
    drop(results);
    println!(
        "burgers {n:>5}² × {steps:>2}: by hand {:>8.3} ms, through views {:.2} ×, recorded gradient {:.2} × ({:.2} × through views), \
         {:.1} bytes per cell and step",
        hand * 1e3,
        views / hand,
        gradient / hand,
        gradient / views,
        kept as f64 / (n * n * steps) as f64
    );
}

/// Explicit steps of the heat equation, in place.
fn cooled<S: Taping<Value = f64>>(u: &mut View<S, 2>, steps: usize) {
    for _ in 0..steps {
        parallel_for(u.interior(1), &mut *u, |u| {
            let beside = u.at::<1, 0>() + u.at::<-1, 0>() + u.at::<0, 1>() + u.at::<0, -1>();
            (u.at::<0, 0>() + 0.2 * (beside - 4.0 * u.at::<0, 0>()),)
        });
    }
}

/// A step of the heat equation on a plate: recording it, and sweeping it, beside computing it through views.
fn heat(n: usize, steps: usize) {
    let start: Vec<f64> = (0..n * n).map(|k| (k * 37 % 101) as f64).collect();
    let rounds = if n < 500 { 40 } else { 8 };
    let mut u = View::<Passive, 2>::new([n, n], &start);
    let forward = least(rounds, 1, || cooled(black_box(&mut u), steps));
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([n, n], &start);
        let mut u = x.clone();
        cooled(&mut u, steps);
        (x, u)
    });
    let reverse = least(rounds, 1, || {
        let adjoints = tape.sweep_view(&[], (&y, black_box(&start))).expect("its own output");
        black_box(adjoints.of_view(&x).expect("x"));
    });
    println!("heat {n:>5}² × {steps}: {:.3} ms through views, sweep {:.2} ×", forward * 1e3, reverse / forward);
}

/// Half the difference of the neighbors beside the point.
macro_rules! slope {
    ($field:ident.$read:ident<$row:literal, $column:literal>) => {
        0.5 * ($field.$read::<$row, $column>() - $field.$read::<{ -$row }, { -$column }>())
    };
}

/// A step of shallow water: the depth, and the velocity in the direction of columns and of rows.
macro_rules! flow {
    ($range:expr, $fields:expr, $read:ident) => {{
        let (range, [h, u, v]) = ($range, $fields);
        parallel_for(range, (h, u, v), |(h, u, v)| {
            let (depth, x, y) = (h.at::<0, 0>(), u.at::<0, 0>(), v.at::<0, 0>());
            let spread = slope!(u.$read<0, 1>) + slope!(v.$read<1, 0>);
            (
                depth - 0.01 * (x * slope!(h.$read<0, 1>) + y * slope!(h.$read<1, 0>) + depth * spread),
                x - 0.01 * (x * slope!(u.$read<0, 1>) + y * slope!(u.$read<1, 0>) + slope!(h.$read<0, 1>)),
                y - 0.01 * (x * slope!(v.$read<0, 1>) + y * slope!(v.$read<1, 0>) + slope!(h.$read<1, 0>)),
            )
        });
    }};
}

/// Copies the other end of each dimension into a margin of one element.
fn wrap<S: Taping<Value = f64>>(x: &mut View<S, 2>) {
    let [rows, columns] = x.shape();
    for (from, to) in [(rows - 2, 0), (1, rows - 1)] {
        let row = x.slice([from..from + 1, 0..columns]);
        x.set([to..to + 1, 0..columns], &row);
    }
    for (from, to) in [(columns - 2, 0), (1, columns - 1)] {
        let column = x.slice([0..rows, from..from + 1]);
        x.set([0..rows, to..to + 1], &column);
    }
}

/// Steps of shallow water on a torus, which is read with `periodic`, or has margins and is read with `at`; then a sum of
/// squares. Margins are brought up to date before each step.
fn flown<S: Taping<Value = f64>>([h, u, v]: [&mut View<S, 2>; 3], steps: usize, margins: bool) -> Real<S> {
    for _ in 0..steps {
        if margins {
            [&mut *h, &mut *u, &mut *v].into_iter().for_each(wrap);
            flow!(h.interior(1), [&mut *h, &mut *u, &mut *v], at);
        } else {
            flow!(h.all(), [&mut *h, &mut *u, &mut *v], periodic);
        }
    }
    parallel_sum(h.interior(usize::from(margins)), (&*h, &*u, &*v), |(h, u, v)| {
        h.at::<0, 0>().square() + u.at::<0, 0>().square() + v.at::<0, 0>().square()
    })
}

/// Shallow water on a torus of n × n points, beside the same with margins: in turn.
fn torus(n: usize, steps: usize) {
    let mut sums = [0.0; 2];
    let mut times = [[f64::INFINITY; 2]; 2];
    let mut ways = [false, true].map(|margins| {
        let m = n + 2 * usize::from(margins);
        let of = |k: usize| (k + n - usize::from(margins)) % n;
        let field =
            |step: usize| (0..m * m).map(|k| ((of(k / m) * n + of(k % m)) * step % 101) as f64 / 101.0).collect();
        (margins, m, [37, 53, 29].map(field) as [Vec<f64>; 3], Tape::<Jacobian>::new())
    });
    for round in 0..if n < 200 { 20 } else { 6 } {
        for (way, (margins, m, fields, tape)) in ways.iter_mut().enumerate() {
            let start = fields.each_ref().map(|field| View::<Passive, 2>::new([*m, *m], field));
            let [mut h, mut u, mut v] = start;
            let passive = taken(|| _ = black_box(flown([&mut h, &mut u, &mut v], steps, *margins).value()));
            let gradient = taken(|| {
                let (inputs, sum) = tape.record(|scope| {
                    let [mut h, mut u, mut v] = fields.each_ref().map(|field| scope.view([*m, *m], field));
                    let inputs = [h.clone(), u.clone(), v.clone()];
                    (inputs, flown([&mut h, &mut u, &mut v], steps, *margins))
                });
                let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
                let slopes = inputs.each_ref().map(|input| adjoints.of_view(input).expect("an input"));
                // Adjoints of margins have been passed on to the elements that were copied there.
                sums[way] = slopes.iter().flat_map(|slopes| slopes.iter()).sum::<f64>() + sum.value();
            });
            if round > 0 {
                times[way] = [times[way][0].min(passive), times[way][1].min(gradient)];
            }
        }
        assert!((sums[0] - sums[1]).abs() <= 1e-9 * sums[0].abs(), "{sums:?}");
    }
    let [periodic, margins] = times;
    println!(
        "torus {n:>5}² × {steps}: periodic {:.3} ms through views, recorded gradient {:.2} ×; with margins {:.2} and {:.2} times as long",
        periodic[0] * 1e3,
        periodic[1] / periodic[0],
        margins[0] / periodic[0],
        margins[1] / periodic[1]
    );
}

/// A launch over a single point.
fn one_point() {
    const LAUNCHES: usize = 1000;
    let mut tape = Tape::<Jacobian>::new();
    let record = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let mut x = scope.view([1], &[1.0]);
            (0..LAUNCHES).for_each(|_| parallel_for(0..1, &mut x, |x| (0.5 * x.at::<0>(),)));
            parallel_sum(0..1, &x, |x| x.at::<0>())
        })
    };
    let recorded = least(40, 20, || _ = black_box(record(&mut tape)));
    let sum = record(&mut tape);
    let swept = least(40, 20, || _ = black_box(tape.sweep(&[(&sum, 1.0)]).expect("its own output")));
    let each = |seconds: f64| seconds / LAUNCHES as f64 * 1e9;
    println!("a launch over one point: {:.0} ns to record, {:.0} ns to sweep", each(recorded), each(swept));
}

/// A time step on a small grid, as one launch and as a scalar statement for each point.
fn small(n: usize) {
    const STEPS: usize = 100;
    let numbers: Vec<f64> = (0..n).map(|k| (k * 37 % 101) as f64).collect();
    let (mut launched, mut stated) = (Tape::<Jacobian>::new(), Tape::<Jacobian>::new());
    let launches = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let mut u = scope.view([n], &numbers);
            for _ in 0..STEPS {
                parallel_for(u.all(), &mut u, |u| {
                    (u.at::<0>() + 0.1 * (u.or_zero::<-1>() + u.or_zero::<1>() - 2.0 * u.at::<0>()),)
                });
            }
            parallel_sum(u.all(), &u, |u| u.at::<0>())
        })
    };
    let statements = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let (mut u, zero) = (scope.inputs(&numbers), Real::constant(0.0));
            let mut new = u.clone();
            for _ in 0..STEPS {
                for i in 0..n {
                    let (left, right) = (if i > 0 { &u[i - 1] } else { &zero }, u.get(i + 1).unwrap_or(&zero));
                    new[i] = (u[i] + 0.1 * (left + right - 2.0 * u[i])).into();
                }
                core::mem::swap(&mut u, &mut new);
            }
            u.iter().sum::<Real<_>>()
        })
    };
    let (a, b) = (launches(&mut launched), statements(&mut stated));
    assert!((a.value() - b.value()).abs() <= 1e-10 * b.value().abs(), "{} and {}", a.value(), b.value());
    let mut least_of = [f64::INFINITY; 4];
    let repetitions = (4000 / n).max(4);
    for _ in 0..15 {
        let record = [
            least(1, repetitions, || _ = black_box(launches(&mut launched))),
            least(1, repetitions, || _ = black_box(statements(&mut stated))),
        ];
        let (a, b) = (launches(&mut launched), statements(&mut stated));
        let sweep = [
            least(1, repetitions, || _ = black_box(launched.sweep(&[(&a, 1.0)]).expect("its own output"))),
            least(1, repetitions, || _ = black_box(stated.sweep(&[(&b, 1.0)]).expect("its own output"))),
        ];
        for (least, seconds) in least_of.iter_mut().zip(record.into_iter().chain(sweep)) {
            *least = least.min(seconds / STEPS as f64 * 1e9);
        }
    }
    let [launch, statements, sweep, sweep_of_statements] = least_of;
    println!(
        "{n:>5} points: one launch {launch:.0} ns to record and {sweep:.0} ns to sweep, {n} statements {statements:.0} \
         and {sweep_of_statements:.0} ns: {:.2} ×",
        (launch + sweep) / (statements + sweep_of_statements)
    );
}

/// The sweep of three launches, each of which uses at a point what others have written there: two products, and a third
/// or a quotient. Between them are launches over another range, or none.
fn in_a_row(n: usize, divides: bool, apart: bool) -> impl FnMut(usize) -> (Vec<f64>, LoopCounts) {
    let start: Vec<f64> = (0..n).map(|k| (k * 37 % 101) as f64 / 101.0).collect();
    let mut tape = Tape::<Jacobian>::new();
    let (x, sum) = tape.record(|scope| {
        let (x, mut beside) = (scope.view([n], &start), scope.view([1], &[1.0]));
        let mut other = || {
            if apart {
                parallel_for(beside.all(), &mut beside, |b| (2.0 * b.at::<0>(),));
            }
        };
        let (mut y, mut z, mut w) = (View::zeros([n]), View::zeros([n]), View::zeros([n]));
        parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>() * x.at::<0>(),));
        other();
        if divides {
            parallel_for(x.all(), (&y, &mut z), |(y, _)| ((y.at::<0>() + 1.0) / (y.at::<0>().square() + 2.0),));
        } else {
            parallel_for(x.all(), (&y, &mut z), |(y, _)| (y.at::<0>() * (y.at::<0>() + 1.0),));
        }
        other();
        parallel_for(x.all(), (&z, &y, &mut w), |(z, y, _)| (z.at::<0>() * y.at::<0>(),));
        (x, parallel_sum(w.all(), &w, |w| w.at::<0>()))
    });
    move |samples| {
        let (swept, counts) = counted(|| tape.sweep(&[(&sum, 1.0)]).expect("its own output"));
        let found = swept.of_view(&x).expect("x");
        (found.iter().copied().step_by(n.div_ceil(samples)).collect(), counts)
    }
}

/// Launches that are swept together, beside the same launches apart from one another: in turn.
fn together(n: usize, divides: bool) {
    let (mut together, mut apart) = (in_a_row(n, divides, false), in_a_row(n, divides, true));
    let ((found, one), (expected, three)) = (together(n), apart(n));
    assert!(found == expected, "the same bits");
    let mut times = [f64::INFINITY; 2];
    for _ in 0..40 {
        times[0] = times[0].min(least(1, 1, || _ = black_box(together(1))));
        times[1] = times[1].min(least(1, 1, || _ = black_box(apart(1))));
    }
    println!(
        "three launches over {n:>8}, {}: swept in {} regions {:.3} ms, in {} {:.2} ×",
        if divides { "one divides" } else { "products" },
        three.regions,
        times[1] * 1e3,
        one.regions,
        times[0] / times[1]
    );
}

fn main() {
    println!("level {:?}", InstructionSet::current());
    for n in [100_000, 1_000_000, 4_000_000] {
        [false, true].into_iter().for_each(|divides| together(n, divides));
    }
    matvec(1000);
    one_point();
    for n in [1, 4, 8, 16, 32, 64, 128, 256, 1000] {
        small(n);
    }
    heat(128, 32);
    heat(1024, 4);
    torus(128, 32);
    torus(512, 4);
    for n in [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000] {
        laplacian(n);
    }
    burgers_at(128, 32, Some([21_035.428_975_935_156, 28_968.854_308_502_818, 313.572_136_589_831_87]));
    burgers_at(512, 4, None);
    burgers_at(2048, 2, None);
}
