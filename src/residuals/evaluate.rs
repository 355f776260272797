//! Evaluation of a complete problem, piece by piece, on threads if there are.

use super::batch::{Batch, CONSTANT, Places};
use super::error::ResidualError;
use super::kind::Several;
use super::loss::correct;
use super::room::{Found, Picked, Point, Room};
use core::ops::Range;
use std::sync::{Mutex, PoisonError};
use tapewright_strategies::Number;

/// Number of observations in a piece, a multiple of all numbers of lanes. Sums are added up piece by piece, so it is
/// the same for any number of threads.
const PIECE: usize = 512;

/// Tapes and memory that are not in use.
pub(super) type Rooms = Mutex<Vec<Room>>;

/// Observations of a batch.
pub(super) struct Piece<'a> {
    batch: &'a Batch,
    observations: Range<usize>,
}

/// Memory for the residuals and the Jacobian matrix of a piece, and what they are made with.
pub(super) struct Target<'a> {
    /// Offsets of the rows among the entries of the complete matrix, followed by the end of the last.
    pub(super) starts: &'a [usize],
    pub(super) places: &'a Places,
    pub(super) residuals: &'a mut [f64],
    pub(super) jacobian: &'a mut [f64],
    /// Derivatives of points on manifolds by steps.
    pub(super) lifts: &'a [Vec<f64>],
}

impl<'a> Piece<'a> {
    /// All pieces of a batch.
    pub(super) fn of(batch: &'a Batch) -> impl Iterator<Item = Self> {
        let piece = move |first| Self { batch, observations: first..batch.count.min(first + PIECE) };
        (0..batch.count).step_by(PIECE).map(piece)
    }

    /// Number of its observations.
    pub(super) fn len(&self) -> usize {
        self.observations.len()
    }

    /// The observations that are computed together.
    fn packs(&self) -> impl Iterator<Item = Picked<'a>> {
        let (batch, end) = (self.batch, self.observations.end);
        self.observations.clone().step_by(Several::LANES).map(move |first| Picked {
            batch,
            first,
            count: Several::LANES.min(end - first),
        })
    }

    /// Returns Σ ρ(|r|²).
    pub(super) fn cost(&self, point: Point<'_>, room: &mut Room) -> Result<f64, ResidualError> {
        let kind = &*self.batch.kind;
        let mut sum = 0.0;
        for picked in self.packs() {
            let apart = room.values.evaluate(kind, picked, point);
            for lane in 0..picked.count {
                let one = Picked { first: picked.first + lane, count: 1, ..picked };
                let square = if apart >> lane & 1 == 0 {
                    room.values.residuals.iter().map(|r| r.value().lane(lane)).map(|r| r * r).sum::<f64>()
                } else {
                    room.value.evaluate(kind, one, point);
                    room.value.residuals.iter().map(|r| r.value() * r.value()).sum()
                };
                if !square.is_finite() {
                    return Err(ResidualError::ResidualNotFinite { residual: self.batch.first + one.first });
                }
                sum += self.batch.loss.at(square).value;
            }
        }
        Ok(sum)
    }

    /// Writes residuals and Jacobian matrix, and returns Σ ρ(|r|²).
    pub(super) fn linearize(
        &self,
        point: Point<'_>,
        target: Target<'_>,
        room: &mut Room,
    ) -> Result<f64, ResidualError> {
        let (batch, height, arguments) = (self.batch, self.batch.residuals, self.batch.sizes.len());
        let Target { starts, places, mut residuals, mut jacobian, lifts } = target;
        let mut sum = 0.0;
        for picked in self.packs() {
            let apart = room.derivatives.evaluate(&*batch.kind, picked, point)?;
            let is_copied = places.are_in_order && apart == 0;
            if is_copied {
                room.derivatives.copy(picked.count, residuals, jacobian);
            }
            for lane in 0..picked.count {
                let one = Picked { first: picked.first + lane, count: 1, ..picked };
                let k = one.first - self.observations.start;
                let entries = starts[(k + 1) * height] - starts[k * height];
                let mut written = Written {
                    residuals: residuals.split_off_mut(..height).unwrap_or_default(),
                    jacobian: jacobian.split_off_mut(..entries).unwrap_or_default(),
                    slots: &places.slots[one.first * arguments..][..arguments],
                    lifts,
                };
                let is_finite = if is_copied {
                    room.derivatives.is_finite(lane)
                } else if apart >> lane & 1 == 0 {
                    written.place(room.derivatives.lane(lane), one, point)
                } else {
                    room.derivative.evaluate(&*batch.kind, one, point)?;
                    written.place(room.derivative.lane(0), one, point)
                };
                sum += written.finish(is_finite, batch, one.first)?;
            }
        }
        Ok(sum)
    }
}

/// Memory for the results of one observation.
struct Written<'a> {
    residuals: &'a mut [f64],
    jacobian: &'a mut [f64],
    slots: &'a [u32],
    lifts: &'a [Vec<f64>],
}

impl Written<'_> {
    /// Checks the results of an observation and applies the loss to them. Returns ρ(|r|²). `is_finite` is true if the
    /// Jacobian matrix is known to be finite.
    #[inline]
    fn finish(self, is_finite: bool, batch: &Batch, observation: usize) -> Result<f64, ResidualError> {
        let residual = batch.first + observation;
        let square = self.residuals.iter().map(|r| r * r).sum::<f64>();
        if !square.is_finite() {
            return Err(ResidualError::ResidualNotFinite { residual });
        }
        if !is_finite && !self.jacobian.iter().all(|entry| entry.is_finite()) {
            return Err(ResidualError::DerivativeNotFinite { residual });
        }
        if batch.loss.is_trivial() {
            return Ok(square);
        }
        Ok(correct(&*batch.loss, self.residuals, self.jacobian))
    }

    /// Writes the results of a lane, the columns of each parameter block where they belong. Returns true if the
    /// Jacobian matrix is known to be finite.
    fn place(&mut self, found: Found<'_>, one: Picked<'_>, point: Point<'_>) -> bool {
        let batch = one.batch;
        let width = self.jacobian.len() / batch.residuals.max(1);
        let parameters = batch.sizes.iter().sum::<usize>();
        let (mut first, mut is_finite) = (0, found.is_finite);
        self.residuals.copy_from_slice(found.residuals);
        for ((size, slot), block) in batch.sizes.iter().zip(self.slots).zip(batch.arguments_of(one.first)) {
            let rows = if *slot == CONSTANT { 0 } else { batch.residuals };
            for i in 0..rows {
                let from = &found.rows[i * parameters + first..][..*size];
                let to = &mut self.jacobian[i * width + *slot as usize..];
                if let Some(manifold) = &point.blocks[*block].manifold {
                    // Products of finite numbers may not be finite.
                    is_finite = false;
                    lift(&mut to[..manifold.freedom()], from, &self.lifts[*block]);
                } else {
                    to[..*size].copy_from_slice(from);
                }
            }
            first += size;
        }
        is_finite
    }
}

/// Multiplies slopes by a matrix with a row for each of them.
fn lift(to: &mut [f64], slopes: &[f64], matrix: &[f64]) {
    to.fill(0.0);
    for (slope, row) in slopes.iter().zip(matrix.chunks_exact(to.len().max(1))) {
        to.iter_mut().zip(row).for_each(|(entry, factor)| *entry += slope * factor);
    }
}

/// Evaluates pieces with `f`, and returns half the sum of their results, added up in order.
///
/// # Errors
///
/// The error of the first piece that has one.
pub(super) fn each<T: Send>(
    pieces: Vec<T>,
    rooms: &Rooms,
    f: impl Fn(T, &mut Room) -> Result<f64, ResidualError> + Sync,
) -> Result<f64, ResidualError> {
    let locked = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |piece| {
        let mut room = locked().pop().unwrap_or_else(Room::new);
        let result = f(piece, &mut room);
        locked().push(room);
        result
    };
    #[cfg(feature = "rayon")]
    let results: Vec<_> = {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        if pieces.len() > 1 { pieces.into_par_iter().map(run).collect() } else { pieces.into_iter().map(run).collect() }
    };
    #[cfg(not(feature = "rayon"))]
    let results = pieces.into_iter().map(run);
    let mut sum = 0.0;
    for result in results {
        sum += result?;
    }
    Ok(0.5 * sum)
}
