//! Plans for programs whose tapes do not fit into memory.

use super::prediction::{Forecast, Prediction};
use super::recommendation::{Budget, Recommendation};
use crate::advisor::text::units::bytes;
use crate::schedule::Revolve;
use tapewright_strategies::tape::{Counted, Counts};

/// Least bytes of the tape of a step, however short the step is.
const STEP: usize = 80 << 10;
/// Bytes that the allocator keeps of a slab, and the least size of a slab.
const OVERHEAD: usize = 4096;
/// Slabs that have to be in memory, and slabs that may be on the way to the file and back during a sweep.
const RESIDENT: usize = 2;
const IN_FLIGHT: usize = 5;
/// Largest size of a slab: the default.
const SLAB: usize = 1 << 20;

/// A time loop with as many snapshots as memory allows; `None` if the program is not a time loop, or memory allows no
/// snapshot.
pub(crate) fn in_steps(forecast: &Forecast, budget: Budget) -> Option<Recommendation> {
    let (steps, state) = budget.time_loop.filter(|(steps, _)| *steps > 0)?;
    let linear = forecast.rows().iter().take(Counted::ALL.len());
    let row = linear.min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    // Segments may be twice as large as their contents, and each state leaves a digest by which it is recognized.
    let step = STEP.max(2 * row.bytes().div_ceil(steps)) + size_of::<u64>() * steps;
    let snapshot = (state * size_of::<f64>()).max(1);
    let snapshots = (budget.bytes.checked_sub(step)? / snapshot).min(steps);
    if snapshots == 0 {
        return None;
    }
    let again = if snapshots < steps {
        let advances = Revolve::advances(steps, snapshots) as f64 / steps as f64;
        format!("each step is computed {advances:.1} times on average before it is recorded")
    } else {
        "each step is computed once more, when it is recorded".into()
    };
    let strategy = row.strategy.clone();
    Some(Recommendation {
        fits: true,
        code: format!("TimeLoop::<{strategy}>::new(Revolve::new({steps}, {snapshots}))"),
        bytes: step + snapshots * snapshot,
        reason: format!(
            "No tape fits into {} (at least {} are needed), but {snapshots} snapshots of the state and the tape of one \
             step do, and {again}.",
            bytes(budget.bytes),
            bytes(least(forecast).bytes())
        ),
        strategy,
        lacks_reuse: false,
    })
}

/// A tape on disk, of the strategy that writes the fewest bytes there among the strategies whose adjoints and values
/// fit into memory together with a few slabs.
pub(crate) fn on_disk(forecast: &Forecast, budget: Budget) -> Option<Recommendation> {
    let reusing = forecast.reusing().into_iter().flat_map(|counts| spilled(counts, "Reuse"));
    let all = spilled(forecast.linear(), "Linear").chain(reusing);
    let fitting = all.filter(|(_, kept, _)| kept + (RESIDENT + IN_FLIGHT) * 2 * OVERHEAD <= budget.bytes);
    let (strategy, kept, disk) = fitting.min_by_key(|(_, _, disk)| *disk)?;
    let left = budget.bytes - kept;
    let slab = (left / (RESIDENT + IN_FLIGHT) - OVERHEAD).min(SLAB) / OVERHEAD * OVERHEAD;
    let memory = left - IN_FLIGHT * (slab + OVERHEAD);
    let options = format!("SpillOptions::default().slab({slab}).memory({memory})");
    Some(Recommendation {
        fits: true,
        code: format!("Tape::<{strategy}>::spilled({options})?"),
        bytes: budget.bytes,
        reason: format!(
            "No tape fits into {} (at least {} are needed), so up to {} of records go to disk, with {} in memory for \
             adjoints and values.",
            bytes(budget.bytes),
            bytes(least(forecast).bytes()),
            bytes(disk),
            bytes(kept)
        ),
        strategy,
        lacks_reuse: false,
    })
}

/// The strategies whose records can be spilled: name, bytes that stay in memory, and bytes of records.
fn spilled(counts: &Counts, indices: &str) -> impl Iterator<Item = (String, usize, usize)> {
    [("Jacobian", Counted::Jacobian), ("PrimalValue", Counted::PrimalValue), ("Hybrid", Counted::Hybrid)]
        .into_iter()
        .map(move |(name, strategy)| {
            let values = counts.values(strategy);
            let kept = counts.adjoints() + values;
            (format!("{name}<f64, {indices}, Spilled>"), kept, counts.tape(strategy) - values)
        })
}

/// The recommendation if nothing fits.
pub(crate) fn nothing(forecast: &Forecast, budget: Budget) -> Recommendation {
    let least = least(forecast);
    let (strategy, takes) = (least.strategy.clone(), least.bytes());
    Recommendation {
        fits: false,
        code: format!("Tape::<{strategy}>::new()"),
        bytes: takes,
        reason: format!(
            "Nothing fits into {}: {strategy} takes the least memory of all tapes, {}, and a tape on disk keeps adjoints and \
             a few slabs in memory. {}",
            bytes(budget.bytes),
            bytes(takes),
            next(forecast, budget)
        ),
        strategy,
        lacks_reuse: false,
    }
}

/// Advice for the case that nothing fits.
fn next(forecast: &Forecast, budget: Budget) -> String {
    let Some((steps, state)) = budget.time_loop.filter(|(steps, _)| *steps > 0) else {
        return "Record the program in stages, or as a time loop (see `checkpoint!` and `TimeLoop`).".into();
    };
    let tape = STEP.max(2 * least(forecast).bytes().div_ceil(steps)) + size_of::<u64>() * steps;
    let needed = bytes(tape + (state * size_of::<f64>()).max(1));
    format!("A time loop of {steps} steps needs about {needed}: the tape of one step, and a snapshot.")
}

/// The row with the fewest bytes.
fn least(forecast: &Forecast) -> &Prediction {
    forecast.rows().iter().min_by_key(|row| row.bytes()).expect("there are four rows at least")
}
