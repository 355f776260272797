//! Every function of the library, and every way to write a statement, as one step of a program.

use tapewright::prelude::{Real, Taping};
use tapewright::{
    Binary, Float, Nary, Number, Unary, binary, dot, linear_combination, logsumexp, nary, smooth_max, smooth_min, sum,
    unary,
};

/// What a function gets: three variables, the old value of its target, all variables, and a literal from 0.1 to 2.
/// Variables are in [−2, 2], and so is what the function returns.
pub(crate) struct Operands<'a, S: Taping> {
    pub(crate) x: &'a Real<S>,
    pub(crate) y: &'a Real<S>,
    pub(crate) z: &'a Real<S>,
    pub(crate) old: &'a Real<S>,
    pub(crate) all: &'a [Real<S>],
    pub(crate) c: f64,
}

/// Sorts of functions with their numbers. The last has kinks; the others bring their arguments into the smooth part of
/// the domain.
const FAMILIES: [usize; 7] = [14, 17, 14, 9, 11, 13, 13];
/// The number of all functions.
pub(crate) const FUNCTIONS: usize = {
    let [a, b, c, d, e, f, g] = FAMILIES;
    a + b + c + d + e + f + g
};

/// The result of function number `function`.
pub(crate) fn apply<S: Taping>(function: usize, on: &Operands<'_, S>) -> Real<S> {
    let (mut family, mut member) = (0, function);
    while member >= FAMILIES[family] {
        member -= FAMILIES[family];
        family += 1;
    }
    match family {
        0 => arithmetic(member, on),
        1 => elementary(member, on),
        2 => circular(member, on),
        3 => special(member, on),
        4 => of_slices(member, on),
        5 => assignments(member, on),
        _ => kinked(member, on),
    }
}

/// Operators with operands of every form; literals, passive operands, copies, a step function that is constant here.
fn arithmetic<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, c, .. } = on;
    let near = || x.sin() * 0.2 + 2.5; // in (2.3, 2.7)
    match member {
        0 => ((x + y) * 0.5).into(),
        1 => ((x - y * c) * 0.25).into(),
        2 => (x * y / (z * z + 2.0)).into(),
        3 => ((x + c) / (y * y + 2.0)).into(),
        4 => (-x * 0.5 + (c - 1.0)).into(),
        5 => (1.0 / (x * x + c + 0.5)).into(),
        6 => (c - 0.5 * (x * x)).into(),
        7 => x.mul_add(0.5, y * 0.25).into(),
        8 => (&Real::from(c) * x * 0.25 - y * &Real::constant(S::Value::from_f64(c)) / 4.0).into(),
        9 => (-(x - y) * (x + y) * 0.25 + &Real::default()).into(),
        10 => x.clone(),
        11 => Real::from(c - 1.0),
        12 => (near().floor() * x * 0.2 + near().ceil() * y * 0.1 + near().trunc() * near().signum() * 0.1).into(),
        _ => {
            let folded = near().abs().max(y).min(3.0) % 2.0 + near().fract() + near().clamp(2.0, 3.0);
            (folded * 0.25 + near().copysign(-1.0) * 0.25 + (near() - 0.3).round() * 0.1).into()
        }
    }
}

/// Powers, roots, exponentials and logarithms.
fn elementary<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, c, .. } = on;
    match member {
        0 => ((x * x + c).sqrt() * 0.5).into(),
        1 => ((x * x + c).cbrt().mul_add(y.sin(), z) * 0.5).into(),
        2 => (x * x + 0.6).recip().into(),
        3 => (x.sin().exp() * 0.5).into(),
        4 => (-(x * x)).exp2().into(),
        5 => x.cos().exp_m1().into(),
        6 => ((x * x + c).ln() * 0.5).into(),
        7 => ((x * x + c).log2() * 0.5).into(),
        8 => (y * y + c).log10().into(),
        9 => (x * x).ln_1p().into(),
        10 => ((x * x + c).log(y * y + 2.0) * 0.5).into(),
        11 => (x * x * 0.1 + 0.5).powf(y.sin()).into(),
        12 => ((x * x + 1.0).powi(-2) - y.sin().powi(3)).into(),
        13 => (x.powi(2) * 0.25 + y.powi(0) * 0.5 - z.powi(1) * 0.25).into(),
        14 => (x.hypot(c) * 0.3 + x.hypot(y.cos()) * 0.3).into(),
        15 => ((x * x + 1.0).powf(0.4) - (y.exp() + 1.0).ln() * 0.5).into(),
        _ => (x.log_add_exp(y) * 0.5).into(),
    }
}

/// Circular and hyperbolic functions.
fn circular<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, c, .. } = on;
    match member {
        0 => (x.sin() * y.cos() + z * 0.5).into(),
        1 => {
            let (sin, cos) = x.sin_cos();
            (sin * 0.7 + cos).into()
        }
        2 => (x.sin() * 0.7).tan().into(),
        3 => (x.sin() * 0.9).asin().into(),
        4 => ((x.cos() * 0.9).acos() - 1.0).into(),
        5 => (x * y).atan().into(),
        6 => x.atan2(y * y + 0.3).into(),
        7 => (x.sinh() * 0.5).into(),
        8 => (y.cosh() * 0.5).into(),
        9 => ((x.tanh() + y.tanh() * c) * 0.5).into(),
        10 => x.asinh().into(),
        11 => ((x * x + 1.2).acosh() * 0.5).into(),
        12 => (x.sin() * 0.8).atanh().into(),
        _ => (x.to_degrees() * 0.02 - (y * 30.0).to_radians()).tanh().into(),
    }
}

/// Special functions.
fn special<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, c, .. } = on;
    match member {
        0 => (x.erf() + y.erfc() * 0.5).into(),
        1 => (x.sigmoid() * y.softplus() * 0.9).into(),
        2 => (x.normal_pdf() + y.normal_cdf()).into(),
        3 => (x.sigmoid() * 0.8 + 0.1).normal_quantile().into(),
        4 => (((x.sigmoid() + 0.5).ln_gamma() + (y.sigmoid() + 0.5).gamma()) * 0.5).into(),
        5 => (z.sigmoid() + 0.5).digamma().into(),
        6 => ((x.sigmoid() + 0.5).beta(y.sigmoid() + 0.5) * 0.5).into(),
        7 => ((smooth_max(x, y, c) + smooth_min(y, z, c)) * 0.25).into(),
        _ => (x.smooth_abs(c) * 0.3 + y.smooth_abs(z * 0.5 + 1.1) * 0.3).into(),
    }
}

/// x ↦ x·exp(−x²).
struct Wave;
impl Unary for Wave {
    fn value<V: Float>(x: V) -> V {
        x * (-x * x).exp()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        (V::ONE - V::from_f64(2.0) * x * x) * (-x * x).exp()
    }
}

/// (x, y) ↦ x²·y/4.
struct SquareTimes;
impl Binary for SquareTimes {
    fn value<V: Float>(x: V, y: V) -> V {
        x * x * y * V::from_f64(0.25)
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        x * y * V::from_f64(0.5)
    }
    fn partial_right<V: Float>(x: V, _: V, _: V) -> V {
        x * x * V::from_f64(0.25)
    }
}

/// Σ xᵢ²/(4·n).
struct MeanSquare;
impl<V: Number> Nary<V> for MeanSquare {
    fn value(x: &[V], _: &[V]) -> V {
        let scale = V::from_f64(0.25) / V::from_f64(f64::from(u32::try_from(x.len()).expect("a small number")));
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x) * scale
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        let scale = V::from_f64(0.5) / V::from_f64(f64::from(u32::try_from(x.len()).expect("a small number")));
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x * scale);
    }
}

/// Functions of slices, folds of iterators, and rules of the program's own.
fn of_slices<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, all, c, .. } = on;
    match member {
        0 => (logsumexp(all) * 0.5).into(),
        1 => (sum(all) * 0.16 - sum(&all[2..3]) * 0.02).into(),
        2 => (dot(&all[..3], &all[3..]) * 0.16).into(),
        3 => (linear_combination(&[c, -c, 0.5], &all[..3]) * 0.2).into(),
        4 => nary::<S, MeanSquare>(&[&all[..2], &all[1..], &all[5..]], &[]),
        5 => all.iter().map(|x| x * 0.15).sum(),
        6 => all.iter().map(|x| x.cos() * 1.1).product(),
        7 => all[..2].iter().product::<Real<S>>().sin().into(),
        8 => (logsumexp(&[x.clone(), y.clone(), y.clone()]) * 0.5 + sum::<S>(&[]) + dot(&all[..1], &all[..1]) * 0.1)
            .into(),
        9 => (unary::<S, Wave, _>(x) + unary::<S, Wave, _>(y.sin())).into(),
        _ => (binary::<S, SquareTimes, _, _>(x, y.tanh()) + binary::<S, SquareTimes, _, _>(z.sin(), c)).into(),
    }
}

/// Assignments to a variable that already has a value, and expressions that are kept.
fn assignments<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, c, .. } = on;
    let mut t = on.old.clone();
    match member {
        0 => {
            t += x * y;
            t *= 0.3;
        }
        1 => {
            t -= x;
            t *= 0.5;
        }
        2 => t *= x.sin(),
        3 => t /= y * y + 1.0,
        4 => {
            t *= y;
            t /= 2.0;
        }
        5 => {
            t += c;
            t -= y;
            t /= 3.0;
        }
        6 => {
            t -= c;
            let divisor: Real<S> = (x * x + 2.0).into();
            t /= &divisor;
        }
        7 => {
            t.assign(x.sin() * 0.2 + 2.5);
            t %= 2.0;
        }
        8 => {
            t.assign(5.5 + y.sin() * 0.2);
            t %= &(x.sin() * 0.1 + 2.2).eval(); // the quotient is between 2.3 and 2.8
        }
        9 => t = (&t * &t * &t * 0.25).into(),
        10 => {
            t += &x.clone();
            let half = (&t * 0.5).eval();
            t.assign(half);
        }
        11 => {
            let mut later = Real::undefined();
            later.assign(c - 1.0);
            later += y * 0.25;
            t = (&later * &t * 0.5).into();
        }
        _ => {
            let expression = x * y * 0.25;
            let (once, twice) = (expression.eval(), (expression + 0.5).eval());
            t = (once * twice).into();
        }
    }
    t
}

/// Functions with kinks or jumps, and branches.
fn kinked<S: Taping>(member: usize, on: &Operands<'_, S>) -> Real<S> {
    let &Operands { x, y, z, c, .. } = on;
    match member {
        0 => x.abs().into(),
        1 => x.max(y).into(),
        2 => x.min(y).into(),
        3 => x.clamp(-c, c).into(),
        4 => (x * y).clamp(-2.0, 2.0).max(z * 0.5).into(),
        5 => x.copysign(y).into(),
        6 => (x.fract() + y.abs().min(c * 0.5)).into(),
        7 => (x % c).into(),
        8 => (x % (y * y + 0.1)).into(),
        9 => ((x.floor() + y.ceil()) * z * 0.15).into(),
        10 => ((x.round() + y.trunc()) * z * 0.25 + x.signum()).tanh().into(),
        11 if x > y => (x - y).sqrt().into(),
        11 => (x * z * 0.5).into(),
        _ => x.max(0.0).into(),
    }
}
