//! Graphs that are made, and whose poses are known.

use crate::graph::Graph;
use crate::made::{Made, Noise, distance, grid, measured, sphere};
use tapewright::residuals::{Cauchy, Loss, Trivial};
use tapewright_ecosystem::cholesky::Cholesky;
use tapewright_ecosystem::minimize::{End, Limits, Minimum, minimize};
use tapewright_problems::random::SplitMix64;

/// Moves the poses of a graph to those of least cost.
fn solve(graph: &mut Graph, loss: impl Loss) -> Minimum {
    graph.check().expect("determined");
    let problem = graph.problem(Box::new(loss)).expect("possible");
    let mut factors = Cholesky::default();
    let limits = Limits { iterations: 300, decrease: 1e-10 };
    let found =
        minimize(&problem, limits, |normal, gradient| factors.step(normal, gradient), |_| ()).expect("definite");
    graph.set_poses(&found.x);
    found
}

fn both() -> [Made; 2] {
    [measured(grid(6, 7), 7, Noise::times(0.0), 0), measured(sphere(5, 8), 8, Noise::times(0.0), 0)]
}

#[test]
fn without_noise_the_poses_are_found_exactly() {
    for Made { mut graph, truth } in both() {
        let mut random = SplitMix64::new(1);
        let freedom = graph.space.freedom();
        // Steps off the truth, also on the manifold.
        let problem = graph.problem(Box::new(Trivial)).expect("possible");
        let off: Vec<f64> = (0..problem.columns()).map(|_| 0.2 * random.symmetric()).collect();
        assert_eq!(problem.columns(), freedom * (truth.len() - 1));
        let mut moved = problem.start().to_vec();
        problem.plus(problem.start(), &off, &mut moved).expect("lengths fit");
        graph.set_poses(&moved);
        assert!(distance(&graph, &truth) > 0.1);

        let found = solve(&mut graph, Trivial);
        assert_eq!(found.end, End::Converged);
        // Sums along paths of some ten poses, of numbers of up to seven.
        assert!(distance(&graph, &truth) < 1e-12, "{:?}: {}", graph.space, distance(&graph, &truth));
        assert!(found.cost < 1e-24, "{}", found.cost);
    }
}

#[test]
fn a_graph_whose_poses_are_right_stays() {
    for Made { mut graph, truth } in both() {
        let found = solve(&mut graph, Trivial);
        assert!(found.cost < 1e-26 && distance(&graph, &truth) < 1e-13, "{}", found.cost);
    }
}

#[test]
fn with_noise_the_cost_is_that_of_chance_and_poses_come_nearer() {
    for (truth, columns) in [(grid(10, 10), 10), (sphere(8, 12), 12)] {
        let Made { mut graph, truth } = measured(truth, columns, Noise::times(1.0), 0);
        let before = distance(&graph, &truth);
        let found = solve(&mut graph, Trivial);
        let after = distance(&graph, &truth);
        assert!(after < 0.5 * before, "{before}, then {after}");
        // 2·cost is χ² distributed: its mean is the number of residuals minus that of columns, its variance twice that.
        let freedom = (graph.space.freedom() * (graph.edges.len() + 1 - graph.vertices.len())) as f64;
        let deviations = (2.0 * found.cost - freedom) / (2.0 * freedom).sqrt();
        assert!(deviations.abs() < 5.0, "{:?}: {} for {freedom}", graph.space, 2.0 * found.cost);
    }
}

#[test]
fn a_loss_function_leaves_wrong_edges_out() {
    for (truth, columns) in [(grid(10, 10), 10), (sphere(8, 12), 12)] {
        let made = |wrong| measured(truth.clone(), columns, Noise::times(0.2), wrong).graph;
        let [mut right, mut plain, mut robust] = [made(0), made(8), made(8)];
        assert!(plain.edges.len() > right.edges.len());
        solve(&mut right, Trivial);
        solve(&mut plain, Trivial);
        let found = solve(&mut robust, Cauchy::new(1.0));
        assert_eq!(found.end, End::Converged);
        let [right, plain, robust] = [right, plain, robust].map(|graph| distance(&graph, &truth));
        assert!(robust < 2.0 * right && plain > 5.0 * right, "{right} without wrong edges, {plain}, {robust}");
    }
}
