//! Snavely's camera: rotation vector, translation, focal length and two coefficients of distortion.
//!
//! All is inlined and written out: the compiler then knows which derivatives of the inputs are 0.

use tapewright::prelude::*;
use tapewright::residuals::Residual;

/// The distance in the image between a point that a camera sees and the place where it was seen: 2 residuals of 9 + 3
/// parameters.
pub(crate) struct Snavely;

impl Residual<2, 2, 2> for Snavely {
    fn sizes(&self) -> [usize; 2] {
        [9, 3]
    }

    #[inline(always)]
    fn residuals<S: Strategy>(&self, [camera, point]: [&[Real<S>]; 2], [u, v]: [Real<S>; 2]) -> [Real<S>; 2] {
        let [scale, x, y] = project(camera, point);
        [(scale * x - u).into(), (scale * y - v).into()]
    }
}

/// The place of a point in the image of a camera.
#[inline(always)]
pub(crate) fn image<S: Strategy>(camera: &[Real<S>], point: &[Real<S>]) -> [Real<S>; 2] {
    let [scale, x, y] = project(camera, point);
    [(scale * x).into(), (scale * y).into()]
}

#[inline(always)]
fn cross<S: Strategy>(a: [Real<S>; 3], b: [Real<S>; 3]) -> [Real<S>; 3] {
    [(a[1] * b[2] - a[2] * b[1]).into(), (a[2] * b[0] - a[0] * b[2]).into(), (a[0] * b[1] - a[1] * b[0]).into()]
}

/// A point turned by a rotation vector, after Rodrigues, and shifted.
#[inline(always)]
fn moved<S: Strategy>(turn: [Real<S>; 3], shift: &[Real<S>], x: [Real<S>; 3]) -> [Real<S>; 3] {
    let square: Real<S> = (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]).into();
    if square > f64::EPSILON {
        let angle = square.sqrt().eval();
        let (cos, sin, inverse) = (angle.cos().eval(), angle.sin().eval(), (1.0 / angle).eval());
        let w: [Real<S>; 3] = [(turn[0] * inverse).into(), (turn[1] * inverse).into(), (turn[2] * inverse).into()];
        let along = ((w[0] * x[0] + w[1] * x[1] + w[2] * x[2]) * (1.0 - cos)).eval();
        let across = cross(w, x);
        [
            (x[0] * cos + across[0] * sin + w[0] * along + shift[0]).into(),
            (x[1] * cos + across[1] * sin + w[1] * along + shift[1]).into(),
            (x[2] * cos + across[2] * sin + w[2] * along + shift[2]).into(),
        ]
    } else {
        let across = cross(turn, x);
        [
            (x[0] + across[0] + shift[0]).into(),
            (x[1] + across[1] + shift[1]).into(),
            (x[2] + across[2] + shift[2]).into(),
        ]
    }
}

/// The scale of the image, by focal length and distortion, and the coordinates that are scaled.
#[inline(always)]
fn project<S: Strategy>(camera: &[Real<S>], point: &[Real<S>]) -> [Real<S>; 3] {
    let p = moved([camera[0], camera[1], camera[2]], &camera[3..6], [point[0], point[1], point[2]]);
    let [x, y]: [Real<S>; 2] = [(-p[0] / p[2]).into(), (-p[1] / p[2]).into()];
    let square = (x * x + y * y).eval();
    let scale = (camera[6] * (1.0 + square * (camera[7] + camera[8] * square))).eval();
    [scale, x, y]
}
