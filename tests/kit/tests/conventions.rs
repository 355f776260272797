//! The table of numerical conventions, a test for each row, under both taping strategies, in forward mode, and in both
//! float widths. See the chapter of that name in the book.

use core::f64::consts::FRAC_1_SQRT_2;
use tapewright::prelude::*;
use tapewright::{Closed, Number, logsumexp, norm, smooth_max, smooth_min};

/// A function under any strategy.
trait Function {
    fn call<S: Taping>(x: &[Real<S>]) -> Real<S>;
}

/// A function under one strategy. A pointer, so that what tests it is compiled once for each strategy.
type Under<S> = fn(&[Real<S>]) -> Real<S>;

/// Panics unless `F` has this value and gradient under all strategies; NaN equals NaN and 0 equals −0.
fn assert_all<F: Function>(x: &[f64], value: f64, gradient: &[f64]) {
    assert_reverse::<Jacobian>(F::call, x, value, gradient);
    assert_reverse::<PrimalValue>(F::call, x, value, gradient);
    assert_reverse::<Hybrid>(F::call, x, value, gradient);
    assert_reverse::<Continuation<f64, Reuse>>(F::call, x, value, gradient);
    assert_reverse::<Jacobian<f32>>(F::call, x, value, gradient);
    assert_reverse::<PrimalValue<f32>>(F::call, x, value, gradient);
    assert_forward::<Tangent>(F::call, x, value, gradient);
    assert_forward::<Tangent<2>>(F::call, x, value, gradient);
    assert_forward::<Tangent<8, f32>>(F::call, x, value, gradient);
}

fn assert_reverse<S: Reverse>(f: Under<S>, x: &[f64], value: f64, gradient: &[f64]) {
    assert_one::<S>(x, value_and_gradient::<S>(f, &rounded(x)), (value, gradient));
}

fn assert_forward<S: Forward>(f: Under<S>, x: &[f64], value: f64, gradient: &[f64]) {
    let (values, rows) = jacobian_forward::<S>(|x| vec![f(x)], &rounded(x));
    assert_one::<S>(x, (values[0], rows.concat()), (value, gradient));
}

fn rounded<V: Number>(x: &[f64]) -> Vec<V> {
    x.iter().map(|x| V::from_f64(*x)).collect()
}

fn assert_one<S: Taping>(x: &[f64], (v, g): (S::Value, Vec<S::Value>), (value, gradient): (f64, &[f64])) {
    let narrow = size_of::<S::Value>() == 4;
    let tolerance = if narrow { 2e-6 } else { 1e-14 };
    let close =
        |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || b.is_finite() && (a - b).abs() <= tolerance * b.abs();
    let g: Vec<f64> = g.into_iter().map(Number::as_f64).collect();
    let strategy = core::any::type_name::<S>();
    assert!(close(v.as_f64(), value), "value at {x:?} under {strategy}: {v}, expected {value}");
    let alike = g.len() == gradient.len() && g.iter().zip(gradient).all(|(a, b)| close(*a, *b));
    assert!(alike, "gradient at {x:?} under {strategy}: {g:?}, expected {gradient:?}");
}

/// Defines a test from rows `name |x| { statements } at { x => value, gradient; … }`: a function of a slice, and points
/// with what it must give there.
macro_rules! conventions {
    ($($(#[$doc:meta])* $name:ident |$x:ident| $body:block at { $($point:expr => $value:expr, $gradient:expr;)+ })*) => { $(
        $(#[$doc])*
        #[test]
        fn $name() {
            struct This;
            impl Function for This {
                fn call<S: Taping>($x: &[Real<S>]) -> Real<S> { $body.into() }
            }
            $(assert_all::<This>(&$point, $value, &$gradient);)+
        }
    )* };
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[path = "conventions/distributions.rs"]
mod distributions;
#[path = "conventions/special.rs"]
mod special;

conventions! {
    sqrt_has_an_infinite_slope_at_zero |x| { x[0].sqrt() } at {
        [0.0] => 0.0, [INF];
        [-0.0] => 0.0, [INF];
    }

    cbrt_has_an_infinite_slope_at_zero |x| { x[0].cbrt() } at {
        [0.0] => 0.0, [INF];
        [-0.0] => 0.0, [INF];
    }

    abs_has_slope_zero_at_zero |x| { x[0].abs() } at {
        [0.0] => 0.0, [0.0];
        [-0.0] => 0.0, [0.0];
    }

    powf_of_zero_to_two_is_flat |x| { x[0].powf(&x[1]) } at {
        [0.0, 2.0] => 0.0, [0.0, 0.0];
        [-0.0, 2.0] => 0.0, [0.0, 0.0];
    }

    powf_of_zero_to_one_has_slope_one |x| { x[0].powf(&x[1]) } at {
        [0.0, 1.0] => 0.0, [1.0, 0.0];
        [-0.0, 1.0] => 0.0, [1.0, 0.0];
    }

    powf_of_zero_to_zero_falls_steeply_in_the_exponent |x| { x[0].powf(&x[1]) } at {
        [0.0, 0.0] => 1.0, [0.0, -INF];
    }

    powf_of_zero_to_a_negative_power_is_the_power_times_the_logarithm |x| { x[0].powf(&x[1]) } at {
        [0.0, -3.0] => INF, [-INF, -INF];
        [-0.0, -3.0] => -INF, [-INF, INF];
        [-0.0, -2.0] => INF, [INF, -INF];
    }

    powf_of_a_negative_base_to_a_whole_power_has_a_slope_in_the_base_only |x| { x[0].powf(&x[1]) } at {
        [-2.0, 3.0] => -8.0, [12.0, NAN];
    }

    powf_of_a_negative_base_with_a_literal_exponent_is_regular |x| { x[0].powf(3.0) } at {
        [-2.0] => -8.0, [12.0];
    }

    powf_has_a_slope_where_the_power_over_the_base_overflows |x| { x[0].powf(&x[1]) } at {
        [2.0_f64.powi(-140), 2.0_f64.powi(-30)] => 0.999_999_909_623_897_7,
            [1.298_074_097_318_819e33, -97.040_596_508_240_68];
    }

    powi_of_zero_is_exact |x| { x[0].powi(1) + x[1].powi(2) * 10.0 + x[2].powi(5) } at {
        [0.0, 0.0, 0.0] => 0.0, [1.0, 0.0, 0.0];
        [-0.0, -0.0, -0.0] => 0.0, [1.0, 0.0, 0.0];
    }

    powi_to_zero_is_one_everywhere |x| { x[0].powi(0) } at {
        [0.0] => 1.0, [0.0];
        [INF] => 1.0, [0.0];
        [NAN] => 1.0, [0.0];
    }

    powi_of_a_negative_power_at_zero_has_the_limit |x| { x[0].powi(-2) } at {
        [0.0] => INF, [-INF];
        [2.0] => 0.25, [-0.25];
    }

    max_at_a_tie_gives_all_to_the_first_argument |x| { x[0].max(&x[1]) } at {
        [2.0, 2.0] => 2.0, [1.0, 0.0];
        [0.0, -0.0] => 0.0, [1.0, 0.0];
    }

    min_at_a_tie_gives_all_to_the_first_argument |x| { x[0].min(&x[1]) } at {
        [2.0, 2.0] => 2.0, [1.0, 0.0];
        [INF, INF] => INF, [1.0, 0.0];
    }

    abs_sub_at_a_tie_has_the_slopes_of_the_difference |x| {
        let [x, y] = [&x[0], &x[1]].map(|x| Closed::from(x.clone()));
        Real::from(x.abs_sub(y))
    } at {
        [2.0, 2.0] => 0.0, [1.0, -1.0];
        [INF, INF] => 0.0, [1.0, -1.0];
        [1.0, 2.0] => 0.0, [0.0, 0.0];
        [NAN, 1.0] => NAN, [NAN, NAN];
    }

    clamp_at_a_bound_has_slope_one |x| { x[0].clamp(-1.0, 2.0) } at {
        [-1.0] => -1.0, [1.0];
        [2.0] => 2.0, [1.0];
        [2.5] => 2.0, [0.0];
    }

    hypot_at_the_origin_has_no_slope |x| { x[0].hypot(&x[1]) } at {
        [0.0, 0.0] => 0.0, [NAN, NAN];
    }

    atan2_at_the_origin_has_no_slope |x| { x[0].atan2(&x[1]) } at {
        [0.0, 0.0] => 0.0, [NAN, NAN];
    }

    /// 0·∞ inside a statement.
    x_times_length_as_one_statement_is_nan_at_the_origin |x| { &x[0] * (&x[0] * &x[0] + &x[1] * &x[1]).sqrt() } at {
        [0.0, 0.0] => 0.0, [NAN, NAN];
    }

    /// The root's adjoint is 0, so it contributes nothing: statement boundaries show.
    x_times_length_with_the_root_apart_is_flat_at_the_origin |x| {
        let length = (&x[0] * &x[0] + &x[1] * &x[1]).sqrt().eval();
        (&x[0] * &length).eval()
    } at {
        [0.0, 0.0] => 0.0, [0.0, 0.0];
    }

    /// The partial of what is not selected is 0, and takes nothing from an infinite adjoint.
    the_root_of_a_maximum_that_is_not_selected_is_flat |x| { x[0].max(0.0).eval().sqrt().eval() } at {
        [-1.0] => 0.0, [0.0];
        [4.0] => 2.0, [0.25];
    }

    the_root_of_a_square_apart_is_flat_at_zero |x| { (&x[0] * &x[0]).eval().sqrt().eval() } at {
        [0.0] => 0.0, [0.0];
    }

    the_root_of_a_square_as_one_statement_has_no_slope_at_zero |x| { (&x[0] * &x[0]).sqrt() } at {
        [0.0] => 0.0, [NAN];
    }

    x_times_ln_y_at_the_origin_has_the_ieee_limits |x| { &x[0] * x[1].ln() } at {
        [0.0, 0.0] => NAN, [-INF, NAN];
    }

    ln_has_an_infinite_slope_at_zero_of_either_sign |x| { x[0].ln() } at {
        [0.0] => -INF, [INF];
        [-0.0] => -INF, [INF];
    }

    a_logarithm_outside_its_domain_has_no_slope |x| { x[0].ln() + x[0].log2() + x[0].log10() + x[0].ln_1p() } at {
        [-2.0] => NAN, [NAN];
    }

    remainder_truncates |x| { &x[0] % &x[1] } at {
        [-5.5, 2.0] => -1.5, [1.0, 2.0];
        [5.5, -2.0] => 1.5, [1.0, 2.0];
        [5.5, INF] => 5.5, [1.0, 0.0];
    }

    remainder_with_an_operand_of_f64_truncates |x| { -5.5 % &x[0] } at {
        [2.0] => -1.5, [2.0];
    }

    gamma_has_a_finite_slope_left_of_zero |x| { x[0].gamma() } at {
        [-1.5] => 2.363_271_801_207_355, [1.661_750_260_668_596_5];
        [-1.0] => NAN, [NAN];
    }

    /// ∂(√x·0): the root's own statement has an infinite partial and adjoint 0.
    a_statement_whose_adjoint_is_zero_contributes_nothing_although_its_partial_is_infinite |x| {
        let root = x[0].sqrt().eval();
        (&root * 0.0 + &x[0]).eval()
    } at {
        [0.0] => 0.0, [1.0];
    }

    a_statement_whose_adjoint_is_zero_contributes_nothing_although_its_partial_is_nan |x| {
        let root = x[0].sqrt().eval();
        (x[1].max(&root) + &x[0]).eval()
    } at {
        [-1.0, 2.0] => 1.0, [1.0, 1.0];
    }

    max_and_min_with_a_nan_return_the_number |x| { x[0].max(&x[1]) + x[0].min(&x[1]) } at {
        [NAN, 1.0] => 2.0, [0.0, 2.0];
        [1.0, NAN] => 2.0, [2.0, 0.0];
    }

    max_of_a_nan_expression_gives_it_no_gradient |x| { x[0].sqrt().max(1.0) } at {
        [-1.0] => 1.0, [0.0];
    }

    max_of_a_smaller_expression_with_an_infinite_partial_gives_it_no_gradient |x| { x[0].sqrt().max(&x[1]) } at {
        [0.0, 1.0] => 1.0, [0.0, 1.0];
    }

    max_of_two_nans_has_a_nan_gradient |x| { x[0].max(&x[1]) } at {
        [NAN, NAN] => NAN, [NAN, 0.0];
    }

    clamp_keeps_a_nan |x| { x[0].clamp(-1.0, 1.0) } at {
        [NAN] => NAN, [NAN];
    }

    powf_of_one_does_not_depend_on_a_nan_exponent |x| { x[0].powf(&x[1]) } at {
        [1.0, NAN] => 1.0, [0.0, 0.0];
    }

    powf_to_zero_does_not_depend_on_a_nan_base |x| { x[0].powf(&x[1]) } at {
        [NAN, 0.0] => 1.0, [0.0, 0.0];
    }

    powf_of_a_nan_is_nan_elsewhere |x| { x[0].powf(&x[1]) } at {
        [NAN, 2.0] => NAN, [NAN, NAN];
        [2.0, NAN] => NAN, [NAN, NAN];
    }

    hypot_of_infinity_and_nan_does_not_depend_on_the_nan |x| { x[0].hypot(&x[1]) } at {
        [INF, NAN] => INF, [1.0, 0.0];
        [NAN, -INF] => INF, [0.0, -1.0];
    }

    functions_of_a_nan_have_nan_gradients |x| { x[0].exp() * x[1].sin() * x[2].abs() } at {
        [NAN, 1.0, 1.0] => NAN, [NAN, NAN, NAN];
    }

    sums_keep_their_constant_partials_at_a_nan |x| { &x[0] - &x[1] + 2.0 } at {
        [NAN, 1.0] => NAN, [1.0, -1.0];
    }

    copysign_has_slope_zero_at_zero |x| { x[0].copysign(&x[1]) } at {
        [0.0, -1.0] => -0.0, [0.0, 0.0];
        [-3.0, -1.0] => -3.0, [1.0, 0.0];
    }

    logsumexp_of_equal_infinities_shares_the_gradient |x| { logsumexp(x) } at {
        [-INF, -INF] => -INF, [0.5, 0.5];
        [INF, 1.0] => INF, [1.0, 0.0];
        [INF, INF] => INF, [0.5, 0.5];
    }

    smooth_max_at_a_tie_gives_halves |x| { smooth_max(&x[0], &x[1], 0.5) } at {
        [1.0, 1.0] => 1.25, [0.5, 0.5];
    }

    smooth_max_of_infinities_is_infinite |x| { smooth_max(&x[0], &x[1], 0.5) } at {
        [INF, INF] => INF, [0.5, 0.5];
        [-INF, -INF] => -INF, [0.5, 0.5];
        [INF, -INF] => INF, [1.0, 0.0];
        [-INF, 3.0] => 3.0, [0.0, 1.0];
        [NAN, 1.0] => NAN, [NAN, NAN];
        [NAN, INF] => NAN, [NAN, NAN];
    }

    smooth_min_of_infinities_is_infinite |x| { smooth_min(&x[0], &x[1], 0.5) } at {
        [INF, INF] => INF, [0.5, 0.5];
        [-INF, -INF] => -INF, [0.5, 0.5];
        [INF, -INF] => -INF, [0.0, 1.0];
        [1.0, NAN] => NAN, [NAN, NAN];
    }

    smooth_max_of_width_zero_is_the_maximum |x| { smooth_max(&x[0], &x[1], 0.0) } at {
        [1.0, 1.0] => 1.0, [1.0, 0.0];
        [-INF, -INF] => -INF, [1.0, 0.0];
        [1.0, 2.0] => 2.0, [0.0, 1.0];
        [NAN, 1.0] => 1.0, [0.0, 1.0];
    }

    smooth_min_of_width_zero_is_the_minimum |x| { smooth_min(&x[0], &x[1], 0.0) } at {
        [1.0, 1.0] => 1.0, [1.0, 0.0];
        [1.0, 2.0] => 1.0, [1.0, 0.0];
    }

    smooth_max_of_infinite_width_is_infinite |x| { smooth_max(&x[0], &x[1], INF) } at {
        [1.0, 2.0] => INF, [0.5, 0.5];
        [INF, 1.0] => INF, [0.5 + 0.5 * FRAC_1_SQRT_2, 0.5 - 0.5 * FRAC_1_SQRT_2];
        [NAN, 1.0] => NAN, [NAN, NAN];
    }

    log_to_base_zero_has_the_limit_from_the_right |x| { x[0].log(&x[1]) } at {
        [2.0, 0.0] => 0.0, [0.0, -INF];
        [0.5, 0.0] => 0.0, [0.0, INF];
        [1.0, 0.0] => 0.0, [0.0, 0.0];
        [0.0, 0.0] => NAN, [NAN, NAN];
    }

    norm_at_the_origin_has_no_slope |x| { norm(x) } at {
        [0.0, -0.0] => 0.0, [NAN, NAN];
        [INF, -3.0] => INF, [1.0, 0.0];
        [INF, -INF] => INF, [FRAC_1_SQRT_2, -FRAC_1_SQRT_2];
        [-INF, NAN] => INF, [-1.0, 0.0];
        [NAN, 1.0] => NAN, [NAN, NAN];
    }

    division_by_zero_has_the_ieee_limits |x| { &x[0] / &x[1] } at {
        [1.0, 0.0] => INF, [INF, -INF];
        [0.0, 0.0] => NAN, [INF, NAN];
    }
}
