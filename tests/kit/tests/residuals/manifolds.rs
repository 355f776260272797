//! Parameter blocks on manifolds.

use tapewright::prelude::*;
use tapewright::residuals::{Euclidean, Linearization, Manifold, Problem, Product, Residual, Trivial, UnitQuaternion};

/// Three numbers of a unit quaternion, and a product with a plain block.
struct Parts;

impl Residual<2, 1, 3> for Parts {
    fn sizes(&self) -> [usize; 2] {
        [4, 1]
    }
    fn residuals<S: Strategy>(&self, [q, t]: [&[Real<S>]; 2], [a]: [Real<S>; 1]) -> [Real<S>; 3] {
        [(q[0] * q[1] - a).into(), (q[2] * q[3] * t[0]).into(), (q[1] * t[0] + q[3]).into()]
    }
}

fn parts([w, x, y, z]: [f64; 4], t: f64, a: f64) -> [f64; 3] {
    [w * x - a, y * z * t, x * t + z]
}

const QUATERNIONS: [[f64; 4]; 3] = [[1.0, 0.0, 0.0, 0.0], [0.5, -0.5, 0.5, 0.5], [0.0, 0.6, 0.0, 0.8]];

#[test]
fn columns_are_derivatives_along_steps() {
    const H: f64 = 1e-6;
    for quaternion in QUATERNIONS {
        let mut problem = Problem::new();
        let (q, t) = (problem.add_parameters(&quaternion), problem.add_parameters(&[1.5]));
        problem.set_manifold(q, UnitQuaternion).expect("four numbers");
        problem.add_residuals(Parts, Trivial, (0..9).map(|_| ([q, t], [0.25]))).expect("possible");
        let mut at = Linearization::new(&problem).expect("free blocks");
        at.evaluate(problem.start()).expect("finite");
        assert_eq!((problem.columns(), at.column(t)), (4, Some(3)));
        for (k, row) in at.jacobian().to_dense().iter().enumerate() {
            for (j, entry) in row.iter().enumerate() {
                let moved = [H, -H].map(|h| {
                    let (mut step, mut moved) = ([0.0; 4], [0.0; 5]);
                    step[j] = h;
                    problem.plus(problem.start(), &step, &mut moved).expect("lengths fit");
                    let [w, x, y, z, t] = moved;
                    parts([w, x, y, z], t, 0.25)[k % 3]
                });
                // Central differences: h² times the third derivative, and ε/h.
                assert!((entry - (moved[0] - moved[1]) / (2.0 * H)).abs() < 1e-9, "row {k}, column {j}: {entry}");
            }
        }
    }
}

#[test]
fn a_step_of_zero_stays_and_steps_stay_on_the_sphere() {
    for quaternion in QUATERNIONS {
        let mut moved = [0.0; 4];
        UnitQuaternion.plus(&quaternion, &[0.0; 3], &mut moved);
        moved.iter().zip(quaternion).for_each(|(a, b)| assert!((a - b).abs() <= f64::EPSILON));
        for step in [[1e-200, 0.0, 0.0], [1e-9, 2e-9, 0.0], [0.3, -0.2, 0.9], [3.0, 4.0, 12.0]] {
            UnitQuaternion.plus(&quaternion, &step, &mut moved);
            let norm = moved.iter().map(|c| c * c).sum::<f64>();
            assert!((norm - 1.0).abs() <= 4.0 * f64::EPSILON, "{norm} after {step:?}");
        }
    }
}

#[test]
fn turns_about_one_axis_add_up() {
    let axis = [0.6, 0.0, -0.8];
    let [mut once, mut twice, mut together] = [[0.0; 4]; 3];
    UnitQuaternion.plus(&[1.0, 0.0, 0.0, 0.0], &axis.map(|c| 0.7 * c), &mut once);
    UnitQuaternion.plus(&once, &axis.map(|c| 0.4 * c), &mut twice);
    UnitQuaternion.plus(&[1.0, 0.0, 0.0, 0.0], &axis.map(|c| 1.1 * c), &mut together);
    twice.iter().zip(together).for_each(|(a, b)| assert!((a - b).abs() < 1e-15));
}

#[test]
fn a_constant_block_on_a_manifold_has_no_columns() {
    let mut problem = Problem::new();
    let (q, t) = (problem.add_parameters(&QUATERNIONS[1]), problem.add_parameters(&[1.5]));
    problem.set_manifold(q, UnitQuaternion).expect("four numbers");
    problem.set_constant(q).expect("there is such a block");
    problem.add_residuals(Parts, Trivial, [([q, t], [0.25])]).expect("possible");
    let mut at = Linearization::new(&problem).expect("a free block");
    at.evaluate(problem.start()).expect("finite");
    assert_eq!(at.jacobian().to_dense(), [[0.0], [0.25], [-0.5]]);
}

#[test]
fn a_product_moves_its_parts_and_has_their_derivatives() {
    let x = [0.5, -0.5, 0.5, 0.5, 3.0, -2.0, 1.0, 0.0, 0.0, 0.0];
    let step = [0.1, 0.2, -0.3, 7.0, 0.25, -0.4, 0.0, 0.9];
    let product = Product(UnitQuaternion, Product(Euclidean(2), UnitQuaternion));
    assert_eq!((product.size(), product.freedom()), (10, 8));
    let (mut moved, mut parts) = ([0.0; 10], [0.0; 10]);
    product.plus(&x, &step, &mut moved);
    UnitQuaternion.plus(&x[..4], &step[..3], &mut parts[..4]);
    Euclidean(2).plus(&x[4..6], &step[3..5], &mut parts[4..6]);
    UnitQuaternion.plus(&x[6..], &step[5..], &mut parts[6..]);
    assert_eq!(moved, parts);
    assert_eq!(moved[4..6], [10.0, -1.75]);

    // NaN where nothing is written.
    let mut jacobian = [f64::NAN; 80];
    product.jacobian(&x, &mut jacobian);
    let (mut first, mut last) = ([0.0; 12], [0.0; 12]);
    UnitQuaternion.jacobian(&x[..4], &mut first);
    UnitQuaternion.jacobian(&x[6..], &mut last);
    for (k, entry) in jacobian.iter().enumerate() {
        let expected = match (k / 8, k % 8) {
            (row @ 0..4, column @ 0..3) => first[3 * row + column],
            (row @ 4..6, column @ 3..5) => f64::from(u8::from(row - 4 == column - 3)),
            (row @ 6..10, column @ 5..8) => last[3 * (row - 6) + column - 5],
            _ => 0.0,
        };
        assert_eq!(*entry, expected, "row {}, column {}", k / 8, k % 8);
    }
}

#[test]
fn a_product_of_nothing_has_no_derivatives() {
    let empty = Product(Euclidean(0), Euclidean(0));
    empty.plus(&[], &[], &mut []);
    empty.jacobian(&[], &mut []);
    let mut moved = [0.0];
    Product(Euclidean(0), Euclidean(1)).plus(&[-0.0], &[-0.0], &mut moved);
    assert!(moved[0] == 0.0 && moved[0].is_sign_negative());
}

#[test]
fn a_problem_says_what_its_blocks_are() {
    let mut problem = Problem::new();
    let (q, t) = (problem.add_parameters(&QUATERNIONS[1]), problem.add_parameters(&[1.5]));
    problem.set_manifold(q, UnitQuaternion).expect("four numbers");
    problem.set_constant(t).expect("there is such a block");
    assert_eq!(problem.manifold(q).map(Manifold::freedom), Some(3));
    assert!(problem.manifold(t).is_none());
    assert_eq!([problem.is_constant(q), problem.is_constant(t)], [false, true]);
    problem.set_free(t).expect("there is such a block");
    assert!(!problem.is_constant(t));
}
