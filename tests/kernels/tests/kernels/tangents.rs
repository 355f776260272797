//! Forward sweeps over launches: tangents of rows at once have the bits of tangents point by point.

use crate::{Product, at_every_level, numbers};
use tapewright::kernels::{View, parallel_for, parallel_row_sums, parallel_sum};
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::{Dual, Number, Spilled};

/// Rows shorter than a register, longer than a segment, and neither.
const SHAPES: [[usize; 2]; 5] = [[1, 1], [4, 3], [3, 40], [5, 128], [2, 301]];

/// Every border rule, branches, coordinates, functions, operands of lower rank, launches in place, parts of ranges,
/// sums and sums of rows.
fn computed<S: Taping>(x: &View<S, 2>, y: &View<S, 2>, k: &Real<S>) -> Vec<Real<S>> {
    let [m, n] = x.shape();
    let (mut u, mut v) = (x.clone(), y.clone());
    parallel_for([0..m, 0..n], (&mut u, &mut v, x, k), |(u, v, x, k)| {
        let beside = u.or_zero::<0, -1>() * v.nearest::<1, 2>() - k * u.periodic::<-1, 1>();
        let branch =
            v.at::<0, 0>().ge(0.0).select(beside / (x.at::<0, 0>() + v.at::<0, 0>()), x.or_zero::<1, 0>().abs());
        (branch * u.index::<1>() + k, u.new().max(v.at::<0, 0>()).min(3.0) - u.at::<0, 0>().square().sqrt())
    });
    let (row, column) = (y.row(m - 1), x.column(n - 1));
    parallel_for([0..m, n / 3..n], (&mut u, row.along::<1>(), column.along::<0>(), k), |(u, row, column, k)| {
        (u.at::<0, 0>().sin() * row.at() + column.at().exp() * u.at::<0, 0>().ternary::<Product, _, _>(k, row.at()),)
    });
    let sums: View<S, 1> = parallel_row_sums(u.all(), (&u, &v), |(u, v)| u.at::<0, 0>() * v.at::<0, 0>());
    let sum = parallel_sum([0..m, n / 2..n], (&u, &v, k), |(u, v, k)| k * u.at::<0, 0>() / v.nearest::<0, -1>());
    [u.to_variables(), v.to_variables(), sums.to_variables(), vec![sum]].concat()
}

/// Bits of the values of all tangents of what is computed, along one direction.
fn tangents<V: Number>(shape: [usize; 2], start: [&[f64]; 2], direction: &[f64]) -> Vec<u64> {
    let mut tape = Tape::<Jacobian<V>>::new();
    let lifted = |numbers: &[f64]| numbers.iter().map(|x| V::from_f64(*x)).collect::<Vec<V>>();
    let (inputs, found) = tape.record(|scope| {
        let (xs, k) = (scope.inputs(&lifted(start[0])), scope.input(V::from_f64(0.3)));
        let (x, y) = (View::of_variables(shape, &xs), View::<Jacobian<V>, 2>::new(shape, &lifted(start[1])));
        let found = computed(&x, &y, &k);
        ([xs, vec![k]].concat(), found)
    });
    let moving: Vec<_> = inputs.iter().zip(direction.iter().map(|t| V::from_f64(*t))).collect();
    let found = tape.jvp(&moving, &found.iter().collect::<Vec<_>>()).expect("it is swept");
    let bits = |tangent: &V| if tangent.as_f64().is_nan() { f64::NAN.to_bits() } else { tangent.as_f64().to_bits() };
    found.iter().map(bits).collect()
}

#[test]
fn tangents_of_rows_have_the_bits_of_tangents_point_by_point() {
    for shape in SHAPES {
        let count = shape[0] * shape[1];
        let special = [0.0, -0.0, f64::INFINITY, f64::NAN, 1e300, -1e-310];
        let mut odd = numbers(count, 3);
        odd.iter_mut().step_by(9).zip(special.iter().cycle()).for_each(|(x, y)| *x = *y);
        let (x, y, mut direction) = (numbers(count, 1), numbers(count, 2), numbers(count + 1, 4));
        direction.iter_mut().step_by(7).for_each(|tangent| *tangent = 0.0);
        for start in [[&x[..], &y[..]], [&odd[..], &y[..]], [&x[..], &odd[..]]] {
            // Numbers of several parts are evaluated point by point.
            let expected = tangents::<Dual<f64, 1>>(shape, start, &direction);
            assert_eq!(at_every_level(|| tangents::<f64>(shape, start, &direction)), expected, "{shape:?}");
        }
    }
}

/// Bits of tangents of a launch with two passive operands, of which one has values that no sweep needs.
fn tangents_beside_passive_views(tape: &mut Tape<Jacobian>) -> Vec<u64> {
    let n = 50;
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&numbers(n, 1));
        let mut moving = View::of_variables([n], &x);
        let (factors, squared) = (View::new([n], &numbers(n, 2)), View::new([n], &numbers(n, 3)));
        parallel_for(moving.all(), (&mut moving, &factors, &squared), |(v, f, s)| {
            (0.5 * v.at::<0>() + f.at::<0>() * v.at::<0>() * 0.3 + s.at::<0>().square(),)
        });
        (x, moving.to_variables())
    });
    let tangents: Vec<_> = x.iter().zip(numbers(n, 4)).collect();
    let found = tape.jvp(&tangents, &y.iter().collect::<Vec<_>>()).expect("it is swept");
    found.into_iter().map(f64::to_bits).collect()
}

#[test]
fn tangents_do_not_depend_on_what_arrays_of_the_tape_held_before() {
    let expected = tangents_beside_passive_views(&mut Tape::new());
    let mut tape = Tape::new();
    for held in [f64::NAN, f64::INFINITY, -1.0] {
        tape.record(|scope| {
            for _ in 0..6 {
                let mut view = scope.view([50], &[held; 50]);
                parallel_for(view.all(), &mut view, |v| (v.at::<0>().sin() + v.at::<0>(),));
            }
        });
        assert_eq!(tangents_beside_passive_views(&mut tape), expected, "{held}");
    }
}

/// Sums of the rows of a part of a matrix: of x², of products with operands of lower rank and with a neighbor that may
/// be outside.
fn sums_of_rows<S: Taping>(x: &View<S, 2>, along: &View<S, 1>, down: &View<S, 1>, part: [usize; 4]) -> Vec<Real<S>> {
    let [first, end, left, right] = part;
    let operands = (x, along.along::<1>(), down.along::<0>());
    let sums: View<S, 1> = parallel_row_sums([first..end, left..right], operands, |(x, along, down)| {
        x.at::<0, 0>().square() * along.at() - down.at() * x.or_zero::<1, -1>()
    });
    sums.to_variables()
}

/// The same sums by statements.
fn sums_by_statements<S: Taping>(
    (x, shape): (&[Real<S>], [usize; 2]),
    along: &[Real<S>],
    down: &[Real<S>],
    [first, end, left, right]: [usize; 4],
) -> Vec<Real<S>> {
    let row = |i: usize| {
        let mut sum = Real::<S>::constant(S::Value::ZERO);
        for j in left..right {
            let (here, is_inside) = (&x[i * shape[1] + j], i + 1 < shape[0] && j > 0);
            sum += here * here * &along[j];
            if is_inside {
                sum -= &down[i] * &x[(i + 1) * shape[1] + j - 1];
            }
        }
        sum
    };
    (first..end).map(row).collect()
}

/// Tangents of the sums of rows of a recording, after which others have made it write its arrays to disk, if it does.
fn tangents_of_rows<S: Reverse>(mut tape: Tape<S>, by_views: bool, shape: [usize; 2], part: [usize; 4]) -> Vec<f64> {
    let (count, [m, n]) = (shape[0] * shape[1], shape);
    // Whole numbers, so that all sums are exact in any order.
    let whole = |k: usize| S::Value::from_f64((k * k % 7) as f64 - 3.0);
    let all: Vec<S::Value> = (0..count + n + m).map(whole).collect();
    let (inputs, found) = tape.record(|scope| {
        let inputs = scope.inputs(&all);
        let (x, rest) = inputs.split_at(count);
        let (along, down) = rest.split_at(n);
        let mut found = Vec::new();
        if by_views {
            let [along, down] = [along, down].map(|part| View::of_variables([part.len()], part));
            let mut x = View::of_variables(shape, x);
            for _ in 0..3 {
                found.extend(sums_of_rows(&x, &along, &down, part));
                x += 1.0; // the sums keep what was there before
            }
        } else {
            let mut x = x.to_vec();
            for _ in 0..3 {
                found.extend(sums_by_statements((&x, shape), along, down, part));
                x.iter_mut().for_each(|x| *x += 1.0);
            }
        }
        (inputs, found)
    });
    let moving: Vec<_> = inputs.iter().enumerate().map(|(k, x)| (x, whole(k + 3))).collect();
    let found = tape.jvp(&moving, &found.iter().collect::<Vec<_>>()).expect("it is swept");
    found.iter().map(|tangent| tangent.as_f64()).collect()
}

#[test]
fn tangents_of_sums_of_rows_are_those_of_statements() {
    let spilled = || {
        let options = SpillOptions::default().slab(4096).memory(4 * 4096);
        Tape::<Jacobian<f64, Linear, Spilled>>::spilled(options).expect("a directory")
    };
    // Many short rows, few long ones, parts, single points, and rows without points.
    for (shape, part) in [
        ([700, 3], [0, 700, 0, 3]),
        ([3, 301], [0, 3, 0, 301]),
        ([40, 50], [3, 37, 7, 48]),
        ([1, 1], [0, 1, 0, 1]),
        ([5, 4], [1, 4, 2, 2]),
    ] {
        let expected = tangents_of_rows(Tape::<Jacobian>::new(), false, shape, part);
        assert_eq!(expected.len(), 3 * (part[1] - part[0]));
        assert_eq!(tangents_of_rows(Tape::<Jacobian>::new(), true, shape, part), expected, "{shape:?}");
        assert_eq!(tangents_of_rows(spilled(), true, shape, part), expected, "{shape:?} on disk");
        let duals = tangents_of_rows(Tape::<Jacobian<Dual<f64, 1>>>::new(), true, shape, part);
        assert_eq!(duals, expected, "{shape:?} with duals");
    }
}
