//! Conversions, comparison and text.

use super::Complex;
use crate::closed::Closed;
use crate::expr::Real;
use core::fmt;
use core::str::FromStr;
use tapewright_strategies::{Float, Taping};

/// Makes complex numbers of one real number, and of two.
macro_rules! from_numbers {
    ($($t:ty)*) => { $(
        impl<S: Taping> From<$t> for Complex<S> {
            fn from(re: $t) -> Self { Self { re: re.into(), im: Closed::default() } }
        }

        impl<S: Taping> From<($t, $t)> for Complex<S> {
            fn from((re, im): ($t, $t)) -> Self { Self { re: re.into(), im: im.into() } }
        }
    )* };
}
from_numbers!(f64 Real<S> Closed<S>);

impl<S: Taping> From<&Closed<S>> for Complex<S> {
    fn from(re: &Closed<S>) -> Self {
        Self::from(re.clone())
    }
}

impl<S: Taping> From<&Real<S>> for Complex<S> {
    fn from(re: &Real<S>) -> Self {
        Self::from(re.clone())
    }
}

impl<S: Taping> From<&Self> for Complex<S> {
    fn from(z: &Self) -> Self {
        z.clone()
    }
}

impl<S: Taping> From<Complex<S>> for (Closed<S>, Closed<S>) {
    fn from(z: Complex<S>) -> Self {
        (z.re, z.im)
    }
}

impl<S: Taping> From<Complex<S>> for (Real<S>, Real<S>) {
    fn from(z: Complex<S>) -> Self {
        (z.re.open(), z.im.open())
    }
}

#[cfg(feature = "num-complex")]
impl<S: Taping> From<num_complex::Complex<Closed<S>>> for Complex<S> {
    fn from(z: num_complex::Complex<Closed<S>>) -> Self {
        Self { re: z.re, im: z.im }
    }
}

#[cfg(feature = "num-complex")]
impl<S: Taping> From<Complex<S>> for num_complex::Complex<Closed<S>> {
    fn from(z: Complex<S>) -> Self {
        Self { re: z.re, im: z.im }
    }
}

/// A passive number.
#[cfg(feature = "num-complex")]
impl<S: Taping> From<num_complex::Complex<f64>> for Complex<S> {
    fn from(z: num_complex::Complex<f64>) -> Self {
        Self::from((z.re, z.im))
    }
}

impl<S: Taping> Default for Complex<S> {
    /// A passive 0.
    fn default() -> Self {
        Self::from(0.0)
    }
}

impl<S: Taping> PartialEq for Complex<S> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.re == other.re && self.im == other.im
    }
}

impl<S: Taping> fmt::Debug for Complex<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Complex").field("re", &self.re).field("im", &self.im).finish()
    }
}

/// Writes both parts as `$trait` does, the sign of the imaginary one between them.
macro_rules! display {
    ($($trait:ident)*) => { $(
        impl<S: Taping<Value: Float + fmt::$trait>> fmt::$trait for Complex<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (re, im) = self.value();
                fmt::$trait::fmt(&re, f)?;
                f.write_str(if im.is_sign_negative() { "-" } else { "+" })?;
                fmt::$trait::fmt(&if im.is_sign_negative() { -im } else { im }, f)?;
                f.write_str("i")
            }
        }
    )* };
}
display!(Display LowerExp);

/// A passive number, from `a`, `bi` or `a+bi` with what the value type can parse as `a` and `b`.
impl<S: Taping<Value: FromStr>> FromStr for Complex<S> {
    type Err = <S::Value as FromStr>::Err;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, |part| part.parse().map(Closed::constant))
    }
}

/// Cuts a text in two parts, and reads both.
pub(super) fn parse<S: Taping, E>(text: &str, read: impl Fn(&str) -> Result<Closed<S>, E>) -> Result<Complex<S>, E> {
    let text = text.trim();
    let Some(body) = text.strip_suffix(['i', 'j']) else {
        return Ok(Complex { re: read(text)?, im: Closed::default() });
    };
    // The last sign that belongs to no exponent and does not begin the text.
    let is_exponent = |k: usize| matches!(body.as_bytes()[k - 1], b'e' | b'E');
    let cut = body.rmatch_indices(['+', '-']).map(|(k, _)| k).find(|k| *k > 0 && !is_exponent(*k));
    let (re, im) = body.split_at(cut.unwrap_or(0));
    let im = match im.trim() {
        "" | "+" => "1",
        "-" => "-1",
        other => other,
    };
    let im = im.strip_prefix('+').unwrap_or(im).replace(' ', "");
    Ok(Complex { re: if re.is_empty() { Closed::default() } else { read(re.trim())? }, im: read(&im)? })
}
