//! Rules in single precision against those in double precision, at the arguments of the tables, rounded.

use std::collections::BTreeMap;
use tapewright_function_tests::{Row, function, rows};

/// How far a number may be from the one in double precision, of that and of what a relative change of the arguments by
/// 1 would make to it: a few roundings.
const TOLERANCE: f64 = 16.0 * f32::EPSILON as f64;

/// What comes of the result's rounding where it is hardly a number in single precision.
const SMALLEST: f64 = 1e-37;

/// |error| in units of what is allowed; numbers beyond the range of single precision are infinite.
fn excess(found: f32, expected: f64, conditioning: f64) -> f64 {
    if expected.is_nan() || expected.abs() > 0.99 * f64::from(f32::MAX) {
        let same = found.is_nan() || f64::from(found).abs() > 0.9 * f64::from(f32::MAX);
        return if same && found.is_nan() == expected.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let excess = (f64::from(found) - expected).abs() / (TOLERANCE * (expected.abs() + conditioning + SMALLEST));
    if excess.is_nan() { f64::INFINITY } else { excess }
}

/// Σ|xᵢ·dᵢ|, without what is no number.
fn conditioning(x: &[f64], slopes: &[f64]) -> f64 {
    x.iter().zip(slopes).map(|(x, slope)| (x * slope).abs()).filter(|product| product.is_finite()).sum()
}

/// The errors of value and slopes at a row's arguments.
#[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
fn excesses(row: &Row) -> Option<[f64; 2]> {
    let single: Vec<f32> = row.arguments.iter().map(|x| *x as f32).collect();
    let x: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
    if single.iter().zip(&row.arguments).any(|(x, of_row)| !x.is_finite() || (*x == 0.0) != (*of_row == 0.0)) {
        return None;
    }
    let function = function(&row.name);
    let (expected, (value, slopes)) = ((function.derivatives)(&x), (function.single)(&single));
    if expected.value.is_nan() && x != row.arguments {
        return None; // beside a domain by rounding, as −1/e is
    }
    let of_slopes = slopes.iter().enumerate().map(|(j, slope)| {
        let column: Vec<f64> = expected.second.iter().map(|row| row[j]).collect();
        excess(*slope, expected.first[j], conditioning(&x, &column))
    });
    Some([excess(value, expected.value, conditioning(&x, &expected.first)), of_slopes.fold(0.0, f64::max)])
}

#[test]
fn rules_are_right_in_single_precision() {
    let (mut worst, mut wrong, mut count) = (BTreeMap::<String, [f64; 2]>::new(), Vec::new(), 0);
    for row in rows() {
        let Some(found) = excesses(&row) else { continue };
        count += 1;
        let worst = worst.entry(row.name.clone()).or_default();
        *worst = [worst[0].max(found[0]), worst[1].max(found[1])];
        if found.iter().any(|excess| *excess > 1.0) {
            wrong.push(format!("{found:?} of what is allowed at {}", row.place));
        }
    }
    for (name, [value, slopes]) in &worst {
        println!("{name:16} {value:8.1e} {slopes:8.1e}");
    }
    assert!(count > 15_000, "only {count} rows have arguments in single precision");
    assert!(wrong.is_empty(), "{} of {count} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
