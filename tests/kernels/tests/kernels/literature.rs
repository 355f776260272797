//! What the literature on gradients of array kernels says: rows K1 to K18.

use super::{at_every_level, bits, close, numbers};
use tapewright::kernels::{
    View, counted, deep_copy, fill, parallel_for, parallel_row_sums, parallel_scan, parallel_sum,
};
use tapewright::prelude::*;
use tapewright::{Continuation, Hybrid, Reuse, Tape};
use tapewright_test_support::central_differences;

/// Runs a generic function under a strategy of each kind. Random programs run under all of them, in `mixtures/ways.rs`.
macro_rules! everywhere {
    ($f:ident) => {
        $f::<Jacobian>();
        $f::<PrimalValue<f64, Reuse>>();
        $f::<Hybrid>();
        $f::<Continuation>();
    };
}

#[test]
fn k1_a_view_has_a_shadow_of_its_shape() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, sum) = tape.record(|scope| {
            let x = scope.view([3, 4], &numbers(12, 0));
            let sum = parallel_sum(x.all(), &x, |x| x.at::<0, 0>());
            (x, sum)
        });
        let adjoints = tape.sweep(&[(&sum, 2.0)]).expect("swept");
        assert_eq!(x.shape(), [3, 4]);
        assert_eq!(*adjoints.of_view(&x).expect("of this recording"), [2.0; 12]);
    }
    everywhere!(holds);
}

#[test]
fn k2_reads_become_writes_and_writes_become_reads() {
    // y[j + 1] = 2.6·x[j]
    let n = 21;
    let adjoint = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.view([n], &numbers(n, 1));
            let mut y = scope.view([n], &numbers(n, 2));
            parallel_for(1..n, (&x, &mut y), |(x, _)| (2.6 * x.at::<-1>(),));
            (x, y)
        });
        assert_eq!(y.values()[5], 2.6 * numbers(n, 1)[4]);
        let adjoints = tape.sweep_view(&[], (&y, &numbers(n, 3))).expect("swept");
        (adjoints.of_view(&x).expect("of this recording").into_owned(), adjoints.of_view(&y).expect("y").into_owned())
    });
    let seeds = numbers(n, 3);
    for j in 0..n - 1 {
        assert_eq!(adjoint.0[j], 2.6 * seeds[j + 1], "∂x[{j}]");
    }
    assert_eq!(adjoint.0[n - 1], 0.0);
    // What was written before is overwritten, but for the first element.
    assert_eq!(adjoint.1[0], seeds[0]);
    assert!(adjoint.1[1..].iter().all(|adjoint| *adjoint == 0.0));
}

#[test]
fn k3_copies_add_and_what_is_copied_into_loses_its_adjoint() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.view([5], &numbers(5, 1));
            let mut y = scope.view([5], &numbers(5, 2));
            deep_copy(&x, &mut y);
            (x, y)
        });
        assert_eq!(y.values(), x.values());
        let adjoints = tape.sweep_view(&[], (&y, &[1.0, 2.0, 3.0, 4.0, 5.0])).expect("swept");
        assert_eq!(*adjoints.of_view(&x).expect("x"), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(*adjoints.of_view(&y).expect("y"), [0.0; 5]);
    }
    everywhere!(holds);
}

#[test]
fn k4_a_variable_that_is_copied_to_a_view_gets_the_sum() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(3.0);
            let mut y = View::zeros([2, 3]);
            fill(&x, &mut y);
            (x, y)
        });
        assert_eq!(y.values(), [3.0; 6]);
        let adjoints = tape.sweep_view(&[], (&y, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).expect("swept");
        assert_eq!(adjoints.of(&x), Ok(21.0));
    }
    everywhere!(holds);
}

#[test]
fn k5_sums_of_views_of_every_rank() {
    let mut tape = Tape::<Jacobian>::new();
    let (views, sum) = tape.record(|scope| {
        let a = scope.view([24], &numbers(24, 0));
        let b = scope.view([4, 6], &numbers(24, 1));
        let c = scope.view([2, 3, 4], &numbers(24, 2));
        let d = scope.view([2, 3, 2, 2], &numbers(24, 3));
        let sums = [
            parallel_sum(a.all(), &a, |a| a.at::<0>()),
            parallel_sum(b.all(), &b, |b| 2.0 * b.at::<0, 0>()),
            parallel_sum(c.interior(0), &c, |c| 3.0 * c.at::<0, 0, 0>()),
            parallel_sum(d.all(), &d, |d| d.at::<0, 0, 0, 0>().square()),
        ];
        let sum = tapewright::sum(&sums);
        ((a, b, c, d), sum)
    });
    let expected = |scale: f64, seed| scale * numbers(24, seed).iter().sum::<f64>();
    let squares: f64 = numbers(24, 3).iter().map(|x| x * x).sum();
    assert!(close(sum.value(), expected(1.0, 0) + expected(2.0, 1) + expected(3.0, 2) + squares, 24.0));
    let adjoints = tape.sweep(&[(&sum, 0.5)]).expect("swept");
    assert_eq!(*adjoints.of_view(&views.0).expect("a"), [0.5; 24]);
    assert_eq!(*adjoints.of_view(&views.1).expect("b"), [1.0; 24]);
    assert_eq!(*adjoints.of_view(&views.2).expect("c"), [1.5; 24]);
    assert_eq!(*adjoints.of_view(&views.3).expect("d"), *numbers(24, 3));
}

/// Adds a view to another one and the sum of the result to a variable, and compares values and adjoints.
macro_rules! adds {
    ($shape:expr, $x:ident => $at:expr, $y:ident => $other:expr) => {{
        let mut tape = Tape::<Jacobian>::new();
        let (a, b, k, total) = tape.record(|scope| {
            let (mut a, b) = (scope.view($shape, &numbers(24, 0)), scope.view($shape, &numbers(24, 1)));
            let (before, k) = (a.clone(), scope.input(0.5));
            parallel_for(a.all(), (&mut a, &b), |($x, $y)| ($at + $other,));
            let mut total: Real<_> = (2.0 * &k).into();
            total += parallel_sum(a.all(), &a, |$x| $at);
            (before, b, k, total)
        });
        let expected = 1.0 + numbers(24, 0).iter().chain(&numbers(24, 1)).sum::<f64>();
        assert!(close(total.value(), expected, 24.0));
        let adjoints = tape.sweep(&[(&total, 3.0)]).expect("swept");
        assert_eq!(adjoints.of(&k), Ok(6.0));
        assert_eq!(*adjoints.of_view(&a).expect("a"), [3.0; 24]);
        assert_eq!(*adjoints.of_view(&b).expect("b"), [3.0; 24]);
    }};
}

#[test]
fn k5_views_and_sums_of_views_are_added_at_every_rank() {
    adds!([24], x => x.at::<0>(), y => y.at::<0>());
    adds!([4, 6], x => x.at::<0, 0>(), y => y.at::<0, 0>());
    adds!([2, 3, 4], x => x.at::<0, 0, 0>(), y => y.at::<0, 0, 0>());
    adds!([2, 3, 2, 2], x => x.at::<0, 0, 0, 0>(), y => y.at::<0, 0, 0, 0>());
}

/// The example of the paper: x ← 3x; y = A·x − b with 2 on the diagonal of A and −1 beside it; y2 = y²; Σ y2.
fn norm_res<S: Taping<Value = f64>>(x: &mut View<S, 1>, b: &View<S, 1>) -> (Real<S>, View<S, 1>) {
    let (mut y, mut y2) = (View::zeros(x.shape()), View::zeros(x.shape()));
    parallel_for(x.all(), &mut *x, |x| (3.0 * x.at::<0>(),));
    parallel_for(x.all(), (&*x, b, &mut y, &mut y2), |(x, b, y, _)| {
        (2.0 * x.at::<0>() - b.at::<0>() - x.or_zero::<-1>() - x.or_zero::<1>(), y.new().square())
    });
    (parallel_sum(y2.all(), &y2, |y2| y2.at::<0>()), y)
}

#[test]
fn k8_the_residual_of_a_laplacian_has_the_gradient_of_the_formula() {
    fn holds<S: Reverse<Value = f64>>() {
        for n in [1, 2, 3, 7, 8, 9, 16, 17, 33, 10_000] {
            let (x, b) = (numbers(n, 4), numbers(n, 5));
            let (value, gx, gb, kept) = at_every_level(|| {
                let mut tape = Tape::<S>::new();
                let (x, b, (sum, _)) = tape.record(|scope| {
                    let (mut x, b) = (scope.view([n], &x), scope.view([n], &b));
                    let sum = norm_res(&mut x, &b);
                    (x, b, sum)
                });
                let (adjoints, counts) = counted(|| tape.sweep(&[(&sum, 1.0)]).expect("swept"));
                let kept = counts.loops;
                (
                    sum.value().to_bits(),
                    bits(&adjoints.of_view(&x).expect("x")),
                    bits(&adjoints.of_view(&b).expect("b")),
                    kept,
                )
            });
            // The sum has one adjoint for all elements, and needs no loop.
            assert_eq!(kept, 2, "K10: one reverse kernel for each launch");
            let at = |v: &[f64], k: usize, shift: isize| {
                k.checked_add_signed(shift).and_then(|k| v.get(k)).copied().unwrap_or(0.0)
            };
            let r: Vec<f64> = (0..n).map(|k| 3.0 * (2.0 * x[k] - at(&x, k, -1) - at(&x, k, 1)) - b[k]).collect();
            let sum: f64 = r.iter().map(|r| r * r).sum();
            assert!(close(f64::from_bits(value), sum, n as f64), "the value at n = {n}");
            for k in 0..n {
                let expected = 6.0 * (2.0 * r[k] - at(&r, k, -1) - at(&r, k, 1));
                assert!(close(f64::from_bits(gx[k]), expected, 24.0), "∂x[{k}] of {n}");
                assert!(close(f64::from_bits(gb[k]), -2.0 * r[k], 8.0), "∂b[{k}] of {n}");
            }
        }
    }
    everywhere!(holds);
}

#[test]
fn k7_three_reads_of_x_would_need_atomic_updates() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let (mut x, b) = (scope.view([9], &numbers(9, 4)), scope.view([9], &numbers(9, 5)));
        _ = norm_res(&mut x, &b);
    });
    let launches = tape.launches();
    // x ← 3x; then the operands x, b, y, y2; then y2.
    assert_eq!(launches[0].conflicting_reads, [0]);
    assert_eq!(launches[1].conflicting_reads, [3, 0, 0, 0]);
    assert_eq!(launches[2].conflicting_reads, [0]);
}

#[test]
fn k12_a_kernel_may_overwrite_what_it_reads_in_a_way_that_is_not_linear() {
    fn holds<S: Reverse<Value = f64>>() {
        let n = 13;
        let mut tape = Tape::<S>::new();
        let (y, sum) = tape.record(|scope| {
            let mut y = scope.view([n], &numbers(n, 7));
            parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>(),));
            parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>() * y.at::<0>(),));
            let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
            (y, sum)
        });
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        for (adjoint, x) in adjoints.of_view(&y).expect("y").iter().zip(numbers(n, 7)) {
            assert!(close(*adjoint, 6.0 * x.powi(5), 1.0));
        }
    }
    everywhere!(holds);
}

#[test]
fn k6_a_kernel_that_reads_one_variable_is_reversed_by_a_reduction() {
    fn holds<S: Reverse<Value = f64>>() {
        let n = 100;
        let mut tape = Tape::<S>::new();
        let (k, sum) = tape.record(|scope| {
            let k = scope.input(1.5);
            let mut x = scope.view([n], &numbers(n, 7));
            parallel_for(1..n - 1, (&mut x, &k), |(x, k)| {
                (x.at::<0>() + k * (x.at::<-1>() - 2.0 * x.at::<0>() + x.at::<1>()) * x.at::<0>(),)
            });
            let sum = parallel_sum(x.all(), &x, |x| x.at::<0>().square());
            (k, sum)
        });
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        // With u = x + k·e·x, e = x₋ − 2x + x₊, over the interior: ∂Σu²/∂k = Σ 2·u·e·x. All slopes of such kernels are
        // compared with those of statements in `trees.rs`.
        let x = numbers(n, 7);
        let e = |i: usize| x[i - 1] - 2.0 * x[i] + x[i + 1];
        let slope: f64 = (1..n - 1).map(|i| 2.0 * (x[i] + 1.5 * e(i) * x[i]) * e(i) * x[i]).sum();
        assert!(close(adjoints.of(&k).expect("k"), slope, 100.0), "{slope}");
    }
    everywhere!(holds);
}

#[test]
fn k6_a_kernel_that_reads_one_variable_alone_needs_one_reduction() {
    let loops = |reads_view: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, k, y) = tape.record(|scope| {
            let (x, k) = (scope.view([100], &numbers(100, 7)), scope.input(1.5));
            let mut y = View::zeros([100]);
            if reads_view {
                parallel_for(x.all(), (&x, &k, &mut y), |(x, k, _)| (k * x.at::<0>(),));
            } else {
                parallel_for(x.all(), (&k, &mut y), |(k, _)| (2.0 * k,));
            }
            (x, k, y)
        });
        let (adjoints, counts) = counted(|| tape.sweep_view(&[], (&y, &[1.0; 100])).expect("swept"));
        let expected = if reads_view { numbers(100, 7).iter().sum() } else { 200.0 };
        assert!(close(adjoints.of(&k).expect("k"), expected, 200.0));
        let of_x = if reads_view { 1.5 } else { 0.0 };
        assert!(adjoints.of_view(&x).expect("x").iter().all(|adjoint| *adjoint == of_x));
        counts.loops
    };
    assert_eq!((loops(false), loops(true)), (1, 2));
}

#[test]
fn k10_one_reverse_kernel_for_each_forward_kernel() {
    let mut tape = Tape::<Jacobian>::new();
    let (sum, recorded) = counted(|| {
        tape.record(|scope| {
            let (mut x, b) = (scope.view([50], &numbers(50, 4)), scope.view([50], &numbers(50, 5)));
            // Two views are read, and two written.
            let (mut y, mut z) = (x.clone(), b.clone());
            parallel_for(1..49, (&x, &b, &mut y, &mut z), |(x, b, y, _)| {
                (x.at::<-1>() * b.at::<1>() + x.at::<1>(), y.new() * b.at::<0>())
            });
            parallel_for(x.all(), (&y, &mut x), |(y, _)| (y.at::<0>().sin(),));
            parallel_sum(x.all(), (&x, &z), |(x, z)| x.at::<0>() * z.at::<0>())
        })
    });
    let swept = counted(|| tape.sweep(&[(&sum, 1.0)]).is_ok()).1;
    assert_eq!((recorded.loops, swept.loops), (3, 3));
}

#[test]
fn k13_a_scan_is_reversed_by_the_scan_from_the_other_end() {
    fn holds<S: Reverse<Value = f64>>() {
        let n = 200;
        let mut tape = Tape::<S>::new();
        let (x, sums) = tape.record(|scope| {
            let x = scope.view([n], &numbers(n, 3));
            let sums = parallel_scan(&x, |a, b| a + b);
            (x, sums)
        });
        let seeds: Vec<f64> = (0..n).map(|k| (k % 7) as f64 - 3.0).collect();
        let (mut prefix, mut suffix) = (0.0, 0.0);
        for (sum, x) in sums.values().iter().zip(numbers(n, 3)) {
            prefix += x;
            assert!((sum - prefix).abs() < 1e-12);
        }
        let adjoints = tape.sweep_view(&[], (&sums, &seeds)).expect("swept");
        let of_x = adjoints.of_view(&x).expect("x");
        for k in (0..n).rev() {
            suffix += seeds[k];
            assert_eq!(of_x[k], suffix, "∂x[{k}]");
        }
    }
    everywhere!(holds);
}

/// Σᵢ (i + 1)·sᵢ² of the sums sᵢ of a·x·x(+1, −1) + eˣ over all but the first column of rows 1 to 3.
fn of_row_sums<S: Taping<Value = f64>>(x: &View<S, 2>, a: &Real<S>) -> Real<S> {
    let sums: View<S, 1> = parallel_row_sums([1..4, 1..x.shape()[1]], (x, a), |(x, a)| {
        a * x.at::<0, 0>() * x.or_zero::<1, -1>() + x.at::<0, 0>().exp()
    });
    assert_eq!(sums.shape(), [3]);
    let mut total = Real::constant(0.0);
    for (i, sum) in sums.to_variables().iter().enumerate() {
        total += (i as f64 + 1.0) * sum * sum;
    }
    total
}

/// The same in plain numbers.
fn of_row_sums_by_hand(columns: usize, x: &[f64], a: f64) -> f64 {
    let at = |i: usize, j: usize| if i < 4 { x[i * columns + j] } else { 0.0 };
    let term = |i: usize, j: usize| a * at(i, j) * at(i + 1, j - 1) + at(i, j).exp();
    (1..4).map(|i| i as f64 * (1..columns).map(|j| term(i, j)).sum::<f64>().powi(2)).sum()
}

#[test]
fn k13_sums_of_rows_inside_a_loop_over_rows() {
    fn holds<S: Reverse<Value = f64>>() {
        for columns in [2, 9, 40] {
            let (at, a) = (numbers(4 * columns, 8), 0.7);
            let mut tape = Tape::<S>::new();
            let (x, factor, y) = tape.record(|scope| {
                let (x, a) = (scope.view([4, columns], &at), scope.input(a));
                let y = of_row_sums(&x, &a);
                (x, a, y)
            });
            let by_hand = of_row_sums_by_hand(columns, &at, a);
            assert!(close(y.value(), by_hand, 1e3), "{} and {by_hand}", y.value());
            let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
            let of_x = adjoints.of_view(&x).expect("x").to_vec();
            // The rounding of a difference, 1e-16·|y| / h, and its truncation, h² times a third derivative, are below
            // 1e-7·|y|.
            let by_hand_at = |x: &[f64]| of_row_sums_by_hand(columns, &x[..4 * columns], x[4 * columns]);
            let slopes = central_differences(by_hand_at, &[&at[..], &[a]].concat(), |_| 1e-5);
            let found = of_x.iter().chain([&adjoints.of(&factor).expect("a")]).copied().collect::<Vec<_>>();
            for (k, (found, slope)) in found.iter().zip(slopes).enumerate() {
                assert!((found - slope).abs() < 1e-7 * by_hand.abs().max(1.0), "input {k}: {found} and {slope}");
            }
            // Forward mode, along a direction: the same product.
            let direction = numbers(4 * columns, 2);
            let moving = View::<Tangent<1>, 2>::moving([4, columns], &at, |_| direction.clone());
            let tangent = of_row_sums(&moving, &Real::constant(a)).tangent()[0];
            let product: f64 = of_x.iter().zip(&direction).map(|(x, d)| x * d).sum();
            assert!((tangent - product).abs() < 1e-11 * by_hand.abs().max(1.0), "{tangent} and {product}");
        }
    }
    everywhere!(holds);
}

#[test]
fn k17_two_kernels_written_as_one_have_one_barrier_in_each_direction() {
    let n = 300;
    let run = |fused: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let ((x, sum), recorded) = counted(|| {
            tape.record(|scope| {
                let x = scope.view([n], &numbers(n, 6));
                let (mut y, mut z) = (x.clone(), x.clone());
                if fused {
                    parallel_for(x.all(), (&x, &mut y, &mut z), |(x, y, _)| {
                        (x.or_zero::<-1>() * x.or_zero::<1>(), y.new().square() + x.at::<0>())
                    });
                } else {
                    parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.or_zero::<-1>() * x.or_zero::<1>(),));
                    parallel_for(x.all(), (&x, &y, &mut z), |(x, y, _)| (y.at::<0>().square() + x.at::<0>(),));
                }
                let sum = parallel_sum(x.all(), (&y, &z), |(y, z)| y.at::<0>() + z.at::<0>());
                (x, sum)
            })
        });
        // All threads wait for one another at the end of each region.
        let (adjoints, swept) = counted(|| tape.sweep(&[(&sum, 1.0)]).expect("swept"));
        (recorded.regions + swept.regions, sum.value().to_bits(), adjoints.of_view(&x).expect("x").into_owned())
    };
    let ((apart, value, gradient), (fused, same, also)) = (run(false), run(true));
    assert_eq!((apart, fused), (6, 4));
    assert_eq!(value, same);
    assert!(gradient.iter().zip(&also).all(|(a, b)| close(*a, *b, 8.0)), "{gradient:?} and {also:?}");
}

#[test]
fn k18_what_a_kernel_keeps_is_known_before_it_runs() {
    // Nothing is taped inside of kernels: partials are computed again, so temporaries and branches need no memory,
    // however many.
    let n = 640;
    let bytes = |long: bool| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| {
            let x = scope.view([n], &numbers(n, 8));
            let mut y = x.clone();
            if long {
                parallel_for(x.all(), (&x, &mut y), |(x, _)| {
                    let x = x.at::<0>();
                    let wave = (x * x + 1.0).sqrt() * (x * 0.5).sin() / (x.exp() + 2.0);
                    (x.ge(0.3).select(wave * wave, wave - x.square()) * x.max(0.1),)
                });
            } else {
                parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().square(),));
            }
        });
        tape.memory().usage("arrays").used
    };
    assert_eq!(bytes(false), 8 * n + 512, "x, and the margins of its array");
    assert_eq!(bytes(true), bytes(false));
}
