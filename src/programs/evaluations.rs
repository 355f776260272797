//! Results of many evaluations of one function.

use core::fmt;
use tapewright_strategies::{Float, Number};

/// Values and gradients of many evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluations<V> {
    /// The value of each evaluation; if the function has several outputs, all values of an evaluation one behind the
    /// other.
    pub values: Vec<V>,
    /// The gradient of each value, in the same order; empty if it was not asked for.
    pub gradients: Vec<Vec<V>>,
    /// Number of outputs.
    pub(crate) outputs: usize,
    /// Gradients by parameters of the sum over all evaluations, for each output; empty if they were not asked for.
    pub(crate) sums: Vec<Vec<V>>,
    pub(crate) branches: Branches,
}

/// How evaluations branched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// Number of recordings that were used.
    pub recordings: usize,
    /// Number of evaluations that were recorded alone: because there were as many recordings as there may be, or for
    /// the reason in [`refusal`](Self::refusal).
    pub alone: usize,
    /// Reason for which a recording could not become instructions; the first one, if there were several.
    pub refusal: Option<String>,
    /// Lines of comparisons at which evaluations left a recording, names of external functions that failed in them, and
    /// how many evaluations left there: places with the most first.
    pub splits: Vec<(String, usize)>,
}

impl<V: Number> Evaluations<V> {
    /// Results of a function with one output: the value of each evaluation, and its gradient.
    #[must_use]
    pub const fn new(values: Vec<V>, gradients: Vec<Vec<V>>) -> Self {
        let branches = Branches { recordings: 0, alone: 0, refusal: None, splits: Vec::new() };
        Self { values, gradients, outputs: 1, sums: Vec::new(), branches }
    }

    /// The sums over all evaluations, added up in their order: of the values of the first output, and of the gradients.
    #[must_use]
    pub fn sum(&self) -> (V, Vec<V>) {
        let value = self.of(0).fold(V::ZERO, |sum, value| sum + value);
        let mut gradient = vec![V::ZERO; self.gradients.first().map_or(0, Vec::len)];
        for one in self.gradients.iter().step_by(self.outputs.max(1)) {
            gradient.iter_mut().zip(one).for_each(|(sum, slope)| *sum += *slope);
        }
        (value, gradient)
    }

    /// The values of an output, in the order of the evaluations.
    pub fn of(&self, output: usize) -> impl Iterator<Item = V> + '_ {
        self.values.iter().skip(output).step_by(self.outputs.max(1)).copied()
    }

    /// Number of evaluations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len() / self.outputs.max(1)
    }

    /// How evaluations branched.
    #[must_use]
    pub const fn branches(&self) -> &Branches {
        &self.branches
    }
}

impl<V: Float> Evaluations<V> {
    /// The mean of an output; NaN without evaluations.
    ///
    /// # Panics
    ///
    /// When there is no such output, here and below.
    #[must_use]
    #[track_caller]
    pub fn mean(&self, output: usize) -> V {
        self.check(output);
        self.of(output).fold(V::ZERO, |sum, value| sum + value) / self.number()
    }

    /// The standard error of the [`mean`](Self::mean): √(s²/n) for n evaluations with the variance s², which is
    /// estimated with n − 1. NaN for fewer than two.
    #[must_use]
    #[track_caller]
    pub fn standard_error(&self, output: usize) -> V {
        let (squares, n) = (self.squares(output), self.number());
        (squares / (n - V::ONE) / n).sqrt()
    }

    /// The sum of squared distances of an output from its mean.
    #[track_caller]
    pub(super) fn squares(&self, output: usize) -> V {
        let mean = self.mean(output);
        self.of(output).fold(V::ZERO, |sum, value| sum + (value - mean) * (value - mean))
    }

    /// The gradient of the [`mean`](Self::mean) of an output by the parameters of a [`Program`](super::Program), or of
    /// the mean of [`gradients`](Self::gradients) if there were no parameters. Empty if gradients were not asked for.
    #[must_use]
    #[track_caller]
    pub fn mean_gradient(&self, output: usize) -> Vec<V> {
        self.check(output);
        let n = self.number();
        if let Some(sums) = self.sums.get(output) {
            return sums.iter().map(|sum| *sum / n).collect();
        }
        let mut sum = vec![V::ZERO; self.gradients.first().map_or(0, Vec::len)];
        for one in self.gradients.iter().skip(output).step_by(self.outputs.max(1)) {
            sum.iter_mut().zip(one).for_each(|(sum, slope)| *sum += *slope);
        }
        sum.iter_mut().for_each(|sum| *sum = *sum / n);
        sum
    }

    /// Number of evaluations with a value that is infinite or NaN, and the index of the first one.
    #[must_use]
    pub fn not_finite(&self) -> Option<(usize, usize)> {
        let is_finite = |values: &[V]| values.iter().all(|value| value.is_finite());
        let mut broken = self.values.chunks(self.outputs.max(1)).enumerate().filter(|(_, values)| !is_finite(values));
        let (first, _) = broken.next()?;
        Some((broken.count() + 1, first))
    }

    fn number(&self) -> V {
        #[allow(clippy::cast_precision_loss, reason = "fewer than 2⁵³ evaluations")]
        V::from_f64(self.count() as f64)
    }

    #[track_caller]
    fn check(&self, output: usize) {
        assert!(output < self.outputs, "output {output} of a function with {}", self.outputs);
    }
}

impl fmt::Display for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} recordings, {} evaluations recorded alone", self.recordings, self.alone)?;
        self.refusal.iter().try_for_each(|refusal| write!(f, "; {refusal}"))?;
        self.splits.iter().try_for_each(|(line, count)| write!(f, "; {count} branch otherwise at {line}"))
    }
}
