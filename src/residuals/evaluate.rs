//! Evaluation of a complete problem, recording by recording, on threads if there are.

use super::batch::{Batch, Point};
use super::error::ResidualError;
use super::piece::Piece;
use super::room::Room;
use crate::programs::{Kept, MOST_PATTERNS};
use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::program::{self, Pattern, Slopes, Uniform};

/// Tapes that are not in use.
pub(super) type Rooms = Mutex<Vec<Room>>;

/// A recording of a kind of residual block, ready to run.
struct Recording {
    pattern: Arc<Pattern<f64>>,
    uniform: Uniform<f64>,
}

/// Evaluates all pieces, and returns the cost: half the sum over them, added up in order.
///
/// In each round the observations that have no results yet run through the next recording of their batch. A batch that
/// has no more, or that a program refuses, is then evaluated one by one.
///
/// # Errors
///
/// The error of the first observation that has one.
pub(super) fn evaluate(
    mut pieces: Vec<Piece<'_>>,
    batches: &[Batch],
    point: Point<'_>,
    rooms: &Rooms,
) -> Result<f64, ResidualError> {
    let mut refused = vec![false; batches.len()];
    for round in 0..MOST_PATTERNS {
        let recordings = recordings(round, &pieces, (batches, &mut refused), point);
        if recordings.iter().all(Option::is_none) {
            break;
        }
        each(&mut pieces, |seat: &mut Option<(usize, program::Room<f64>)>, piece| {
            if let Some(Recording { pattern, uniform }) = &recordings[piece.of] {
                let (of, mut room) = seat.take().filter(|(of, _)| *of == piece.of).unwrap_or_else(|| {
                    let room = pattern.room(piece.slopes(), uniform);
                    (piece.of, room)
                });
                piece.follow(pattern, (&mut room, uniform), point);
                *seat = Some((of, room));
            }
        });
    }
    each(&mut pieces, |(): &mut (), piece| {
        if !piece.left.is_empty() {
            let locked = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
            let mut room = locked().pop().unwrap_or_else(Room::new);
            piece.alone(point, &mut room);
            locked().push(room);
        }
    });
    pieces.into_iter().try_fold(0.0, |sum, piece| Ok(sum + piece.finished()?)).map(|sum| 0.5 * sum)
}

/// Returns the recording of each batch that has observations left, made at the first of them if it is not there yet.
fn recordings(
    round: usize,
    pieces: &[Piece<'_>],
    (batches, refused): (&[Batch], &mut [bool]),
    point: Point<'_>,
) -> Vec<Option<Recording>> {
    let mut recordings: Vec<_> = batches.iter().map(|_| None).collect();
    for piece in pieces {
        let Some(first) = piece.left.first().filter(|_| !refused[piece.of] && recordings[piece.of].is_none()) else {
            continue;
        };
        recordings[piece.of] = recording(round, piece.slopes(), &batches[piece.of], *first, point);
        refused[piece.of] = recordings[piece.of].is_none();
    }
    recordings
}

fn recording(round: usize, slopes: Slopes, batch: &Batch, observation: usize, point: Point<'_>) -> Option<Recording> {
    let numbers = || {
        let mut numbers = vec![0.0; batch.parameters + batch.width];
        batch.write(point, observation, &mut numbers);
        numbers
    };
    match batch.compiled.program.kept(round, &[], numbers) {
        Ok(Kept::Pattern(pattern)) => pattern.uniform(slopes, &[]).ok().map(|uniform| Recording { pattern, uniform }),
        _ => None,
    }
}

/// Calls `f` for each piece, with memory of its thread.
fn each<T: Default + Send>(pieces: &mut [Piece<'_>], f: impl Fn(&mut T, &mut Piece<'_>) + Send + Sync) {
    #[cfg(feature = "rayon")]
    if pieces.len() > 1 {
        use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
        return pieces.par_iter_mut().for_each_init(T::default, f);
    }
    let mut memory = T::default();
    pieces.iter_mut().for_each(|piece| f(&mut memory, piece));
}
