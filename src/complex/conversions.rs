//! Conversions, comparison and text.

use super::Complex;
use crate::closed::Closed;
use crate::expr::Real;
use core::fmt;
use core::str::FromStr;
use tapewright_strategies::{Float, Taping};

/// Implements conversions of a real number, and of a pair of them, to a complex number.
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

/// Implements `$trait`: both parts, with the sign of the imaginary one between them.
macro_rules! display {
    ($($trait:ident)*) => { $(
        impl<S: Taping<Value: Float + fmt::$trait>> fmt::$trait for Complex<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (re, im) = (self.re.peek(), self.im.peek());
                fmt::$trait::fmt(&re, f)?;
                f.write_str(if im.is_sign_negative() { "-" } else { "+" })?;
                fmt::$trait::fmt(&if im.is_sign_negative() { -im } else { im }, f)?;
                f.write_str("i")
            }
        }
    )* };
}
display!(Display LowerExp);

/// Parses `a`, `bi` or `a+bi`, where `a` and `b` are numbers that the value type can parse, to a passive number.
impl<S: Taping<Value: FromStr>> FromStr for Complex<S> {
    type Err = <S::Value as FromStr>::Err;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, |part| part.parse().map(Closed::constant))
    }
}

/// Reads a real part, an imaginary part, or both in either order. As in `num_complex`, the sign between them is the
/// first one that neither begins the text nor follows an `e`.
pub(super) fn parse<S: Taping, E>(text: &str, read: impl Fn(&str) -> Result<Closed<S>, E>) -> Result<Complex<S>, E> {
    let text = text.trim();
    let unit = if text.contains('j') { 'j' } else { 'i' };
    let is_cut =
        |k: &usize| matches!(text.as_bytes()[*k - 1..=*k], [before, b'+' | b'-'] if !matches!(before, b'e' | b'E'));
    let cut = (1..text.len()).find(is_cut).unwrap_or(text.len());
    let (first, second) = (text[..cut].trim_end(), text.get(cut + 1..).unwrap_or_default().trim_start());
    let negative = text[cut..].starts_with('-');
    let signed = |part: &str| read(part).map(|number| if negative { -number } else { number });
    let imaginary = |part: &str| match part.strip_suffix(unit) {
        Some("" | "+") => Some(String::from("1")),
        Some("-") => Some(String::from("-1")),
        number => number.map(String::from),
    };
    let is_sum = !(second.is_empty() || negative && second.starts_with('-'));
    match (imaginary(first), imaginary(second)) {
        (Some(im), _) if cut == text.len() => Ok(Complex { re: Closed::default(), im: read(&im)? }),
        (Some(im), _) if is_sum => Ok(Complex { im: read(&im)?, re: signed(second)? }),
        (None, Some(im)) if is_sum => Ok(Complex { re: read(first)?, im: signed(&im)? }),
        // A number, or an error.
        _ => Ok(Complex { re: read(text)?, im: Closed::default() }),
    }
}
