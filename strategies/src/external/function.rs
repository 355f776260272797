//! External functions, whose derivatives are given by rules of their author, and how sweeps call the rules.

use crate::SweepError;
use crate::number::all_finite;
use crate::{MemoryUsage, Number, counts};

/// A function that is differentiated by rules of its author, with the data that the rules need.
///
/// The value owns its data. A recording keeps the value until the next recording begins or the tape is dropped, and
/// then drops it once. Several threads may sweep one recording at the same time, hence `Send` and `Sync`.
///
/// All slices are parallel to the lists of inputs and outputs with which the function was recorded.
pub trait External<V: Number>: Send + Sync + 'static {
    /// The name of the function in messages.
    fn name(&self) -> String {
        core::any::type_name::<Self>().to_owned()
    }

    /// Reverse rule: adds Σₖ outputsₖ·∂outputₖ/∂inputⱼ to `inputs[j]`, given the adjoints of the outputs. `inputs` is 0
    /// on entry. Entries of passive inputs are ignored.
    ///
    /// Called once in each sweep that passes the function's position, unless there are outputs and all their adjoints
    /// are 0. Infinite and NaN adjoints are not passed to the rule, because 0·∞ would be NaN in most rules. The rule is
    /// called once with the finite adjoints, if they are not all 0, and once for each output with a non-finite adjoint,
    /// with 1 for that output and 0 for all others. The result of such a call is multiplied by the adjoint, where zero
    /// times anything is zero. See [`keeps_zeros`](Self::keeps_zeros).
    ///
    /// # Errors
    ///
    /// An error ends the sweep and is returned by it. The recording is unchanged.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError>;

    /// Reverse rule for several adjoint vectors: entry `l` of output `k` is `outputs[k·lanes + l]`. The default calls
    /// [`reverse`](Self::reverse) for each vector.
    ///
    /// # Errors
    ///
    /// The errors of `reverse`.
    fn reverse_lanes(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        each_lane(lanes, outputs, inputs, &mut |from, to| apply(true, from, to, &mut |from, to| self.reverse(from, to)))
    }

    /// Forward rule: writes Σⱼ inputsⱼ·∂outputₖ/∂inputⱼ to `outputs[k]`, which are 0 on entry, given the tangents of
    /// the inputs, not all of which are 0. A recording with a function without a forward rule cannot be swept forward.
    /// Infinite and NaN tangents are passed in the way in which [`reverse`](Self::reverse) gets infinite and NaN
    /// adjoints.
    ///
    /// # Errors
    ///
    /// An error ends the sweep and is returned by it.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "forward" })
    }

    /// Computes the outputs at new inputs, passive ones included; on entry, `outputs` holds the old ones, in programs
    /// those that were recorded. A recording with a function without this rule cannot be replayed.
    ///
    /// Later sweeps call the reverse rule, which must then give the derivatives at the new inputs: keep what it needs.
    ///
    /// # Errors
    ///
    /// An error ends the replay and is returned by it.
    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "replay" })
    }

    /// Returns true if there is a rule [`replay`](Self::replay) whose outputs depend on its inputs alone. Programs then
    /// call it for each scenario, in any order, on as many threads as there are, each with a value of its own; and if
    /// there are several outputs or very many inputs, again before [`reverse`](Self::reverse). By default programs
    /// record each scenario by itself.
    fn is_instruction(&self) -> bool {
        false
    }

    /// Returns true if the rules accept infinite and NaN adjoints and tangents, because they keep to the convention
    /// that zero times anything is zero. Rules that sweep a recording do.
    fn keeps_zeros(&self) -> bool {
        false
    }

    /// Returns true if [`reverse`](Self::reverse) only adds to `inputs`, and adds nothing before a point at which it
    /// may fail. Sweeps may then pass the adjoints of the inputs themselves, with earlier contributions in them, and
    /// call `reverse` for each adjoint vector; [`reverse_lanes`](Self::reverse_lanes) is then not called.
    fn accumulates(&self) -> bool {
        false
    }

    /// Checks that the rules are for a function with these numbers of inputs and outputs. Called once, before the
    /// function is recorded.
    ///
    /// # Errors
    ///
    /// The reason why the rules do not fit; nothing is recorded then.
    fn check(&self, inputs: usize, outputs: usize) -> Result<(), String> {
        let _ = (inputs, outputs);
        Ok(())
    }

    /// Bytes that the value owns in addition to its own size, for memory reports, without those of
    /// [`snapshots`](Self::snapshots).
    fn owned_bytes(&self) -> usize {
        0
    }

    /// Bytes of the states that a time loop keeps for its sweep: used by those that are there, reserved by the most
    /// that are there at once.
    fn snapshots(&self) -> MemoryUsage {
        MemoryUsage::default()
    }
}

/// A rule that computes its second argument from its first, and is linear in it.
type LinearRule<'f, V> = dyn FnMut(&[V], &mut [V]) -> Result<(), SweepError> + 'f;

/// Calls a linear rule with these seeds, and adds its result to `results`, which are 0 on entry. Unless `takes_all`,
/// each non-finite seed is replaced by 1 in a call of its own, whose result is multiplied by the seed, where zero times
/// anything is zero. Seeds that are all 0 cause no call.
pub(crate) fn apply<V: Number>(
    takes_all: bool,
    seeds: &[V],
    results: &mut [V],
    rule: &mut LinearRule<'_, V>,
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

/// Calls `f` for each of several interleaved vectors, with a copy of the vector and a copy of its part of `to`, which
/// is copied back.
pub(crate) fn each_lane<V: Number>(
    lanes: usize,
    from: &[V],
    to: &mut [V],
    f: &mut LinearRule<'_, V>,
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
