//! Tests of the scenes of `bundle`, which are in their file.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(dead_code, reason = "cameras and places are for the example")]

mod camera;
mod scene;
