//! Operands of lower rank: they lie along some dimensions of a launch, and are repeated along the others.

use crate::{at_every_level, bits, close, numbers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{LoopCounts, View, counted, parallel_for, parallel_max, parallel_row_sums, parallel_sum};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::tape::LaneVector;
use tapewright::{Dual, Number};

/// The tutorial's yᵀAx: one sum over the matrix.
fn quadratic<S: Taping<Value = f64>>(y: &View<S, 1>, a: &View<S, 2>, x: &View<S, 1>) -> Real<S> {
    parallel_sum(a.all(), (y.along::<0>(), a, x.along::<1>()), |(y, a, x)| y.at() * a.at::<0, 0>() * x.at())
}

/// y = A·x.
fn product<S: Taping<Value = f64>>(a: &View<S, 2>, x: &View<S, 1>) -> View<S, 1> {
    parallel_row_sums(a.all(), (a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at())
}

/// Elements on both sides of registers, chunks of columns and blocks of rows.
const SHAPES: [[usize; 2]; 7] = [[1, 1], [5, 3], [3, 1], [1, 40], [37, 70], [130, 1030], [700, 9]];

#[test]
fn the_tutorials_sum_and_its_gradient_are_as_by_formula() {
    for [m, n] in SHAPES {
        let (ys, matrix, xs) = (numbers(m, 1), numbers(m * n, 2), numbers(n, 3));
        let found = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let ([y, x], a, sum) = tape.record(|scope| {
                let (y, x, a) = (scope.view([m], &ys), scope.view([n], &xs), scope.view([m, n], &matrix));
                let sum = quadratic(&y, &a, &x);
                ([y, x], a, sum)
            });
            let adjoints = tape.sweep(&[(&sum, 2.0)]).expect("it is swept");
            let of = |view: &View<_, 1>| adjoints.of_view(view).expect("an input").to_vec();
            [vec![sum.value()], of(&y), adjoints.of_view(&a).expect("an input").to_vec(), of(&x)].map(|all| bits(&all))
        });
        let [sum, y, a, x] = found.map(|all| all.into_iter().map(f64::from_bits).collect::<Vec<f64>>());
        let scale = (m * n) as f64;
        let at = |i: usize, j: usize| matrix[i * n + j];
        let row = |i: usize| (0..n).map(|j| at(i, j) * xs[j]).sum::<f64>();
        assert!(close(sum[0], (0..m).map(|i| ys[i] * row(i)).sum(), scale), "{m} {n}");
        for i in 0..m {
            assert!(close(y[i], 2.0 * row(i), scale), "{m} {n}: {i}");
            for j in 0..n {
                assert_eq!(a[i * n + j], 2.0 * ys[i] * xs[j]);
            }
        }
        for j in 0..n {
            assert!(close(x[j], 2.0 * (0..m).map(|i| at(i, j) * ys[i]).sum::<f64>(), scale), "{m} {n}: {j}");
        }
    }
}

#[test]
fn a_product_of_matrix_and_vector_has_the_adjoints_of_the_formula() {
    for [m, n] in SHAPES {
        let (matrix, xs, seeds) = (numbers(m * n, 2), numbers(n, 3), numbers(m, 4));
        let found = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (a, x, y) = tape.record(|scope| {
                let (a, x) = (scope.view([m, n], &matrix), scope.view([n], &xs));
                let y = product(&a, &x);
                (a, x, y)
            });
            let adjoints = tape.sweep_view(&[], (&y, &seeds)).expect("it is swept");
            let (a, x) = (adjoints.of_view(&a).expect("an input"), adjoints.of_view(&x).expect("an input"));
            [bits(y.values()), bits(&a), bits(&x)]
        });
        let [y, a, x] = found.map(|all| all.into_iter().map(f64::from_bits).collect::<Vec<f64>>());
        for i in 0..m {
            assert!(close(y[i], (0..n).map(|j| matrix[i * n + j] * xs[j]).sum(), n as f64));
            for j in 0..n {
                assert_eq!(a[i * n + j], seeds[i] * xs[j]);
            }
        }
        for j in 0..n {
            assert!(close(x[j], (0..m).map(|i| matrix[i * n + j] * seeds[i]).sum(), m as f64));
        }
    }
}

/// A launch over `[1..3, 0..4, 1..n−1]` of a view with shifts, written to a view of full rank beside an operand that lies
/// along some of the dimensions, against loops by hand.
macro_rules! along_each {
    ($($name:ident $shape:expr, $along:ident [$($d:literal)*];)*) => { $(
        #[test]
        fn $name() {
            for n in [3, 6, 41] {
                let (shape, lengths) = ([4_usize, 4, n], $shape(n));
                let (ts, xs) = (numbers(16 * n, 1), numbers(lengths.iter().product(), 2));
                let seeds = numbers(16 * n, 5);
                let found = at_every_level(|| {
                    let mut tape = Tape::<Jacobian>::new();
                    let (t, x, y) = tape.record(|scope| {
                        let (t, x) = (scope.view(shape, &ts), scope.view(lengths, &xs));
                        let mut y = View::zeros(shape);
                        parallel_for([1..3, 0..4, 1..n - 1], (&t, x.$along::<$($d),*>(), &mut y), |(t, x, _)| {
                            (t.at::<1, 0, -1>() * x.at() + t.or_zero::<0, 1, 1>() * x.at().square(),)
                        });
                        (t, x, y)
                    });
                    let adjoints = tape.sweep_view(&[], (&y, &seeds)).expect("it is swept");
                    let (t, x) = (adjoints.of_view(&t).expect("an input"), adjoints.of_view(&x).expect("an input"));
                    [bits(y.values()), bits(&t), bits(&x)]
                });
                let [y, t, x] = found.map(|all| all.into_iter().map(f64::from_bits).collect::<Vec<f64>>());
                let (mut y_by_hand, mut t_by_hand) = (vec![0.0; 16 * n], vec![0.0; 16 * n]);
                let mut x_by_hand = vec![0.0; xs.len()];
                for i in 1..3 {
                    for j in 0..4 {
                        for k in 1..n - 1 {
                            let (point, mut e) = ([i, j, k], 0);
                            for (d, length) in [$($d),*].into_iter().zip(lengths) {
                                e = e * length + point[d];
                            }
                            let at = |i: usize, j: usize, k: usize| (i * 4 + j) * n + k;
                            let (p, a, b) = (at(i, j, k), at(i + 1, j, k - 1), at(i, j + 1, k + 1));
                            let (x, seed, beside) = (xs[e], seeds[p], if j < 3 { ts[b] } else { 0.0 });
                            y_by_hand[p] = ts[a] * x + beside * x * x;
                            x_by_hand[e] += seed * (ts[a] + 2.0 * beside * x);
                            t_by_hand[a] += seed * x;
                            if j < 3 {
                                t_by_hand[b] += seed * x * x;
                            }
                        }
                    }
                }
                for (found, expected) in [(y, y_by_hand), (t, t_by_hand), (x, x_by_hand)] {
                    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        assert!(close(*found, *expected, 16.0 * n as f64), "{n}: {k}: {found}, not {expected}");
                    }
                }
            }
        }
    )* };
}
along_each! {
    along_the_first_of_three_dimensions |_| [4], along [0];
    along_the_second_of_three_dimensions |_| [4], along [1];
    along_the_last_of_three_dimensions |n| [n], along [2];
    along_the_first_two_of_three_dimensions |_| [4, 4], along2 [0 1];
    along_the_outer_two_of_three_dimensions |n| [4, n], along2 [0 2];
    along_the_last_two_of_three_dimensions |n| [4, n], along2 [1 2];
}

#[test]
fn an_outer_product_of_rank_4_has_the_adjoints_of_the_formula() {
    let shape = [2, 3, 2, 5];
    let (xs, ys, seeds) = (numbers(3, 1), numbers(20, 2), numbers(60, 3));
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, z) = tape.record(|scope| {
        let (x, y) = (scope.view([3], &xs), scope.view([2, 2, 5], &ys));
        let mut z = View::zeros(shape);
        parallel_for(z.all(), (x.along::<1>(), &mut z, y.along3::<0, 2, 3>()), |(x, _, y)| (x.at() * y.at(),));
        (x, y, z)
    });
    let adjoints = tape.sweep_view(&[], (&z, &seeds)).expect("it is swept");
    let (mut dx, mut dy) = ([0.0; 3], [0.0; 20]);
    for (p, seed) in seeds.iter().enumerate() {
        let (i, j, e) = (p / 30, p / 10 % 3, p % 10);
        assert_eq!(z.values()[p], xs[j] * ys[i * 10 + e]);
        dx[j] += seed * ys[i * 10 + e];
        dy[i * 10 + e] += seed * xs[j];
    }
    let (x, y) = (adjoints.of_view(&x).expect("an input"), adjoints.of_view(&y).expect("an input"));
    assert!(x.iter().zip(dx).all(|(found, expected)| close(*found, expected, 20.0)));
    assert!(y.iter().zip(dy).all(|(found, expected)| close(*found, expected, 3.0)));
}

/// A zero seed, or a zero partial derivative, contributes nothing, even where the other factor is infinite or NaN.
#[test]
fn a_zero_seed_takes_nothing_from_an_infinite_element() {
    for odd in [f64::INFINITY, f64::NAN] {
        let n = 37;
        let mut matrix = numbers(3 * n, 1);
        matrix[n + 2] = odd;
        let mut seeds = vec![1.0; 3 * n];
        seeds[n + 2] = 0.0;
        let found = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, w, y) = tape.record(|scope| {
                let (x, w) = (scope.view([n], &numbers(n, 3)), scope.view([3], &[1.0, 2.0, 3.0]));
                let (a, mut y) = (View::new([3, n], &matrix), View::zeros([3, n]));
                parallel_for(y.all(), (&a, x.along::<1>(), w.along::<0>(), &mut y), |(a, x, w, _)| {
                    (a.at::<0, 0>() * (x.at() + w.at()),)
                });
                (x, w, y)
            });
            let adjoints = tape.sweep_view(&[], (&y, &seeds)).expect("it is swept");
            bits(
                &[adjoints.of_view(&x).expect("an input").to_vec(), adjoints.of_view(&w).expect("an input").to_vec()]
                    .concat(),
            )
        });
        let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
        for j in 0..n {
            let expected = (0..3).map(|i| if (i, j) == (1, 2) { 0.0 } else { matrix[i * n + j] }).sum();
            assert!(close(found[j], expected, 3.0), "{j}: {} {expected}", found[j]);
        }
        assert!(found[n..].iter().all(|sum| sum.is_finite()));
    }
}

#[test]
fn tangents_replays_and_searches_follow_operands_of_lower_rank() {
    let (m, n) = (7, 21);
    let (ys, matrix, xs) = (numbers(m, 1), numbers(m * n, 2), numbers(n, 3));
    let moving = |values: &[f64]| View::<Tangent<1>, 1>::moving([values.len()], values, |_| vec![1.0; values.len()]);
    let tangent = quadratic(&moving(&ys), &View::new([m, n], &matrix), &moving(&xs)).tangent()[0];
    let mut expected = 0.0;
    (0..m * n).for_each(|k| expected += matrix[k] * (xs[k % n] + ys[k / n]));
    assert!(close(tangent, expected, (m * n) as f64));

    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (y, x, sum) = tape.record(|scope| {
        let (y, x, a) = (scope.view([m], &ys), scope.view([n], &xs), View::new([m, n], &matrix));
        let most = parallel_max(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() + 5.0 * x.at());
        let sum: Real<PrimalValue> = (quadratic(&y, &a, &x) + most).into();
        (y, x, sum)
    });
    let other = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
    let new = tape.new_inputs().view(&y, &other(&ys)).and_then(|new| new.view(&x, &other(&xs)));
    new.and_then(|new| new.replay()).expect("it is replayed");
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
    let best = (0..m * n).max_by(|k, l| {
        let value = |k: &usize| matrix[*k] + 5.0 * other(&xs)[k % n];
        value(k).total_cmp(&value(l))
    });
    for j in 0..n {
        let expected = (0..m).map(|i| matrix[i * n + j] * other(&ys)[i]).sum::<f64>();
        let expected = expected + if best.is_some_and(|best| best % n == j) { 5.0 } else { 0.0 };
        assert!(close(adjoints.of_view(&x).expect("an input")[j], expected, m as f64), "{j}");
    }
}

#[test]
fn lengths_and_unread_operands_are_refused() {
    let (a, x) = (View::<Passive, 2>::zeros([2, 3]), View::<Passive, 1>::zeros([2]));
    let message = |f: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it is refused");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let wrong = || _ = parallel_sum(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at());
    let expected = "operand 1 lies along the dimensions [1] of a launch over [2, 3]: it has shape [2], not [3]";
    assert_eq!(message(&wrong), expected);
    let unread = || _ = parallel_sum(a.all(), (&a, x.along::<0>()), |(a, _)| a.at::<0, 0>());
    assert!(message(&unread).contains("the kernel does not read it"));
}

/// The parts of yᵀ·(A∘A)·x and of its adjoints, with vectors of lower rank or by statements.
fn parts_of<V: Number>(by_kernel: bool, [m, n]: [usize; 2]) -> Vec<f64> {
    let elements = |count: usize, seed: usize| -> Vec<V> {
        let all = numbers(count * V::PARTS, seed);
        (0..count).map(|k| V::from_parts(|part| all[k * V::PARTS + part])).collect()
    };
    let mut tape = Tape::<Jacobian<V>>::new();
    let (y, a, x, sum) = tape.record(|scope| {
        let (y, x) = (scope.view([m], &elements(m, 1)), scope.view([n], &elements(n, 2)));
        let a = scope.view([m, n], &elements(m * n, 3));
        let sum = if by_kernel {
            let rows: View<_, 1> =
                parallel_row_sums(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>().square() * x.at());
            let matrix = rows.reshape([m, 1]);
            parallel_sum(matrix.all(), (&matrix, y.along::<0>()), |(r, y)| r.at::<0, 0>() * y.at())
        } else {
            let (ys, matrix, xs) = (y.to_variables(), a.to_variables(), x.to_variables());
            let mut sum = Real::constant(V::ZERO);
            for (row, y) in matrix.chunks(n).zip(&ys) {
                for (a, x) in row.iter().zip(&xs) {
                    sum += *a * *a * *x * *y;
                }
            }
            sum
        };
        (y, a, x, sum)
    });
    let mut lanes = LaneVector::new(2);
    let found = tape.sweep_lanes_with(&mut lanes, &[(&sum, &[V::ONE, elements(1, 4)[0]])]).expect("swept");
    let mut all = vec![sum.value()];
    for lane in 0..2 {
        all.extend_from_slice(&found.of_view(&y, lane).expect("an input"));
        all.extend_from_slice(&found.of_view(&a, lane).expect("an input"));
        all.extend_from_slice(&found.of_view(&x, lane).expect("an input"));
    }
    all.iter().flat_map(|number| (0..V::PARTS).map(|k| number.part(k).as_f64())).collect()
}

#[test]
fn numbers_of_all_kinds_have_the_adjoints_of_statements() {
    fn check<V: Number>(tolerance: f64) {
        for shape in [[1, 1], [3, 19], [21, 4]] {
            let (kernel, statements) = (parts_of::<V>(true, shape), parts_of::<V>(false, shape));
            for (k, (a, b)) in kernel.iter().zip(&statements).enumerate() {
                assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{shape:?}, part {k}: {a} and {b}");
            }
        }
    }
    check::<f64>(1e-12);
    check::<f32>(1e-3);
    check::<Dual<f64, 1>>(1e-12);
    check::<Dual<f64, 6>>(1e-12);
    check::<Pack<3>>(1e-12);
    check::<Dual<Pack<2>, 2>>(1e-12);
}

/// Counts of the recording of y = A·x, or of y = Aᵀ·x along the other dimension, and of its sweep.
fn counts_of_a_product([m, n]: [usize; 2], by_columns: bool) -> [LoopCounts; 2] {
    let mut tape = Tape::<Jacobian>::new();
    let (y, recorded) = counted(|| {
        tape.record(|scope| {
            let a = scope.view([m, n], &numbers(m * n, 1));
            if by_columns {
                let x = scope.view([m], &numbers(m, 2));
                return parallel_sum(a.all(), (&a, x.along::<0>()), |(a, x)| a.at::<0, 0>() * x.at());
            }
            let x = scope.view([n], &numbers(n, 2));
            let y = product(&a, &x);
            // A sum, whose adjoint is one number for all elements, takes a loop in the recording only.
            parallel_sum(y.all(), &y, |y| y.at::<0>())
        })
    });
    let (swept, counts) = counted(|| tape.sweep(&[(&y, 1.0)]).is_ok());
    assert!(swept);
    [recorded, counts]
}

/// A matrix of one block and one of many, with many rows and with few, and with rows of several blocks. All threads
/// wait for one another at the end of a region.
#[test]
fn a_loop_and_a_region_are_counted_for_each_operand_of_lower_rank() {
    let check = |threads: usize| {
        for shape in [[3, 4], [300, 301], [40_000, 2], [2, 70_000]] {
            let counts =
                |by_columns: bool| counts_of_a_product(shape, by_columns).map(|counts| [counts.loops, counts.regions]);
            // Two sums in the recording; adjoints of A and of x in the sweep.
            let rows = if shape[1] > 65_536 { shape[0] } else { 1 };
            assert_eq!(counts(false), [[rows + 1; 2], [2; 2]], "{shape:?}, {threads} threads");
            assert_eq!(counts(true), [[1; 2], [2; 2]], "{shape:?}, {threads} threads");
        }
    };
    #[cfg(not(feature = "threads"))]
    check(1);
    #[cfg(feature = "threads")]
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| check(threads));
    }
}
