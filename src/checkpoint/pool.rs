//! Tapes for nested recordings, kept from one recording to the next.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::{Recording, Tape};
use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::external::TapeCache;
use tapewright_strategies::{Capacity, Reverse};

/// What a new tape of a pool has memory for: each time loop on a tape keeps the tape of a recorded step, which is often
/// a short one.
const LITTLE: Capacity = Capacity { inputs: 0, statements: 1, arguments: 256 };

/// Tapes for nested recordings: each tape is wiped when its recording ends, and serves for the next one.
///
/// A tape keeps one pool for each strategy of the stages that are checkpointed on it, and reports its bytes under
/// `nested`. Make one of your own for nested recordings in callbacks. Clones share the same tapes; threads may use a
/// pool simultaneously.
pub struct TapePool<S: Reverse>(Arc<Mutex<Vec<Tape<S>>>>);

impl<S: Reverse> TapePool<S> {
    /// A pool without tapes.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Lends `f` an empty tape, and wipes it afterwards, also when `f` panics.
    pub fn with<R>(&self, f: impl FnOnce(&mut Tape<S>) -> R) -> R {
        f(&mut self.lend())
    }

    /// Starts a nested recording, which ends when the guard is dropped: statements of its variables are recorded on a
    /// tape of its own.
    ///
    /// ```
    /// use tapewright::{checkpoint::TapePool, prelude::*};
    ///
    /// let pool = TapePool::<Jacobian>::new();
    /// let mut nested = pool.nested();
    /// let x = nested.input(3.0);
    /// let y: Real<_> = (x * x).into();
    /// nested.compute_adjoints(&[(&y, 1.0)])?;
    /// assert_eq!(nested.adjoint(&x)?, 6.0);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    #[must_use]
    pub fn nested(&self) -> ScopedNestedRecording<S> {
        ScopedNestedRecording { pool: self.clone(), running: Some(self.take().start()), finished: None, swept: false }
    }

    /// Bytes that the tapes have obtained from the allocator, without the tapes that are lent at the moment.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.lock().iter().map(|tape| tape.memory().total().reserved).sum()
    }

    /// Lends an empty tape, which is returned on drop.
    pub(super) fn lend(&self) -> Lent<S> {
        Lent { pool: self.clone(), tape: Some(self.take()) }
    }

    fn take(&self) -> Tape<S> {
        let kept = self.lock().pop();
        kept.unwrap_or_else(|| Tape::with_capacity(LITTLE))
    }

    fn give_back(&self, mut tape: Tape<S>) {
        tape.reset();
        self.lock().push(tape);
    }

    /// Locks the list, also after a panic: no operation under the lock can leave the list half changed.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Tape<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lent tape, which is returned to its pool on drop.
pub(super) struct Lent<S: Reverse> {
    pool: TapePool<S>,
    tape: Option<Tape<S>>,
}

impl<S: Reverse> Deref for Lent<S> {
    type Target = Tape<S>;
    fn deref(&self) -> &Tape<S> {
        self.tape.as_ref().expect("it is there until drop")
    }
}

impl<S: Reverse> DerefMut for Lent<S> {
    fn deref_mut(&mut self) -> &mut Tape<S> {
        self.tape.as_mut().expect("it is there until drop")
    }
}

impl<S: Reverse> Drop for Lent<S> {
    fn drop(&mut self) {
        if let Some(tape) = self.tape.take() {
            self.pool.give_back(tape);
        }
    }
}

impl<S: Reverse> Default for TapePool<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Reverse> Clone for TapePool<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Reverse> TapeCache for TapePool<S> {
    fn reserved(&self) -> usize {
        Self::reserved(self)
    }
}

impl<S: Reverse> fmt::Debug for TapePool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TapePool of {} idle tapes", self.lock().len())
    }
}

/// A nested recording that starts where it is made and ends where it goes out of scope, on return and on panic alike.
///
/// The recording is swept alone: the recordings around it are not touched. A statement with variables of both is an
/// error, as between any two recordings; a statement with variables of an outer recording alone is recorded there. At
/// the end the recording is wiped, and its memory serves the next one of the same pool. A nested recording belongs to
/// the thread that started it:
///
/// ```compile_fail,E0277
/// # use tapewright::{checkpoint::TapePool, prelude::*};
/// let pool = TapePool::<Jacobian>::new();
/// let nested = pool.nested();
/// std::thread::spawn(move || drop(nested));
/// ```
pub struct ScopedNestedRecording<S: Reverse> {
    pool: TapePool<S>,
    running: Option<Recording<S>>,
    finished: Option<Tape<S>>,
    /// True if the latest sweep has reached the beginning.
    swept: bool,
}

impl<S: Reverse> ScopedNestedRecording<S> {
    /// Registers an independent variable.
    ///
    /// # Panics
    ///
    /// After [`compute_adjoints`](Self::compute_adjoints), and when the tape is out of identifiers.
    #[track_caller]
    pub fn input(&mut self, value: S::Value) -> Real<S> {
        self.recording().scope().input(value)
    }

    /// Registers an independent variable for each value.
    ///
    /// # Panics
    ///
    /// When [`input`](Self::input) does.
    #[track_caller]
    pub fn inputs(&mut self, values: &[S::Value]) -> Vec<Real<S>> {
        self.recording().scope().inputs(values)
    }

    #[track_caller]
    fn recording(&mut self) -> &mut Recording<S> {
        self.running.as_mut().expect("a nested recording takes no inputs after its adjoints have been computed")
    }

    /// Ends the recording and sweeps it from these outputs with these seeds. Can be called again, with other seeds.
    ///
    /// # Errors
    ///
    /// The errors of [`Tape::sweep`].
    pub fn compute_adjoints(&mut self, seeds: &[(&Real<S>, S::Value)]) -> Result<(), Error> {
        if let Some(running) = self.running.take() {
            self.finished = Some(running.finish());
        }
        self.swept = false;
        self.finished.as_mut().map_or(Ok(()), |tape| tape.sweep(seeds).map(|_| ()))?;
        self.swept = true;
        Ok(())
    }

    /// The adjoint of an input after the latest [`compute_adjoints`](Self::compute_adjoints).
    ///
    /// # Errors
    ///
    /// The errors of [`Adjoints::of`](crate::tape::Adjoints::of).
    ///
    /// # Panics
    ///
    /// Before the first `compute_adjoints`, and after a `compute_adjoints` that has failed or panicked.
    #[track_caller]
    pub fn adjoint(&self, variable: &Real<S>) -> Result<S::Value, Error> {
        let finished = self.finished.as_ref().filter(|_| self.swept);
        finished.expect("adjoints are there after `compute_adjoints` has succeeded").latest_adjoints().of(variable)
    }
}

impl<S: Reverse> Drop for ScopedNestedRecording<S> {
    fn drop(&mut self) {
        let finished = self.running.take().map(Recording::finish);
        if let Some(tape) = finished.or_else(|| self.finished.take()) {
            self.pool.give_back(tape);
        }
    }
}

impl<S: Reverse> fmt::Debug for ScopedNestedRecording<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopedNestedRecording ({})", if self.running.is_some() { "recording" } else { "swept" })
    }
}
