//! Checks that gradients are right, and bytes as promised.

use crate::measure::Row;
use tapewright::advisor;
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Checksums, Problem};

/// Strategies may differ by rounding only: at most this, relative to the gradient's largest entry.
const SAME: f64 = 1e-12;
/// Central differences must agree this well, relative to the derivative in their direction.
const DIFFERENCES: f64 = 1e-6;

/// The most that is allowed where rounding in the function blurs the differences; only `repeated_sin` with its 10⁷
/// rounded steps comes near.
const BLURRED: f64 = 1e-4;

/// Compares a gradient with what the others found, by hand among them; what is wrong, if anything.
pub(crate) fn same(workload: &str, row: &advisor::Row) -> Option<String> {
    let right = row.difference <= SAME;
    (!right).then(|| format!("WRONG: {workload} under {}: off by a relative {:.1e}", row.strategy, row.difference))
}

/// Compares with the numbers that other tools have computed, where there are such; what is wrong, if anything.
pub(crate) fn checksums(problem: &impl Problem, found: &Checksums) -> Option<String> {
    let off = found.difference(&problem.checksums()?);
    let right = off <= 1e-10;
    (!right).then(|| format!("WRONG: {}: value, sum or norm of the gradient off by {off:.1e}", problem.name()))
}

/// Compares the bytes of a workload with what is promised; what is broken.
///
/// * With linear indices a Jacobian statement takes at most 1 + 12a bytes, and one of primal values at most 17 + 4a and
///   its constants. An input takes 8 bytes for its value, if values are kept. Statements of more than 27 arguments may
///   take 4 more.
/// * Hybrid takes at most 8 bytes a statement more than the smaller of the two.
/// * The adjoints of `repeated_sin`, which has one variable at a time, are below 1 kB when indices are reused.
pub(crate) fn bytes(workload: &str, inputs: usize, rows: &[Row]) -> Vec<String> {
    let of = |records: &str, like: &Row| {
        let same =
            |row: &&Row| (row.strategy.indices, row.strategy.layer) == (like.strategy.indices, like.strategy.layer);
        rows.iter().filter(same).find(|row| row.strategy.records == records).map(|row| row.tape)
    };
    let promised = |row: &Row| {
        let (statements, arguments) = (row.memory.statements, row.memory.arguments);
        let wide = 4 * (arguments / 28).min(statements);
        match (row.strategy.records, row.strategy.indices) {
            _ if !row.strategy.has_statements() => None,
            ("jacobian", "linear") => Some(statements + 12 * arguments + wide),
            ("primal_value", "linear") => {
                Some(8 * inputs + 8 + 17 * statements + 4 * arguments + row.memory.usage("constants").used)
            }
            ("hybrid", _) => {
                let parents = [of("jacobian", row), of("primal_value", row)];
                parents.into_iter().flatten().min().map(|least| least + 8 * (statements + inputs + 1))
            }
            _ => None,
        }
    };
    let tape = |row: &Row| {
        let (found, most) = (row.tape, promised(row)?);
        (found > most).then(|| {
            format!("WRONG: {workload} under {}: {found} bytes, at most {most} are promised", row.strategy.title())
        })
    };
    let adjoints = |row: &Row| {
        let short = workload != "repeated_sin" || row.strategy.indices != "reuse" || row.adjoints < 1000;
        (!short)
            .then(|| format!("WRONG: {workload} under {}: {} bytes of adjoints", row.strategy.title(), row.adjoints))
    };
    rows.iter().filter_map(tape).chain(rows.iter().filter_map(adjoints)).collect()
}

/// Directions in which central differences are taken, for functions of at least as many inputs.
const DIRECTIONS: usize = 3;

/// Evaluations of the function for the central differences of a problem with this many inputs.
pub(crate) fn evaluations(inputs: usize) -> usize {
    2 * STEPS.count() * DIRECTIONS.min(inputs)
}

/// The largest relative difference between gradient·direction and central differences in three random directions, or in
/// the only one that there is, and what is wrong, if anything.
pub(crate) fn central_differences(problem: &impl Problem, gradient: &[f64]) -> (f64, Option<String>) {
    let mut random = SplitMix64::new(2026);
    let mut worst: f64 = 0.0;
    let mut failure = None;
    for _ in 0..DIRECTIONS.min(gradient.len()) {
        let direction: Vec<f64> = problem.inputs(0).iter().map(|x| random.symmetric() * x.abs()).collect();
        let expected: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let (found, uncertainty) = derivative(|step| along(problem, &direction, step));
        let off = (found - expected).abs() / expected.abs();
        let doubt = uncertainty / expected.abs();
        // Where rounding in the function itself blurs the differences, they can prove no more than their own error,
        // which the agreement of two extrapolations underestimates.
        let right = off <= DIFFERENCES.max((10.0 * doubt).min(BLURRED));
        if !right {
            failure = Some(format!(
                "WRONG: {}: gradient·direction is {expected:.9e}, central differences say {found:.9e} ± {uncertainty:.1e}",
                problem.name()
            ));
        }
        worst = if off > worst || off.is_nan() { off } else { worst };
    }
    (worst, failure)
}

/// The function, summed over all evaluations, `step` away from its inputs.
fn along(problem: &impl Problem, direction: &[f64], step: f64) -> f64 {
    let mut x = Vec::new();
    let at = |k: usize| {
        problem.inputs_into(k, &mut x);
        x.iter_mut().zip(direction).for_each(|(x, d)| *x += step * d);
        problem.plain(k, &x)
    };
    (0..problem.evaluations()).map(at).sum()
}

/// Steps are these powers of ½.
const STEPS: std::ops::RangeInclusive<i32> = 2..=25;

/// The derivative of `f` at 0 and its estimated error: central differences extrapolated once (Richardson), with the
/// step at which two extrapolations agree best. The error is at least what rounding the value of `f` makes of it.
fn derivative(mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    let value = f(0.0).abs();
    let central = STEPS.map(|k| 0.5_f64.powi(k)).map(|h| (h, (f(h) - f(-h)) / (2.0 * h)));
    let central: Vec<(f64, f64)> = central.collect();
    let extrapolated: Vec<(f64, f64)> =
        central.windows(2).map(|pair| (pair[0].0, (4.0 * pair[1].1 - pair[0].1) / 3.0)).collect();
    let pairs = extrapolated.windows(2).map(|pair| {
        let [(_, coarse), (h, fine)] = [pair[0], pair[1]];
        (fine, (coarse - fine).abs().max(2.0 * f64::EPSILON * value / h))
    });
    pairs.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((f64::NAN, f64::NAN))
}
