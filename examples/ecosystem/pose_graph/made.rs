//! Graphs that are made: a robot drives through a grid in the plane, or around a sphere, lap after lap. It measures its
//! motion from pose to pose, and to poses of the row or lap before.

use crate::graph::{Edge, Graph, Space, Vertex};
use core::f64::consts::{FRAC_PI_2, PI, TAU};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use tapewright_problems::random::SplitMix64;

/// A graph, and its poses.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) graph: Graph,
    pub(crate) truth: Vec<Vec<f64>>,
}

/// Standard deviations of measured motions: along each axis, and of turns in radians.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    pub(crate) shift: f64,
    pub(crate) turn: f64,
}

impl Noise {
    /// A part of the noise that measurements have.
    pub(crate) fn times(factor: f64) -> Self {
        Self { shift: 0.05 * factor, turn: 0.02 * factor }
    }
}

fn isometry(pose: &[f64]) -> Isometry3<f64> {
    let turn = match pose {
        [_, _, angle] => UnitQuaternion::from_euler_angles(0.0, 0.0, *angle),
        [.., w, x, y, z] => UnitQuaternion::new_normalize(Quaternion::new(*w, *x, *y, *z)),
        _ => unreachable!("poses have three or seven numbers"),
    };
    let height = if pose.len() == 3 { 0.0 } else { pose[2] };
    Isometry3::from_parts(Translation3::new(pose[0], pose[1], height), turn)
}

fn pose(space: Space, isometry: &Isometry3<f64>) -> Vec<f64> {
    // Rounding must not add up from pose to pose.
    let (shift, turn) = (isometry.translation.vector, UnitQuaternion::new_normalize(isometry.rotation.into_inner()));
    match space {
        Space::Plane => vec![shift.x, shift.y, turn.euler_angles().2],
        Space::Solid => vec![shift.x, shift.y, shift.z, turn.w, turn.i, turn.j, turn.k],
    }
}

/// Poses in a grid, one unit apart, row by row and back.
pub(crate) fn grid(rows: usize, columns: usize) -> Vec<Vec<f64>> {
    let pose = |k: usize| {
        let (row, step) = (k / columns, k % columns);
        let is_forward = row.is_multiple_of(2);
        let column = if is_forward { step } else { columns - 1 - step };
        let heading = if step + 1 == columns { FRAC_PI_2 } else { PI * f64::from(u8::from(!is_forward)) };
        vec![column as f64, row as f64, heading]
    };
    (0..rows * columns).map(pose).collect()
}

/// Poses on a sphere whose radius fits steps of one unit, in laps from near the bottom to near the top.
pub(crate) fn sphere(laps: usize, columns: usize) -> Vec<Vec<f64>> {
    let radius = columns as f64 / TAU;
    let pose_at = |k: usize| {
        let longitude = TAU * (k % columns) as f64 / columns as f64;
        let latitude = PI * ((k as f64 + 0.5) / (laps * columns) as f64 - 0.5) * 0.9;
        let turn = UnitQuaternion::from_euler_angles(0.0, -latitude, longitude);
        let center = turn * Vector3::new(radius, 0.0, 0.0);
        pose(Space::Solid, &Isometry3::from_parts(center.into(), turn))
    };
    (0..laps * columns).map(pose_at).collect()
}

/// A graph over poses in rows: edges from each pose to the next, and to its neighbors in the row before. The first pose
/// is fixed; the others are where the measured motions lead, one after the other.
pub(crate) fn measured(truth: Vec<Vec<f64>>, columns: usize, noise: Noise, wrong: usize) -> Made {
    let mut random = SplitMix64::new(11);
    let space = if truth[0].len() == 3 { Space::Plane } else { Space::Solid };
    let mut edges = Vec::new();
    let mut measure = |from: usize, to: usize, noise: Noise| {
        let motion = isometry(&truth[from]).inv_mul(&isometry(&truth[to]));
        edges.push(edge(space, [from, to], &motion, noise, &mut random));
    };
    (1..truth.len()).for_each(|k| measure(k - 1, k, noise));
    for k in columns..truth.len() {
        let across = match space {
            // Row after row turns around.
            Space::Plane => k - 2 * (k % columns) - 1,
            Space::Solid => k - columns,
        };
        if across + 1 != k {
            measure(across, k, noise);
        }
    }
    // Places that look alike: the motion between them is taken for none at all.
    let mut random = SplitMix64::new(12);
    for _ in 0..wrong {
        let mut any = || (random.u01() * truth.len() as f64) as usize % truth.len();
        let ends = [any(), any()];
        if ends[0] != ends[1] {
            edges.push(edge(space, ends, &Isometry3::identity(), noise, &mut SplitMix64::new(13)));
        }
    }
    let vertices = led(space, &truth, &edges);
    Made { graph: Graph { space, vertices, edges }, truth }
}

/// A measured motion, with noise and the information matrix of it.
fn edge(space: Space, ends: [usize; 2], motion: &Isometry3<f64>, noise: Noise, random: &mut SplitMix64) -> Edge {
    let mut normal = |deviation: f64| deviation * random.normal();
    let (shift, turn) = ([0; 3].map(|_| normal(noise.shift)), [0; 3].map(|_| normal(noise.turn)));
    let off = match space {
        Space::Plane => Isometry3::new(Vector3::new(shift[0], shift[1], 0.0), Vector3::new(0.0, 0.0, turn[2])),
        Space::Solid => Isometry3::new(shift.into(), turn.into()),
    };
    // Imaginary parts of quaternions are half of the turn. Without noise all motions count alike.
    let weight = |deviation: f64| if deviation > 0.0 { 1.0 / (deviation * deviation) } else { 1.0 };
    let (of_shift, of_turn) = (weight(noise.shift), weight(noise.turn));
    let diagonal = match space {
        Space::Plane => vec![of_shift, of_shift, of_turn],
        Space::Solid => [[of_shift; 3], [4.0 * of_turn; 3]].concat(),
    };
    let row = |k: usize| (k..diagonal.len()).map(move |column| (k, column));
    let entry = |(row, column)| if row == column { diagonal[row] } else { 0.0 };
    let information = (0..diagonal.len()).flat_map(row).map(entry).collect();
    Edge { ends, motion: pose(space, &(motion * off)), information, line: 0 }
}

/// Vertices where the motions from each to the next lead.
fn led(space: Space, truth: &[Vec<f64>], edges: &[Edge]) -> Vec<Vertex> {
    let mut at = isometry(&truth[0]);
    let mut vertices = vec![Vertex { id: 0, pose: truth[0].clone(), is_fixed: true }];
    for (id, edge) in (1..).zip(&edges[..truth.len() - 1]) {
        at *= isometry(&edge.motion);
        vertices.push(Vertex { id, pose: pose(space, &at), is_fixed: false });
    }
    vertices
}

/// Root of the mean of the squares of distances between places.
pub(crate) fn distance(graph: &Graph, truth: &[Vec<f64>]) -> f64 {
    let squares = graph.vertices.iter().zip(truth).map(|(vertex, truth)| {
        let shift = isometry(&vertex.pose).translation.vector - isometry(truth).translation.vector;
        shift.norm_squared()
    });
    (squares.sum::<f64>() / truth.len() as f64).sqrt()
}
