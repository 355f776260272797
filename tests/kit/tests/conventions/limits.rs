//! Rows where squares, exponentials or values overflow, vanish or lose digits: slopes are right all the same. They need
//! double precision.

use super::*;
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI};
use tapewright::{logsumexp, smooth_max, smooth_min};

conventions! { x;
    x[0].sigmoid() => {
        [-800.0] => 0.0, [0.0]; [800.0] => 1.0, [0.0];
        [-700.0] => 9.859_676_543_759_77e-305, [9.859_676_543_759_77e-305]; [1e300] => 1.0, [0.0];
        [-1e300] => 0.0, [0.0]; [INF] => 1.0, [0.0]; [-INF] => 0.0, [0.0];
    }
    x[0].tanh() => {
        [400.0] => 1.0, [0.0]; [-400.0] => -1.0, [0.0]; [350.0] => 1.0, [3.943_870_617_503_908e-304];
        [-1e300] => -1.0, [0.0];
    }
    x[0].softplus() => {
        [1e300] => 1e300, [1.0]; [-1e300] => 0.0, [0.0];
        [-700.0] => 9.859_676_543_759_77e-305, [9.859_676_543_759_77e-305]; [INF] => INF, [1.0]; [-INF] => 0.0, [0.0];
    }
    x[0].exp_m1() => { [-1e300] => -1.0, [0.0]; [1e300] => INF, [INF]; }
    x[0].ln_1p() => { [1e300] => 690.775_527_898_213_7, [1e-300]; [-1.0] => -INF, [INF]; }
    x[0].ln() => { [1e-300] => -690.775_527_898_213_7, [1e300]; [0.0] => -INF, [INF]; [-0.0] => -INF, [INF]; }
    x[0].sqrt() => { [1e-300] => 1e-150, [5e149]; }
    x[0].cbrt() => { [1e300] => 1e100, [1.0 / 3e200]; }
    x[0].asinh() => { [1e300] => 691.468_675_078_773_7, [1e-300]; [-1e300] => -691.468_675_078_773_7, [1e-300]; }
    x[0].acosh() => { [1e300] => 691.468_675_078_773_7, [1e-300]; [1.0] => 0.0, [INF]; }
    x[0].atanh() => { [-1.0] => -INF, [INF]; }
    x[0].atan() => { [1e150] => FRAC_PI_2, [1e-300]; [1e300] => FRAC_PI_2, [0.0]; }
    x[0].asin() => { [-1.0] => -FRAC_PI_2, [INF]; }
    x[0].acos() => { [-1.0] => PI, [-INF]; }
    x[0].normal_pdf() => { [INF] => 0.0, [0.0]; [-1e300] => 0.0, [0.0]; }
    x[0].normal_quantile() => { [0.0] => -INF, [INF]; [1.0] => INF, [INF]; }
    x[0].gamma() => {
        [0.0] => INF, [-INF]; [-0.0] => -INF, [-INF];
        [-180.000_000_000_000_03] => -1.751_371_9e-316, [-6.162_092_098_199_858e-303];
        [-182.000_000_000_000_03] => -5.316e-321, [-1.870_588_336_530_829e-307];
    }
    x[0].digamma() => { [0.0] => -INF, [INF]; }
    x[0].beta(&x[1]) => {
        [1e300, 2.0] => 0.0, [0.0, 0.0]; [1e300, 1e300] => 0.0, [0.0, 0.0]; [0.0, 0.0] => INF, [-INF, -INF];
        [1e300, 1e-300] => 9.999_999_999_999_999e299, [-1e-300, -INF];
        [-15.000_000_000_000_002, 1e-16] => 9_437_050_046_578_686.0, [-3.169_126_500_570_572_4e29, -1e32];
    }
    x[0].log_add_exp(&x[1]) => {
        [1e300, -1e300] => 1e300, [1.0, 0.0]; [INF, 0.0] => INF, [1.0, 0.0]; [0.0, -INF] => 0.0, [1.0, 0.0];
        [-INF, -INF] => -INF, [0.5, 0.5]; [INF, INF] => INF, [0.5, 0.5];
    }
    x[0].hypot(&x[1]) => {
        [1e300, 1e300] => 1.414_213_562_373_095_2e300, [FRAC_1_SQRT_2, FRAC_1_SQRT_2];
        [1e-300, -1e-300] => 1.414_213_562_373_095e-300, [FRAC_1_SQRT_2, -FRAC_1_SQRT_2];
        [1.7e308, 1.7e308] => INF, [FRAC_1_SQRT_2, FRAC_1_SQRT_2];
        [5e-324, 5e-324] => 5e-324, [FRAC_1_SQRT_2, FRAC_1_SQRT_2]; [INF, 1.0] => INF, [1.0, 0.0];
        [1.0, -INF] => INF, [0.0, -1.0];
    }
    x[0].smooth_abs(&x[1]) => { [-INF, 1.0] => INF, [-1.0, 0.0]; }
    x[0].atan2(&x[1]) => {
        [1e300, 1e300] => FRAC_PI_4, [5e-301, -5e-301];
        [1e-300, 1e-300] => FRAC_PI_4, [5e299, -5e299];
        [-4.508_379_706_25e-313, 4.229_8e-319] => -1.570_795_388_587_584_3, [2.081_029_934_171_528_4e306, INF];
        [1.5e-323, 7e-11] => 2.117_424_196_46e-313, [14_285_714_285.714_285, -3.024_891_709_232_121_4e-303];
        [f64::MAX, f64::MAX] => FRAC_PI_4, [2.781_342_323_134e-309, -2.781_342_323_134e-309];
        [INF, 1.0] => FRAC_PI_2, [0.0, 0.0]; [1.0, INF] => 0.0, [0.0, 0.0];
    }
    x[0].powf(&x[1]) => {
        [INF, -1.0] => 0.0, [0.0, 0.0]; [2.0, -INF] => 0.0, [0.0, 0.0]; [0.5, INF] => 0.0, [0.0, 0.0];
        [1e300, 1.0] => 1e300, [1.0, 1e300 * 690.775_527_898_213_7]; [1e-300, 2.0] => 0.0, [2e-300, 0.0];
        [1e-310, 1e-310] => 1.0, [1.0, -713.801_378_828_154_2];
        [1e-310, 1e-8] => 0.999_992_862_011_687_2, [9.999_928_620_116_903e301, -713.796_283_722_254_5];
        [5e-324, 0.5] => 2.222_758_749_485_077_5e-162, [2.249_456_897_271_598_2e161, -1.654_710_683_330_550_6e-159];
        [5e-324, -1e-310] => 1.0, [-20_240_225_330_731.0, -744.440_071_921_381_3];
        [1e-320, 1.1] => 0.0, [1.099_998_775_383_888_2e-32, 0.0]; [1e300, 1.03] => INF, [1_030_000_000.000_019, INF];
        [1.000_000_000_1, 7.2e12] => INF, [INF, 4.920_994_310_005_442e302];
    }
    x[0].log(&x[1]) => {
        [1.000_000_000_001, 5e-324] =>
            -1.343_410_891_357_092_5e-15, [-0.001_343_291_471_962_309_7, -3.652_535_667_867_352e305];
    }
    x[0].exp2() => { [1024.25] => INF, [1.481_830_467_270_837_2e308]; }
    &x[0] % &x[1] => { [1.0, 0.1] => 0.099_999_999_999_999_95, [1.0, -9.0]; }
    smooth_max(&x[0], &x[1], 0.5) => {
        [1e300, 1.0] => 1e300, [1.0, 0.0]; [-1e300, 1.0] => 1.0, [0.0, 1.0]; [INF, INF] => INF, [0.5, 0.5];
        [-INF, -INF] => -INF, [0.5, 0.5];
    }
    smooth_min(&x[0], &x[1], 0.5) => {
        [-1e300, 1.0] => -1e300, [1.0, 0.0]; [INF, -INF] => -INF, [0.0, 1.0]; [1e300, 1.0] => 1.0, [0.0, 1.0];
    }
    logsumexp(x) => {
        [1e300, 0.0, -1e300] => 1e300, [1.0, 0.0, 0.0]; [1e300, 1e300, -1e300] => 1e300, [0.5, 0.5, 0.0];
        [-1e300, -1e300, -1e300] => -1e300, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        [-INF, 0.0, -INF] => 0.0, [0.0, 1.0, 0.0]; [INF, 0.0, -INF] => INF, [1.0, 0.0, 0.0];
        [-INF, -INF, -INF] => -INF, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        [-40.0, 0.0, -INF] => 4.248_354_255_291_589e-18, [4.248_354_255_291_589e-18, 1.0, 0.0];
        [NAN, INF, 0.0] => NAN, [NAN, NAN, NAN]; [NAN, NAN, NAN] => NAN, [NAN, NAN, NAN];
        [-INF, NAN, -INF] => NAN, [NAN, NAN, NAN];
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
            let slopes = gradient::<PrimalValue>(logsumexp, &x);
            for (slope, share) in slopes.iter().zip(shares(&x)) {
                assert!((slope - share).abs() <= 1e-15 * share, "logsumexp at {x:?}: {slopes:?}, expected {share}");
            }
            assert!((slopes.iter().sum::<f64>() - 1.0).abs() <= 1e-15, "logsumexp at {x:?}: {slopes:?}");
        }
        let narrow = floats::<f32>(&[size.min(1e38), size.min(1e38), 0.0]);
        for (slope, share) in gradient::<PrimalValue<f32>>(logsumexp, &narrow).iter().zip(shares(&doubles(&narrow))) {
            assert!((f64::from(*slope) - share).abs() <= 1e-6 * share, "logsumexp of f32 at {narrow:?}: {slope}");
        }
    }
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
