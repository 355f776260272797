//! Evaluation of a complete problem, recording by recording, on threads if there are.

use super::batch::{Batch, Point};
use super::error::ResidualError;
use super::piece::Piece;
use crate::programs::{Kept, Used};
use crate::tape::Tape;
use core::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::Instructions;
use tapewright_strategies::program::{self, Pattern, Uniform};

/// Tapes that are not in use.
pub(super) type Tapes = Mutex<Vec<Tape<Instructions>>>;

/// A recording of a kind of residual block, ready to run.
struct Recording {
    pattern: Arc<Pattern<f64>>,
    uniform: Uniform<f64>,
}

/// Evaluates all pieces, and returns the cost: half the sum over them, added up in order.
///
/// In each round the observations that have no results yet run through the recording that the first of them follows. A
/// batch that has used as many as it may, or that a program refuses, is then evaluated one by one.
///
/// # Errors
///
/// The error of the first observation that has one.
pub(super) fn evaluate(
    mut pieces: Vec<Piece<'_>>,
    batches: &[Batch],
    point: Point<'_>,
    tapes: &Tapes,
) -> Result<f64, ResidualError> {
    let mut searches: Vec<_> = batches.iter().enumerate().map(|(of, batch)| Search::new(of, batch, &pieces)).collect();
    loop {
        let recordings: Vec<_> = searches.iter_mut().map(|search| search.next(&mut pieces, point)).collect();
        if recordings.iter().all(Option::is_none) {
            break;
        }
        each(&mut pieces, |seat: &mut Option<(usize, program::Room<f64>)>, piece| {
            if let Some(Recording { pattern, uniform }) = &recordings[piece.of] {
                let kept = seat.take().filter(|(of, _)| *of == piece.of).map(|(_, room)| room);
                let calls = || batches[piece.of].program.lend(pattern);
                match kept.map_or_else(|| pattern.room(piece.slopes(), calls, uniform), Ok) {
                    Ok(mut room) => {
                        piece.follow(pattern, (&mut room, uniform), point);
                        *seat = Some((piece.of, room));
                    }
                    Err(_) => piece.leave_all(),
                }
            }
        });
    }
    each(&mut pieces, |(): &mut (), piece| {
        if piece.is_unfinished() {
            let locked = || tapes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tape = locked().pop().unwrap_or_default();
            piece.compute_alone(point, &mut tape);
            locked().push(tape);
        }
    });
    pieces.into_iter().try_fold(0.0, |sum, piece| Ok(sum + piece.finished()?)).map(|sum| 0.5 * sum)
}

/// The search for recordings of a batch, round by round.
struct Search<'a> {
    batch: &'a Batch,
    /// Its pieces among all.
    pieces: Range<usize>,
    used: Used<f64>,
    is_refused: bool,
    /// For the last recording the piece and observation that were to follow it, and how many observations were left.
    last: Option<(usize, usize, usize)>,
}

impl<'a> Search<'a> {
    fn new(of: usize, batch: &'a Batch, pieces: &[Piece<'_>]) -> Self {
        let [start, end] = [of, of + 1].map(|of| pieces.partition_point(|piece| piece.of < of));
        Self { batch, pieces: start..end, used: Used::new(), is_refused: false, last: None }
    }

    /// Returns the recording of the first observation that has no results yet, made if it is not there; `None` if there
    /// is no such observation, or no such recording.
    fn next(&mut self, pieces: &mut [Piece<'_>], point: Point<'_>) -> Option<Recording> {
        let pieces = &mut pieces[self.pieces.clone()];
        let left = pieces.iter().map(|piece| piece.left.len()).sum();
        if let Some((piece, observation, before)) = self.last.take() {
            let is_left = pieces[piece].left.first() == Some(&observation);
            if is_left {
                pieces[piece].leave_first();
            }
            self.used.note(is_left && left == before);
        }
        let (piece, first) = pieces.iter().enumerate().find_map(|(k, piece)| Some((k, *piece.left.first()?)))?;
        if self.is_refused {
            return None;
        }
        let numbers = || self.batch.numbers(point, first);
        let Ok(Some(Kept::Pattern(pattern))) = self.batch.program.fitting(&mut self.used, &[], numbers) else {
            self.is_refused = true;
            return None;
        };
        self.last = Some((piece, first, left));
        let calls = || self.batch.program.lend(&pattern);
        let uniform = pattern.uniform(pieces[piece].slopes(), calls, &[]).ok()??;
        Some(Recording { pattern, uniform })
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
