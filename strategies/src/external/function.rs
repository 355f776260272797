//! Functions with rules of their author, and how the rules are called.

use crate::SweepError;
use crate::number::all_finite;
use crate::{Number, counts};

/// A function that is differentiated by rules of its author, and the data that they need.
///
/// The value owns its data. A recording keeps it until the next recording begins, or the tape is dropped, and then
/// drops it once. Recordings may be swept by several threads at once, hence `Send` and `Sync`.
///
/// All slices are parallel to the lists of inputs and outputs with which the function was recorded.
pub trait External<V: Number>: Send + Sync + 'static {
    /// A name for messages.
    fn name(&self) -> String {
        core::any::type_name::<Self>().to_owned()
    }

    /// Reverse rule: adds Σₖ outputsₖ·∂outputₖ/∂inputⱼ to `inputs[j]`, given the adjoints of the outputs. `inputs` is 0
    /// at first. Entries of passive inputs are ignored.
    ///
    /// Called once in each sweep that passes the function's place, unless there are outputs and all their adjoints are
    /// 0. An infinite or NaN adjoint is not passed on, because 0·∞ would be NaN in most rules: the rule is called once
    /// with the other adjoints, if they are not all 0, and once for each such output, with 1 for it and 0 for the
    /// others. What it leaves then is multiplied by the adjoint, where zero times anything is zero. See
    /// [`keeps_zeros`](Self::keeps_zeros).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error. The recording stays as it is.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError>;

    /// [`reverse`](Self::reverse) for several adjoint vectors: entry `l` of output `k` is `outputs[k·lanes + l]`. Calls
    /// `reverse` for each of them, unless there is something better to do.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    fn reverse_lanes(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        each_lane(lanes, outputs, inputs, |from, to| apply(true, from, to, |from, to| self.reverse(from, to)))
    }

    /// Forward rule: writes Σⱼ inputsⱼ·∂outputₖ/∂inputⱼ to `outputs[k]`, which are 0 at first, given the tangents of
    /// the inputs, not all of which are 0. A recording with a function that has none cannot be swept forward. Infinite
    /// and NaN tangents are passed as adjoints are to [`reverse`](Self::reverse).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "forward" })
    }

    /// Computes the outputs at new inputs, passive ones included; `outputs` are the old ones at first. Without it a
    /// recording with this function cannot be replayed.
    ///
    /// Later sweeps call the reverse rule, which must then be that at the new inputs.
    ///
    /// # Errors
    ///
    /// The replay ends with the error.
    fn replay(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "replay" })
    }

    /// Whether the rules take infinite and NaN adjoints and tangents as they are, because they themselves keep to the
    /// convention that zero times anything is zero: for rules that sweep a recording.
    fn keeps_zeros(&self) -> bool {
        false
    }

    /// Whether [`reverse`](Self::reverse) does nothing with `inputs` but add to them, and adds nothing before it may
    /// fail. It may then be given the adjoints of the inputs themselves, whatever has been added to them before, and is
    /// called for each adjoint vector by itself: [`reverse_lanes`](Self::reverse_lanes) need not be.
    fn accumulates(&self) -> bool {
        false
    }

    /// Whether the rules are for a function with this number of inputs and this number of outputs. It is asked once,
    /// before the function is recorded.
    ///
    /// # Errors
    ///
    /// Why they are not; nothing is recorded then.
    fn check(&self, inputs: usize, outputs: usize) -> Result<(), String> {
        let _ = (inputs, outputs);
        Ok(())
    }

    /// Bytes that the value owns beside its own size, for memory reports.
    fn owned_bytes(&self) -> usize {
        0
    }
}

/// Calls a linear rule with these seeds, and adds what it leaves to `results`, which are 0 at first. Seeds that are not
/// finite are replaced by 1, each in a call of its own, and multiply its results, where zero times anything is zero;
/// unless the rule takes them as they are. It is not called for seeds that are all 0.
pub(crate) fn apply<V: Number>(
    takes_all: bool,
    seeds: &[V],
    results: &mut [V],
    mut rule: impl FnMut(&[V], &mut [V]) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    if !seeds.is_empty() && seeds.iter().all(|seed| seed.is_nought()) {
        return Ok(());
    }
    if takes_all || seeds.iter().all(|seed| all_finite(*seed)) {
        return rule(seeds, results);
    }
    let mut finite: Vec<V> = seeds.iter().map(|seed| if all_finite(*seed) { *seed } else { V::ZERO }).collect();
    if finite.iter().any(|seed| !seed.is_nought()) {
        rule(&finite, results)?;
    }
    let mut found = vec![V::ZERO; results.len()];
    for (k, seed) in seeds.iter().enumerate().filter(|(_, seed)| !all_finite(**seed)) {
        finite.fill(V::ZERO);
        finite[k] = V::ONE;
        found.fill(V::ZERO);
        rule(&finite, &mut found)?;
        let partials = results.iter_mut().zip(&found).filter(|(_, partial)| counts(*seed, **partial));
        partials.for_each(|(result, partial)| *result += seed.contribution(*partial));
    }
    Ok(())
}

/// Calls `f` for each of several vectors that lie interlaced, with a copy of the vector and one of what is in the place
/// of its result.
pub(crate) fn each_lane<V: Number>(
    lanes: usize,
    from: &[V],
    to: &mut [V],
    mut f: impl FnMut(&[V], &mut [V]) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    let mut result = vec![V::ZERO; to.len().checked_div(lanes).unwrap_or(0)];
    for lane in 0..lanes {
        let vector: Vec<V> = from.iter().copied().skip(lane).step_by(lanes).collect();
        result.iter_mut().zip(to.iter().skip(lane).step_by(lanes)).for_each(|(result, to)| *result = *to);
        f(&vector, &mut result)?;
        to.iter_mut().skip(lane).step_by(lanes).zip(&result).for_each(|(to, result)| *to = *result);
    }
    Ok(())
}
