//! Functions of several numbers by whole registers, from the crate `wide`.
//!
//! Lanes whose arguments or results are outside the range in which `wide` is exact to a few units in the last place are
//! computed by the standard library, one by one: each lane by its own number, so that what it gives does not depend on
//! the others.

use super::number::{Binary, Float, Unary};
use crate::rules::exponential::{self, Exp, ExpM1, Ln, Ln1p, Sigmoid};
use crate::rules::hyperbolic::{Cosh, Sinh, Tanh};
use crate::rules::power::Pow;
use crate::rules::trigonometric::{Acos, Asin, Atan, Cos, Sin};
use core::any::TypeId;
use core::array::from_fn;

/// The row `exp_in_registers exp exp: |x| …;` becomes a function of arrays, by the one of registers where the condition
/// holds.
macro_rules! functions {
    ($($name:ident $wide:ident $one:ident: |$x:ident| $exact:expr;)*) => {
        /// A number of which registers are made: `f64` or `f32`.
        pub trait Registered: Float {
            $(#[doc(hidden)]
            fn $name<const N: usize>(x: [Self; N]) -> [Self; N];)*
            #[doc(hidden)]
            fn powf_in_registers<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn sin_cos_in_registers<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]);
        }

        $(
            #[inline]
            pub(super) fn $one<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
                let mut found = V::$name(x);
                let exact = |k: usize| {
                    let $x = x[k].as_f64();
                    $exact
                };
                if (0..N).fold(false, |some, k| some | !exact(k)) {
                    found = from_fn(|k| if exact(k) { found[k] } else { x[k].$one() });
                }
                found
            }
        )*

        registered! { f64 f64x2 f64x4 f64x8 2 4 8, $($name $wide)* }
        registered! { f32 f32x4 f32x8 f32x16 4 8 16, $($name $wide)* }
    };
}

/// Calls a function of registers for the numbers in them.
macro_rules! chunks {
    ($to:ident = $register:ident $length:literal, |$($x:ident),*| $value:expr) => {
        for at in (0..N).step_by($length) {
            // The last register may be filled in part.
            $(let $x = wide::$register::new(from_fn(|k| $x[(at + k).min(N - 1)]));)*
            let found = $value.to_array();
            (at..N.min(at + $length)).for_each(|k| $to[k] = found[k - at]);
        }
    };
}

/// [`Registered`] for a type of numbers with three lengths of registers.
macro_rules! registered {
    ($v:ident $two:ident $four:ident $eight:ident $n2:literal $n4:literal $n8:literal, $($name:ident $wide:ident)*) => {
        impl Registered for $v {
            $(#[inline(always)]
            fn $name<const N: usize>(x: [Self; N]) -> [Self; N] {
                let mut to = x;
                match N {
                    0..=$n2 => chunks!(to = $two $n2, |x| x.$wide()),
                    0..=$n4 => chunks!(to = $four $n4, |x| x.$wide()),
                    _ => chunks!(to = $eight $n8, |x| x.$wide()),
                }
                to
            })*
            #[inline(always)]
            fn powf_in_registers<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N] {
                let mut to = x;
                match N {
                    0..=$n2 => chunks!(to = $two $n2, |x, y| x.powf_simd(y)),
                    0..=$n4 => chunks!(to = $four $n4, |x, y| x.powf_simd(y)),
                    _ => chunks!(to = $eight $n8, |x, y| x.powf_simd(y)),
                }
                to
            }
            #[inline(always)]
            fn sin_cos_in_registers<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]) {
                let (mut sin, mut cos) = (x, x);
                for at in (0..N).step_by($n8.min(N)) {
                    macro_rules! both {
                        ($register:ident) => {{
                            let (s, c) = wide::$register::new(from_fn(|k| x[(at + k).min(N - 1)])).sin_cos();
                            let (s, c) = (s.to_array(), c.to_array());
                            for k in 0..s.len().min(N - at) {
                                (sin[at + k], cos[at + k]) = (s[k], c[k]);
                            }
                        }};
                    }
                    match N {
                        0..=$n2 => both!($two),
                        0..=$n4 => both!($four),
                        _ => both!($eight),
                    }
                }
                (sin, cos)
            }
        }
    };
}

functions! {
    exp_in_registers exp exp: |x| x.abs() <= 80.0 || x.abs() <= 700.0 && is_double::<V>();
    exp_m1_in_registers exp_m1 exp_m1: |x| x.abs() <= 80.0 || x.abs() <= 700.0 && is_double::<V>();
    ln_in_registers ln ln: |x| x > 1e-37 && x < 1e37 || x > 1e-300 && x < 1e300 && is_double::<V>();
    ln_1p_in_registers ln_1p ln_1p: |x| x > -0.5 && x < 1e37;
    asin_in_registers asin asin: |x| x.abs() <= 1.0;
    acos_in_registers acos acos: |x| x.abs() <= 1.0;
    atan_in_registers atan atan: |x| x.abs() < 1e15;
    sinh_in_registers sinh sinh: |x| x.abs() <= 80.0;
    cosh_in_registers cosh cosh: |x| x.abs() <= 80.0;
    tanh_in_registers tanh tanh: |x| x.abs() <= 300.0;
}

/// Whether the numbers have the range of `f64`.
#[inline(always)]
const fn is_double<V>() -> bool {
    size_of::<V>() == size_of::<f64>()
}

/// xʸ.
#[inline]
pub(super) fn powf<const N: usize, V: Registered>(x: [V; N], y: [V; N]) -> [V; N] {
    let (found, range) = (V::powf_in_registers(x, y), if is_double::<V>() { 1e300 } else { 1e37 });
    let ordinary = |number: V| number.as_f64() > 1.0 / range && number.as_f64() < range;
    let exact = |k: usize| ordinary(x[k]) & ordinary(found[k]) & (y[k].as_f64().abs() < 1e9);
    if (0..N).fold(false, |some, k| some | !exact(k)) {
        return from_fn(|k| if exact(k) { found[k] } else { x[k].powf(y[k]) });
    }
    found
}

/// Sine and cosine.
#[inline]
pub(super) fn sin_cos<const N: usize, V: Registered>(x: [V; N]) -> ([V; N], [V; N]) {
    let (mut sin, mut cos) = V::sin_cos_in_registers(x);
    let exact = |k: usize| x[k].as_f64().abs() < 1e4;
    if (0..N).fold(false, |some, k| some | !exact(k)) {
        for k in (0..N).filter(|k| !exact(*k)) {
            (sin[k], cos[k]) = x[k].sin_cos();
        }
    }
    (sin, cos)
}

/// Sine.
#[inline]
pub(super) fn sin<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
    sin_cos(x).0
}

/// Cosine.
#[inline]
pub(super) fn cos<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
    sin_cos(x).1
}

#[inline(always)]
fn is<R: 'static, Other: 'static>() -> bool {
    TypeId::of::<R>() == TypeId::of::<Other>()
}

/// Value and companion of a rule that has a function of registers.
#[inline(always)]
pub(super) fn unary<R: Unary, V: Registered, const N: usize>(x: [V; N]) -> Option<([V; N], [V; N])> {
    let zero = [V::ZERO; N];
    macro_rules! first_of {
        ($($rule:ident $function:ident)*) => {
            $(if is::<R, $rule>() {
                return Some(($function(x), zero));
            })*
        };
    }
    first_of! {
        Exp exp ExpM1 exp_m1 Ln ln Ln1p ln_1p Asin asin Acos acos Atan atan Sinh sinh Cosh cosh Tanh tanh
    }
    if is::<R, Sin>() {
        return Some(sin_cos(x));
    }
    if is::<R, Cos>() {
        let (sin, cos) = sin_cos(x);
        return Some((cos, sin));
    }
    if is::<R, Sigmoid>() {
        let e = exp(x.map(|x| -x.abs()));
        let (mut value, mut companion) = (zero, zero);
        for k in 0..N {
            (value[k], companion[k]) = exponential::sigmoid_by(x[k], e[k]);
        }
        return Some((value, companion));
    }
    None
}

/// The derivative of a rule that needs a function of registers.
#[inline(always)]
pub(super) fn derivative<R: Unary, V: Registered, const N: usize>(x: [V; N]) -> Option<[V; N]> {
    match () {
        () if is::<R, ExpM1>() => Some(exp(x)),
        () if is::<R, Sinh>() => Some(cosh(x)),
        () if is::<R, Cosh>() => Some(sinh(x)),
        () => None,
    }
}

/// The value of a rule that has a function of registers.
#[inline(always)]
pub(super) fn binary<R: Binary, V: Registered, const N: usize>(x: [V; N], y: [V; N]) -> Option<[V; N]> {
    if is::<R, Pow>() { Some(powf(x, y)) } else { None }
}
