//! Graphs of poses: vertices are poses in the plane or in space, edges are measured motions from one to another.

use crate::edges::{MotionInPlane, MotionInSpace, plane_data, space_data};
use core::fmt;
use std::collections::VecDeque;
use tapewright::residuals::{Euclidean, Loss, Problem, Product, ResidualError, UnitQuaternion};

/// Where poses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Poses of three numbers: x, y, and an angle.
    Plane,
    /// Poses of seven numbers: x, y, z, and a unit quaternion w, x, y, z.
    Solid,
}

impl Space {
    /// Number of numbers in a pose.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Plane => 3,
            Self::Solid => 7,
        }
    }

    /// Number of degrees of freedom of a pose.
    pub(crate) const fn freedom(self) -> usize {
        match self {
            Self::Plane => 3,
            Self::Solid => 6,
        }
    }
}

/// A pose that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vertex {
    /// Number that the file gives it.
    pub(crate) id: u64,
    pub(crate) pose: Vec<f64>,
    pub(crate) is_fixed: bool,
}

/// A measured motion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edge {
    /// Indices of the vertices that it leads from and to.
    pub(crate) ends: [usize; 2],
    /// Pose of the second vertex as the first one sees it.
    pub(crate) motion: Vec<f64>,
    /// Upper triangle of the information matrix, row by row: the inverse of the covariance matrix.
    pub(crate) information: Vec<f64>,
    /// Line in the file, counted from 1.
    pub(crate) line: usize,
}

/// A graph of poses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Graph {
    pub(crate) space: Space,
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) edges: Vec<Edge>,
}

/// A graph whose poses are not determined.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GraphError {
    NoFixedVertex,
    NotConnected { id: u64 },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFixedVertex => f.write_str(
                "no vertex is fixed, so all poses could move together: add a line \"FIX id\" to the file, or give \
                 `--fix id`",
            ),
            Self::NotConnected { id } => write!(
                f,
                "no edges lead from vertex {id} to a fixed vertex, so its pose is not determined: add an edge, or fix it"
            ),
        }
    }
}

impl std::error::Error for GraphError {}

impl Graph {
    /// The vertex with an id.
    pub(crate) fn vertex_mut(&mut self, id: u64) -> Option<&mut Vertex> {
        self.vertices.iter_mut().find(|vertex| vertex.id == id)
    }

    /// Checks that edges connect each vertex with a fixed one.
    pub(crate) fn check(&self) -> Result<(), GraphError> {
        let mut neighbors = vec![Vec::new(); self.vertices.len()];
        for Edge { ends: [from, to], .. } in &self.edges {
            neighbors[*from].push(*to);
            neighbors[*to].push(*from);
        }
        let mut reached: Vec<bool> = self.vertices.iter().map(|vertex| vertex.is_fixed).collect();
        let mut queue: VecDeque<usize> = (0..reached.len()).filter(|k| reached[*k]).collect();
        if queue.is_empty() {
            return Err(GraphError::NoFixedVertex);
        }
        while let Some(vertex) = queue.pop_front() {
            for neighbor in &neighbors[vertex] {
                if !core::mem::replace(&mut reached[*neighbor], true) {
                    queue.push_back(*neighbor);
                }
            }
        }
        match reached.iter().position(|reached| !reached) {
            Some(vertex) => Err(GraphError::NotConnected { id: self.vertices[vertex].id }),
            None => Ok(()),
        }
    }

    /// The problem: a parameter block for each vertex, and a residual block for each edge, both in order.
    pub(crate) fn problem(&self, loss: Box<dyn Loss>) -> Result<Problem, ResidualError> {
        let mut problem = Problem::new();
        for vertex in &self.vertices {
            let block = problem.add_parameters(&vertex.pose);
            if self.space == Space::Solid {
                problem.set_manifold(block, Product(Euclidean(3), UnitQuaternion))?;
            }
            if vertex.is_fixed {
                problem.set_constant(block)?;
            }
        }
        let edges = self.edges.iter();
        match self.space {
            Space::Plane => problem.add_residuals(MotionInPlane, loss, edges.map(|e| (e.ends, plane_data(e))))?,
            Space::Solid => problem.add_residuals(MotionInSpace, loss, edges.map(|e| (e.ends, space_data(e))))?,
        };
        Ok(problem)
    }

    /// The error of a problem, with the edge whose residuals it names.
    pub(crate) fn explain(&self, error: &ResidualError) -> String {
        use ResidualError::{DerivativeNotFinite, ResidualNotFinite};
        let (ResidualNotFinite { residual } | DerivativeNotFinite { residual }) = error else {
            return error.to_string();
        };
        let Edge { ends, line, .. } = &self.edges[*residual];
        let [from, to] = ends.map(|end| self.vertices[end].id);
        format!("{error}: it is the edge from vertex {from} to {to}, in line {line}")
    }

    /// Takes poses from the parameters of the problem.
    pub(crate) fn set_poses(&mut self, x: &[f64]) {
        let poses = x.chunks_exact(self.space.size());
        self.vertices.iter_mut().zip(poses).for_each(|(vertex, pose)| vertex.pose.copy_from_slice(pose));
    }
}
