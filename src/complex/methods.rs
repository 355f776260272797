//! Functions of complex numbers as methods.

use super::Complex;
use super::functions::{
    Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cos, Cosh, Exp, Exp2, Inv, Ln, Log2, Log10, Power, Quotient, Sin,
    Sinh, Sqrt, Tan, Tanh,
};
use super::rules::{Holomorphic, HolomorphicOfTwo, ImaginaryPart, RealPart};
use crate::closed::Closed;
use crate::expr::{binary, note_singular_point};
use crate::nary::nary;
use core::slice::from_ref;
use smallvec::SmallVec;
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::singular::refuses_singular;
use tapewright_strategies::{Float, Nary as _, Number as _, Taping};

impl<S: Taping> Complex<S> {
    /// Records a function of one complex number, as two statements.
    #[track_caller]
    pub(super) fn apply<F: Holomorphic>(&self) -> Self {
        self.re.note_pole::<RealPart<F>>(self.im.number());
        Self {
            re: binary::<S, RealPart<F>, _, _>(&self.re, &self.im).into(),
            im: binary::<S, ImaginaryPart<F>, _, _>(&self.re, &self.im).into(),
        }
    }

    /// Records a function of two complex numbers, as two statements.
    #[track_caller]
    pub(super) fn apply2<F: HolomorphicOfTwo>(&self, other: &Self) -> Self {
        let parts = [&self.re, &self.im, &other.re, &other.im];
        note_poles::<F, S>(&parts.map(Closed::number));
        let arguments = parts.map(|part| from_ref(part.as_real()));
        Self {
            re: nary::<S, RealPart<F>>(&arguments, &[]).into(),
            im: nary::<S, ImaginaryPart<F>>(&arguments, &[]).into(),
        }
    }

    /// The quotient of two complex numbers.
    #[track_caller]
    pub(super) fn over(&self, other: &Self) -> Self {
        self.apply2::<Quotient>(other)
    }
}

/// Tells the strategy of a point at which a function of two complex numbers has no derivative by one of them.
#[inline]
#[track_caller]
fn note_poles<F: HolomorphicOfTwo, S: Taping>(parts: &[(S::Value, S::Raw); 4]) {
    let values = parts.map(|part| part.0);
    if refuses_singular::<S>() || !RealPart::<F>::singular(&values, &[]) {
        return;
    }
    let mut partials = values;
    RealPart::<F>::partials(&values, &[], &mut partials);
    let is_finite = |partial: &S::Value| (0..S::Value::LANES).all(|k| partial.lane(k).is_finite());
    let is_pole = |k: &usize| !partials[2 * (k / 2)..][..2].iter().all(is_finite);
    let ids: SmallVec<[S::Raw; 4]> = (0..4).filter(is_pole).map(|k| parts[k].1).collect();
    note_singular_point::<S>(values[0], &ids);
}

/// Defines methods: the row `sin Sin;` becomes `pub fn sin(&self) -> Self`.
macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident $function:ident;)*) => {
        impl<S: Taping> Complex<S> { $(
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $method(&self) -> Self { self.apply::<$function>() }
        )* }
    };
}

methods! {
    /// 1/z, without overflow. At 0 it is (±∞, NaN).
    inv Inv;
    /// 1/z: another name of [`inv`](Self::inv), which does not overflow either.
    finv Inv;
    /// e^z.
    exp Exp;
    /// 2^z.
    exp2 Exp2;
    /// The natural logarithm: ln |z| and the [argument](Self::arg).
    ln Ln;
    /// The logarithm to base 2.
    log2 Log2;
    /// The logarithm to base 10.
    log10 Log10;
    /// The square root with a real part that is not negative.
    sqrt Sqrt;
    /// The cube root whose argument is a third of that of z. So −8 has the root 1 + √3·i, and not −2.
    cbrt Cbrt;
    /// Sine.
    sin Sin;
    /// Cosine.
    cos Cos;
    /// Tangent.
    tan Tan;
    /// Arcsine, with a real part from −π/2 to π/2.
    asin Asin;
    /// Arccosine, with a real part from 0 to π.
    acos Acos;
    /// Arctangent, with a real part from −π/2 to π/2.
    atan Atan;
    /// Hyperbolic sine.
    sinh Sinh;
    /// Hyperbolic cosine.
    cosh Cosh;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// Inverse hyperbolic sine, with an imaginary part from −π/2 to π/2.
    asinh Asinh;
    /// Inverse hyperbolic cosine, with a real part that is not negative and an imaginary part from −π to π.
    acosh Acosh;
    /// Inverse hyperbolic tangent, with an imaginary part from −π/2 to π/2.
    atanh Atanh;
}

/// Predicates of both parts. Like comparisons, they are reported to strategies that can replay a recording.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident $comparison:ident $both:tt;)*) => {
        impl<S: Taping> Complex<S> { $(
            $(#[$doc])*
            ///
            /// # Panics
            ///
            /// When the lanes of a value disagree.
            #[track_caller]
            pub fn $name(&self) -> bool {
                let [re, im] = [&self.re, &self.im].map(|part| {
                    part.ask(Comparison::$comparison);
                    part.answer(Float::$name)
                });
                re $both im
            }
        )* }
    };
}

questions! {
    /// Returns true if a part is NaN.
    is_nan IsNan ||;
    /// Returns true if both parts are finite.
    is_finite IsFinite &&;
    /// Returns true if both parts are finite, not 0, and have all their digits.
    is_normal IsNormal &&;
}

impl<S: Taping> Complex<S> {
    /// The complex number with these parts.
    pub const fn new(re: Closed<S>, im: Closed<S>) -> Self {
        Self { re, im }
    }

    /// The imaginary unit, passive.
    #[must_use]
    pub fn i() -> Self {
        Self::from((0.0, 1.0))
    }

    /// The number r·e^iθ with the absolute value r and the argument θ, two statements.
    #[must_use]
    #[track_caller]
    pub fn from_polar(r: impl Into<Closed<S>>, theta: impl Into<Closed<S>>) -> Self {
        let (r, theta) = (r.into().open(), theta.into().open());
        Self { re: (&r * theta.cos()).into(), im: (&r * theta.sin()).into() }
    }

    /// The absolute value and the argument.
    #[must_use]
    #[track_caller]
    pub fn to_polar(&self) -> (Closed<S>, Closed<S>) {
        (self.norm(), self.arg())
    }

    /// e^iθ = cos θ + i·sin θ, two statements.
    #[must_use]
    #[track_caller]
    pub fn cis(theta: impl Into<Closed<S>>) -> Self {
        let theta = theta.into();
        Self { re: theta.cos(), im: theta.sin() }
    }

    /// The absolute value √(re² + im²), one statement, without overflow. At 0 it has no
    /// derivative, and the [policy](crate::policy::Policy) decides.
    #[must_use]
    #[track_caller]
    pub fn norm(&self) -> Closed<S> {
        self.re.hypot(&self.im)
    }

    /// |z|² = re² + im², one statement, smooth everywhere.
    #[must_use]
    #[track_caller]
    pub fn norm_sqr(&self) -> Closed<S> {
        let (x, y) = (self.re.as_real(), self.im.as_real());
        (x * x + y * y).into()
    }

    /// |re| + |im|, one statement.
    #[must_use]
    #[track_caller]
    pub fn l1_norm(&self) -> Closed<S> {
        (self.re.as_real().abs() + self.im.as_real().abs()).into()
    }

    /// The angle from the positive real axis, from −π to π, one statement. On the negative real axis the sign of the
    /// zero decides between π and −π.
    #[must_use]
    #[track_caller]
    pub fn arg(&self) -> Closed<S> {
        self.im.atan2(&self.re)
    }

    /// The conjugate, one statement.
    #[must_use]
    #[track_caller]
    pub fn conj(&self) -> Self {
        Self { re: self.re.clone(), im: -&self.im }
    }

    /// Both parts times a real number, which may be a variable or an `f64`.
    #[must_use]
    #[track_caller]
    pub fn scale(&self, factor: impl Into<Closed<S>>) -> Self {
        self * factor.into()
    }

    /// Both parts divided by a real number, which may be a variable or an `f64`.
    #[must_use]
    #[track_caller]
    pub fn unscale(&self, divisor: impl Into<Closed<S>>) -> Self {
        self / divisor.into()
    }

    /// The quotient: another name of `/`, which does not overflow either.
    #[must_use]
    #[track_caller]
    pub fn fdiv(&self, other: impl Into<Self>) -> Self {
        self.over(&other.into())
    }

    /// zⁿ by multiplication: smooth at 0 for n ≥ 0, and exact on the axes where the products are.
    #[must_use]
    #[track_caller]
    pub fn powu(&self, mut n: u32) -> Self {
        let (mut square, mut power) = (self.clone(), None::<Self>);
        while n > 0 {
            if n % 2 == 1 {
                power = Some(power.map_or_else(|| square.clone(), |power| power * &square));
            }
            n /= 2;
            if n > 0 {
                square = &square * &square;
            }
        }
        power.unwrap_or_else(|| Self::from(1.0))
    }

    /// zⁿ by multiplication, of 1/z if n is negative.
    #[must_use]
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        if n < 0 { self.inv().powu(n.unsigned_abs()) } else { self.powu(n.unsigned_abs()) }
    }

    /// z to a real power, which may be a variable or an `f64`; see [`powc`](Self::powc).
    #[must_use]
    #[track_caller]
    pub fn powf(&self, exponent: impl Into<Closed<S>>) -> Self {
        self.powc(Self::from(exponent.into()))
    }

    /// z^w = exp(w·ln z), two statements; 1 for w = 0.
    ///
    /// At z = 0 the value is 0 if the real part of w is positive. If w is passive and one of 0, 1, …, 7, derivatives of
    /// any order are right there. For other w, derivatives of an order below the real part of w are 0, and higher ones
    /// infinite or NaN.
    #[must_use]
    #[track_caller]
    pub fn powc(&self, exponent: impl Into<Self>) -> Self {
        self.apply2::<Power>(&exponent.into())
    }

    /// base^z for a real base, which may be a variable or an `f64`: [`powc`](Self::powc) of `base` + 0i.
    #[must_use]
    #[track_caller]
    pub fn expf(&self, base: impl Into<Closed<S>>) -> Self {
        Self::from(base.into()).apply2::<Power>(self)
    }

    /// The logarithm to a real base, which may be a variable or an `f64`: ln z/ln base.
    #[must_use]
    #[track_caller]
    pub fn log(&self, base: impl Into<Closed<S>>) -> Self {
        self.ln() / base.into().ln()
    }

    /// Returns true if a part is infinite and none is NaN.
    ///
    /// # Panics
    ///
    /// When the lanes of a value disagree.
    #[track_caller]
    pub fn is_infinite(&self) -> bool {
        !self.is_nan() && !self.is_finite()
    }

    /// The values of both parts.
    #[track_caller]
    pub fn value(&self) -> (S::Value, S::Value) {
        (self.re.value(), self.im.value())
    }
}
