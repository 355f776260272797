//! Zeros, infinities, NaN, and numbers whose squares overflow or vanish.

use super::{Case, ELEMENTARY, SPECIAL, forward, rounded};
use core::f64::consts::FRAC_1_SQRT_2;
use tapewright::prelude::*;

const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -0.3,
    5e-324,
    1e-300,
    -1e-300,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn find(name: &str) -> &'static Case {
    ELEMENTARY.iter().chain(SPECIAL).find(|case| case.name == name).expect("the name of a case")
}

/// Value and gradient as text, with −0 as 0: forward mode multiplies partials with tangents of 0.
fn text<V: tapewright::Float>((value, gradient): &(V, Vec<V>)) -> String {
    let positive: Vec<V> = gradient.iter().map(|g| *g + V::zero()).collect();
    format!("{value:?} {positive:?}")
}

/// Value and gradient under `Jacobian`, after checking that `PrimalValue` and forward mode give the same.
fn both(case: &Case, x: &[f64]) -> (f64, Vec<f64>) {
    let (a, b) = (value_and_gradient(case.jacobian, x), value_and_gradient(case.primal, x));
    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{} at {x:?}", case.name);
    assert_eq!(text(&a), text(&forward(case.tangent, x)), "{} at {x:?}", case.name);
    a
}

/// As [`both`], in `f32`.
fn both32(case: &Case, x: &[f64]) -> (f32, Vec<f32>) {
    let x = rounded(x);
    let (a, b) = (value_and_gradient(case.jacobian32, &x), value_and_gradient(case.primal32, &x));
    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{} at {x:?}", case.name);
    assert_eq!(text(&a), text(&forward(case.tangent32, &x)), "{} at {x:?}", case.name);
    a
}

#[test]
fn at_the_edges_a_slope_is_nan_exactly_where_the_value_is() {
    let linear = ["to_degrees", "to_radians"];
    for case in ELEMENTARY.iter().chain(SPECIAL).filter(|case| case.points[0].len() == 1) {
        for x in EDGES {
            let wide = both(case, &[x]);
            let narrow = both32(case, &[x]);
            // ln|Γ| is infinite at its poles, from where it falls to both sides.
            let pole = case.name == "ln_gamma" && x < 0.0;
            for (value, slope) in [(wide.0.is_nan(), wide.1[0].is_nan()), (narrow.0.is_nan(), narrow.1[0].is_nan())] {
                assert!(
                    value == slope || pole || (linear.contains(&case.name) && x.is_nan()),
                    "{}({x}): {wide:?} {narrow:?}",
                    case.name
                );
            }
        }
    }
}

/// Where a partial of a function of two finite numbers may be NaN although the value is none.
fn singular(name: &str, x: f64, y: f64) -> bool {
    match name {
        "hypot" | "atan2" | "smooth_abs" => x == 0.0 && y == 0.0,
        "powf" => x < 0.0,
        "log" => y == 0.0 || y == 1.0 || x == 0.0,
        "beta" => x <= 0.0 || y <= 0.0,
        _ => false,
    }
}

#[test]
fn at_finite_arguments_with_a_finite_value_partials_are_no_nan() {
    for case in ELEMENTARY.iter().chain(SPECIAL).filter(|case| case.points[0].len() == 2) {
        for x in EDGES {
            for y in EDGES {
                let (value, partials) = both(case, &[x, y]);
                both32(case, &[x, y]);
                let regular = x.is_finite() && y.is_finite() && value.is_finite() && !singular(case.name, x, y);
                assert!(!regular || !partials.iter().any(|p| p.is_nan()), "{}({x}, {y}): {partials:?}", case.name);
            }
        }
    }
}

const INF: f64 = f64::INFINITY;

/// Function, point and gradient where a careless rule would overflow, cancel or divide ∞ by ∞.
const LIMITS: &[(&str, &[f64], &[f64])] = &[
    ("sigmoid", &[-800.0], &[0.0]),
    ("sigmoid", &[800.0], &[0.0]),
    ("sigmoid", &[-700.0], &[9.859_676_543_759_77e-305]),
    ("sigmoid", &[1e300], &[0.0]),
    ("sigmoid", &[-1e300], &[0.0]),
    ("sigmoid", &[INF], &[0.0]),
    ("sigmoid", &[-INF], &[0.0]),
    ("tanh", &[400.0], &[0.0]),
    ("tanh", &[-400.0], &[0.0]),
    ("tanh", &[350.0], &[3.943_870_617_503_908e-304]),
    ("tanh", &[-1e300], &[0.0]),
    ("softplus", &[1e300], &[1.0]),
    ("softplus", &[-1e300], &[0.0]),
    ("softplus", &[-700.0], &[9.859_676_543_759_77e-305]),
    ("softplus", &[INF], &[1.0]),
    ("softplus", &[-INF], &[0.0]),
    ("exp_m1", &[-1e300], &[0.0]),
    ("exp_m1", &[1e300], &[INF]),
    ("ln_1p", &[1e300], &[1e-300]),
    ("ln_1p", &[-1.0], &[INF]),
    ("ln", &[1e-300], &[1e300]),
    ("ln", &[0.0], &[INF]),
    ("ln", &[-0.0], &[INF]),
    ("sqrt", &[1e-300], &[5e149]),
    ("cbrt", &[1e300], &[1.0 / 3e200]),
    ("asinh", &[1e300], &[1e-300]),
    ("asinh", &[-1e300], &[1e-300]),
    ("acosh", &[1e300], &[1e-300]),
    ("acosh", &[1.0], &[INF]),
    ("atanh", &[-1.0], &[INF]),
    ("atan", &[1e150], &[1e-300]),
    ("atan", &[1e300], &[0.0]),
    ("asin", &[-1.0], &[INF]),
    ("acos", &[-1.0], &[-INF]),
    ("normal_pdf", &[INF], &[0.0]),
    ("normal_pdf", &[-1e300], &[0.0]),
    ("normal_quantile", &[0.0], &[INF]),
    ("normal_quantile", &[1.0], &[INF]),
    ("gamma", &[0.0], &[-INF]),
    ("gamma", &[-0.0], &[-INF]),
    ("digamma", &[0.0], &[INF]),
    ("beta", &[1e300, 2.0], &[0.0, 0.0]),
    ("log_add_exp", &[1e300, -1e300], &[1.0, 0.0]),
    ("log_add_exp", &[INF, 0.0], &[1.0, 0.0]),
    ("log_add_exp", &[0.0, -INF], &[1.0, 0.0]),
    ("log_add_exp", &[-INF, -INF], &[0.5, 0.5]),
    ("log_add_exp", &[INF, INF], &[0.5, 0.5]),
    ("hypot", &[1e300, 1e300], &[FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
    ("hypot", &[1e-300, -1e-300], &[FRAC_1_SQRT_2, -FRAC_1_SQRT_2]),
    ("hypot", &[1.7e308, 1.7e308], &[FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
    ("hypot", &[5e-324, 5e-324], &[FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
    ("hypot", &[INF, 1.0], &[1.0, 0.0]),
    ("hypot", &[1.0, -INF], &[0.0, -1.0]),
    ("smooth_abs", &[-INF, 1.0], &[-1.0, 0.0]),
    ("atan2", &[1e300, 1e300], &[5e-301, -5e-301]),
    ("atan2", &[1e-300, 1e-300], &[5e299, -5e299]),
    ("atan2", &[-4.508_379_706_25e-313, 4.229_8e-319], &[2.081_029_934_171_528_4e306, INF]),
    ("atan2", &[1.5e-323, 7e-11], &[14_285_714_285.714_285, -3.024_891_709_232_121_4e-303]),
    ("atan2", &[f64::MAX, f64::MAX], &[2.781_342_323_134e-309, -2.781_342_323_134e-309]),
    ("atan2", &[INF, 1.0], &[0.0, 0.0]),
    ("atan2", &[1.0, INF], &[0.0, 0.0]),
    ("powf", &[INF, -1.0], &[0.0, 0.0]),
    ("powf", &[2.0, -INF], &[0.0, 0.0]),
    ("powf", &[0.5, INF], &[0.0, 0.0]),
    ("powf", &[1e300, 1.0], &[1.0, 1e300 * 690.775_527_898_213_7]),
    ("powf", &[1e-300, 2.0], &[2e-300, 0.0]),
    ("powf", &[1e-310, 1e-310], &[1.0, -713.801_378_828_154_2]),
    ("powf", &[1e-310, 1e-8], &[9.999_928_620_116_903e301, -713.796_283_722_254_5]),
    ("powf", &[5e-324, 0.5], &[2.249_456_897_271_598_2e161, -1.654_710_683_330_550_6e-159]),
    ("powf", &[5e-324, -1e-310], &[-20_240_225_330_731.0, -744.440_071_921_381_3]),
    ("powf", &[1e-320, 1.1], &[1.099_998_775_383_888_2e-32, 0.0]),
    ("powf", &[1e300, 1.03], &[1_030_000_000.000_019, INF]),
    ("powf", &[1.000_000_000_1, 7.2e12], &[INF, 4.920_994_310_005_442e302]),
    ("log", &[1.000_000_000_001, 5e-324], &[-0.001_343_291_471_962_309_7, -3.652_535_667_867_352e305]),
    ("exp2", &[1024.25], &[1.481_830_467_270_837_2e308]),
    ("gamma", &[-180.000_000_000_000_03], &[-6.162_092_098_199_858e-303]),
    ("gamma", &[-182.000_000_000_000_03], &[-1.870_588_336_530_829e-307]),
    ("rem", &[1.0, 0.1], &[1.0, -9.0]),
    ("smooth_maximum", &[1e300, 1.0], &[1.0, 0.0]),
    ("smooth_maximum", &[-1e300, 1.0], &[0.0, 1.0]),
    ("smooth_minimum", &[-1e300, 1.0], &[1.0, 0.0]),
    ("smooth_maximum", &[INF, INF], &[0.5, 0.5]),
    ("smooth_maximum", &[-INF, -INF], &[0.5, 0.5]),
    ("smooth_minimum", &[INF, -INF], &[0.0, 1.0]),
    ("log_sum_exp", &[1e300, 0.0, -1e300], &[1.0, 0.0, 0.0]),
    ("log_sum_exp", &[1e300, 1e300, -1e300], &[0.5, 0.5, 0.0]),
    ("log_sum_exp", &[-1e300, -1e300, -1e300], &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
    ("log_sum_exp", &[-INF, 0.0, -INF], &[0.0, 1.0, 0.0]),
    ("log_sum_exp", &[INF, 0.0, -INF], &[1.0, 0.0, 0.0]),
    ("log_sum_exp", &[-INF, -INF, -INF], &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
];

#[test]
fn extreme_arguments_give_the_limits() {
    for (name, x, expected) in LIMITS {
        let (_, partials) = both(find(name), x);
        for (partial, limit) in partials.into_iter().zip(*expected) {
            let near = limit.is_finite() && (partial - limit).abs() <= 1e-13 * limit.abs();
            assert!(near || partial == *limit, "{name} at {x:?}: {partial:e}, expected {limit:e}");
        }
    }
}

#[test]
fn extreme_arguments_give_extreme_values() {
    assert_eq!(both(find("smooth_maximum"), &[-1e300, 1.0]).0, 1.0);
    assert_eq!(both(find("smooth_minimum"), &[1e300, 1.0]).0, 1.0);
    assert_eq!(both(find("softplus"), &[INF]).0, INF);
    assert_eq!(both(find("log_sum_exp"), &[-INF, -INF, -INF]).0, -INF);
    assert_eq!(both(find("beta"), &[1e300, 1e300]).0, 0.0);
    assert_eq!(both(find("beta"), &[0.0, 0.0]).0, INF);
    for x in [[f64::NAN, INF, 0.0], [f64::NAN, f64::NAN, f64::NAN], [-INF, f64::NAN, -INF]] {
        assert!(both(find("log_sum_exp"), &x).0.is_nan(), "logsumexp of {x:?}");
    }
}

/// exp(xᵢ − max)/Σ exp(xⱼ − max): subtraction is exact for these numbers, and then there is no rounding but in the last
/// place of an exponential, a sum and a product.
fn shares(x: &[f64]) -> Vec<f64> {
    let max = x.iter().copied().fold(-INF, f64::max);
    let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
    x.iter().map(|x| (x - max).exp() / sum).collect()
}

#[test]
fn slopes_of_logsumexp_are_shares_of_one_however_large_its_arguments_are() {
    for size in [1.0_f64, 1e3, 1e6, 1e9, 1e12, 1e15, 1e16, 1e155, 1e300] {
        for x in [[size, size, size - 1.0], [-size, -size, -size - 1.0], [size, size.next_down(), size.next_up()]] {
            let slopes = both(find("log_sum_exp"), &x).1;
            for (slope, share) in slopes.iter().zip(shares(&x)) {
                assert!((slope - share).abs() <= 1e-15 * share, "logsumexp at {x:?}: {slopes:?}, expected {share}");
            }
            assert!((slopes.iter().sum::<f64>() - 1.0).abs() <= 1e-15, "logsumexp at {x:?}: {slopes:?}");
        }
        let narrow = rounded(&[size.min(1e38), size.min(1e38), 0.0]);
        let wide: Vec<f64> = narrow.iter().map(|x: &f32| f64::from(*x)).collect();
        for (slope, share) in both32(find("log_sum_exp"), &wide).1.into_iter().zip(shares(&wide)) {
            assert!((f64::from(slope) - share).abs() <= 1e-6 * share, "logsumexp of f32 at {wide:?}: {slope}");
        }
    }
}

#[test]
fn logsumexp_does_not_lose_what_small_arguments_add() {
    // ln(1 + e⁻⁴⁰).
    let value = both(find("log_sum_exp"), &[-40.0, 0.0, -INF]).0;
    assert!((value - 4.248_354_255_291_589e-18).abs() <= 1e-33, "{value:e}");
}

/// n·xⁿ⁻¹ by mpmath 1.3 with 60 digits, where xⁿ⁻¹ by multiplication vanishes or has lost digits.
const POWERS: &[(i32, f64, f64)] = &[
    (-308, 10.0, -3.08e-307),
    (-65, -2.0, -8.809_142_651_444_724e-19),
    (1000, 1.5, 8.225_603_979_374_49e178),
    (1_000_001, 0.9995, 6.287_160_830_166_92e-212),
    (i32::MIN, 1.000_000_3, -3.466_428_579_648_375e-271),
    (i32::MIN, -1.000_000_3, 3.466_428_579_648_375e-271),
    (i32::MAX, -1.000_000_3, 1.330_384_215_281_532_5e289),
    (i32::MIN, -0.0, INF),
    (i32::MAX, -0.0, 0.0),
];

#[test]
fn slopes_of_whole_powers_are_accurate_for_large_exponents() {
    for (n, x, expected) in POWERS {
        let slopes = [
            gradient::<Jacobian>(|x| x[0].powi(*n).into(), &[*x])[0],
            gradient::<PrimalValue>(|x| x[0].powi(*n).into(), &[*x])[0],
            jacobian_forward::<Tangent>(|x| vec![x[0].powi(*n).into()], &[*x]).1.concat()[0],
        ];
        for slope in slopes {
            let near = slope == *expected || ((slope - expected) / expected).abs() <= 1e-13;
            assert!(near, "∂powi({n}) at {x}: {slope:e}, expected {expected:e}");
        }
    }
}
