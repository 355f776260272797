//! The norm of a slice: values, first and second derivatives, at all sizes.

use tapewright::packs::{Pack, in_packs};
use tapewright::prelude::*;
use tapewright::{Checked, Closed, Dual, Error, Subgradient, SweepError, norm};

/// With a common factor: numbers that are alike, and numbers of which one is much larger.
const SHAPES: &[&[f64]] = &[
    &[3.0, 4.0],
    &[-4.0, 3.0],
    &[1.0, 1e-8],
    &[1e-8, -1.0],
    &[1.0, -1.0, 1.0],
    &[-7.0],
    &[1.0, 1e-8, -2e-9],
    &[2.0, 0.0, -6.0, 3.0],
    &[0.1, 0.2, -0.3, 0.1, 0.5, 0.4, -0.2],
];
/// The squares of numbers of this size overflow, vanish, and are ordinary.
const SIZES: [f64; 5] = [1e300, 1e160, 1.0, 1e-160, 1e-300];

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 4e-15 * expected.abs()
}

/// Value, gradient and Hessian at a point without its factor, in which nothing cancels: on the diagonal the sum of the
/// other squares by the cube of the norm.
fn expected(x: &[f64]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let others = |i: usize| x.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, x)| x * x).sum::<f64>();
    let bend = |i: usize, j: usize| if i == j { others(i) } else { -x[i] * x[j] } / length.powi(3);
    let rows = (0..x.len()).map(|i| (0..x.len()).map(|j| bend(i, j)).collect());
    (length, x.iter().map(|x| x / length).collect(), rows.collect())
}

#[test]
fn norms_are_right_to_second_order_at_all_sizes() {
    for (shape, size) in SHAPES.iter().flat_map(|shape| SIZES.map(|size| (*shape, size))) {
        let x: Vec<f64> = shape.iter().map(|x| x * size).collect();
        let (length, slopes, bends) = expected(shape);
        let (value, gradient, hessian) = tapewright::hessian::<Jacobian<Dual<f64, 4>>>(|x| norm(x), &x);
        assert!(close(value, length * size), "‖{x:?}‖ = {value}");
        let in_one = in_packs::<Jacobian<Pack<4>>, _, 4>(3, |_| &*x, |x, _| norm(x)).expect("swept");
        assert_eq!(in_one.values, [value; 3]);
        let (forward, rows) = jacobian_forward::<Tangent<3>>(|x| vec![norm(x)], &x);
        assert_eq!(forward, [value]);
        for i in 0..x.len() {
            assert!(close(gradient[i], slopes[i]), "∂{i} at {x:?}: {}", gradient[i]);
            assert!(close(rows[0][i], slopes[i]), "∂{i} at {x:?}, forward: {}", rows[0][i]);
            assert!(close(in_one.gradients[2][i], slopes[i]), "∂{i} at {x:?}, in packs: {:?}", in_one.gradients[2]);
            for j in 0..x.len() {
                let (found, expected) = (hessian[i][j], bends[i][j] / size);
                let smallest = f64::MIN_POSITIVE;
                assert!(close(found, expected) || (found - expected).abs() < smallest, "∂{i}∂{j} at {x:?}: {found}");
            }
        }
    }
}

#[test]
fn lanes_have_their_own_largest_number() {
    let sets = [[3.0, 4.0, 0.0], [4e200, 0.0, -3e200], [0.0, 1e-300, 0.0], [-1.0, 0.0, 0.0]];
    let found = in_packs::<Jacobian<Pack<4>>, _, 4>(4, |k| &sets[k], |x, _| norm(x)).expect("swept");
    assert!(found.values.iter().zip([5.0, 5e200, 1e-300, 1.0]).all(|(found, right)| close(*found, right)));
    let slopes = [[0.6, 0.8, 0.0], [0.8, 0.0, -0.6], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]];
    for (found, right) in found.gradients.iter().flatten().zip(slopes.iter().flatten()) {
        assert!(close(*found, *right), "{found}, not {right}");
    }
}

#[test]
fn a_norm_of_zeros_is_singular() {
    assert!(gradient::<Jacobian>(|x| norm(x), &[0.0, 0.0]).iter().all(|slope| slope.is_nan()));
    assert_eq!(gradient::<Subgradient<PrimalValue>>(|x| norm(x), &[0.0, 0.0]), [0.0, 0.0]);
    let mut tape = Tape::<Checked<Jacobian>>::new();
    let y = tape.record(|scope| norm(&scope.inputs(&[0.0, 0.0])));
    let Err(Error::Sweep(SweepError::Singular { function, .. })) = tape.sweep(&[(&y, 1.0)]) else {
        panic!("the norm has no derivative at 0")
    };
    assert!(function.contains("Norm"), "{function} is singular");
}

#[test]
fn closed_variables_are_peeled() {
    let f = |x: &[Real<Jacobian>]| {
        let closed: Vec<Closed<Jacobian>> = x.iter().map(|x| Closed::from(*x) * 2.0).collect();
        norm(&closed.into_iter().map(Real::from).collect::<Vec<_>>())
    };
    assert_eq!(value_and_gradient::<Jacobian>(f, &[3.0, -4.0]), (10.0, vec![1.2, -1.6]));
    assert_eq!(norm::<Passive>(&[]).value(), 0.0);
}
