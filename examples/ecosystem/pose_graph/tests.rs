//! Tests of the parts of `pose_graph`.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices are drawn as parts of a count")]

mod edges;
mod g2o;
mod graph;
mod made;

#[path = "tests/files.rs"]
mod files;
#[path = "tests/minima.rs"]
mod minima;
#[path = "tests/residuals.rs"]
mod residuals;
