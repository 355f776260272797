//! Gaussian quadrature with fixed nodes, which is exact to double precision for what is smooth enough, and can be
//! differentiated through: the nodes are constants.

use crate::Float;

/// The positive nodes of the Gauss–Legendre rule of 32 points on [−1, 1], and their weights.
const NODES: [(f64, f64); 16] = [
    (0.048_307_665_687_738_32, 0.096_540_088_514_727_8),
    (0.144_471_961_582_796_5, 0.095_638_720_079_274_86),
    (0.239_287_362_252_137_1, 0.093_844_399_080_804_57),
    (0.331_868_602_282_127_67, 0.091_173_878_695_763_89),
    (0.421_351_276_130_635_36, 0.087_652_093_004_403_81),
    (0.506_899_908_932_229_4, 0.083_311_924_226_946_75),
    (0.587_715_757_240_762_3, 0.078_193_895_787_070_31),
    (0.663_044_266_930_215_2, 0.072_345_794_108_848_5),
    (0.732_182_118_740_289_7, 0.065_822_222_776_361_85),
    (0.794_483_795_967_942_4, 0.058_684_093_478_535_55),
    (0.849_367_613_732_57, 0.050_998_059_262_376_18),
    (0.896_321_155_766_052_1, 0.042_835_898_022_226_68),
    (0.934_906_075_937_739_7, 0.034_273_862_913_021_43),
    (0.964_762_255_587_506_4, 0.025_392_065_309_262_06),
    (0.985_611_511_545_268_3, 0.016_274_394_730_905_67),
    (0.997_263_861_849_481_6, 0.007_018_610_009_470_096),
];

/// ∫ f over [0, length], with f evaluated from the far end to the near one, so that small numbers are summed first if
/// f decreases.
pub(crate) fn integrate<W: Float>(length: f64, f: impl Fn(f64) -> W) -> W {
    let half = 0.5 * length;
    let far = NODES.iter().rev().fold(W::ZERO, |sum, (x, w)| sum + f(half + half * x) * W::from_f64(*w));
    let sum = NODES.iter().fold(far, |sum, (x, w)| sum + f(half - half * x) * W::from_f64(*w));
    sum * W::from_f64(half)
}

/// Integrands are left out beyond the place where they are e⁻⁴² of their value at 0.
const DEPTH: f64 = 42.0;

/// ∫ exp(−g) over [0, ∞), where g is convex and 0 at 0. `depth` is g with its slope, in double precision; `beyond`
/// finds a place from g's value there, at which g is at least as large.
pub(crate) fn laplace<W: Float>(
    beyond: impl Fn(f64) -> f64,
    depth: impl Fn(f64) -> (f64, f64),
    integrand: impl Fn(f64) -> W,
) -> W {
    // Newton's iteration never goes below the root of a convex function.
    let mut end = beyond(DEPTH);
    for _ in 0..40 {
        let (value, slope) = depth(end);
        let next = end - (value - DEPTH) / slope;
        if !(next > 0.0 && next < 0.99 * end) {
            break;
        }
        end = next;
    }
    if end > 5.0 {
        let half = 0.5 * end;
        return integrate(half, |v| integrand(half + v)) + integrate(half, integrand);
    }
    integrate(end, integrand)
}

/// eᵛ − 1 − v without cancellation.
pub(crate) fn exp_rest(v: f64) -> f64 {
    if v.abs() > 0.5 {
        return v.exp_m1() - v;
    }
    let sum = (3..=17).rev().fold(0.0, |sum, k| (1.0 + sum) * v / f64::from(k));
    0.5 * v * v * (1.0 + sum)
}

/// ln(1 + x) − x, by the series of artanh near 0: with s = x/(2 + x) it is −x·s + 2·(s³/3 + s⁵/5 + …).
pub(crate) fn ln_1p_rest<W: Float>(x: W) -> W {
    if x.abs() > W::from_f64(0.2) {
        return x.ln_1p() - x;
    }
    let s = x / (W::from_f64(2.0) + x);
    let square = s * s;
    let sum = (1..=8).rev().fold(W::ZERO, |sum, k| W::from_f64(2.0 / f64::from(2 * k + 1)) + square * sum);
    s * (square * sum - x)
}
