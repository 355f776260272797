//! Pieces of a batch: some hundred observations, and memory for their results.

use super::batch::{Batch, CONSTANT, Places, Point};
use super::error::ResidualError;
use super::loss::correct;
use crate::programs::Alone;
use crate::tape::Tape;
use core::ops::Range;
use tapewright_strategies::Instructions;
use tapewright_strategies::program::{self, Pattern, Slopes, Uniform};

/// Number of observations in a piece. Costs are added up piece by piece, so it is the same for any number of threads.
const PIECE: usize = 512;

/// Number of observations whose results are fetched at once, while they are in the cache: a block of a program.
const BLOCK: usize = 64;

/// Observations of a batch that one thread evaluates.
pub(super) struct Piece<'a> {
    /// Index of the batch.
    pub(super) of: usize,
    batch: &'a Batch,
    observations: Range<usize>,
    /// Observations without results.
    pub(super) left: Vec<usize>,
    /// Observations that are computed one by one.
    alone: Vec<usize>,
    /// ρ(|r|²) of each observation.
    costs: Vec<f64>,
    /// The first observation that failed.
    failed: Option<(usize, ResidualError)>,
    /// `None` if only the cost is asked for.
    target: Option<Target<'a>>,
}

/// Memory for the residuals of a piece, and for the rows of its Jacobian matrix if these are asked for.
pub(super) struct Target<'a> {
    pub(super) residuals: &'a mut [f64],
    pub(super) rows: Option<Rows<'a>>,
}

/// Memory for the rows of the Jacobian matrix of a piece, and what they are made with.
pub(super) struct Rows<'a> {
    /// Offsets of the rows among the entries of the complete matrix, followed by the end of the last.
    pub(super) starts: &'a [usize],
    pub(super) places: &'a Places,
    pub(super) jacobian: &'a mut [f64],
    /// Derivatives of points on manifolds by steps.
    pub(super) lifts: &'a [Vec<f64>],
}

/// Results of one observation among those of others.
#[derive(Clone, Copy)]
struct Found<'a> {
    /// Residuals, the first one of each observation first.
    residuals: &'a [f64],
    /// Jacobian matrices, with a column for each parameter, observation by observation.
    slopes: &'a [f64],
    /// Number of observations, and index of this one.
    count: usize,
    index: usize,
    /// True if all derivatives are known to be finite.
    is_finite: bool,
    /// True if the Jacobian matrix is in its place already.
    is_copied: bool,
}

impl<'a> Found<'a> {
    fn residuals(self, height: usize) -> impl Iterator<Item = f64> + 'a {
        (0..height).map(move |i| self.residuals[i * self.count + self.index])
    }

    /// The Jacobian matrix.
    fn rows(self) -> &'a [f64] {
        let each = self.slopes.len() / self.count;
        &self.slopes[self.index * each..][..each]
    }
}

impl<'a> Piece<'a> {
    /// All pieces of a batch, without memory for results.
    pub(super) fn of(of: usize, batch: &'a Batch) -> impl Iterator<Item = Self> {
        (0..batch.count).step_by(PIECE).map(move |first| {
            let observations = first..batch.count.min(first + PIECE);
            let (left, costs) = (observations.clone().collect(), vec![0.0; observations.len()]);
            Self { of, batch, observations, left, alone: Vec::new(), costs, failed: None, target: None }
        })
    }

    /// Adds memory for results.
    pub(super) fn writing(self, target: Target<'a>) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Number of its observations.
    pub(super) fn len(&self) -> usize {
        self.observations.len()
    }

    /// The derivatives that are asked for.
    pub(super) const fn slopes(&self) -> Slopes {
        match &self.target {
            Some(Target { rows: Some(_), .. }) => Slopes::All,
            _ => Slopes::Nothing,
        }
    }

    /// Returns the sum of ρ(|r|²).
    pub(super) fn finished(self) -> Result<f64, ResidualError> {
        match self.failed {
            Some((_, error)) => Err(error),
            None => Ok(self.costs.iter().sum()),
        }
    }

    /// Computes the observations that branch as a recording does; the others are left.
    pub(super) fn follow(
        &mut self,
        pattern: &Pattern<f64>,
        (room, uniform): (&mut program::Room<f64>, &Uniform<f64>),
        point: Point<'_>,
    ) {
        let (batch, asked) = (self.batch, self.slopes());
        let data = &mut |observations: &[usize], columns: &mut [f64]| batch.write(point, observations, columns);
        let mut memory = Vec::new();
        for part in core::mem::take(&mut self.left).chunks(BLOCK) {
            let in_place = self.place_of(part);
            let is_copied = in_place.is_some();
            let slopes = in_place.unwrap_or_else(|| {
                memory.resize(part.len() * pattern.slopes(asked), 0.0);
                &mut memory
            });
            let found = pattern.run(asked, (room, uniform), part, data, slopes);
            let Ok(program::Found { values, others, is_finite, .. }) = found else {
                // One of them fails, as its own recording will say.
                self.alone.extend_from_slice(part);
                continue;
            };
            let mut others: Vec<usize> = others.iter().map(|(observation, _)| *observation).collect();
            others.sort_unstable();
            if others.is_empty() && self.take_all(part, &values, is_copied && is_finite) {
                continue;
            }
            let count = part.len();
            // Rows that are in their place are not read again.
            let slopes = if is_copied { &[] } else { &memory[..] };
            let found = |index| Found { residuals: &values, slopes, count, index, is_finite, is_copied };
            for (index, observation) in part.iter().enumerate() {
                if others.is_empty() || others.binary_search(observation).is_err() {
                    self.take(*observation, found(index), point);
                }
            }
            self.left.append(&mut others);
        }
    }

    /// Takes over the results of observations whose Jacobian matrices are in their place, if asked for, and finite.
    /// Returns false, and leaves them to [`take`](Self::take), where more has to be done than to take them over.
    fn take_all(&mut self, observations: &[usize], values: &[f64], has_slopes: bool) -> bool {
        let (batch, count) = (self.batch, observations.len());
        let (first, last) = (observations[0] - self.observations.start, observations[count - 1]);
        let is_done = self.slopes() == Slopes::Nothing || has_slopes;
        if !is_done || !batch.loss.is_trivial() || last - observations[0] + 1 != count {
            return false;
        }
        let costs = &mut self.costs[first..][..count];
        costs.fill(0.0);
        for residuals in values.chunks_exact(count) {
            costs.iter_mut().zip(residuals).for_each(|(cost, residual)| *cost += residual * residual);
        }
        if let Some(target) = &mut self.target {
            let residuals = &mut target.residuals[first * batch.residuals..][..count * batch.residuals];
            for (i, column) in values.chunks_exact(count).enumerate() {
                residuals[i..].iter_mut().step_by(batch.residuals).zip(column).for_each(|(to, from)| *to = *from);
            }
        }
        are_finite(costs)
    }

    /// The rows of observations in the Jacobian matrix, if the observations follow one another and their entries are in
    /// the order of their parameters.
    fn place_of(&mut self, observations: &[usize]) -> Option<&mut [f64]> {
        let (first, last) = (observations[0], observations[observations.len() - 1]);
        let rows = self.target.as_mut()?.rows.as_mut()?;
        let each = self.batch.residuals * self.batch.parameters;
        (rows.places.are_in_order && last - first + 1 == observations.len())
            .then(|| &mut rows.jacobian[(first - self.observations.start) * each..][..observations.len() * each])
    }

    /// Leaves the first observation without results to [`compute_alone`](Self::compute_alone).
    pub(super) fn leave_first(&mut self) {
        self.alone.push(self.left.remove(0));
    }

    /// Leaves all observations without results to [`compute_alone`](Self::compute_alone).
    pub(super) fn leave_all(&mut self) {
        self.alone.append(&mut self.left);
    }

    /// Returns true if some observations have no results.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.left.is_empty() || !self.alone.is_empty()
    }

    /// Computes the observations without results, one by one.
    pub(super) fn compute_alone(&mut self, point: Point<'_>, tape: &mut Tape<Instructions>) {
        let batch = self.batch;
        self.leave_all();
        for observation in core::mem::take(&mut self.alone) {
            match batch.program.alone(tape, self.slopes(), &[], &batch.numbers(point, observation)) {
                Ok(Alone { values, by_data, .. }) => {
                    let (residuals, slopes) = (&values[..], &by_data.concat()[..]);
                    let found = Found { residuals, slopes, count: 1, index: 0, is_finite: false, is_copied: false };
                    self.take(observation, found, point);
                }
                Err(error) => {
                    self.fail(observation, ResidualError::Derivative { residual: batch.first + observation, error });
                }
            }
        }
    }

    /// Takes over the results of an observation.
    #[inline]
    fn take(&mut self, observation: usize, found: Found<'_>, point: Point<'_>) {
        let (batch, k) = (self.batch, observation - self.observations.start);
        let result = if let Some(target) = &mut self.target {
            target.take((batch, observation), k, found, point)
        } else {
            let square = found.residuals(batch.residuals).map(|r| r * r).sum::<f64>();
            let error = ResidualError::ResidualNotFinite { residual: batch.first + observation };
            if square.is_finite() { Ok(batch.loss.at(square).value) } else { Err(error) }
        };
        match result {
            Ok(cost) => self.costs[k] = cost,
            Err(error) => self.fail(observation, error),
        }
    }

    fn fail(&mut self, observation: usize, error: ResidualError) {
        if self.failed.as_ref().is_none_or(|(first, _)| observation < *first) {
            self.failed = Some((observation, error));
        }
    }
}

impl Target<'_> {
    /// Writes the results of observation `k` of the piece, checks them and applies the loss. Returns ρ(|r|²).
    #[inline]
    fn take(
        &mut self,
        (batch, observation): (&Batch, usize),
        k: usize,
        found: Found<'_>,
        point: Point<'_>,
    ) -> Result<f64, ResidualError> {
        let (height, residual) = (batch.residuals, batch.first + observation);
        let residuals = &mut self.residuals[k * height..][..height];
        residuals.iter_mut().zip(found.residuals(height)).for_each(|(to, from)| *to = from);
        let (jacobian, is_finite) = match &mut self.rows {
            Some(rows) => rows.take((batch, observation), k, found, point),
            None => (&mut [][..], true),
        };
        let square = residuals.iter().map(|r| r * r).sum::<f64>();
        if !square.is_finite() {
            return Err(ResidualError::ResidualNotFinite { residual });
        }
        if !is_finite && !are_finite(jacobian) {
            return Err(ResidualError::DerivativeNotFinite { residual });
        }
        if batch.loss.is_trivial() {
            return Ok(square);
        }
        Ok(correct(&*batch.loss, residuals, jacobian))
    }
}

impl Rows<'_> {
    /// Writes the rows of observation `k` of the piece. Returns them, and true if they are known to be finite.
    #[inline]
    fn take(
        &mut self,
        (batch, observation): (&Batch, usize),
        k: usize,
        found: Found<'_>,
        point: Point<'_>,
    ) -> (&mut [f64], bool) {
        let [start, end] = [k, k + 1].map(|k| self.starts[k * batch.residuals] - self.starts[0]);
        let jacobian = &mut self.jacobian[start..end];
        let is_finite = if self.places.are_in_order {
            if !found.is_copied {
                jacobian.copy_from_slice(found.rows());
            }
            found.is_finite
        } else {
            place(jacobian, (batch, observation), (self.places, self.lifts), found, point)
        };
        (jacobian, is_finite)
    }
}

/// Writes the derivatives of an observation, the columns of each parameter block where they belong. Returns true if
/// they are known to be finite.
fn place(
    jacobian: &mut [f64],
    (batch, observation): (&Batch, usize),
    (places, lifts): (&Places, &[Vec<f64>]),
    found: Found<'_>,
    point: Point<'_>,
) -> bool {
    let width = jacobian.len() / batch.residuals.max(1);
    let slots = &places.slots[observation * batch.sizes.len()..];
    let (mut first, mut is_finite) = (0, found.is_finite);
    for ((size, slot), block) in batch.sizes.iter().zip(slots).zip(batch.arguments_of(observation)) {
        let rows = if *slot == CONSTANT { 0 } else { batch.residuals };
        for i in 0..rows {
            let from = &found.rows()[i * batch.parameters + first..][..*size];
            let to = &mut jacobian[i * width + *slot as usize..];
            if let Some(manifold) = &point.blocks[*block].manifold {
                // Products of finite numbers may not be finite.
                is_finite = false;
                lift(&mut to[..manifold.freedom()], from, &lifts[*block]);
            } else {
                to[..*size].copy_from_slice(from);
            }
        }
        first += size;
    }
    is_finite
}

/// Multiplies slopes by a matrix with a row for each of them.
fn lift(to: &mut [f64], slopes: &[f64], matrix: &[f64]) {
    to.fill(0.0);
    for (slope, row) in slopes.iter().zip(matrix.chunks_exact(to.len().max(1))) {
        to.iter_mut().zip(row).for_each(|(entry, factor)| *entry += slope * factor);
    }
}

/// Returns true if no number is infinite or NaN: products with 0 are ±0. Without a branch, so that it takes a register
/// of numbers at once.
fn are_finite(numbers: &[f64]) -> bool {
    numbers.iter().fold(0, |bits, number| bits | (number * 0.0).to_bits() << 1) == 0
}
