//! Rows for special functions: gamma and its relatives, Bessel's and Lambert's functions, logarithms of probabilities.

use super::*;
use core::f64::consts::{LN_2, TAU};

conventions! {
    gamma_at_zero_has_a_pole |x| { x[0].gamma() } at {
        [0.0] => INF, [-INF];
        [-0.0] => -INF, [-INF];
    }

    ln_gamma_at_its_poles_is_infinite |x| { x[0].ln_gamma() } at {
        [0.0] => INF, [-INF];
        [-0.0] => INF, [INF];
        [-1.0] => INF, [NAN];
    }

    digamma_has_a_pole_at_zero_and_no_value_at_the_others |x| { x[0].digamma() } at {
        [0.0] => -INF, [INF];
        [-0.0] => INF, [INF];
        [-1.0] => NAN, [NAN];
    }

    trigamma_has_a_pole_at_zero_and_no_value_at_the_others |x| { x[0].trigamma() } at {
        [0.0] => INF, [-INF];
        [-0.0] => INF, [INF];
        [-1.0] => NAN, [NAN];
        [-2.0] => NAN, [NAN];
        [INF] => 0.0, [0.0];
    }

    polygamma_has_a_pole_at_zero_and_no_value_at_the_others |x| { x[0].polygamma(2) } at {
        [0.0] => -INF, [INF];
        [-0.0] => INF, [INF];
        [-1.0] => NAN, [NAN];
        [INF] => 0.0, [0.0];
    }

    polygamma_of_the_last_order_has_a_slope |x| { x[0].polygamma(12) } at {
        [1.0] => -479_060_379.889_831_5, [6_227_402_193.410_97];
    }

    polygamma_of_a_higher_order_is_undefined |x| { x[0].polygamma(13) } at {
        [1.0] => NAN, [NAN];
    }

    ln_beta_with_an_argument_zero_is_infinite |x| { x[0].ln_beta(&x[1]) } at {
        [0.0, 2.0] => INF, [-INF, 0.0];
        [-0.0, 2.0] => INF, [-INF, 0.0];
        [2.0, 0.0] => INF, [0.0, -INF];
        [-1.0, 2.0] => NAN, [NAN, NAN];
        [INF, 2.0] => -INF, [0.0, -INF];
        [0.0, 0.0] => INF, [-INF, -INF];
        [0.0, INF] => NAN, [NAN, NAN];
        [INF, 0.0] => NAN, [NAN, NAN];
    }

    ln_choose_of_minus_one_rises_steeply |x| { x[0].ln_choose(&x[1]) } at {
        [5.0, -1.0] => -INF, [-1.0 / 6.0, INF];
        [-0.5, -1.0] => -INF, [-2.0, INF];
        [5.0, -2.0] => NAN, [NAN, NAN];
    }

    ln_choose_is_infinite_at_its_ends |x| { x[0].ln_choose(&x[1]) } at {
        [5.0, 6.0] => -INF, [INF, -INF];
        [5.0, 0.0] => 0.0, [0.0, 137.0 / 60.0];
        [5.0, 5.0] => 0.0, [137.0 / 60.0, -137.0 / 60.0];
        [5.0, 7.0] => NAN, [NAN, NAN];
        [-1.0, 0.0] => NAN, [NAN, NAN];
        [-1.0, -1.0] => NAN, [NAN, NAN];
    }

    beta_with_a_vanishing_argument_has_the_limits |x| { x[0].beta(&x[1]) } at {
        [3.0, 0.0] => INF, [-0.394_934_066_848_226_5, -INF];
        [0.0, 3.0] => INF, [-INF, -0.394_934_066_848_226_5];
        [0.0, 0.0] => INF, [-INF, -INF];
    }

    beta_has_no_value_at_a_negative_pole_or_far_to_the_left |x| { x[0].beta(&x[1]) } at {
        [-1.0, 0.5] => NAN, [NAN, NAN];
        [3.0, -3.0] => NAN, [NAN, NAN];
        [0.5, -500.5] => NAN, [NAN, NAN];
    }

    beta_at_a_zero_has_a_finite_slope |x| { x[0].beta(&x[1]) } at {
        [0.5, -0.5] => 0.0, [-TAU, -TAU];
        [-0.5, -0.5] => 0.0, [-2.0 * TAU, -2.0 * TAU];
    }

    bessel_j_at_zero_has_the_limits |x| { x[0].bessel_j(&x[1]) } at {
        [0.0, 0.0] => 1.0, [0.0, -INF];
        [0.0, 0.5] => 0.0, [INF, 0.0];
        [0.0, 1.0] => 0.0, [0.5, 0.0];
        [0.0, 2.0] => 0.0, [0.0, 0.0];
        [0.0, 2.5] => 0.0, [0.0, 0.0];
        [0.0, -0.5] => INF, [-INF, -INF];
        [0.0, -1.0] => 0.0, [-0.5, INF];
    }

    bessel_i_at_zero_has_the_limits |x| { x[0].bessel_i(&x[1]) } at {
        [0.0, 0.0] => 1.0, [0.0, -INF];
        [0.0, 0.5] => 0.0, [INF, 0.0];
        [0.0, 1.0] => 0.0, [0.5, 0.0];
        [0.0, 2.0] => 0.0, [0.0, 0.0];
        [0.0, -0.5] => INF, [-INF, -INF];
        [0.0, -1.0] => 0.0, [0.5, INF];
        [INF, 0.0] => INF, [INF, 0.0];
    }

    bessel_i_scaled_at_zero_has_the_slope_from_the_right |x| { x[0].bessel_i_scaled(&x[1]) } at {
        [0.0, 0.0] => 1.0, [-1.0, -INF];
        [-0.0, 0.0] => 1.0, [-1.0, -INF];
        [0.0, 0.5] => 0.0, [INF, 0.0];
        [0.0, 1.0] => 0.0, [0.5, 0.0];
        [0.0, 2.0] => 0.0, [0.0, 0.0];
        [INF, 2.0] => 0.0, [0.0, 0.0];
    }

    bessel_y_at_zero_is_infinite |x| { x[0].bessel_y(&x[1]) } at {
        [0.0, 0.0] => -INF, [INF, -0.25 * TAU];
        [0.0, 0.5] => -INF, [INF, -INF];
        [0.0, 1.0] => -INF, [INF, -INF];
        [0.0, 2.0] => -INF, [INF, -INF];
        [-1.0, 1.0] => NAN, [NAN, NAN];
        [1.0, INF] => NAN, [NAN, NAN];
    }

    bessel_k_at_zero_is_infinite |x| { x[0].bessel_k(&x[1]) } at {
        [0.0, 0.0] => INF, [-INF, 0.0];
        [0.0, 1.0] => INF, [-INF, INF];
        [0.0, -1.0] => INF, [-INF, -INF];
    }

    bessel_k_scaled_at_zero_is_infinite |x| { x[0].bessel_k_scaled(&x[1]) } at {
        [0.0, 0.0] => INF, [-INF, 0.0];
        [0.0, 0.5] => INF, [-INF, INF];
        [0.0, 1.0] => INF, [-INF, INF];
        [0.0, -1.0] => INF, [-INF, -INF];
        [INF, 1.0] => 0.0, [0.0, 0.0];
        [-1.0, 1.0] => NAN, [NAN, NAN];
    }

    bessel_j_left_of_zero_is_one_of_whole_orders |x| { x[0].bessel_j(&x[1]) } at {
        [-2.0, 1.0] => -0.576_724_807_756_873_4, [-0.064_471_624_737_201_03, NAN];
        [-2.0, 0.5] => NAN, [NAN, NAN];
    }

    bessel_functions_vanish_at_infinity |x| { x[0].bessel_j(&x[1]) + x[0].bessel_y(&x[1]) + x[0].bessel_k(&x[1]) } at {
        [INF, 1.5] => 0.0, [0.0, 0.0];
    }

    sinc_is_one_at_zero_and_vanishes_at_infinity |x| { x[0].sinc() } at {
        [0.0] => 1.0, [0.0];
        [-0.0] => 1.0, [0.0];
        [INF] => 0.0, [0.0];
    }

    x_ln_x_at_zero_falls_steeply |x| { x[0].x_ln_x() } at {
        [0.0] => 0.0, [-INF];
        [-0.0] => 0.0, [-INF];
        [-1.0] => NAN, [NAN];
    }

    xlogy_at_the_origin_does_not_depend_on_y |x| { x[0].xlogy(&x[1]) } at {
        [0.0, 0.0] => 0.0, [-INF, 0.0];
        [2.0, -0.0] => -INF, [-INF, INF];
        [0.0, INF] => 0.0, [INF, 0.0];
        [0.0, -1.0] => NAN, [NAN, NAN];
    }

    xlog1py_where_x_is_zero_does_not_depend_on_y |x| { x[0].xlog1py(&x[1]) } at {
        [0.0, -1.0] => 0.0, [-INF, 0.0];
        [2.0, -1.0] => -INF, [-INF, INF];
        [0.0, -2.0] => NAN, [NAN, NAN];
    }

    logit_has_infinite_slopes_at_zero_and_one |x| { x[0].logit() } at {
        [0.0] => -INF, [INF];
        [-0.0] => -INF, [INF];
        [1.0] => INF, [INF];
        [1.5] => NAN, [NAN];
    }

    ln_sigmoid_has_an_asymptote |x| { x[0].ln_sigmoid() } at {
        [INF] => 0.0, [0.0];
        [-INF] => -INF, [1.0];
    }

    log1m_exp_at_zero_has_the_limit_from_the_left |x| { x[0].log1m_exp() } at {
        [0.0] => -INF, [-INF];
        [-0.0] => -INF, [-INF];
        [-INF] => 0.0, [0.0];
        [1.0] => NAN, [NAN];
    }

    log_diff_exp_of_equal_arguments_has_infinite_slopes |x| { x[0].log_diff_exp(&x[1]) } at {
        [2.0, 2.0] => -INF, [INF, -INF];
        [-INF, -INF] => -INF, [INF, -INF];
        [INF, INF] => NAN, [NAN, NAN];
        [INF, 2.0] => INF, [1.0, 0.0];
        [1.0, 2.0] => NAN, [NAN, NAN];
    }

    lambert_w0_at_the_branch_point_rises_steeply |x| { x[0].lambert_w0() } at {
        [-0.367_879_441_171_442_33] => -1.0, [INF];
        [0.0] => 0.0, [1.0];
        [INF] => INF, [0.0];
        [-0.4] => NAN, [NAN];
    }

    lambert_wm1_falls_steeply_at_both_ends |x| { x[0].lambert_wm1() } at {
        [-0.367_879_441_171_442_33] => -1.0, [-INF];
        [0.0] => -INF, [-INF];
        [-0.0] => -INF, [-INF];
        [0.1] => NAN, [NAN];
    }

    ln_normal_cdf_of_minus_infinity_is_steep |x| { x[0].ln_normal_cdf() } at {
        [-INF] => -INF, [INF];
        [INF] => 0.0, [0.0];
    }

    erfcx_at_infinity |x| { x[0].erfcx() } at {
        [INF] => 0.0, [0.0];
        [-INF] => INF, [-INF];
    }

    ln_erfc_at_infinity |x| { x[0].ln_erfc() } at {
        [INF] => -INF, [-INF];
        [-INF] => LN_2, [0.0];
    }
}
