//! Rows for distribution functions and their quantiles, at the ends of their domains.

use super::*;
use core::f64::consts::PI;

conventions! {
    gamma_p_at_zero_has_the_slope_of_the_power |x| { x[0].gamma_p(&x[1]) } at {
        [0.0, 0.5] => 0.0, [INF, 0.0];
        [-0.0, 0.5] => 0.0, [INF, 0.0];
        [0.0, 1.0] => 0.0, [1.0, 0.0];
        [0.0, 1.5] => 0.0, [0.0, 0.0];
        [0.0, 3.0] => 0.0, [0.0, 0.0];
        [-1.0, 2.0] => NAN, [NAN, NAN];
        [2.0, -1.0] => NAN, [NAN, NAN];
        [0.0, 0.0] => NAN, [NAN, NAN];
        [INF, INF] => NAN, [NAN, NAN];
    }

    gamma_q_at_zero_has_the_slope_of_the_power |x| { x[0].gamma_q(&x[1]) } at {
        [0.0, 0.5] => 1.0, [-INF, 0.0];
        [0.0, 1.0] => 1.0, [-1.0, 0.0];
        [0.0, 1.5] => 1.0, [0.0, 0.0];
        [0.0, 3.0] => 1.0, [0.0, 0.0];
        [-1.0, 2.0] => NAN, [NAN, NAN];
        [0.0, 0.0] => NAN, [NAN, NAN];
        [INF, INF] => NAN, [NAN, NAN];
    }

    /// The slope is −E₁(2): that of 1/Γ times an exponential integral.
    gamma_p_of_shape_zero_has_a_slope_in_the_shape |x| { x[0].gamma_p(&x[1]) } at {
        [2.0, 0.0] => 1.0, [0.0, -0.048_900_510_708_061_12];
    }

    gamma_p_and_gamma_q_at_infinity_are_flat |x| { x[0].gamma_p(&x[1]) - x[0].gamma_q(&x[1]) } at {
        [INF, 2.0] => 1.0, [0.0, 0.0];
        [2.0, INF] => -1.0, [0.0, 0.0];
    }

    gamma_p_inv_at_zero_has_the_slope_of_the_power |x| { x[0].gamma_p_inv(&x[1]) } at {
        [0.0, 0.5] => 0.0, [0.0, 0.0];
        [0.0, 1.0] => 0.0, [1.0, 0.0];
        [0.0, 2.0] => 0.0, [INF, 0.0];
    }

    gamma_p_inv_at_one_is_infinite |x| { x[0].gamma_p_inv(&x[1]) } at {
        [1.0, 0.5] => INF, [INF, INF];
        [1.0, 1.0] => INF, [INF, INF];
        [1.0, 2.0] => INF, [INF, INF];
        [1.5, 1.0] => NAN, [NAN, NAN];
        [0.5, 0.0] => NAN, [NAN, NAN];
    }

    gamma_q_inv_at_one_has_the_slope_of_the_power |x| { x[0].gamma_q_inv(&x[1]) } at {
        [1.0, 0.5] => 0.0, [0.0, 0.0];
        [1.0, 1.0] => 0.0, [-1.0, 0.0];
        [1.0, 2.0] => 0.0, [-INF, 0.0];
    }

    gamma_q_inv_at_zero_is_infinite |x| { x[0].gamma_q_inv(&x[1]) } at {
        [0.0, 0.5] => INF, [-INF, INF];
        [0.0, 1.0] => INF, [-INF, INF];
        [0.0, 2.0] => INF, [-INF, INF];
    }

    beta_inc_at_zero_has_the_slope_of_the_power |x| { x[0].beta_inc(&x[1], &x[2]) } at {
        [0.0, 0.5, 2.0] => 0.0, [INF, 0.0, 0.0];
        [0.0, 1.0, 2.0] => 0.0, [2.0, 0.0, 0.0];
        [0.0, 1.0, 0.5] => 0.0, [0.5, 0.0, 0.0];
        [0.0, 1.5, 3.0] => 0.0, [0.0, 0.0, 0.0];
        [-0.5, 1.0, 1.0] => NAN, [NAN, NAN, NAN];
        [0.0, 0.0, 2.0] => NAN, [NAN, NAN, NAN];
    }

    beta_inc_at_one_has_the_slope_of_the_power |x| { x[0].beta_inc(&x[1], &x[2]) } at {
        [1.0, 2.0, 0.5] => 1.0, [INF, 0.0, 0.0];
        [1.0, 2.0, 1.0] => 1.0, [2.0, 0.0, 0.0];
        [1.0, 3.0, 1.5] => 1.0, [0.0, 0.0, 0.0];
        [1.5, 1.0, 1.0] => NAN, [NAN, NAN, NAN];
        [1.0, 2.0, 0.0] => NAN, [NAN, NAN, NAN];
    }

    beta_inc_inv_at_zero_has_the_slope_of_the_power |x| { x[0].beta_inc_inv(&x[1], &x[2]) } at {
        [0.0, 0.5, 2.0] => 0.0, [0.0, 0.0, 0.0];
        [0.0, 1.0, 2.0] => 0.0, [0.5, 0.0, 0.0];
        [0.0, 2.0, 2.0] => 0.0, [INF, 0.0, 0.0];
        [-0.5, 1.0, 1.0] => NAN, [NAN, NAN, NAN];
    }

    beta_inc_inv_at_one_has_the_slope_of_the_power |x| { x[0].beta_inc_inv(&x[1], &x[2]) } at {
        [1.0, 2.0, 0.5] => 1.0, [0.0, 0.0, 0.0];
        [1.0, 2.0, 1.0] => 1.0, [0.5, 0.0, 0.0];
        [1.0, 2.0, 2.0] => 1.0, [INF, 0.0, 0.0];
        [1.5, 2.0, 2.0] => NAN, [NAN, NAN, NAN];
    }

    student_t_cdf_in_the_middle_does_not_depend_on_the_degrees |x| { x[0].student_t_cdf(&x[1]) } at {
        [0.0, 3.0] => 0.5, [2.0 / (PI * 3.0_f64.sqrt()), 0.0];
        [-0.0, 1.0] => 0.5, [1.0 / PI, 0.0];
    }

    student_t_cdf_at_infinity_is_flat |x| { x[0].student_t_cdf(&x[1]) } at {
        [INF, 3.0] => 1.0, [0.0, 0.0];
        [-INF, 3.0] => 0.0, [0.0, 0.0];
        [1.0, 0.0] => NAN, [NAN, NAN];
    }

    student_t_cdf_with_infinitely_many_degrees_is_normal |x| { x[0].student_t_cdf(&x[1]) } at {
        [1.0, INF] => 0.841_344_746_068_542_9, [0.241_970_724_519_143_37, 0.0];
    }

    binomial_cdf_of_certain_outcomes_is_flat |x| { x[0].binomial_cdf(&x[1], &x[2]) } at {
        [2.5, 5.0, 0.0] => 1.0, [0.0, 0.0, 0.0];
        [2.0, 5.0, 1.0] => 0.0, [0.0, 0.0, 0.0];
        [5.0, 5.0, 0.5] => 1.0, [0.0, 0.0, 0.0];
        [-1.0, 5.0, 0.5] => 0.0, [0.0, 0.0, 0.0];
        [2.0, 5.0, 1.5] => NAN, [NAN, NAN, NAN];
    }

    binomial_cdf_of_the_last_step_has_a_slope |x| { x[0].binomial_cdf(&x[1], &x[2]) } at {
        [0.0, 5.0, 0.0] => 1.0, [0.0, 0.0, -5.0];
        [4.0, 5.0, 1.0] => 0.0, [0.0, 0.0, -5.0];
        [0.0, 0.5, 1.0] => 0.0, [0.0, 0.0, -INF];
    }
}
