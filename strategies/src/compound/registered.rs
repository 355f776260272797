//! Functions of packs by complete registers, from the crate `wide`.
//!
//! `wide` is exact to a few units in the last place on a range of arguments. Lanes whose arguments or results are
//! outside that range are recomputed by the standard library. Each lane is checked on its own, so its result does not
//! depend on other lanes.

use crate::number::traits::{Binary, Float, Number, Unary};
use crate::rules::elementary::exponential::{self, ExpM1, Sigmoid};
use crate::rules::elementary::hyperbolic::{Cosh, Sinh};
use crate::rules::elementary::power::Pow;
use crate::rules::elementary::trigonometric::{Cos, Sin};
use crate::rules::selection::{AtLeast, AtMost, Max, Min};
use core::any::TypeId;
use core::array::from_fn;

/// Defines functions of arrays: the row `exp_in_registers exp exp: (a, b) (c, d);` names the method of [`Registered`],
/// the method of `wide` and the method of a single number, with the range of arguments for `f64` and for `f32`.
macro_rules! functions {
    ($($name:ident $wide:ident $one:ident: $double:tt $single:tt;)*) => {
        /// Element type of packs: `f64` or `f32`.
        pub trait Registered: Float {
            $(#[doc(hidden)]
            fn $name<const N: usize>(x: [Self; N], range: (Self, Self)) -> [Self; N];)*
            #[doc(hidden)]
            fn plus<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn minus<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn times<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn over<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            /// Product that is 0 where a factor is 0.
            #[doc(hidden)]
            fn contributed<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn negative<const N: usize>(x: [Self; N]) -> [Self; N];
            /// Numbers of `a` where x < y, of `b` elsewhere.
            #[doc(hidden)]
            fn where_less<const N: usize>(x: [Self; N], y: [Self; N], a: [Self; N], b: [Self; N]) -> [Self; N];
            /// Numbers of `a` where x ≤ y, of `b` elsewhere.
            #[doc(hidden)]
            fn where_at_most<const N: usize>(x: [Self; N], y: [Self; N], a: [Self; N], b: [Self; N]) -> [Self; N];
            /// Numbers of `a` where x is NaN, of `b` elsewhere.
            #[doc(hidden)]
            fn where_nan_of<const N: usize>(x: [Self; N], a: [Self; N], b: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn are_nought<const N: usize>(x: [Self; N]) -> bool;
            /// Returns true if all elements lie in the closed range.
            #[doc(hidden)]
            fn are_within<const N: usize>(x: [Self; N], range: (Self, Self)) -> bool;
            #[doc(hidden)]
            fn powf_in_registers<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N];
            #[doc(hidden)]
            fn sin_cos_in_registers<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]);
        }

        $(
            #[inline(always)]
            pub(crate) fn $one<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
                V::$name(x, range(if is_double::<V>() { $double } else { $single }))
            }
        )*

        registered! { f64 f64x2 f64x4 f64x8 2 4 8, $($name $wide $one)* }
        registered! { f32 f32x4 f32x8 f32x16 4 8 16, $($name $wide $one)* }
    };
}

/// Calls a macro with the type of register that a pack fills exactly, e.g. `call!(f64x4)`; evaluates the last
/// expression for other packs.
macro_rules! filled {
    ($call:ident: $two:ident $four:ident $eight:ident $n2:literal $n4:literal $n8:literal, $otherwise:expr) => {
        match N {
            $n2 => $call!($two),
            $n4 => $call!($four),
            $n8 => $call!($eight),
            _ => $otherwise,
        }
    };
}

/// Implements operations from rows `plus |x, y| scalar, |x, y| register;`: by a register for packs that fill one
/// exactly, so that they stay in it, and element by element for other packs.
macro_rules! operations {
    ($two:ident $four:ident $eight:ident $n2:literal $n4:literal $n8:literal;
    $($name:ident |$($x:ident),*| $one:expr, |$($v:ident),*| $register:expr;)*) => { $(
        #[inline(always)]
        fn $name<const N: usize>($($v: [Self; N]),*) -> [Self; N] {
            macro_rules! register {
                ($type:ident) => {{
                    $(let $v: wide::$type = bytemuck::cast($v);)*
                    bytemuck::cast($register)
                }};
            }
            let one_by_one = |k: usize| {
                $(let $x = $v[k];)*
                $one
            };
            filled!(register: $two $four $eight $n2 $n4 $n8, from_fn(one_by_one))
        }
    )* };
}

/// Applies a function of registers to an array, in pieces of one register.
macro_rules! chunks {
    ($to:ident = $register:ident $length:literal, |$($x:ident),*| $value:expr) => {
        for at in (0..N).step_by($length) {
            // The last register may be filled only in part, and repeats the last element.
            $(let $x = wide::$register::new(from_fn(|k| $x[(at + k).min(N - 1)]));)*
            let found = $value.to_array();
            (at..N.min(at + $length)).for_each(|k| $to[k] = found[k - at]);
        }
    };
}

/// Implements [`Registered`] for a type of number with three lengths of registers.
macro_rules! registered {
    ($v:ident $two:ident $four:ident $eight:ident $n2:literal $n4:literal $n8:literal,
    $($name:ident $wide:ident $one:ident)*) => {
        impl Registered for $v {
            $(#[inline(always)]
            fn $name<const N: usize>(x: [Self; N], range: (Self, Self)) -> [Self; N] {
                macro_rules! register {
                    ($register:ident) => {{
                        let v: wide::$register = bytemuck::cast(x);
                        let found = v.$wide();
                        if Self::are_within(x, range) {
                            return bytemuck::cast(found);
                        }
                        // Copies: a variable whose address is passed to a function does not stay in a register.
                        let (x, found): ([Self; N], [Self; N]) = (bytemuck::cast(v), bytemuck::cast(found));
                        let found: wide::$register = bytemuck::cast(beyond(x, found, range, Number::$one));
                        bytemuck::cast(found)
                    }};
                }
                filled!(register: $two $four $eight $n2 $n4 $n8, {
                    let mut to = x;
                    match N {
                        0..=$n2 => chunks!(to = $two $n2, |x| x.$wide()),
                        0..=$n4 => chunks!(to = $four $n4, |x| x.$wide()),
                        _ => chunks!(to = $eight $n8, |x| x.$wide()),
                    }
                    if Self::are_within(x, range) { to } else { beyond(x, to, range, Number::$one) }
                })
            })*
            operations! { $two $four $eight $n2 $n4 $n8;
                plus |x, y| x + y, |v, w| v + w;
                minus |x, y| x - y, |v, w| v - w;
                times |x, y| x * y, |v, w| v * w;
                over |x, y| x / y, |v, w| v / w;
                negative |x| -x, |v| -v;
                where_less |x, y, a, b| if x < y { a } else { b }, |v, w, c, d| v.simd_lt(w).bitselect(c, d);
                where_at_most |x, y, a, b| if x <= y { a } else { b }, |v, w, c, d| v.simd_le(w).bitselect(c, d);
                where_nan_of |x, a, b| if x.is_nan() { a } else { b }, |v, c, d| v.simd_ne(v).bitselect(c, d);
                contributed |x, y| if x == 0.0 || y == 0.0 { 0.0 } else { x * y }, |v, w| {
                    let zero = nought(v);
                    (v.simd_eq(zero) | w.simd_eq(zero)).bitselect(zero, v * w)
                };
            }
            #[inline(always)]
            fn are_nought<const N: usize>(x: [Self; N]) -> bool {
                macro_rules! all {
                    ($register:ident) => {{
                        let x: wide::$register = bytemuck::cast(x);
                        x.simd_eq(nought(x)).all()
                    }};
                }
                filled!(all: $two $four $eight $n2 $n4 $n8, x.iter().all(|x| *x == 0.0))
            }
            #[inline(always)]
            fn are_within<const N: usize>(x: [Self; N], range: (Self, Self)) -> bool {
                macro_rules! all {
                    ($register:ident) => {{
                        let x: wide::$register = bytemuck::cast(x);
                        (x.simd_ge(wide::$register::splat(range.0)) & x.simd_le(wide::$register::splat(range.1))).all()
                    }};
                }
                filled!(all: $two $four $eight $n2 $n4 $n8, x.iter().all(|x| is_within(*x, range)))
            }
            #[inline(always)]
            fn powf_in_registers<const N: usize>(x: [Self; N], y: [Self; N]) -> [Self; N] {
                macro_rules! register {
                    ($register:ident) => {{
                        let (x, y): (wide::$register, wide::$register) = (bytemuck::cast(x), bytemuck::cast(y));
                        bytemuck::cast(x.powf_simd(y))
                    }};
                }
                filled!(register: $two $four $eight $n2 $n4 $n8, {
                    let mut to = x;
                    match N {
                        0..=$n2 => chunks!(to = $two $n2, |x, y| x.powf_simd(y)),
                        0..=$n4 => chunks!(to = $four $n4, |x, y| x.powf_simd(y)),
                        _ => chunks!(to = $eight $n8, |x, y| x.powf_simd(y)),
                    }
                    to
                })
            }
            #[inline(always)]
            fn sin_cos_in_registers<const N: usize>(x: [Self; N]) -> ([Self; N], [Self; N]) {
                macro_rules! register {
                    ($register:ident) => {{
                        let x: wide::$register = bytemuck::cast(x);
                        let (sin, cos) = x.sin_cos();
                        (bytemuck::cast(sin), bytemuck::cast(cos))
                    }};
                }
                filled!(register: $two $four $eight $n2 $n4 $n8, {
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
                })
            }
        }
    };
}

functions! {
    exp_in_registers exp exp: (-700.0, 700.0) (-80.0, 80.0);
    exp_m1_in_registers exp_m1 exp_m1: (-700.0, 700.0) (-80.0, 80.0);
    ln_in_registers ln ln: (1e-300, 1e300) (1e-37, 1e37);
    ln_1p_in_registers ln_1p ln_1p: (-0.5, 1e37) (-0.5, 1e37);
    asin_in_registers asin asin: (-1.0, 1.0) (-1.0, 1.0);
    acos_in_registers acos acos: (-1.0, 1.0) (-1.0, 1.0);
    atan_in_registers atan atan: (-1e15, 1e15) (-1e15, 1e15);
    sinh_in_registers sinh sinh: (-80.0, 80.0) (-80.0, 80.0);
    cosh_in_registers cosh cosh: (-80.0, 80.0) (-80.0, 80.0);
    tanh_in_registers tanh tanh: (-300.0, 300.0) (-300.0, 300.0);
}

/// Returns a register of zeros.
#[inline(always)]
fn nought<T: bytemuck::Zeroable>(_like: T) -> T {
    T::zeroed()
}

/// Returns true if the numbers have the size of `f64`.
#[inline(always)]
const fn is_double<V>() -> bool {
    size_of::<V>() == size_of::<f64>()
}

/// Converts the bounds of a range.
#[inline(always)]
fn range<V: Registered>((first, last): (f64, f64)) -> (V, V) {
    (V::from_f64(first), V::from_f64(last))
}

#[inline(always)]
fn is_within<V: Registered>(x: V, range: (V, V)) -> bool {
    (range.0..=range.1).contains(&x)
}

/// Keeps the results found by registers for arguments inside the range, and recomputes the other ones one by one.
#[cold]
#[inline(never)]
fn beyond<const N: usize, V: Registered>(x: [V; N], found: [V; N], range: (V, V), one: fn(V) -> V) -> [V; N] {
    from_fn(|k| if is_within(x[k], range) { found[k] } else { one(x[k]) })
}

/// xʸ.
#[inline(always)]
pub(crate) fn powf<const N: usize, V: Registered>(x: [V; N], y: [V; N]) -> [V; N] {
    let ordinary = range(if is_double::<V>() { (1e-300, 1e300) } else { (1e-37, 1e37) });
    let (found, exponents) = (V::powf_in_registers(x, y), range((-1e9, 1e9)));
    if V::are_within(x, ordinary) & V::are_within(found, ordinary) & V::are_within(y, exponents) {
        return found;
    }
    powf_beyond(x, y, found, ordinary, exponents)
}

/// [`beyond`] for powers, whose exponents and results must be in a range, too.
#[cold]
#[inline(never)]
fn powf_beyond<const N: usize, V: Registered>(
    x: [V; N],
    y: [V; N],
    found: [V; N],
    range: (V, V),
    exponents: (V, V),
) -> [V; N] {
    let exact = |k: usize| is_within(x[k], range) && is_within(found[k], range) && is_within(y[k], exponents);
    from_fn(|k| if exact(k) { found[k] } else { x[k].powf(y[k]) })
}

/// Sine and cosine.
#[inline(always)]
pub(crate) fn sin_cos<const N: usize, V: Registered>(x: [V; N]) -> ([V; N], [V; N]) {
    let ((sin, cos), range) = (V::sin_cos_in_registers(x), range((-1e4, 1e4)));
    if V::are_within(x, range) { (sin, cos) } else { (beyond(x, sin, range, V::sin), beyond(x, cos, range, V::cos)) }
}

/// Sine.
#[inline(always)]
pub(crate) fn sin<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
    sin_cos(x).0
}

/// Cosine.
#[inline(always)]
pub(crate) fn cos<const N: usize, V: Registered>(x: [V; N]) -> [V; N] {
    sin_cos(x).1
}

#[inline(always)]
fn is<R: 'static, Other: 'static>() -> bool {
    TypeId::of::<R>() == TypeId::of::<Other>()
}

/// Value and companion of a rule, if registers have a function for it.
#[inline(always)]
pub(crate) fn unary<R: Unary, V: Registered, const N: usize>(x: [V; N]) -> Option<([V; N], [V; N])> {
    let zero = [V::ZERO; N];
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
    macro_rules! others {
        (unary { $($(#[$doc:meta])* $name:ident: $file:ident::$rule:ident, $floats:ident $(, $kernel:ident)?;)* }
         $($rest:tt)*) => {
            $(others! { @ $floats $name $file $rule })*
        };
        (@ registers $name:ident $file:ident $rule:ident) => {
            if is::<R, crate::rules::$file::$rule>() {
                return Some(($name(x), zero));
            }
        };
        (@ $($any:tt)*) => {};
    }
    crate::for_each_function!(others);
    None
}

/// Derivative of a rule, if it needs a function of registers.
#[inline(always)]
pub(crate) fn derivative<R: Unary, V: Registered, const N: usize>(x: [V; N]) -> Option<[V; N]> {
    match () {
        () if is::<R, ExpM1>() => Some(exp(x)),
        () if is::<R, Sinh>() => Some(cosh(x)),
        () if is::<R, Cosh>() => Some(sinh(x)),
        () => None,
    }
}

/// Numbers of `left` in the lanes in which a rule returns the first of two arguments, of `right` in the others, if it
/// is a rule that returns one of its arguments.
#[inline(always)]
pub(crate) fn chosen<R: 'static, V: Registered, const N: usize>(
    x: [V; N],
    y: [V; N],
    (left, right): ([V; N], [V; N]),
) -> Option<[V; N]> {
    match () {
        () if is::<R, Max>() => Some(V::where_at_most(y, x, left, V::where_nan_of(y, left, right))),
        () if is::<R, Min>() => Some(V::where_at_most(x, y, left, V::where_nan_of(y, left, right))),
        () if is::<R, AtLeast>() => Some(V::where_at_most(y, x, left, V::where_nan_of(x, left, right))),
        () if is::<R, AtMost>() => Some(V::where_at_most(x, y, left, V::where_nan_of(x, left, right))),
        () => None,
    }
}

/// Value of a rule of two arguments, if registers have a function for it.
#[inline(always)]
pub(crate) fn binary<R: Binary, V: Registered, const N: usize>(x: [V; N], y: [V; N]) -> Option<[V; N]> {
    match () {
        () if is::<R, Pow>() => Some(powf(x, y)),
        () if is::<R, Max>() || is::<R, Min>() => chosen::<R, V, N>(x, y, (x, y)),
        () if is::<R, AtLeast>() => Some(V::where_less(x, y, y, x)),
        () if is::<R, AtMost>() => Some(V::where_less(y, x, y, x)),
        () => None,
    }
}
