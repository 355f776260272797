//! Times of calls.

use std::time::Instant;

/// Returns the nanoseconds that a call takes for each of `count` items: the least of seven rounds.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn least(count: usize, mut f: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e9 / count as f64
    };
    (0..7).map(round).fold(f64::INFINITY, f64::min)
}
