//! Numbers with a bound on how far any correct computation is from them.

use core::cell::Cell;
use core::ops::Neg;

thread_local! {
    static SINGLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the numbers of the library have single precision, from now on.
pub(crate) fn set_single(single: bool) {
    SINGLE.set(single);
}

/// Whether they have.
pub(crate) fn is_single() -> bool {
    SINGLE.get()
}

/// The largest relative error of one rounding.
pub(crate) fn unit() -> f64 {
    if is_single() { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
}

/// The largest finite number.
fn largest() -> f64 {
    if is_single() { f64::from(f32::MAX) } else { f64::MAX }
}

/// The largest absolute error of a rounding to a number next to 0.
pub(crate) fn smallest() -> f64 {
    if is_single() { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) }
}

/// Rounds to the precision of the library's numbers.
#[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
pub(crate) fn round(x: f64) -> f64 {
    if is_single() { f64::from(x as f32) } else { x }
}

/// All computations of a number that are right give one in [`v` − `e`, `v` + `e`].
///
/// With `e` = 0 all give the same; an infinity, or NaN, has `e` = 0. With `e` = ∞ nothing is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Num {
    pub(crate) v: f64,
    pub(crate) e: f64,
}

/// Whether a number is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nought {
    Yes,
    No,
    Perhaps,
}

impl Num {
    pub(crate) const ZERO: Self = Self::exact(0.0);
    pub(crate) const ONE: Self = Self::exact(1.0);
    pub(crate) const UNKNOWN: Self = Self { v: 0.0, e: f64::INFINITY };

    /// A number that all computations give.
    pub(crate) const fn exact(v: f64) -> Self {
        Self { v, e: 0.0 }
    }

    /// A number that computations give to `k` roundings.
    pub(crate) fn near(v: f64, k: f64) -> Self {
        Self::within(v, k * unit() * v.abs())
    }

    /// A number that computations give to an error of `e` and a rounding.
    pub(crate) fn within(v: f64, e: f64) -> Self {
        if !v.is_finite() {
            return Self::exact(v);
        }
        let e = e + unit() * v.abs() + 4.0 * smallest();
        if v.abs() + e > largest() { Self::UNKNOWN } else { Self { v, e } }
    }

    pub(crate) fn is_unknown(self) -> bool {
        self.e == f64::INFINITY
    }

    pub(crate) fn is_exact(self) -> bool {
        self.e == 0.0
    }

    /// Whether it may be infinite or NaN.
    fn may_be_wild(self) -> bool {
        self.is_unknown() || !self.v.is_finite()
    }

    fn nought(self) -> Nought {
        if self.is_exact() {
            if self.v == 0.0 { Nought::Yes } else { Nought::No }
        } else if self.v.abs() > self.e {
            Nought::No
        } else {
            Nought::Perhaps
        }
    }

    /// Whether it is 0, if that is known.
    pub(crate) fn is_zero(self) -> Option<bool> {
        match self.nought() {
            Nought::Yes => Some(true),
            Nought::No => Some(false),
            Nought::Perhaps => None,
        }
    }

    /// The product as arithmetic has it, where 0·∞ is NaN.
    pub(crate) fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        if a.is_exact() && b.is_exact() {
            return Self::exact(round(a.v * b.v));
        }
        if [a, b].iter().any(|x| x.is_exact() && x.v.is_nan()) {
            return Self::exact(f64::NAN);
        }
        if a.is_unknown() || b.is_unknown() {
            return Self::UNKNOWN;
        }
        if a.may_be_wild() || b.may_be_wild() {
            let sure = a.nought() == Nought::No && b.nought() == Nought::No;
            return if sure { Self::exact(a.v * b.v) } else { Self::UNKNOWN };
        }
        match (a.nought(), b.nought()) {
            (Nought::Yes, _) | (_, Nought::Yes) => Self::ZERO,
            _ if a == Self::ONE => b,
            _ if b == Self::ONE => a,
            _ => a.finite_product(b),
        }
    }

    fn finite_product(self, other: Self) -> Self {
        let (v, upper) = (self.v * other.v, (self.v.abs() + self.e) * (other.v.abs() + other.e));
        if upper > largest() * (1.0 - 4.0 * unit()) {
            let lower = (self.v.abs() - self.e) * (other.v.abs() - other.e);
            let overflows = lower.min(f64::MAX) >= largest() || lower == f64::INFINITY;
            let sure = overflows && self.nought() == Nought::No && other.nought() == Nought::No;
            return if sure { Self::exact(v.signum() * f64::INFINITY) } else { Self::UNKNOWN };
        }
        if upper < smallest() * 0.25 {
            return Self::ZERO;
        }
        Self { v, e: upper - v.abs() + 4.0 * unit() * upper + 4.0 * smallest() }
    }

    /// The product between statements, where zero times anything is zero.
    pub(crate) fn times_between(self, other: Self) -> Self {
        match (self.nought(), other.nought()) {
            (Nought::Yes, _) | (_, Nought::Yes) => Self::ZERO,
            (Nought::Perhaps, _) if other.may_be_wild() => Self::UNKNOWN,
            (_, Nought::Perhaps) if self.may_be_wild() => Self::UNKNOWN,
            _ => self.times(other),
        }
    }

    /// Whether a number agrees.
    pub(crate) fn agrees(self, found: f64) -> bool {
        if self.is_unknown() {
            return true;
        }
        if self.v.is_nan() {
            return found.is_nan();
        }
        self.v == found || (found - self.v).abs() <= self.e
    }
}

impl Neg for Num {
    type Output = Self;
    fn neg(self) -> Self {
        Self { v: -self.v, ..self }
    }
}

/// A sum in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    v: f64,
    e: f64,
    /// Σ |terms|, where they are finite.
    magnitude: f64,
    /// Terms that are not 0.
    terms: u32,
    /// Whether all terms are exact, and whole multiples of 2⁻²⁰.
    whole: bool,
    exact: bool,
}

impl Sum {
    pub(crate) const ZERO: Self = Self { v: 0.0, e: 0.0, magnitude: 0.0, terms: 0, whole: true, exact: true };

    pub(crate) fn add(&mut self, term: Num) {
        if term.nought() == Nought::Yes {
            return;
        }
        self.terms += 1;
        self.exact &= term.is_exact();
        self.whole &= term.is_exact() && (term.v * 1_048_576.0).fract() == 0.0;
        self.e += term.e;
        if term.v.is_finite() {
            self.magnitude += term.v.abs() + term.e;
        }
        self.v += term.v;
    }

    /// What sums of these terms are.
    pub(crate) fn get(&self) -> Num {
        if self.terms == 0 {
            return Num::ZERO;
        }
        if self.e == f64::INFINITY {
            return Num::UNKNOWN;
        }
        // Finite terms may overflow on their own, and then give NaN with an infinite one of the other sign.
        let bound = self.magnitude * (1.0 + 2.0 * f64::from(self.terms) * unit());
        if bound > largest() {
            return Num::UNKNOWN;
        }
        if !self.v.is_finite() {
            return Num::exact(self.v);
        }
        let few = if is_single() { 8.0 } else { 1_073_741_824.0 };
        if self.exact && (self.terms <= 2 || (self.whole && bound < few)) {
            return Num::exact(round(self.v));
        }
        let e = self.e + (2.0 * f64::from(self.terms) + 2.0) * unit() * bound + 4.0 * smallest();
        Num { v: self.v, e }
    }
}
