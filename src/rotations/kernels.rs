//! The scalar functions that rotations are made of. All are analytic where a rotation is the identity.

use tapewright_strategies::{Binary, Float};

/// Stumpff's functions cₖ(s) = Σⱼ (−s)ʲ/(2j + k)!, where k is the second argument, a whole number that is a constant.
///
/// With θ = √s, c₀ is cos θ, c₁ is sin θ/θ, c₂ is (1 − cos θ)/θ², and c₃ is (θ − sin θ)/θ³. They are analytic in s, and
/// cₖ′ = (k·cₖ₊₂ − cₖ₊₁)/2 (K. Stumpff, *Himmelsmechanik*, volume I, 1959; the formula follows from the series).
pub(super) struct Stumpff;
impl Binary for Stumpff {
    const HASH: u32 = 0x5354_554d;
    fn value<V: Float>(s: V, k: V) -> V {
        V::from_f64(stumpff_at(s.as_f64(), k.as_f64()))
    }
    fn partial_left<V: Float>(s: V, k: V, _: V) -> V {
        let k = k.as_f64();
        (V::from_f64(k) * stumpff(s, k + 2.0) - stumpff(s, k + 1.0)) * V::from_f64(0.5)
    }
    fn partial_right<V: Float>(_: V, _: V, _: V) -> V {
        V::ZERO
    }
}

/// cₖ(s) of s ≥ 0.
pub(super) fn stumpff<V: Float>(s: V, k: f64) -> V {
    s.binary::<Stumpff>(V::from_f64(k))
}

/// The series where its terms decrease fast, so that nothing cancels; else cₖ = (1/(k − 2)! − cₖ₋₂)/s, in which
/// then nothing cancels either.
fn stumpff_at(s: f64, k: f64) -> f64 {
    let theta = s.sqrt();
    if k == 0.0 {
        theta.cos()
    } else if k == 1.0 {
        if s == 0.0 { 1.0 } else { theta.sin() / theta }
    } else if k == 2.0 {
        0.5 * stumpff_at(0.25 * s, 1.0).powi(2) // 1 − cos θ = 2·sin²(θ/2)
    } else if s <= 0.25 * (k + 1.0) * (k + 2.0) {
        let ratio = |j: f64| s / ((k + 2.0 * j - 1.0) * (k + 2.0 * j));
        (1..=16).rev().fold(1.0, |sum, j| 1.0 - ratio(f64::from(j)) * sum) / factorial(k)
    } else {
        (factorial(k - 2.0).recip() - stumpff_at(s, k - 2.0)) / s
    }
}

fn factorial(k: f64) -> f64 {
    if k <= 1.0 { 1.0 } else { k * factorial(k - 1.0) }
}

/// Eₘ(c) = ∫ du/(u² + 1 − c²)ᵐ from c to ∞, where m ≥ 1 is the second argument, a whole number that is a constant.
///
/// E₁ is φ/sin φ for c = cos φ. All are analytic for c > −1, also where c is 1, and Eₘ′ = 2·m·c·Eₘ₊₁ − 1: the
/// derivative of the integral. Here c ≥ 0.
pub(super) struct ArcQuotient;
impl Binary for ArcQuotient {
    const HASH: u32 = 0x4152_4351;
    fn value<V: Float>(c: V, m: V) -> V {
        V::from_f64(arc_quotient_at(c.as_f64(), m.as_f64()))
    }
    fn partial_left<V: Float>(c: V, m: V, _: V) -> V {
        let m = m.as_f64();
        V::from_f64(2.0 * m) * c * c.binary::<Self>(V::from_f64(m + 1.0)) - V::ONE
    }
    fn partial_right<V: Float>(_: V, _: V, _: V) -> V {
        V::ZERO
    }
}

/// φ/sin φ of c = cos φ ≥ 0.
pub(super) fn arc_quotient<V: Float>(c: V) -> V {
    c.binary::<ArcQuotient>(V::ONE)
}

/// With x = 1 − c² = sin² φ it is x^(½ − m)·∫ sin²ᵐ⁻² ψ dψ from 0 to φ. For small x that is the series of an
/// incomplete beta function, Σ (½)ⱼ/j!·xʲ/(2j + 2m − 1) (DLMF 8.17.7), whose terms are positive; for others the
/// integral by parts.
fn arc_quotient_at(c: f64, m: f64) -> f64 {
    let x = (1.0 - c) * (1.0 + c);
    if m == 1.0 && x > 0.0 {
        let sine = x.sqrt();
        return sine.atan2(c) / sine;
    }
    if x > 0.5 {
        return ((2.0 * m - 3.0) * arc_quotient_at(c, m - 1.0) - c) / (2.0 * (m - 1.0) * x);
    }
    let (mut sum, mut term) = ((2.0 * m - 1.0).recip(), 1.0);
    for j in (1..=60).map(f64::from) {
        term *= (j - 0.5) / j * x;
        sum += term / (2.0 * (j + m) - 1.0);
    }
    sum + 0.0 * c // NaN for NaN
}
