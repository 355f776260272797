//! Rows that depend on the statements around a function, and each kind of function once, under all policies: after the
//! slopes under `Strict` those under `Subgradient`, and the function that `Checked` refuses, if it refuses one.

use super::*;
use tapewright::{Float, Nary, Number, Unary, nary, statement, sum, unary};

conventions! { x;
    // Functions of one argument, two and three.
    x[0].sqrt() + x[1].cbrt() => {
        [0.0, 0.0] => 0.0, [INF, INF], [0.0, 0.0], Some("Sqrt");
        [-0.0, -0.0] => 0.0, [INF, INF], [0.0, 0.0], Some("Sqrt");
        [4.0, 0.0] => 2.0, [0.25, INF], [0.25, 0.0], Some("Cbrt");
    }
    x[0].sqrt() => { [-1.0] => NAN, [NAN], [NAN], None; [NAN] => NAN, [NAN], [NAN], None; }
    x[0].powf(&x[1]) => {
        [0.0, 2.0] => 0.0, [0.0, 0.0], [0.0, 0.0], None;
        [0.0, 1.0] => 0.0, [1.0, 0.0], [1.0, 0.0], None;
        [0.0, 0.5] => 0.0, [INF, 0.0], [0.0, 0.0], Some("Pow");
        [0.0, 0.0] => 1.0, [0.0, -INF], [0.0, 0.0], Some("Pow");
        [-2.0, 3.0] => -8.0, [12.0, NAN], [12.0, 0.0], Some("Pow");
        [-2.0, 2.5] => NAN, [NAN, NAN], [NAN, NAN], None;
        [1.0, NAN] => 1.0, [0.0, 0.0], [0.0, 0.0], None;
        // ∂x overflows: it is a number, if a large one, although there is none for ∂y.
        [-1e-5, -61.0] => -1e305, [-INF, NAN], [-INF, 0.0], Some("Pow");
    }
    x[0].powf(3.0) => { [-2.0] => -8.0, [12.0], [12.0], None; [0.0] => 0.0, [0.0], [0.0], None; }
    x[0].powi(1) + x[1].powi(3) + x[2].powi(0) => {
        [0.0, 0.0, 0.0] => 1.0, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], None;
        [-0.0, -0.0, NAN] => 1.0, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], None;
    }
    x[0].powi(-2) => {
        [0.0] => INF, [-INF], [0.0], Some("Powi");
        [1e-200] => INF, [-INF], [-INF], None;
    }
    &x[0] / &x[1] => {
        [1.0, 0.0] => INF, [INF, -INF], [0.0, 0.0], Some("Over");
        [0.0, 0.0] => NAN, [INF, NAN], [INF, NAN], None;
        [1.0, 1e-310] => INF, [INF, -INF], [INF, -INF], None;
    }
    x[0].max(&x[1]) + 10.0 * x[0].min(&x[1]) => {
        [2.0, 2.0] => 22.0, [11.0, 0.0], [11.0, 0.0], None;
        [NAN, 1.0] => 11.0, [0.0, 11.0], [0.0, 11.0], None;
    }
    x[0].beta_inc(&x[1], &x[2]) => {
        [0.0, 0.5, 2.0] => 0.0, [INF, 0.0, 0.0], [0.0, 0.0, 0.0], Some("BetaInc");
        [1.0, 2.0, 0.5] => 1.0, [INF, 0.0, 0.0], [0.0, 0.0, 0.0], Some("BetaInc");
        [0.0, 0.0, 2.0] => NAN, [NAN, NAN, NAN], [NAN, NAN, NAN], None;
    }
    // Infinite slopes at infinite arguments, and where they are too large to be written down.
    x[0].ln_erfc() + x[1].erfcx() => {
        [INF, 1e300] => -INF, [-INF, 0.0], [-INF, 0.0], None;
        [INF, -INF] => NAN, [-INF, -INF], [-INF, -INF], None;
    }
    x[0].hypot(&x[1]) => {
        [0.0, 0.0] => 0.0, [NAN, NAN], [0.0, 0.0], Some("Hypot");
        [INF, NAN] => INF, [1.0, 0.0], [1.0, 0.0], None;
    }
    x[0].exp() + x[1].ln() + x[2].recip() => {
        [1000.0, 1e-310, 1e-200] => INF, [INF, INF, -INF], [INF, INF, -INF], None;
    }
    // NaN arguments.
    x[0].exp() * x[1].sin() * x[2].abs() => { [NAN, 1.0, 1.0] => NAN, [NAN, NAN, NAN], [NAN, NAN, NAN], None; }
    &x[0] - &x[1] + 2.0 => { [NAN, 1.0] => NAN, [1.0, -1.0], [1.0, -1.0], None; }
    // 0·∞ inside a statement.
    &x[0] * (&x[0] * &x[0] + &x[1] * &x[1]).sqrt() => {
        [0.0, 0.0] => 0.0, [NAN, NAN], [0.0, 0.0], Some("Sqrt");
    }
    (&x[0] * &x[0]).sqrt() => { [0.0] => 0.0, [NAN], [0.0], Some("Sqrt"); }
    statement([&x[0], &x[1]], |[x, y]| x * (x * x + y * y).sqrt()) => {
        [0.0, 0.0] => 0.0, [NAN, NAN], [0.0, 0.0], Some("Sqrt");
        [3.0, 4.0] => 15.0, [6.8, 2.4], [6.8, 2.4], None;
    }
    &x[0] * x[1].ln() => { [0.0, 0.0] => NAN, [-INF, NAN], [-INF, 0.0], Some("Ln"); }
    // The infinite partial above the root takes nothing from the 0.
    x[0].sqrt() * x[1].ln() => { [0.0, 0.0] => NAN, [-INF, NAN], [0.0, 0.0], Some("Sqrt"); }
    // 0·∞ between statements: the root's adjoint is 0, so it contributes nothing. `Checked` cannot know that it will be.
    {
        let length = (&x[0] * &x[0] + &x[1] * &x[1]).sqrt().eval();
        (&x[0] * &length).eval()
    } => { [0.0, 0.0] => 0.0, [0.0, 0.0], [0.0, 0.0], Some("Sqrt"); }
    {
        let ln = x[1].ln().eval();
        (&x[0] * &ln).eval()
    } => {
        [0.0, 0.0] => NAN, [-INF, 0.0], [-INF, 0.0], Some("Ln");
        [2.0, 0.0] => -INF, [-INF, INF], [-INF, 0.0], Some("Ln");
    }
    {
        let root = x[0].sqrt().eval();
        (&root * 0.0 + &x[0]).eval()
    } => { [0.0] => 0.0, [1.0], [1.0], Some("Sqrt"); }
    // The partial of the first statement is 0, and takes nothing from an infinite adjoint.
    x[0].max(0.0).eval().sqrt().eval() => {
        [-1.0] => 0.0, [0.0], [0.0], Some("Sqrt");
        [4.0] => 2.0, [0.25], [0.25], None;
    }
    (&x[0] * &x[0]).eval().sqrt().eval() => { [0.0] => 0.0, [0.0], [0.0], Some("Sqrt"); }
    // An argument that is not selected is not looked at.
    x[0].sqrt().max(&x[1]) => { [0.0, 1.0] => 1.0, [0.0, 1.0], [0.0, 1.0], None; }
    x[0].sqrt().max(1.0) => { [-1.0] => 1.0, [0.0], [0.0], None; }
    {
        let root = x[0].sqrt().eval();
        (x[1].max(&root) + &x[0]).eval()
    } => { [-1.0, 2.0] => 1.0, [1.0, 1.0], [1.0, 1.0], None; }
    // Passive arguments have no slope.
    {
        let (zero, three) = (Real::from(0.0), Real::from(3.0));
        (&x[0] * zero.sqrt() + x[0].powf(&three) + &x[0] * zero.hypot(&zero)).eval()
    } => { [-2.0] => -8.0, [12.0], [12.0], None; }
    statement([&x[0], &Real::from(0.0)], |[x, c]| x * c.sqrt() + x) => { [2.0] => 2.0, [1.0], [1.0], None; }
    // Functions of slices, and rules of users.
    nary::<S, Norm>(&[x], &[]) + sum(x) => {
        [0.0, 0.0] => 0.0, [NAN, NAN], [1.0, 1.0], Some("Norm");
        [3.0, 4.0] => 12.0, [1.6, 1.8], [1.6, 1.8], None;
        [1e200, 1e200] => INF, [1.0, 1.0], [1.0, 1.0], None;
    }
    nary::<S, Reciprocals>(&[x], &[]) => {
        [0.0, 2.0] => INF, [-INF, -0.25], [0.0, -0.25], Some("Reciprocals");
        [1e-200, 2.0] => 1e200, [-INF, -0.25], [-INF, -0.25], None;
    }
    nary::<S, Reciprocals>(&[&[Real::from(0.0)], x], &[]) => {
        [2.0] => INF, [-0.25], [-0.25], None;
        [0.0] => INF, [-INF], [0.0], Some("Reciprocals");
    }
    unary::<S, Corner, _>(&x[0]) + unary::<S, Pole, _>(&x[1]) => {
        [0.0, 1.0] => 1.0, [NAN, -1.0], [0.0, -1.0], Some("Corner");
        [1.0, 0.0] => INF, [1.0, -INF], [1.0, 0.0], Some("Pole");
        [1.0, 1e-200] => 1e200, [1.0, -INF], [1.0, -INF], None;
    }
}

/// √Σxᵢ².
struct Norm;
impl<V: Number> Nary<V> for Norm {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x).sqrt()
    }
    fn partials(x: &[V], constants: &[V], partials: &mut [V]) {
        let norm = Self::value(x, constants);
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x / norm);
    }
}

/// Σ1/xᵢ.
struct Reciprocals;
impl<V: Number> Nary<V> for Reciprocals {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + x.recip())
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = -(x.recip() * x.recip()));
    }
    fn singular(x: &[V], _: &[V]) -> bool {
        x.contains(&V::ZERO)
    }
}

/// |x|, without a slope at 0.
struct Corner;
impl Unary for Corner {
    fn value<V: Float>(x: V) -> V {
        x.abs()
    }
    fn derivative<V: Float>(x: V, y: V) -> V {
        y / x
    }
}

/// 1/x.
struct Pole;
impl Unary for Pole {
    fn value<V: Float>(x: V) -> V {
        x.recip()
    }
    fn derivative<V: Float>(_: V, y: V) -> V {
        -(y * y)
    }
    fn singular<V: Float>(x: V) -> bool {
        x.is_zero()
    }
}
