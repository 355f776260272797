//! Means of many evaluations, without the evaluations.

use super::evaluations::Evaluations;
use crate::error::{Error, same_length};
use tapewright_strategies::Float;

/// Means over many evaluations, their standard errors and their gradients, without the evaluations themselves. Made by
/// [`Evaluations::means`]; those of several parts of the scenarios are put together by [`merge`](Self::merge), so that
/// a long computation can show its progress, or be shared out.
///
/// ```
/// use tapewright::programs::{Program, rows};
///
/// let program = Program::new(|p, d| [(p[0] * d[0]).eval()]);
/// let of = |data: &[f64]| program.gradient(&[2.0], rows(data, 1)).map(|found| found.means());
/// let mut means = of(&[1.0, 2.0])?;
/// means.merge(&of(&[6.0])?)?;
/// assert_eq!((means.count(), means.mean(0), means.mean_gradient(0)), (3, 6.0, &[3.0][..]));
/// assert!((means.standard_error(0) - 28_f64.sqrt() / 3_f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), tapewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Means<V> {
    count: usize,
    outputs: usize,
    /// For each output the mean, the sum of squared distances from it, and the gradient of the mean.
    numbers: Vec<V>,
}

/// Means of no evaluations, to [`merge`](Means::merge) others into.
impl<V> Default for Means<V> {
    fn default() -> Self {
        Self { count: 0, outputs: 0, numbers: Vec::new() }
    }
}

impl<V: Float> Evaluations<V> {
    /// The means, their standard errors and their gradients, without the evaluations.
    #[must_use]
    pub fn means(&self) -> Means<V> {
        let mut numbers = Vec::new();
        for output in 0..self.outputs {
            numbers.extend([self.mean(output), self.squares(output)]);
            numbers.extend(self.mean_gradient(output));
        }
        Means { count: self.count(), outputs: self.outputs, numbers }
    }
}

impl<V: Float> Means<V> {
    /// Number of evaluations.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Number of outputs; 0 without evaluations.
    #[must_use]
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// The mean of an output.
    ///
    /// # Panics
    ///
    /// When there is no such output, here and below.
    #[must_use]
    #[track_caller]
    pub fn mean(&self, output: usize) -> V {
        self.of(output)[0]
    }

    /// The standard error of the [`mean`](Self::mean), as [`Evaluations::standard_error`] defines it.
    #[must_use]
    #[track_caller]
    pub fn standard_error(&self, output: usize) -> V {
        let n = number::<V>(self.count);
        (self.of(output)[1] / (n - V::ONE) / n).sqrt()
    }

    /// The gradient of the [`mean`](Self::mean), as [`Evaluations::mean_gradient`] has it.
    #[must_use]
    #[track_caller]
    pub fn mean_gradient(&self, output: usize) -> &[V] {
        &self.of(output)[2..]
    }

    /// Takes in the means of further evaluations of the same function. The last bits depend on the order of the calls.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the numbers of outputs differ, or the lengths of gradients, and neither has no
    /// evaluations.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if other.count == 0 {
            return Ok(());
        }
        if self.count == 0 {
            self.clone_from(other);
            return Ok(());
        }
        same_length(("outputs", self.outputs), ("outputs of others", other.outputs))?;
        same_length(("numbers of means", self.numbers.len()), ("of others", other.numbers.len()))?;
        let [mine, others, all] = [self.count, other.count, self.count + other.count].map(number::<V>);
        let each = self.each();
        let pairs = self.numbers.chunks_exact_mut(each).zip(other.numbers.chunks_exact(each));
        for (to, from) in pairs {
            let apart = from[0] - to[0];
            to[1] = to[1] + from[1] + apart * apart * (mine * others / all);
            for k in (0..each).filter(|k| *k != 1) {
                to[k] += (from[k] - to[k]) * (others / all);
            }
        }
        self.count += other.count;
        Ok(())
    }

    /// All numbers, for messages.
    #[doc(hidden)]
    #[must_use]
    pub fn numbers(&self) -> &[V] {
        &self.numbers
    }

    /// Means from a message.
    #[doc(hidden)]
    #[must_use]
    pub fn from_numbers(count: usize, outputs: usize, numbers: &[V]) -> Self {
        Self { count, outputs, numbers: numbers.to_vec() }
    }

    const fn each(&self) -> usize {
        self.numbers.len() / self.outputs
    }

    #[track_caller]
    fn of(&self, output: usize) -> &[V] {
        assert!(output < self.outputs, "output {output} of a function with {}", self.outputs);
        let each = self.each();
        &self.numbers[output * each..][..each]
    }
}

pub(super) fn number<V: Float>(count: usize) -> V {
    #[allow(clippy::cast_precision_loss, reason = "fewer than 2⁵³ evaluations")]
    V::from_f64(count as f64)
}
