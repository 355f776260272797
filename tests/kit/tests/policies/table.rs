//! The table, a test for each row.

use crate::{Expected, Function, assert_all};
use tapewright::policy::{self, Strict};
use tapewright::prelude::*;
use tapewright::{Float, Nary, Number, Unary, nary, statement, sum, unary};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Defines a test from rows `name |x| { statements } at { x => gradient under Strict, under Subgradient, function; …
/// }`: a function of a slice, and points with the gradients there, and with the name of the function that `Checked`
/// refuses, if it refuses one.
macro_rules! table {
    ($($(#[$doc:meta])* $name:ident |$x:ident| $body:block at {
        $($point:expr => $strict:expr, $subgradient:expr, $function:expr;)+
    })*) => { $(
        $(#[$doc])*
        #[test]
        fn $name() {
            struct This;
            impl Function for This {
                fn call<S: Taping>($x: &[Real<S>]) -> Real<S> { $body.into() }
            }
            $(
                assert_all::<Strict, This>(&$point, Expected::Gradient(&$strict));
                assert_all::<policy::Subgradient, This>(&$point, Expected::Gradient(&$subgradient));
                let function: Option<&str> = $function;
                let refused = function.map(Expected::Refused);
                assert_all::<policy::Checked, This>(&$point, refused.unwrap_or(Expected::Gradient(&$strict)));
            )+
        }
    )* };
}

table! {
    roots_at_zero |x| { x[0].sqrt() + x[1].cbrt() } at {
        [0.0, 0.0] => [INF, INF], [0.0, 0.0], Some("Sqrt");
        [-0.0, -0.0] => [INF, INF], [0.0, 0.0], Some("Sqrt");
        [4.0, 0.0] => [0.25, INF], [0.25, 0.0], Some("Cbrt");
    }

    abs_at_zero |x| { x[0].abs() } at {
        [0.0] => [0.0], [0.0], None;
        [-0.0] => [0.0], [0.0], None;
    }

    powf |x| { x[0].powf(&x[1]) } at {
        [0.0, 2.0] => [0.0, 0.0], [0.0, 0.0], None;
        [0.0, 1.0] => [1.0, 0.0], [1.0, 0.0], None;
        [0.0, 0.5] => [INF, 0.0], [0.0, 0.0], Some("Pow");
        [0.0, 0.0] => [0.0, -INF], [0.0, 0.0], Some("Pow");
        [-2.0, 3.0] => [12.0, NAN], [12.0, 0.0], Some("Pow");
        [-2.0, 2.5] => [NAN, NAN], [NAN, NAN], None;
        [1.0, NAN] => [0.0, 0.0], [0.0, 0.0], None;
        // ∂x overflows: it is a number, if a large one, although there is none for ∂y.
        [-1e-5, -61.0] => [-INF, NAN], [-INF, 0.0], Some("Pow");
    }

    powf_with_a_literal_exponent |x| { x[0].powf(3.0) } at {
        [-2.0] => [12.0], [12.0], None;
        [0.0] => [0.0], [0.0], None;
    }

    powi |x| { x[0].powi(1) + x[1].powi(3) + x[2].powi(0) } at {
        [0.0, 0.0, 0.0] => [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], None;
        [-0.0, -0.0, NAN] => [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], None;
    }

    a_negative_power_of_zero |x| { x[0].powi(-2) } at {
        [0.0] => [-INF], [0.0], Some("Powi");
        [1e-200] => [-INF], [-INF], None;
    }

    max_and_min_at_a_tie |x| { x[0].max(&x[1]) + 10.0 * x[0].min(&x[1]) } at {
        [2.0, 2.0] => [11.0, 0.0], [11.0, 0.0], None;
        [NAN, 1.0] => [0.0, 11.0], [0.0, 11.0], None;
    }

    hypot_at_the_origin |x| { x[0].hypot(&x[1]) } at {
        [0.0, 0.0] => [NAN, NAN], [0.0, 0.0], Some("Hypot");
        [INF, NAN] => [1.0, 0.0], [1.0, 0.0], None;
    }

    smooth_abs_at_the_origin |x| { x[0].smooth_abs(&x[1]) } at {
        [0.0, 0.0] => [NAN, NAN], [0.0, 0.0], Some("SmoothAbs");
    }

    atan2_at_the_origin |x| { x[0].atan2(&x[1]) } at {
        [0.0, 0.0] => [NAN, NAN], [0.0, 0.0], Some("Atan2");
    }

    x_times_length_as_one_statement |x| { &x[0] * (&x[0] * &x[0] + &x[1] * &x[1]).sqrt() } at {
        [0.0, 0.0] => [NAN, NAN], [0.0, 0.0], Some("Sqrt");
    }

    /// `Checked` cannot know that the adjoint of the root will be 0.
    x_times_length_with_the_root_apart |x| {
        let length = (&x[0] * &x[0] + &x[1] * &x[1]).sqrt().eval();
        (&x[0] * &length).eval()
    } at {
        [0.0, 0.0] => [0.0, 0.0], [0.0, 0.0], Some("Sqrt");
    }

    x_times_length_with_named_arguments |x| { statement([&x[0], &x[1]], |[x, y]| x * (x * x + y * y).sqrt()) } at {
        [0.0, 0.0] => [NAN, NAN], [0.0, 0.0], Some("Sqrt");
        [3.0, 4.0] => [6.8, 2.4], [6.8, 2.4], None;
    }

    named_and_passive_arguments |x| { statement([&x[0], &Real::from(0.0)], |[x, c]| x * c.sqrt() + x) } at {
        [2.0] => [1.0], [1.0], None;
    }

    x_times_ln_y |x| { &x[0] * x[1].ln() } at {
        [0.0, 0.0] => [-INF, NAN], [-INF, 0.0], Some("Ln");
    }

    x_times_ln_y_with_the_logarithm_apart |x| {
        let ln = x[1].ln().eval();
        (&x[0] * &ln).eval()
    } at {
        [0.0, 0.0] => [-INF, 0.0], [-INF, 0.0], Some("Ln");
        [2.0, 0.0] => [-INF, INF], [-INF, 0.0], Some("Ln");
    }

    /// The infinite partial above it takes nothing from the 0.
    an_infinite_factor_above_a_singular_function |x| { x[0].sqrt() * x[1].ln() } at {
        [0.0, 0.0] => [-INF, NAN], [0.0, 0.0], Some("Sqrt");
    }

    the_remainder |x| { &x[0] % &x[1] } at {
        [-5.3, 2.0] => [1.0, 2.0], [1.0, 2.0], None;
    }

    gamma_left_of_zero |x| { x[0].gamma() } at {
        [-1.5] => [1.661_750_260_668_596_5], [1.661_750_260_668_596_5], None;
        [-1.0] => [NAN], [NAN], None;
    }

    distributions_at_the_ends |x| { x[0].gamma_p(&x[1]) + x[2].gamma_p_inv(2.0) } at {
        [0.0, 0.5, 0.0] => [INF, 0.0, INF], [0.0, 0.0, 0.0], Some("GammaP");
        [0.0, 1.5, 1.0] => [0.0, 0.0, INF], [0.0, 0.0, 0.0], Some("GammaPInv");
        [0.0, 1.5, -1.0] => [0.0, 0.0, NAN], [0.0, 0.0, NAN], None;
    }

    a_quantile_at_one |x| { x[0].gamma_p_inv(&x[1]) } at {
        [1.0, 2.0] => [INF, INF], [0.0, 0.0], Some("GammaPInv");
    }

    incomplete_beta_functions_at_the_ends |x| { x[0].beta_inc(&x[1], &x[2]) } at {
        [0.0, 0.5, 2.0] => [INF, 0.0, 0.0], [0.0, 0.0, 0.0], Some("BetaInc");
        [1.0, 2.0, 0.5] => [INF, 0.0, 0.0], [0.0, 0.0, 0.0], Some("BetaInc");
        [0.0, 0.0, 2.0] => [NAN, NAN, NAN], [NAN, NAN, NAN], None;
    }

    ln_beta_at_a_pole |x| { x[0].ln_beta(&x[1]) } at {
        [2.0, 0.0] => [0.0, -INF], [0.0, 0.0], Some("LnBeta");
        [2.0, -1.0] => [NAN, NAN], [NAN, NAN], None;
    }

    bessel_functions_at_zero |x| { x[0].bessel_j(&x[1]) } at {
        [0.0, 0.0] => [0.0, -INF], [0.0, 0.0], Some("BesselJ");
        [0.0, 0.5] => [INF, 0.0], [0.0, 0.0], Some("BesselJ");
        [0.0, 2.0] => [0.0, 0.0], [0.0, 0.0], None;
    }

    products_with_logarithms |x| { x[0].xlogy(&x[1]) } at {
        [2.0, 0.0] => [-INF, INF], [0.0, 0.0], Some("XLogY");
        [0.0, 0.0] => [-INF, 0.0], [0.0, 0.0], Some("XLogY");
    }

    tails_at_infinity |x| { x[0].ln_erfc() + x[1].erfcx() } at {
        [INF, 1e300] => [-INF, 0.0], [-INF, 0.0], None;
        [INF, -INF] => [-INF, -INF], [-INF, -INF], None;
    }

    a_statement_whose_adjoint_is_zero |x| {
        let root = x[0].sqrt().eval();
        (&root * 0.0 + &x[0]).eval()
    } at {
        [0.0] => [1.0], [1.0], Some("Sqrt");
    }

    the_root_of_a_maximum_that_is_not_selected |x| { x[0].max(0.0).eval().sqrt().eval() } at {
        [-1.0] => [0.0], [0.0], Some("Sqrt");
    }

    the_root_of_a_square_apart |x| { (&x[0] * &x[0]).eval().sqrt().eval() } at {
        [0.0] => [0.0], [0.0], Some("Sqrt");
    }

    what_a_maximum_does_not_select |x| { x[0].sqrt().max(&x[1]) } at {
        [0.0, 1.0] => [0.0, 1.0], [0.0, 1.0], None;
    }

    quotients |x| { &x[0] / &x[1] } at {
        [1.0, 0.0] => [INF, -INF], [0.0, 0.0], Some("Over");
        [0.0, 0.0] => [INF, NAN], [INF, NAN], None;
        [1.0, 1e-310] => [INF, -INF], [INF, -INF], None;
    }

    overflows |x| { x[0].exp() + x[1].ln() + x[2].recip() } at {
        [1000.0, 1e-310, 1e-200] => [INF, INF, -INF], [INF, INF, -INF], None;
    }

    outside_the_domain |x| { x[0].sqrt() } at {
        [-1.0] => [NAN], [NAN], None;
        [NAN] => [NAN], [NAN], None;
    }

    passive_arguments |x| {
        let zero = Real::from(0.0);
        let three = Real::from(3.0);
        (&x[0] * zero.sqrt() + x[0].powf(&three) + &x[0] * zero.hypot(&zero)).eval()
    } at {
        [-2.0] => [12.0], [12.0], None;
    }

    functions_of_slices |x| { nary::<S, Norm>(&[x], &[]) + sum(x) } at {
        [0.0, 0.0] => [NAN, NAN], [1.0, 1.0], Some("Norm");
        [3.0, 4.0] => [1.6, 1.8], [1.6, 1.8], None;
        [1e200, 1e200] => [1.0, 1.0], [1.0, 1.0], None;
    }

    functions_of_slices_with_a_pole |x| { nary::<S, Reciprocals>(&[x], &[]) } at {
        [0.0, 2.0] => [-INF, -0.25], [0.0, -0.25], Some("Reciprocals");
        [1e-200, 2.0] => [-INF, -0.25], [-INF, -0.25], None;
    }

    functions_of_slices_with_passive_arguments |x| {
        let zero = Real::from(0.0);
        nary::<S, Reciprocals>(&[&[zero], x], &[])
    } at {
        [2.0] => [-0.25], [-0.25], None;
        [0.0] => [-INF], [0.0], Some("Reciprocals");
    }

    rules_of_users |x| { unary::<S, Corner, _>(&x[0]) + unary::<S, Pole, _>(&x[1]) } at {
        [0.0, 1.0] => [NAN, -1.0], [0.0, -1.0], Some("Corner");
        [1.0, 0.0] => [1.0, -INF], [1.0, 0.0], Some("Pole");
        [1.0, 1e-200] => [1.0, -INF], [1.0, -INF], None;
    }
}

/// √Σxᵢ².
struct Norm;
impl<V: Number> Nary<V> for Norm {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + *x * *x).sqrt()
    }
    fn partials(x: &[V], constants: &[V], partials: &mut [V]) {
        let norm = Self::value(x, constants);
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = *x / norm);
    }
}

/// Σ1/xᵢ.
struct Reciprocals;
impl<V: Number> Nary<V> for Reciprocals {
    fn value(x: &[V], _: &[V]) -> V {
        x.iter().fold(V::ZERO, |sum, x| sum + x.recip())
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        partials.iter_mut().zip(x).for_each(|(partial, x)| *partial = -(x.recip() * x.recip()));
    }
    fn singular(x: &[V], _: &[V]) -> bool {
        x.contains(&V::ZERO)
    }
}

/// |x|, without a slope at 0.
struct Corner;
impl Unary for Corner {
    fn value<V: Float>(x: V) -> V {
        x.abs()
    }
    fn derivative<V: Float>(x: V, y: V) -> V {
        y / x
    }
}

/// 1/x.
struct Pole;
impl Unary for Pole {
    fn value<V: Float>(x: V) -> V {
        x.recip()
    }
    fn derivative<V: Float>(_: V, y: V) -> V {
        -(y * y)
    }
    fn singular<V: Float>(x: V) -> bool {
        x.is_zero()
    }
}
