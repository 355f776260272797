//! What the tests of this package have in common.

/// The gradient of a function of numbers by central differences.
pub fn differences(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    tapewright_test_support::central_differences(f, x, |x| f64::EPSILON.cbrt() * x.abs().max(1.0))
}

/// The Jacobian of a function of numbers by central differences, row by row; numbers that agree with the expected ones
/// as well as differences can are replaced by these.
#[must_use]
pub fn jacobian_by_differences(f: impl Fn(&[f64]) -> Vec<f64>, x: &[f64], expected: &[f64]) -> Vec<Vec<f64>> {
    let rows = (0..f(x).len()).map(|k| differences(|x| f(x)[k], x));
    let largest = expected.iter().fold(f64::MIN_POSITIVE, |most, e| most.max(e.abs()));
    let near =
        |(found, expected): (f64, &f64)| if (found - expected).abs() <= 1e-7 * largest { *expected } else { found };
    rows.zip(expected.chunks(x.len()))
        .map(|(row, expected)| row.into_iter().zip(expected).map(near).collect())
        .collect()
}

/// Asserts that two gradients agree up to so much of their largest entry.
///
/// # Panics
///
/// Where they differ.
pub fn assert_close(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(f64::MIN_POSITIVE, |most, e| most.max(e.abs()));
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance * largest,
            "{name}: entry {k} is {found:e}, and should be {expected:e} (of at most {largest:e})"
        );
    }
}

/// Numbers between −1 and 1 in no order, always the same.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "counts are small")]
pub fn scattered(n: usize) -> Vec<f64> {
    (0..n).map(|k| 2.0 * (1e4 * (1.7 * k as f64 + 0.4).sin()).abs().fract() - 1.0).collect()
}
