//! Kinds of residual blocks that several tests use.

use tapewright::prelude::*;
use tapewright::residuals::Residual;

/// One parameter, measured.
pub(crate) struct Measured;

impl Residual<1, 1, 1> for Measured {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [y]: [Real<S>; 1]) -> [Real<S>; 1] {
        [(x[0] - y).into()]
    }
}

/// Polynomials of two blocks: their Jacobian matrix has the same bits in every lane.
pub(crate) struct Products;

impl Residual<2, 2, 3> for Products {
    fn sizes(&self) -> [usize; 2] {
        [2, 3]
    }
    fn residuals<S: Strategy>(&self, [x, y]: [&[Real<S>]; 2], [a, b]: [Real<S>; 2]) -> [Real<S>; 3] {
        let t = (x[0] * a + y[2]).eval();
        [(t * x[1] - b).into(), (t * t * y[0]).into(), (y[1] * b + 0.5 * x[0] * x[0]).into()]
    }
}

/// Jacobian matrix of [`Products`] by hand, by rows: columns of x, then of y.
pub(crate) fn products_by_hand(x: [f64; 2], y: [f64; 3], [a, b]: [f64; 2]) -> [[f64; 5]; 3] {
    let t = x[0] * a + y[2];
    [[a * x[1], t, 0.0, 0.0, x[1]], [2.0 * t * a * y[0], 0.0, t * t, 0.0, 2.0 * t * y[0]], [x[0], 0.0, 0.0, b, 0.0]]
}

/// Values of [`Products`] by hand.
pub(crate) fn products(x: [f64; 2], y: [f64; 3], [a, b]: [f64; 2]) -> [f64; 3] {
    let t = x[0] * a + y[2];
    [t * x[1] - b, t * t * y[0], y[1] * b + 0.5 * x[0] * x[0]]
}
