//! Residuals and their derivatives, beside other formulas.

use crate::graph::{Edge, Graph, Space, Vertex};
use core::f64::consts::FRAC_PI_2;
use nalgebra::{Isometry3, Quaternion, SMatrix, SVector, UnitQuaternion};
use tapewright::residuals::{Cauchy, Linearization, Loss, Problem, Trivial};
use tapewright_problems::random::SplitMix64;

/// Two vertices and an edge, all at random, with an information matrix that is not diagonal.
fn any(space: Space, random: &mut SplitMix64) -> Graph {
    let mut pose = || {
        let mut pose: Vec<f64> = (0..space.size()).map(|_| random.symmetric()).collect();
        if space == Space::Solid {
            let norm = pose[3..].iter().map(|part| part * part).sum::<f64>().sqrt();
            pose[3..].iter_mut().for_each(|part| *part /= norm);
        }
        pose
    };
    let vertex = |(id, pose)| Vertex { id, pose, is_fixed: false };
    let vertices: Vec<_> = (0..).zip([pose(), pose()]).map(vertex).collect();
    let motion = pose();
    let size = space.freedom();
    let row = |k: usize| {
        (k..size).map(move |column| if column == k { 10.0 + k as f64 } else { (column - k) as f64 * 0.5 - 1.0 })
    };
    let edge = Edge { ends: [0, 1], motion, information: (0..size).flat_map(row).collect(), line: 0 };
    Graph { space, vertices, edges: vec![edge] }
}

fn problem(graph: &Graph, loss: impl Loss) -> Problem {
    graph.problem(Box::new(loss)).expect("possible")
}

fn matrix<const N: usize>(information: &[f64]) -> SMatrix<f64, N, N> {
    let mut matrix = SMatrix::<f64, N, N>::zeros();
    let mut entries = information.iter();
    for row in 0..N {
        for column in row..N {
            matrix[(row, column)] = entries.next().copied().unwrap_or_default();
            matrix[(column, row)] = matrix[(row, column)];
        }
    }
    matrix
}

/// χ² as g2o defines it, by the isometries of nalgebra.
fn chi_squared(graph: &Graph) -> f64 {
    let isometry = |pose: &[f64]| {
        let turn = match pose {
            [_, _, angle] => UnitQuaternion::from_euler_angles(0.0, 0.0, *angle),
            _ => UnitQuaternion::new_normalize(Quaternion::new(pose[3], pose[4], pose[5], pose[6])),
        };
        Isometry3::from_parts([pose[0], pose[1], if pose.len() == 3 { 0.0 } else { pose[2] }].into(), turn)
    };
    let Edge { ends, motion, information, .. } = &graph.edges[0];
    let [a, b] = ends.map(|end| isometry(&graph.vertices[end].pose));
    let left = isometry(motion).inverse() * (a.inverse() * b);
    let (shift, turn) = (left.translation.vector, left.rotation);
    if graph.space == Space::Plane {
        let error = SVector::<f64, 3>::new(shift.x, shift.y, turn.scaled_axis().z);
        return error.dot(&(matrix::<3>(information) * error));
    }
    let sign = if turn.w < 0.0 { -1.0 } else { 1.0 };
    let error = SVector::<f64, 6>::from([shift.x, shift.y, shift.z, sign * turn.i, sign * turn.j, sign * turn.k]);
    error.dot(&(matrix::<6>(information) * error))
}

#[test]
fn costs_are_half_of_the_squares_that_g2o_has() {
    let mut random = SplitMix64::new(3);
    for space in [Space::Plane, Space::Solid] {
        for _ in 0..20 {
            let graph = any(space, &mut random);
            let problem = problem(&graph, Trivial);
            let (cost, expected) = (problem.cost(problem.start()).expect("finite"), 0.5 * chi_squared(&graph));
            // Some hundred operations on numbers of the size of the information matrix.
            assert!((cost - expected).abs() < 1e-13 * expected.max(10.0), "{space:?}: {cost}, not {expected}");
        }
    }
}

#[test]
fn residuals_in_the_plane_are_those_by_hand() {
    let vertex = |id, pose: [f64; 3]| Vertex { id, pose: pose.to_vec(), is_fixed: id == 0 };
    // From (1, 2), looking along y, two steps ahead, then a turn to the left; and seven turns more.
    let turned = 15.0 * core::f64::consts::PI;
    let vertices = vec![vertex(0, [1.0, 2.0, FRAC_PI_2]), vertex(1, [1.0, 4.0, turned])];
    let edge = Edge {
        ends: [0, 1],
        motion: vec![1.5, 0.25, FRAC_PI_2],
        information: vec![4.0, 0.0, 0.0, 9.0, 0.0, 1.0],
        line: 0,
    };
    let graph = Graph { space: Space::Plane, vertices, edges: vec![edge] };
    let problem = problem(&graph, Trivial);
    let mut at = Linearization::new(&problem).expect("a free vertex");
    at.evaluate(problem.start()).expect("finite");
    // (2, 0) − (1.5, 0.25), turned back by a right angle, is (−0.25, −0.5).
    for (found, expected) in at.residuals().iter().zip([-0.5, -1.5, 0.0]) {
        assert!((found - expected).abs() < 1e-14, "{found}, not {expected}");
    }
}

#[test]
fn quaternions_of_both_signs_are_one_rotation() {
    let mut random = SplitMix64::new(4);
    for _ in 0..20 {
        let mut graph = any(Space::Solid, &mut random);
        let costs = [(); 2].map(|()| {
            let problem = problem(&graph, Trivial);
            graph.vertices[1].pose[3..].iter_mut().for_each(|part| *part = -*part);
            problem.cost(problem.start()).expect("finite")
        });
        assert_eq!(costs[0], costs[1]);
    }
}

#[test]
fn gradients_are_those_of_differences_also_under_a_loss() {
    const H: f64 = 1e-6;
    fn assert_gradient(graph: &Graph, loss: impl Loss) {
        let problem = problem(graph, loss);
        let mut at = Linearization::new(&problem).expect("free vertices");
        at.evaluate(problem.start()).expect("finite");
        for (k, slope) in at.gradient().into_iter().enumerate() {
            let [above, below] = [H, -H].map(|h| {
                let (mut step, mut moved) = (vec![0.0; problem.columns()], problem.start().to_vec());
                step[k] = h;
                problem.plus(problem.start(), &step, &mut moved).expect("lengths fit");
                problem.cost(&moved).expect("finite")
            });
            let difference = (above - below) / (2.0 * H);
            // Rounding of the cost over h, and h² times third derivatives.
            let tolerance = 1e-9 * (at.cost() + 10.0);
            assert!((slope - difference).abs() < tolerance, "{:?}, column {k}: {slope}, not {difference}", graph.space);
        }
    }
    let mut random = SplitMix64::new(5);
    for space in [Space::Plane, Space::Solid] {
        for _ in 0..10 {
            let graph = any(space, &mut random);
            assert_gradient(&graph, Trivial);
            assert_gradient(&graph, Cauchy::new(1.0));
        }
    }
}
