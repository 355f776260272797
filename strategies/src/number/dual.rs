//! Dual numbers: values with tangents.

use super::traits::Number;
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A value with tangents along `N` directions, i.e. its derivatives with respect to ε₁, …, εₙ.
///
/// Under a taping strategy, duals give derivatives of derivatives: if the inputs of a recording over `Dual<f64, 1>`
/// have tangent v, the tangents of their adjoints are the Hessian times v. Duals of duals give third derivatives.
///
/// The value of every result has the same bits as in the computation without tangents, and values decide every branch:
/// `<` compares values only. `==` compares the tangents, too. A product with zero is zero in the chain rule, as between
/// statements: a tangent of 0 contributes nothing even if the partial derivative is infinite or NaN.
///
/// ```
/// use tapewright_strategies::{Dual, Number};
///
/// let x = Dual { value: 3.0, tangents: [1.0] };
/// let y = x * x.ln();
/// assert_eq!(y.value, 3.0 * 3.0_f64.ln());
/// assert_eq!(y.tangents, [3.0_f64.ln() + 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Dual<V, const N: usize> {
    /// The value.
    pub value: V,
    /// The derivatives along the directions.
    pub tangents: [V; N],
}

/// Returns a·b; a product with zero is zero.
#[inline(always)]
pub(crate) fn guarded<V: Number>(a: V, b: V) -> V {
    if V::PARTS > 1 {
        a.contribution(b)
    } else if a.is_nought() | b.is_nought() {
        V::ZERO
    } else {
        a * b
    }
}

impl<V: Number, const N: usize> Dual<V, N> {
    /// Wraps a value whose tangents are zero.
    #[inline(always)]
    #[must_use]
    pub const fn constant(value: V) -> Self {
        Self { value, tangents: [V::ZERO; N] }
    }

    /// Chain rule for a function of one argument: combines the function's value with its partial derivative at `self`.
    #[inline(always)]
    pub(crate) fn chain(self, value: V, partial: V) -> Self {
        Self { value, tangents: each(|k| guarded(self.tangents[k], partial)) }
    }

    /// Chain rule for a function of two arguments.
    #[inline(always)]
    pub(crate) fn chain2(self, other: Self, value: V, (left, right): (V, V)) -> Self {
        let tangent = |k: usize| guarded(self.tangents[k], left) + guarded(other.tangents[k], right);
        Self { value, tangents: each(tangent) }
    }

    /// Chain rule for a function of three arguments.
    #[inline(always)]
    pub(crate) fn chain3(self, others: [Self; 2], value: V, [first, second, third]: [V; 3]) -> Self {
        let pair = self.chain2(others[0], value, (first, second));
        let tangent = |k: usize| pair.tangents[k] + guarded(others[1].tangents[k], third);
        Self { value, tangents: each(tangent) }
    }
}

impl<V: Number, const N: usize> Default for Dual<V, N> {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Formats the value, followed by the tangents in brackets.
impl<V: Number, const N: usize> fmt::Display for Dual<V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)?;
        f.write_str(" [")?;
        for (k, tangent) in self.tangents.iter().enumerate() {
            f.write_str(if k == 0 { "" } else { ", " })?;
            fmt::Display::fmt(tangent, f)?;
        }
        f.write_str("]")
    }
}

impl<V: Number, const N: usize> Add for Dual<V, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let tangents = each(|k| self.tangents[k] + other.tangents[k]);
        Self { value: self.value + other.value, tangents }
    }
}

impl<V: Number, const N: usize> AddAssign for Dual<V, N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<V: Number, const N: usize> Sub for Dual<V, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let tangents = each(|k| self.tangents[k] - other.tangents[k]);
        Self { value: self.value - other.value, tangents }
    }
}

impl<V: Number, const N: usize> Neg for Dual<V, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { value: -self.value, tangents: each(|k| -self.tangents[k]) }
    }
}

impl<V: Number, const N: usize> Mul for Dual<V, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain2(other, self.value * other.value, (other.value, self.value))
    }
}

/// Builds an array from a function of the index. `core::array::from_fn` is not always inlined, and tangents would then
/// pass through memory.
#[inline(always)]
pub(crate) fn each<V: Number, const N: usize>(mut f: impl FnMut(usize) -> V) -> [V; N] {
    let mut all = [V::ZERO; N];
    let mut k = 0;
    while k < N {
        all[k] = f(k);
        k += 1;
    }
    all
}
