//! Second derivatives at singular points, from closed forms: one row for each cell of the table of conventions.

use super::functions::{cases, second};

const INF: f64 = f64::INFINITY;

/// A function, a point, ∂²/∂x², ∂²/∂x∂y and ∂²/∂y²; where the limits from both sides differ, or there is none, it is the
/// one from the right, or NaN.
const ROWS: &[(&str, [f64; 2], [f64; 3])] = &[
    // −x^(−3/2)/4.
    ("cbrt", [0.0, 0.0], [f64::NAN, 0.0, 0.0]),
    ("recip", [0.0, 0.0], [INF, 0.0, 0.0]),
    ("recip", [-0.0, 0.0], [-INF, 0.0, 0.0]),
    ("log2", [0.0, 0.0], [-INF, 0.0, 0.0]),
    ("log10", [0.0, 0.0], [-INF, 0.0, 0.0]),
    ("ln_1p", [-1.0, 0.0], [-INF, 0.0, 0.0]),
    ("log2", [-1.0, 0.0], [f64::NAN, 0.0, 0.0]),
    ("asin", [1.0, 0.0], [INF, 0.0, 0.0]),
    ("acos", [1.0, 0.0], [-INF, 0.0, 0.0]),
    ("acosh", [1.0, 0.0], [-INF, 0.0, 0.0]),
    ("atanh", [1.0, 0.0], [INF, 0.0, 0.0]),
    ("abs", [0.0, 0.0], [0.0, 0.0, 0.0]),
    // y(y − 1)x^(y−2); x^(y−1)(1 + y·ln x); x^y·ln² x.
    ("powf", [0.0, 3.0], [0.0, 0.0, 0.0]),
    ("powf", [0.0, 2.0], [2.0, 0.0, 0.0]),
    ("powf", [0.0, 1.5], [INF, 0.0, 0.0]),
    ("powf", [0.0, 1.0], [0.0, -INF, 0.0]),
    ("powf", [4.0, 0.0], [0.0, 0.25, 1.921_812_055_672_805_8]),
    ("powf", [-2.0, 3.0], [-12.0, f64::NAN, f64::NAN]),
    ("powi 2", [0.0, 0.0], [2.0, 0.0, 0.0]),
    ("powi 3", [0.0, 0.0], [0.0, 0.0, 0.0]),
    ("powi 70", [-1.03, 0.0], [36_047.770_605_663_165, 0.0, 0.0]),
    ("powi 70", [0.98, 0.0], [1_222.701_029_397_860_6, 0.0, 0.0]),
    ("hypot", [0.0, 0.0], [f64::NAN, f64::NAN, f64::NAN]),
    ("atan2", [0.0, 0.0], [f64::NAN, f64::NAN, f64::NAN]),
    // Γ·(ψ² + ψ′), where Γ(−½) = −2√π, ψ(−½) = 2 − γ − 2·ln 2 and ψ′(−½) = π²/2 + 4.
    ("gamma", [-0.5, 0.0], [-31.677_769_243_994_668, 0.0, 0.0]),
    ("softplus", [0.0, 0.0], [0.25, 0.0, 0.0]),
    ("softplus", [-800.0, 0.0], [0.0, 0.0, 0.0]),
    ("softplus", [800.0, 0.0], [0.0, 0.0, 0.0]),
    ("log_add_exp", [2.0, 2.0], [0.25, -0.25, 0.25]),
    ("tanh", [400.0, 0.0], [0.0, 0.0, 0.0]),
    ("atan", [1e200, 0.0], [0.0, 0.0, 0.0]),
    ("normal_quantile", [0.0, 0.0], [-INF, 0.0, 0.0]),
    ("normal_quantile", [1.0, 0.0], [INF, 0.0, 0.0]),
];

#[test]
fn second_derivatives_at_singular_points() {
    let cases = cases();
    for (name, x, [xx, xy, yy]) in ROWS {
        let case = cases.iter().find(|case| case.name == *name).expect("a function of this name");
        let (_, _, rows) = second(case, *x);
        let found = [rows[0][0], rows[0][1], rows[1][0], rows[1][1]];
        for (found, expected) in found.into_iter().zip([*xx, *xy, *xy, *yy]) {
            // Where there is no limit from both sides, nothing finite may come out.
            let right = if expected.is_nan() {
                !found.is_finite()
            } else {
                found == expected || (found - expected).abs() <= 1e-13 * expected.abs()
            };
            assert!(right, "{name} at {x:?}: {rows:?}, not {xx}, {xy}, {yy}");
        }
    }
}
