//! The list of functions that every number has.

/// Calls a macro with the functions of numbers: first the functions of one argument, then of two.
macro_rules! with_functions {
    ($callback:ident) => {
        $callback! {
            unary {
                /// |x|.
                abs;
                /// √x.
                sqrt;
                /// ∛x.
                cbrt;
                /// 1/x.
                recip;
                /// eˣ.
                exp;
                /// 2ˣ.
                exp2;
                /// eˣ − 1, exact near 0.
                exp_m1;
                /// Natural logarithm.
                ln;
                /// Logarithm to base 2.
                log2;
                /// Logarithm to base 10.
                log10;
                /// ln(1 + x), exact near 0.
                ln_1p;
                /// Sine.
                sin;
                /// Cosine.
                cos;
                /// Tangent.
                tan;
                /// Arcsine.
                asin;
                /// Arccosine.
                acos;
                /// Arctangent.
                atan;
                /// Hyperbolic sine.
                sinh;
                /// Hyperbolic cosine.
                cosh;
                /// Hyperbolic tangent.
                tanh;
                /// Inverse hyperbolic sine.
                asinh;
                /// Inverse hyperbolic cosine.
                acosh;
                /// Inverse hyperbolic tangent.
                atanh;
                /// Radians to degrees.
                to_degrees;
                /// Degrees to radians.
                to_radians;
                /// x − trunc x.
                fract;
            }
            special {
                /// Error function, from `libm`.
                erf;
                /// Complementary error function, from `libm`.
                erfc;
                /// Gamma function Γ(x), from `libm`.
                gamma;
                /// ln |Γ(x)|, from `libm`.
                ln_gamma;
                /// Digamma ψ(x) = Γ′(x)/Γ(x), from `statrs`; ∓∞ at ±0, NaN at the other poles.
                digamma;
                /// Trigamma ψ′(x), from `special`; +∞ at ±0, NaN at the other poles.
                trigamma;
                /// The quantile of the standard normal distribution, Φ⁻¹(p); ∓∞ at 0 and 1, NaN outside.
                normal_quantile;
            }
            step {
                /// ±1 with the sign of x; NaN for NaN.
                signum;
                /// The largest whole number below.
                floor;
                /// The smallest whole number above.
                ceil;
                /// The nearest whole number.
                round;
                /// The whole part.
                trunc;
            }
            binary {
                /// xʸ.
                powf;
                /// The logarithm of x to base y.
                log;
                /// √(x² + y²) without overflow.
                hypot;
                /// The angle of the point (y, x), as in `y.atan2(x)`.
                atan2;
                /// |x| with the sign of y.
                copysign;
                /// The larger; the left one at a tie, and not a NaN if it can be helped.
                max;
                /// The smaller; the left one at a tie, and not a NaN if it can be helped.
                min;
            }
        }
    };
}
pub(crate) use with_functions;
