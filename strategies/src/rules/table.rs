//! The one list of functions: from it come the methods of numbers, variables, expressions, closed variables and
//! kernels, and the tests ask it what they have to test.
//!
//! A new function is a rule, and a row here.
//!
//! ```text
//! /// The first line of the method's documentation, which names the thing.
//! name: file::Rule, floats;
//! ```
//!
//! The row stands under `unary`, `binary` or `ternary`, by the number of arguments; `file` is the public module of
//! `rules` that has the rule. `floats` says how `f64` and `f32` compute the function:
//!
//! * `rule`: by the rule itself, [`Unary::value`](crate::Unary::value) and so on. New functions do.
//! * `native`: by the method of this name of `f64` and `f32`, which the rule calls, too; packs lane by lane.
//! * `registers`: as `native`, but packs have a function of registers of this name in `compound/registered.rs`.
//! * `special`: by the function of this name in `number/special.rs`, in `f64`.
//!
//! Kernels call the rule number by number. A function that has a formula for registers there says so in a word behind:
//! `abs: selection::Abs, native, Absolute;`.
//!
//! The table lists, and whoever calls it decides: it hands all rows to a macro. That of methods makes of the row
//! `sin: trigonometric::Sin, registers;` on variables
//!
//! ```text
//! /// Sine.
//! pub fn sin(&self) -> Ex<S, Un<S, trigonometric::Sin, RefLeaf<'_, S>>> { unary(self) }
//! ```

/// Hands the rows to the macro `$callback`, behind other tokens for it.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_function {
    ($callback:ident $($first:tt)*) => {
        $callback! {
            $($first)*
            unary {
                /// Absolute value; slope 0 at 0.
                abs: selection::Abs, native, Absolute;
                /// Square root; slope +∞ at 0.
                sqrt: power::Sqrt, native, Root;
                /// Cube root; slope +∞ at 0.
                cbrt: power::Cbrt, native;
                /// 1/x.
                recip: power::Recip, native;
                /// eˣ.
                exp: exponential::Exp, registers;
                /// 2ˣ.
                exp2: exponential::Exp2, native;
                /// eˣ − 1, exact near 0.
                exp_m1: exponential::ExpM1, registers;
                /// Natural logarithm.
                ln: exponential::Ln, registers;
                /// Logarithm to base 2.
                log2: exponential::Log2, native;
                /// Logarithm to base 10.
                log10: exponential::Log10, native;
                /// ln(1 + x), exact near 0.
                ln_1p: exponential::Ln1p, registers;
                /// Sine.
                sin: trigonometric::Sin, registers;
                /// Cosine.
                cos: trigonometric::Cos, registers;
                /// Tangent.
                tan: trigonometric::Tan, native;
                /// Arcsine.
                asin: trigonometric::Asin, registers;
                /// Arccosine.
                acos: trigonometric::Acos, registers;
                /// Arctangent.
                atan: trigonometric::Atan, registers;
                /// Hyperbolic sine.
                sinh: hyperbolic::Sinh, registers;
                /// Hyperbolic cosine.
                cosh: hyperbolic::Cosh, registers;
                /// Hyperbolic tangent.
                tanh: hyperbolic::Tanh, registers;
                /// Inverse hyperbolic sine.
                asinh: hyperbolic::Asinh, native;
                /// Inverse hyperbolic cosine.
                acosh: hyperbolic::Acosh, native;
                /// Inverse hyperbolic tangent.
                atanh: hyperbolic::Atanh, native;
                /// Radians to degrees.
                to_degrees: trigonometric::ToDegrees, native;
                /// Degrees to radians.
                to_radians: trigonometric::ToRadians, native;
                /// x − trunc x; slope 1.
                fract: selection::Fract, native;
                /// Error function.
                erf: special::Erf, special;
                /// Complementary error function; far out see [`erfcx`](Self::erfcx) and [`ln_erfc`](Self::ln_erfc).
                erfc: special::Erfc, special;
                /// Gamma function Γ.
                gamma: special::Gamma, special;
                /// ln |Γ|.
                ln_gamma: special::LnGamma, special;
                /// Digamma function ψ = Γ′/Γ; ∓∞ at ±0, NaN at the other poles.
                digamma: special::Digamma, special;
                /// Trigamma function ψ′; ∞ at ±0, NaN at the other poles.
                trigamma: special::Trigamma, rule;
                /// Density of the standard normal distribution.
                normal_pdf: special::NormalPdf, rule;
                /// Distribution function of the standard normal distribution; its logarithm is
                /// [`ln_normal_cdf`](Self::ln_normal_cdf).
                normal_cdf: special::NormalCdf, rule;
                /// Quantile function of the standard normal distribution; ∓∞ at 0 and 1, NaN outside.
                normal_quantile: special::NormalQuantile, special;
                /// Logistic function 1/(1 + e⁻ˣ), without overflow.
                sigmoid: exponential::Sigmoid, rule;
                /// ln(1 + eˣ), without overflow.
                softplus: exponential::Softplus, rule;
                /// Logarithm of the standard normal distribution function, also where that vanishes.
                ln_normal_cdf: tails::LnNormalCdf, rule;
                /// Scaled complementary error function e^(x²)·erfc x.
                erfcx: tails::Erfcx, rule;
                /// Logarithm of the complementary error function, also where that vanishes.
                ln_erfc: tails::LnErfc, rule;
                /// ln(1 − eˣ) for x ≤ 0; slope −∞ at 0.
                log1m_exp: logarithmic::Log1mExp, rule;
                /// x·ln x; 0 at 0, with the slope −∞.
                x_ln_x: logarithmic::XLnX, rule;
                /// ln(x/(1 − x)), the inverse of the logistic function; slope +∞ at 0 and 1.
                logit: logarithmic::Logit, rule;
                /// Logarithm of the logistic function, without overflow.
                ln_sigmoid: logarithmic::LnSigmoid, rule;
                /// sin x/x, and 1 at 0; without a factor of π.
                sinc: trigonometric::Sinc, rule;
                /// x².
                square: power::Square, rule, Square;
                /// Lambert's W₀, the solution W ≥ −1 of W·e^W = x; slope +∞ at −1/e.
                lambert_w0: lambert::LambertW0, rule;
                /// Lambert's W₋₁, the solution W ≤ −1 of W·e^W = x for x < 0; slope −∞ at −1/e.
                lambert_wm1: lambert::LambertWm1, rule;
            }
            binary {
                /// Power with any exponent; see [`powi`](Self::powi) for whole ones.
                powf: power::Pow, registers;
                /// Logarithm to base `other`.
                log: exponential::Log, native;
                /// √(x² + other²), without overflow.
                hypot: power::Hypot, native;
                /// The angle of the point (`other`, `self`).
                atan2: trigonometric::Atan2, native;
                /// The larger of the two; at a tie `self`, and not a NaN if it can be helped.
                max: selection::Max, native, Maximum;
                /// The smaller of the two; at a tie `self`, and not a NaN if it can be helped.
                min: selection::Min, native, Minimum;
                /// The magnitude of `self` with the sign of `other`.
                copysign: selection::CopySign, native;
                /// Beta function B(`self`, `other`).
                beta: special::Beta, rule;
                /// Bessel function of the first kind J of the order `other`.
                bessel_j: bessel::BesselJ, rule;
                /// Bessel function of the second kind Y of the order `other`.
                bessel_y: bessel::BesselY, rule;
                /// Modified Bessel function of the first kind I of the order `other`.
                bessel_i: bessel::BesselI, rule;
                /// Modified Bessel function of the second kind K of the order `other`.
                bessel_k: bessel::BesselK, rule;
                /// Modified Bessel function I of the order `other`, times e⁻|ˣ|: without overflow.
                bessel_i_scaled: bessel::BesselIScaled, rule;
                /// Modified Bessel function K of the order `other`, times eˣ: without underflow.
                bessel_k_scaled: bessel::BesselKScaled, rule;
                /// Logarithm of the beta function, for arguments from 0 on.
                ln_beta: gamma_ratio::LnBeta, rule;
                /// Logarithm of `self` over `other`, the binomial coefficient, for real numbers.
                ln_choose: gamma_ratio::LnChoose, rule;
                /// Regularized lower incomplete gamma function P(a, x) of x = `self` with a = `other`: the distribution
                /// function of the gamma distribution with shape a.
                gamma_p: incomplete_gamma::GammaP, rule;
                /// Regularized upper incomplete gamma function Q(a, x) = 1 − P(a, x) of x = `self` with a = `other`.
                gamma_q: incomplete_gamma::GammaQ, rule;
                /// The x with P(a, x) = `self` for a = `other`: the quantile function of the gamma distribution.
                gamma_p_inv: quantile::GammaPInv, rule;
                /// The x with Q(a, x) = `self` for a = `other`, exact for a `self` that is tiny.
                gamma_q_inv: quantile::GammaQInv, rule;
                /// Distribution function of Student's t distribution with `other` degrees of freedom.
                student_t_cdf: student::StudentTCdf, rule;
                /// ln(eˣ + eʸ), without overflow.
                log_add_exp: exponential::LogAddExp, rule;
                /// √(x² + w²) with w = `other`: |x| rounded off over a width w.
                smooth_abs: selection::SmoothAbs, rule;
                /// ln(eˣ − eʸ) for x = `self` ≥ y = `other`, without overflow.
                log_diff_exp: logarithmic::LogDiffExp, rule;
                /// x·ln y for x = `self` and y = `other`; 0 where x is 0, also for y = 0.
                xlogy: logarithmic::XLogY, rule;
                /// x·ln(1 + y) for x = `self` and y = `other`; 0 where x is 0, also for y = −1.
                xlog1py: logarithmic::XLog1pY, rule;
            }
            ternary {
                /// Regularized incomplete beta function I of x = `self` with the shapes `second` and `third`: the
                /// distribution function of the beta distribution.
                beta_inc: distribution::BetaInc, rule;
                /// The argument at which the regularized incomplete beta function with the shapes `second` and `third`
                /// is `self`: the quantile function of the beta distribution.
                beta_inc_inv: distribution::BetaIncInv, rule;
                /// The probability of at most ⌊`self`⌋ successes in `second` trials of probability `third` each; its
                /// slope by `self` is 0.
                binomial_cdf: distribution::BinomialCdf, rule;
            }
            steps {
                /// The sign as a passive variable: its slope is 0.
                signum: Sign;
                /// The largest whole number below, as a passive variable: its slope is 0.
                floor: Floor;
                /// The smallest whole number above, as a passive variable: its slope is 0.
                ceil: Ceil;
                /// The nearest whole number, as a passive variable: its slope is 0.
                round: Round;
                /// The whole part, as a passive variable: its slope is 0.
                trunc: Trunc;
            }
        }
    };
}

/// A row's name, number of arguments, and how floats compute it.
macro_rules! names {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        /// The functions of the table: names, numbers of arguments, and how floats compute them. A test that is about
        /// all functions has data for each of these, or fails.
        #[doc(hidden)]
        pub const FUNCTIONS: &[(&str, usize, &str)] = &[
            $((stringify!($unary), 1, stringify!($floats1)),)*
            $((stringify!($binary), 2, stringify!($floats2)),)*
            $((stringify!($ternary), 3, stringify!($floats3)),)*
        ];
    };
}
for_each_function!(names);
