//! Files: what is read, and what is refused.

use crate::g2o::{read, write};
use crate::graph::{GraphError, Space};
use crate::made::{Noise, grid, measured, sphere};
use tapewright::residuals::{ResidualError, Trivial};

const PLANE: &str =
    "# two rooms\nVERTEX_SE2 10 0 0 0\nVERTEX_SE2 7 1.5 0.5 -1e-1\n\nFIX 10\nEDGE_SE2 10 7 1 0 0.5 4 1 0 5 0 6\n";

const SOLID: &str = "EDGE_SE3:QUAT 1 0 1 2 3 0 0 0.6 0.8 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1\n\
    VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nVERTEX_SE3:QUAT 1 1 2 3 2 0 0 0\nFIX 0 1\n";

fn error(text: &str) -> String {
    read(text).expect_err("no graph").to_string()
}

#[test]
fn a_graph_in_the_plane_is_read() {
    let graph = read(PLANE).expect("a graph");
    assert_eq!(graph.space, Space::Plane);
    let vertices: Vec<_> = graph.vertices.iter().map(|v| (v.id, &v.pose[..], v.is_fixed)).collect();
    assert_eq!(vertices, [(10, &[0.0, 0.0, 0.0][..], true), (7, &[1.5, 0.5, -0.1][..], false)]);
    let edge = &graph.edges[0];
    assert_eq!((edge.ends, edge.line), ([0, 1], 6));
    assert_eq!((&edge.motion[..], &edge.information[..]), (&[1.0, 0.0, 0.5][..], &[4.0, 1.0, 0.0, 5.0, 0.0, 6.0][..]));
}

#[test]
fn a_graph_in_space_is_read_with_quaternions_in_another_order_and_of_length_one() {
    let graph = read(SOLID).expect("edges may come before their vertices");
    assert_eq!(graph.vertices[1].pose, [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(graph.edges[0].motion, [1.0, 2.0, 3.0, 0.8, 0.0, 0.0, 0.6]);
    assert_eq!(graph.edges[0].ends, [1, 0]);
    assert!(graph.vertices.iter().all(|vertex| vertex.is_fixed));
}

#[test]
fn a_graph_that_is_written_is_read_again() {
    for (truth, columns) in [(grid(3, 4), 4), (sphere(3, 5), 5)] {
        let mut graph = measured(truth, columns, Noise::times(1.0), 2).graph;
        let read = read(&write(&graph)).expect("a graph");
        for (edge, found) in graph.edges.iter_mut().zip(&read.edges) {
            edge.line = found.line;
        }
        assert_eq!((&read.edges[0].ends, read.edges.len()), (&graph.edges[0].ends, graph.edges.len()));
        // Quaternions are divided by their length once more.
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 4.0 * f64::EPSILON * b.abs());
        assert!(read.vertices.iter().zip(&graph.vertices).all(|(a, b)| a.id == b.id && near(&a.pose, &b.pose)));
        assert!(read.edges.iter().zip(&graph.edges).all(|(a, b)| near(&a.motion, &b.motion)));
        assert!(read.edges.iter().zip(&graph.edges).all(|(a, b)| a.information == b.information && a.ends == b.ends));
    }
}

#[test]
fn errors_say_the_line_and_what_was_expected_there() {
    let expected =
        "line 3: found \"VERTEX_XY\", expected one of VERTEX_SE2, EDGE_SE2, VERTEX_SE3:QUAT, EDGE_SE3:QUAT, FIX";
    assert_eq!(error(&PLANE.replace("VERTEX_SE2 7", "VERTEX_XY 7")), expected);
    let expected = "line 3: found \"0,5\", expected number 1 of 3 of vertex 7, a finite number";
    assert_eq!(error(&PLANE.replace("0.5 -1e-1", "0,5 -1e-1")), expected);
    let expected = "line 3: found \"nan\", expected number 2 of 3 of vertex 7, a finite number";
    assert_eq!(error(&PLANE.replace("-1e-1", "nan")), expected);
    let expected = "line 3: found the end of the line, expected number 2 of 3 of vertex 7, a finite number";
    assert_eq!(error(&PLANE.replace(" -1e-1", "")), expected);
    let expected = "line 3: found \"9\", expected the end of the line";
    assert_eq!(error(&PLANE.replace("-1e-1", "-1e-1 9")), expected);
    assert_eq!(
        error(&PLANE.replace("FIX 10", "FIX")),
        "line 5: found the end of the line, expected the id of a vertex, a number"
    );
    assert_eq!(
        error(&PLANE.replace("FIX 10", "FIX 10 x")),
        "line 5: found \"x\", expected the id of a vertex, a number"
    );
    let expected = "line 6: found \"-7\", expected the id of the vertex to which the edge leads, a number";
    assert_eq!(error(&PLANE.replace("10 7 1", "10 -7 1")), expected);
    let expected =
        "line 6: found the end of the line, expected entry 5 of 6 of the information matrix, a finite number";
    assert_eq!(error(&PLANE.replace("5 0 6", "5 0")), expected);
}

#[test]
fn ids_without_vertices_and_vertices_with_one_id_are_refused() {
    let expected = "line 6: found \"8\", expected the id of one of the 2 vertices";
    assert_eq!(error(&PLANE.replace("EDGE_SE2 10 7", "EDGE_SE2 10 8")), expected);
    let expected = "line 5: found \"11\", expected the id of one of the 2 vertices";
    assert_eq!(error(&PLANE.replace("FIX 10", "FIX 11")), expected);
    let expected = "line 3: found \"10\", expected another id: line 2 has that vertex already";
    assert_eq!(error(&PLANE.replace("VERTEX_SE2 7", "VERTEX_SE2 10")), expected);
    let expected = "line 6: found \"10\", expected an edge from vertex 10 to another one";
    assert_eq!(error(&PLANE.replace("EDGE_SE2 10 7", "EDGE_SE2 10 10")), expected);
}

#[test]
fn matrices_that_are_not_definite_and_quaternions_of_zero_are_refused() {
    let expected = "line 6: found \"4 1 0 -5 0 6\", expected the upper triangle of a positive definite information matrix, row by row";
    assert_eq!(error(&PLANE.replace("5 0 6", "-5 0 6")), expected);
    // Singular: the second row is the first one, times 2.
    assert!(error(&PLANE.replace("4 1 0 5 0 6", "4 8 0 16 0 6")).starts_with("line 6: found \"4 8 0 16 0 6\""));
    let expected = "line 2: found \"0 0 0 0\", expected a quaternion of vertex 0 that is not 0";
    assert_eq!(error(&SOLID.replace("0 0 0 0 0 0 0 1\n", "0 0 0 0 0 0 0 0\n")), expected);
}

#[test]
fn a_file_of_both_kinds_and_one_without_vertices_are_refused() {
    let expected = "line 7: found \"a pose in space\", expected poses in the plane, as in the lines before";
    assert_eq!(error(&format!("{PLANE}{SOLID}")), expected);
    let expected = "the file ends in line 1, expected a line VERTEX_SE2 or VERTEX_SE3:QUAT";
    assert_eq!(error(""), expected);
    assert_eq!(error("# nothing\n\n"), expected);
}

#[test]
fn poses_that_are_not_determined_are_refused() {
    let graph = read(&PLANE.replace("FIX 10", "")).expect("a graph");
    assert_eq!(graph.check(), Err(GraphError::NoFixedVertex));
    assert!(GraphError::NoFixedVertex.to_string().contains("FIX"));
    let mut graph = read(&format!("{PLANE}VERTEX_SE2 3 0 0 0\nVERTEX_SE2 4 0 0 0\nEDGE_SE2 3 4 0 0 0 1 0 0 1 0 1\n"))
        .expect("a graph");
    assert_eq!(graph.check(), Err(GraphError::NotConnected { id: 3 }));
    assert!(GraphError::NotConnected { id: 3 }.to_string().contains("vertex 3"));
    graph.vertex_mut(4).expect("there is one").is_fixed = true;
    assert_eq!(graph.check(), Ok(()));
}

#[test]
fn residuals_that_are_not_finite_are_those_of_an_edge_with_its_line() {
    let far = PLANE.replace("1.5 0.5", "1e200 0.5");
    let graph = read(&far).expect("finite numbers");
    let problem = graph.problem(Box::new(Trivial)).expect("possible");
    let error = problem.cost(problem.start()).expect_err("1e400 is infinite");
    assert_eq!(error, ResidualError::ResidualNotFinite { residual: 0 });
    let expected =
        "the residuals of residual block 0 are not finite at this point: it is the edge from vertex 10 to 7, in line 6";
    assert_eq!(graph.explain(&error), expected);
    assert_eq!(graph.explain(&ResidualError::NoFreeBlock), ResidualError::NoFreeBlock.to_string());
}
