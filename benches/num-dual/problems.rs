//! Small functions of robotics, vision and finance: generic over nalgebra's scalars, over the numbers of num-dual, and
//! over strategies.

use nalgebra::{Matrix4, RealField, Rotation3, Vector3};
use num_dual::DualNum;
use std::f64::consts::FRAC_PI_2;
use tapewright::prelude::*;

fn number<T: RealField>(x: f64) -> T {
    nalgebra::convert(x)
}

/// The rigid motion of a joint with these parameters of Denavit and Hartenberg: offset, length and twist.
fn joint<T: RealField + Copy>(theta: T, [offset, length, twist]: [f64; 3]) -> Matrix4<T> {
    let (sin, cos) = (theta.sin(), theta.cos());
    let (s, c, d, a) = (number::<T>(twist.sin()), number::<T>(twist.cos()), number(offset), number(length));
    let (zero, one) = (T::zero(), T::one());
    Matrix4::new(cos, -sin * c, sin * s, cos * a, sin, cos * c, -cos * s, sin * a, zero, s, c, d, zero, zero, zero, one)
}

/// Position and orientation of the hand of an arm with six joints.
pub fn hand<T: RealField + Copy>(angles: &[T; 6]) -> [T; 6] {
    const JOINTS: [[f64; 3]; 6] = [
        [0.4, 0.025, FRAC_PI_2],
        [0.0, 0.455, 0.0],
        [0.0, 0.035, FRAC_PI_2],
        [0.42, 0.0, -FRAC_PI_2],
        [0.0, 0.0, FRAC_PI_2],
        [0.08, 0.0, 0.0],
    ];
    let mut m = Matrix4::<T>::identity();
    for (angle, parameters) in angles.iter().zip(JOINTS) {
        m *= joint(*angle, parameters);
    }
    let half = |a: T, b: T| (a - b) * number(0.5);
    [
        m[(0, 3)],
        m[(1, 3)],
        m[(2, 3)],
        half(m[(2, 1)], m[(1, 2)]),
        half(m[(0, 2)], m[(2, 0)]),
        half(m[(1, 0)], m[(0, 1)]),
    ]
}

/// Image of a point, the last three entries, in a camera whose rotation and translation are the first six.
pub fn image<T: RealField + Copy>(x: &[T; 9]) -> [T; 2] {
    let rotation = Rotation3::new(Vector3::new(x[0], x[1], x[2]));
    let p = rotation * Vector3::new(x[6], x[7], x[8]) + Vector3::new(x[3], x[4], x[5]);
    let focal = number::<T>(500.0);
    [focal * p.x / p.z, focal * p.y / p.z]
}

/// Random numbers of a path: two for each step.
pub type Shocks = [[f64; 2]];

/// Payoff of a call option along a path of Heston's model; spot, variance, rate, speed and level of reversion,
/// volatility of the variance, correlation.
pub fn payoff<S: Strategy<Value = f64>>(model: &[Real<S>; 7], shocks: &Shocks) -> Real<S> {
    let &[spot, variance, rate, reversion, mean, volatility, correlation] = model;
    let h = step(shocks);
    let other = (1.0 - correlation * correlation).sqrt().eval();
    let (mut log_spot, mut v) = (spot.ln().eval(), variance);
    for &[first, second] in shocks {
        let acting = v.max(0.0).eval();
        let root = (acting * h).sqrt().eval();
        log_spot += (rate - 0.5 * acting) * h + root * first;
        v += reversion * (mean - acting) * h + volatility * root * (correlation * first + other * second);
    }
    ((log_spot.exp() - 105.0).max(0.0) * (-rate).exp()).eval()
}

#[allow(clippy::cast_precision_loss, reason = "there are few steps")]
fn step(shocks: &Shocks) -> f64 {
    1.0 / shocks.len() as f64
}

/// [`payoff`] over the numbers of num-dual, among them `f64`.
pub fn payoff_of_duals<D: DualNum<Primitive = f64> + Copy>(model: &[D; 7], shocks: &Shocks) -> D {
    let &[spot, variance, rate, reversion, mean, volatility, correlation] = model;
    let h = step(shocks);
    let other = (-correlation * correlation + 1.0).sqrt();
    let positive = |x: D| if x.re() > 0.0 { x } else { D::from(0.0) };
    let (mut log_spot, mut v) = (spot.ln(), variance);
    for &[first, second] in shocks {
        let acting = positive(v);
        let root = (acting * h).sqrt();
        log_spot += (rate - acting * 0.5) * h + root * first;
        v += reversion * (mean - acting) * h + volatility * root * (correlation * first + other * second);
    }
    positive(log_spot.exp() - 105.0) * (-rate).exp()
}
