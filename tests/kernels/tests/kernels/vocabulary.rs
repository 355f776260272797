//! What kernels say: coordinates, compound assignment, joint sums, places of extrema, and launches without points.

use super::{at_every_level, bits, close, numbers};
use tapewright::kernels::{
    Term, View, norm_squared, parallel_for, parallel_max, parallel_max_at, parallel_min, parallel_min_at,
    parallel_row_sums, parallel_sum, parallel_sums,
};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::{Dual, Number as _, Reuse, pause};
use tapewright_test_support::panic_message;

/// Σ a·i·xᵢ² over the points from 2 on, in a view in which a stencil has been weighted by coordinates.
fn weighted<S: Taping>(x: &View<S, 1>, a: &Real<S>) -> Real<S> {
    let mut y = x.clone();
    parallel_for(x.all(), (x, &mut y), |(x, _)| {
        (x.index::<0>().eq(0.0).select(x.at::<0>(), x.nearest::<-1>() / x.index::<0>()),)
    });
    parallel_sum(2..x.len(), (&y, a), |(y, a)| a * y.index::<0>() * y.at::<0>().square())
}

/// The derivatives of [`weighted`] with respect to x, then a.
fn slopes_of_weighted(x: &[f64], a: f64) -> Vec<f64> {
    let mut slopes = vec![0.0; x.len() + 1];
    for i in 2..x.len() {
        let y = x[i - 1] / i as f64;
        slopes[i - 1] += a * i as f64 * 2.0 * y / i as f64;
        slopes[x.len()] += i as f64 * y * y;
    }
    slopes
}

#[test]
fn sums_weighted_by_coordinates_have_the_gradient_of_the_formula() {
    for n in [3, 8, 41, 9000] {
        let (at, a) = (numbers(n, 3), 0.7);
        let gradient = at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, a, sum) = tape.record(|scope| {
                let (x, a) = (scope.view([n], &at), scope.input(a));
                let sum = weighted(&x, &a);
                (x, a, sum)
            });
            let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
            let mut found = adjoints.of_view(&x).expect("x").into_owned();
            found.push(adjoints.of(&a).expect("a"));
            bits(&found)
        });
        let scale = n as f64;
        for (k, (found, expected)) in gradient.into_iter().zip(slopes_of_weighted(&at, a)).enumerate() {
            assert!(close(f64::from_bits(found), expected, scale), "{n}, {k}: {expected}");
        }
    }
}

#[test]
fn coordinates_have_no_tangent_and_are_the_same_for_every_number() {
    let (at, along) = (numbers(19, 3), numbers(19, 4));
    let slopes = slopes_of_weighted(&at, 0.7);
    let expected: f64 = along.iter().zip(&slopes).map(|(t, slope)| t * slope).sum();
    // In forward mode.
    let x = View::<Tangent<1>, 1>::moving([19], &at, |_| along.clone());
    let sum = weighted(&x, &Real::constant(0.7));
    assert!(close(sum.tangent()[0], expected, 4.0));
    // Over dual numbers: the gradient, and its derivative along the same direction.
    let duals: Vec<_> = at.iter().zip(&along).map(|(x, t)| Dual { value: *x, tangents: [*t] }).collect();
    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let (x, dual) = tape.record(|scope| {
        let x = scope.view([19], &duals);
        let sum = weighted(&x, &Real::constant(Dual::from_f64(0.7)));
        (x, sum)
    });
    assert!(close(dual.value().tangents[0], expected, 4.0));
    let adjoints = tape.sweep(&[(&dual, Dual::ONE)]).expect("swept");
    for (k, found) in adjoints.of_view(&x).expect("x").iter().enumerate() {
        let curvature = if (1..18).contains(&k) { 2.0 * 0.7 / (k + 1) as f64 } else { 0.0 };
        assert!(close(found.value, slopes[k], 4.0) && close(found.tangents[0], curvature * along[k], 4.0), "{k}");
    }
    // In two lanes.
    let packs: Vec<_> = at.iter().zip(&along).map(|(x, y)| Pack([*x, *y])).collect();
    let Pack(lanes) =
        weighted(&View::<Passive<Pack<2>>, 1>::new([19], &packs), &Real::constant(Pack::from_f64(0.7))).value();
    for (lane, at) in lanes.into_iter().zip([&at, &along]) {
        assert_eq!(lane, weighted(&View::<Passive, 1>::new([19], at), &Real::constant(0.7)).value());
    }
    // In single precision.
    let single: Vec<f32> = at.iter().map(|x| *x as f32).collect();
    let value = weighted(&View::<Passive<f32>, 1>::new([19], &single), &Real::constant(0.7)).value();
    assert!((f64::from(value) - sum.value()).abs() < 64.0 * f64::from(f32::EPSILON));
}

#[test]
fn replays_count_the_same_coordinates() {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, sum) = tape.record(|scope| {
        let x = scope.view([21], &numbers(21, 1));
        let sum = weighted(&x, &Real::constant(0.7));
        (x, sum)
    });
    let new = numbers(21, 9);
    tape.new_inputs().view(&x, &new).expect("an input").replay().expect("replayed");
    let expected = weighted(&View::<Passive, 1>::new([21], &new), &Real::constant(0.7)).value();
    assert_eq!(tape.value_of(&sum).expect("it is there").to_bits(), expected.to_bits());
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    for (found, expected) in adjoints.of_view(&x).expect("x").iter().zip(slopes_of_weighted(&new, 0.7)) {
        assert!(close(*found, expected, 4.0));
    }
}

#[test]
fn coordinates_beyond_what_single_precision_has_are_rounded_alike_at_every_level() {
    let middle = 1_usize << 24;
    let found = at_every_level(|| {
        let mut x = View::<Passive<f32>, 1>::zeros([middle + 64]);
        parallel_for(middle - 45..middle + 51, &mut x, |x| (x.index::<0>(),));
        x.values()[middle - 45..middle + 51].iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    });
    for (i, found) in (middle - 45..).zip(found) {
        assert_eq!(f32::from_bits(found), i as f32, "{i}");
    }
}

#[test]
fn row_sums_and_extrema_see_coordinates() {
    let shape = [5, 21];
    let at = numbers(105, 2);
    at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, rows, most) = tape.record(|scope| {
            let x = scope.view(shape, &at);
            let rows: View<_, 1> =
                parallel_row_sums([1..4, 2..19], &x, |x| x.at::<0, 0>() * (10.0 * x.index::<0>() + x.index::<1>()));
            let most =
                parallel_max(x.all(), &x, |x| x.index::<1>().lt(20.0).select(x.index::<1>(), -1.0) * x.at::<0, 0>());
            (x, rows, most)
        });
        let term = |i: usize, j: usize| at[i * 21 + j] * (10 * i + j) as f64;
        for (row, found) in rows.values().iter().enumerate() {
            assert!(close(*found, (2..19).map(|j| term(row + 1, j)).sum(), 400.0));
        }
        let value = |k: usize| if k % 21 < 20 { (k % 21) as f64 * at[k] } else { -at[k] };
        let place = (0..105).reduce(|best, k| if value(k) > value(best) { k } else { best }).expect("points");
        assert_eq!(most.value(), value(place));
        let adjoints = tape.sweep_view(&[(&most, 1.0)], (&rows, &[1.0, 2.0, 3.0])).expect("swept");
        for (k, found) in adjoints.of_view(&x).expect("x").iter().enumerate() {
            let (i, j) = (k / 21, k % 21);
            let row = if (1..4).contains(&i) && (2..19).contains(&j) { (i * (10 * i + j)) as f64 } else { 0.0 };
            assert_eq!(*found, row + if k == place { j as f64 } else { 0.0 }, "{k}");
        }
    });
}

#[test]
fn conditions_know_equality_and_negation_also_of_what_is_no_number() {
    let at = [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY];
    at_every_level(|| {
        let x = View::<Passive, 1>::new([5], &at);
        let [mut equal, mut other, mut below] = [x.clone(), x.clone(), x.clone()];
        parallel_for(x.all(), (&x, &mut equal, &mut other, &mut below), |(x, ..)| {
            let x = x.at::<0>();
            let y = x;
            (x.eq(0.0).select(1.0, 0.0), x.ne(y).select(1.0, 0.0), x.lt(1.0).not().select(1.0, 0.0))
        });
        assert_eq!(equal.values(), [1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(other.values(), [0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(below.values(), [0.0, 0.0, 1.0, 1.0, 1.0]);
    });
}

#[test]
fn compound_assignment_to_views_is_one_launch_each() {
    let n = 11;
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, a, z) = tape.record(|scope| {
        let (x, y, a) = (scope.view([n], &numbers(n, 1)), scope.view([n], &numbers(n, 2)), scope.input(1.5));
        let mut z = x.clone();
        z += &y;
        z *= 3.0;
        z -= &a;
        z /= &y;
        z *= &x;
        z += 0.25;
        z -= &x;
        z /= 2.0;
        z *= &a;
        (x, y, a, z)
    });
    assert_eq!(tape.launches().len(), 9);
    let adjoints = tape.sweep_view(&[], (&z, &vec![1.0; n])).expect("swept");
    let (of_x, of_y) = (adjoints.of_view(&x).expect("x"), adjoints.of_view(&y).expect("y"));
    let mut of_a = 0.0;
    for k in 0..n {
        let (x, y, a) = (numbers(n, 1)[k], numbers(n, 2)[k], 1.5);
        let quotient = ((x + y) * 3.0 - a) / y;
        assert_eq!(z.values()[k], (quotient * x + 0.25 - x) / 2.0 * a);
        let scale = 8.0 / (y * y);
        assert!(close(of_x[k], (3.0 / y * x + quotient - 1.0) * a / 2.0, scale), "∂x[{k}]");
        assert!(close(of_y[k], (3.0 - quotient) / y * x * a / 2.0, scale), "∂y[{k}]");
        of_a += (quotient * x + 0.25 - x) / 2.0 - x / y * a / 2.0;
    }
    assert!(close(adjoints.of(&a).expect("a"), of_a, 1000.0));
}

#[test]
fn plus_and_minus_update_elements_of_views_of_every_rank() {
    fn holds<const R: usize>(shape: [usize; R]) {
        let n = shape.iter().product();
        let mut tape = Tape::<Jacobian>::new();
        let (x, a, y) = tape.record(|scope| {
            let (x, a) = (scope.view(shape, &numbers(n, 1)), scope.input(0.5));
            let mut y = x.clone();
            parallel_for(y.all(), (&mut y, &a), |(y, a)| (y.plus(2.0 * a),));
            parallel_for(y.all(), (&mut y, &a), |(y, a)| (y.minus(a * 3.0),));
            (x, a, y)
        });
        assert!(y.values().iter().zip(numbers(n, 1)).all(|(y, x)| *y == x + 1.0 - 1.5));
        let adjoints = tape.sweep_view(&[], (&y, &vec![2.0; n])).expect("swept");
        assert_eq!(*adjoints.of_view(&x).expect("x"), vec![2.0; n]);
        assert!(close(adjoints.of(&a).expect("a"), -2.0 * n as f64, n as f64));
    }
    holds([7]);
    holds([2, 3]);
    holds([2, 3, 4]);
    holds([2, 1, 2, 3]);
}

/// Six sums of a view, a stencil and a number, one by one if `apart`.
fn six<S: Taping>(x: &View<S, 1>, a: &Real<S>, apart: bool) -> [Real<S>; 6] {
    macro_rules! sums {
        (|$x:ident, $a:ident| $($one:expr),*) => {
            if apart {
                [$(parallel_sum(x.all(), (x, a), |($x, $a)| { _ = ($x, $a); $one })),*]
            } else {
                parallel_sums(x.all(), (x, a), |($x, $a)| ($($one,)*))
            }
        };
    }
    sums!(
        |x, a| x.at::<0>(),
        x.at::<0>().square() * a,
        x.or_zero::<-1>() * x.at::<0>(),
        a * 1.0,
        x.nearest::<2>() * x.index::<0>(),
        x.at::<0>().exp() * a
    )
}

#[test]
fn joint_sums_have_the_bits_and_the_derivatives_of_single_ones() {
    for n in [1, 5, 100, 9001] {
        let (at, tangents) = (numbers(n, 5), numbers(n, 6));
        let found = |apart: bool| {
            at_every_level(|| {
                let mut tape = Tape::<PrimalValue<f64, Reuse>>::new();
                let (x, a, sums) = tape.record(|scope| {
                    let (x, a) = (scope.view([n], &at), scope.input(0.7));
                    let sums = six(&x, &a, apart);
                    (x, a, sums)
                });
                assert_eq!(tape.launches().len(), if apart { 6 } else { 1 });
                let mut found: Vec<f64> = sums.iter().map(Real::value).collect();
                let count = found.len();
                for k in 0..count {
                    let adjoints = tape.sweep(&[(&sums[k], 1.0)]).expect("swept");
                    found.extend_from_slice(&adjoints.of_view(&x).expect("x"));
                    found.push(adjoints.of(&a).expect("a"));
                }
                let moving = View::<Tangent<1>, 1>::moving([n], &at, |_| tangents.clone());
                let moving = six(&moving, &Real::with_tangent(0.7, [0.3]), apart);
                found.extend(moving.iter().map(|sum| sum.tangent()[0]));
                bits(&found.into_iter().map(|x| x + 0.0).collect::<Vec<_>>())
            })
        };
        assert_eq!(found(false), found(true), "{n}");
    }
}

#[test]
fn all_adjoints_of_joint_sums_are_gathered_at_once() {
    let n = 300;
    let gradient = |apart: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, a, sums) = tape.record(|scope| {
            let (x, a) = (scope.view([n], &numbers(n, 5)), scope.input(0.7));
            let sums = six(&x, &a, apart);
            (x, a, sums)
        });
        let seeds: Vec<_> = sums.iter().zip([1.0, -2.0, 3.0, 0.5, 0.0, 0.25]).collect();
        let adjoints = tape.sweep(&seeds).expect("swept");
        let mut found = adjoints.of_view(&x).expect("x").into_owned();
        found.push(adjoints.of(&a).expect("a"));
        found
    };
    for (joint, apart) in gradient(false).into_iter().zip(gradient(true)) {
        assert!(close(joint, apart, 2000.0), "{joint}, not {apart}");
    }
}

#[test]
fn joint_sums_are_replayed_and_tell_their_dependencies() {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y, [first, second]) = tape.record(|scope| {
        let (x, y) = (scope.view([9], &numbers(9, 1)), scope.view([9], &numbers(9, 2)));
        let sums = parallel_sums(x.all(), (&x, &y), |(x, y)| (x.at::<0>().square(), x.at::<0>() * 2.0 - y.at::<0>()));
        (x, y, sums)
    });
    let (new_x, new_y) = (numbers(9, 7), numbers(9, 8));
    let new = tape.new_inputs().view(&x, &new_x).expect("x").view(&y, &new_y).expect("y");
    new.replay().expect("replayed");
    let value = |sum: &Real<PrimalValue>| tape.value_of(sum).expect("it is there");
    assert!(close(value(&first), new_x.iter().map(|x| x * x).sum(), 9.0));
    assert!(close(value(&second), new_x.iter().zip(&new_y).map(|(x, y)| x * 2.0 - y).sum(), 9.0));
    let adjoints = tape.sweep(&[(&first, 1.0), (&second, 3.0)]).expect("swept");
    assert!(adjoints.of_view(&x).expect("x").iter().zip(&new_x).all(|(found, x)| close(*found, 2.0 * x + 6.0, 8.0)));
    assert_eq!(*adjoints.of_view(&y).expect("y"), [-3.0; 9]);
}

#[test]
fn an_extremum_is_returned_with_the_first_point_that_has_it() {
    let at = [f64::NAN, 3.0, -1.0, 3.0, -7.0, 2.0, -7.0, f64::NAN];
    at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, most, least) = tape.record(|scope| {
            let x = scope.view([1, 2, 2, 2], &at);
            let most = parallel_max_at(x.all(), &x, |x| 2.0 * x.at::<0, 0, 0, 0>());
            let least = parallel_min_at([0..1, 1..2, 0..2, 0..2], &x, |x| x.at::<0, 0, 0, 0>().square());
            (x, most, least)
        });
        assert_eq!((most.0.value(), most.1), (6.0, [0, 0, 0, 1]));
        assert_eq!((least.0.value(), least.1), (4.0, [0, 1, 0, 1]));
        let adjoints = tape.sweep(&[(&most.0, 1.0), (&least.0, 1.0)]).expect("swept");
        assert_eq!(*adjoints.of_view(&x).expect("x"), [0.0, 2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    });
}

#[test]
fn an_extremum_of_many_blocks_is_the_first_one_and_ignores_nan() {
    let n = 140_000;
    let most = |at: &[f64]| {
        at_every_level(|| {
            let x = View::<Passive, 1>::new([n], at);
            let (most, place) = parallel_max_at(x.all(), &x, |x| x.at::<0>());
            (most.value().to_bits(), place)
        })
    };
    let mut at = vec![f64::NAN; n];
    assert_eq!(most(&at).1, [0]);
    at[n - 1] = f64::NEG_INFINITY;
    assert_eq!(most(&at), (f64::NEG_INFINITY.to_bits(), [n - 1]));
    at[70_000] = -0.0;
    at[n - 2] = 0.0;
    assert_eq!(most(&at), ((-0.0_f64).to_bits(), [70_000]));
    at[40_000] = 5.0;
    at[130_000] = 5.0;
    assert_eq!(most(&at), (5.0_f64.to_bits(), [40_000]));
}

#[test]
fn the_gradient_of_twelve_operands_is_that_of_the_formula() {
    let n = 19;
    at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (views, y) = tape.record(|scope| {
            let v: [View<_, 1>; 11] = core::array::from_fn(|k| scope.view([n], &numbers(n, k)));
            let mut y = View::zeros([n]);
            let operands = (&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &mut y);
            parallel_for(1..n - 1, operands, |(a, b, c, d, e, f, g, h, i, j, k, _)| {
                let near = a.at::<-1>() * b.at::<1>() + c.at::<0>() * d.at::<0>() - e.at::<1>() * f.at::<-1>();
                (near + g.at::<0>() * h.at::<0>() + i.at::<0>().square() - 2.0 * j.at::<0>() + 3.0 * k.at::<1>(),)
            });
            (v, y)
        });
        let adjoints = tape.sweep_view(&[], (&y, &vec![1.0; n])).expect("swept");
        let at = |k: usize| numbers(n, k);
        // The range is 1..n − 1, so that the reader of element m at shift s is m − s.
        let inside = |m: usize, shift: isize| m.checked_add_signed(-shift).is_some_and(|at| (1..n - 1).contains(&at));
        let slope = |k: usize, m: usize| match k {
            0 if inside(m, -1) => at(1)[m + 2],
            1 if inside(m, 1) => at(0)[m - 2],
            2 if inside(m, 0) => at(3)[m],
            3 if inside(m, 0) => at(2)[m],
            4 if inside(m, 1) => -at(5)[m - 2],
            5 if inside(m, -1) => -at(4)[m + 2],
            6 if inside(m, 0) => at(7)[m],
            7 if inside(m, 0) => at(6)[m],
            8 if inside(m, 0) => 2.0 * at(8)[m],
            9 if inside(m, 0) => -2.0,
            10 if inside(m, 1) => 3.0,
            _ => 0.0,
        };
        for (k, view) in views.iter().enumerate() {
            for (m, found) in adjoints.of_view(view).expect("an input").iter().enumerate() {
                assert_eq!(*found, slope(k, m), "operand {k}, element {m}");
            }
        }
    });
}

#[test]
fn six_results_have_the_values_and_the_adjoints_of_six_launches() {
    let n = 23;
    let run = |apart: bool| {
        at_every_level(|| {
            let mut tape = Tape::<Jacobian>::new();
            let (x, a, sum) = tape.record(|scope| {
                let (x, a) = (scope.view([n], &numbers(n, 3)), scope.input(0.7));
                let mut y: [View<_, 1>; 6] = core::array::from_fn(|_| View::zeros([n]));
                let [p, q, r, s, t, u] = &mut y;
                if apart {
                    parallel_for(x.all(), (&x, p), |(x, _)| (x.at::<0>().sin(),));
                    parallel_for(x.all(), (&x, q, &a), |(x, _, a)| (x.or_zero::<1>() * a,));
                    parallel_for(x.all(), (&x, r), |(x, _)| (x.nearest::<-2>().square(),));
                    parallel_for(x.all(), s, |_| (Term::from(1.5),));
                    parallel_for(x.all(), (&x, t), |(x, _)| (x.at::<0>() * x.index::<0>(),));
                    parallel_for(x.all(), (&x, u, &a), |(x, _, a)| (a / (2.0 + x.periodic::<3>()),));
                } else {
                    parallel_for(x.all(), (&x, p, q, r, s, t, u, &a), |(x, .., a)| {
                        let (one, two) = (x.at::<0>().sin(), x.or_zero::<1>() * a);
                        let (three, four) = (x.nearest::<-2>().square(), Term::from(1.5));
                        (one, two, three, four, x.at::<0>() * x.index::<0>(), a / (2.0 + x.periodic::<3>()))
                    });
                }
                let sum = y.iter().enumerate().map(|(k, y)| (norm_squared(y) * (k + 1) as f64).eval()).sum::<Real<_>>();
                (x, a, sum)
            });
            let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
            let mut found = adjoints.of_view(&x).expect("x").into_owned();
            found.extend([adjoints.of(&a).expect("a"), sum.value()]);
            bits(&found)
        })
    };
    for (k, (joint, apart)) in run(false).into_iter().zip(run(true)).enumerate() {
        assert!(close(f64::from_bits(joint), f64::from_bits(apart), 500.0), "{k}");
    }
}

#[test]
fn launches_without_points_change_nothing_and_sum_to_0() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, sums) = tape.record(|scope| {
        let mut x = scope.view([2, 3], &numbers(6, 1));
        pause(|| parallel_for([0..0, 0..3], &mut x, |x| (x.at::<0, 0>().exp(),)));
        pause(|| parallel_for([0..2, 3..3], &mut x, |x| (x.at::<7, 0>(),)));
        assert!(x.is_active(), "nothing of it has become a constant");
        parallel_for([1..1, 0..3], &mut x, |x| (x.at::<0, 0>() * 9.0,));
        let [none, no_squares] = parallel_sums([0..2, 1..1], &x, |x| (x.at::<0, 0>(), x.at::<0, 0>().square()));
        let rows: View<_, 1> = parallel_row_sums([0..2, 1..1], &x, |x| x.at::<0, 0>().square());
        assert_eq!(rows.values(), [0.0, 0.0]);
        let all = parallel_sum(x.all(), &x, |x| x.at::<0, 0>());
        (x, [none, no_squares, norm_squared(&rows), all])
    });
    assert_eq!(sums.each_ref().map(Real::value)[..3], [0.0; 3]);
    let seeds: Vec<_> = sums.iter().zip([1.0, f64::INFINITY, 3.0, 4.0]).collect();
    assert_eq!(*tape.sweep(&seeds).expect("swept").of_view(&x).expect("x"), [4.0; 6]);
}

#[test]
fn an_extremum_of_no_points_names_the_range() {
    let x = View::<Passive, 2>::zeros([2, 3]);
    for message in [
        panic_message(|| parallel_max([0..2, 1..1], &x, |x| x.at::<0, 0>())),
        panic_message(|| parallel_min_at([0..2, 1..1], &x, |x| x.at::<0, 0>())),
        panic_message(|| parallel_min([0..2, 1..1], &x, |x| x.at::<0, 0>())),
    ] {
        assert!(message.contains("one point at least") && message.contains("[0..2, 1..1]"), "{message}");
    }
}
