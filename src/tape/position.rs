//! Places in a recording: to sweep from one to another, to forget what lies behind one, and to go on there.

use super::adjoints::fill;
use super::scope::Scope;
use super::{AdjointVector, Adjoints, Tape};
use crate::error::Error;
use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::active::{self, Place};
use tapewright_strategies::{Reverse, TapeNumber};

/// A place in a recording, between two statements: see [`Scope::position`] and [`Tape::position`].
///
/// It belongs to one recording of one tape. Using it with another, or after the recording has been forgotten, is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub(super) Place);

/// The earlier parts of a recording that was resumed: the number of each, and where it ends.
#[derive(Debug, Default)]
pub(super) struct Parts(SmallVec<[Place; 2]>);

impl Parts {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether a variable of the recording with this number is of an earlier part.
    pub(super) fn have(&self, number: TapeNumber) -> bool {
        self.0.iter().any(|end| end.number() == number)
    }
}

impl<S: Reverse> Scope<'_, S> {
    /// The place behind the last statement.
    ///
    /// # Panics
    ///
    /// When the strategy keeps no track of places; all of this library that record do.
    #[must_use]
    #[track_caller]
    pub fn position(&self) -> Position {
        Position(active::place::<S>(self.number()))
    }

    /// A variable of an earlier part of this recording, as one of the part that is being recorded: see [`Tape::resume`].
    /// Passive variables come back as they are.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable is of another recording, or of a part that was forgotten.
    pub fn renew(&self, variable: &Real<S>) -> Result<Real<S>, Error> {
        match S::locate(variable.id()) {
            None => Ok(variable.clone()),
            Some((number, _)) if number == self.number() => Ok(variable.clone()),
            Some((number, _)) if self.parts.have(number) => {
                let id = active::with::<S, _>(self.number(), |tape| S::renew(tape, variable.id()));
                Ok(Real::from_parts(variable.value(), id))
            }
            Some((number, _)) => Err(Error::ForeignVariable { variable: number.get(), recording: self.number().get() }),
        }
    }

    /// [`renew`](Self::renew) for several variables.
    ///
    /// # Errors
    ///
    /// As `renew`.
    pub fn renew_all(&self, variables: &[Real<S>]) -> Result<Vec<Real<S>>, Error> {
        variables.iter().map(|variable| self.renew(variable)).collect()
    }
}

/// # Positions
impl<S: Reverse> Tape<S> {
    /// The end of the recording.
    ///
    /// # Panics
    ///
    /// When the strategy keeps no track of places.
    #[must_use]
    #[track_caller]
    pub fn position(&self) -> Position {
        Position(self.owned.place())
    }

    /// Goes on with the recording: what `f` computes is recorded behind it.
    ///
    /// Variables of the earlier parts can be swept from, and their adjoints asked for, as before. To compute with them in `f`,
    /// [`Scope::renew`] them: each part of a recording has a number of its own, so that variables of a part that was
    /// forgotten with [`reset_to`](Self::reset_to) are recognised. With [`Reuse`](crate::Reuse) indices, identifiers of
    /// earlier parts are not reused any more.
    ///
    /// ```
    /// use tapewright::{AdjointVector, prelude::*};
    ///
    /// // Many scenarios share what is computed first: record that once.
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, shared) = tape.record(|scope| {
    ///     let x = scope.input(2.0);
    ///     (x, (x * x).exp().eval())
    /// });
    /// let start = tape.position();
    /// let mut adjoints = AdjointVector::new();
    /// for factor in [1.0, 2.0, 3.0] {
    ///     let y = tape.resume(|scope| {
    ///         let shared = scope.renew(&shared).expect("of this recording");
    ///         (shared * factor).sin().eval()
    ///     });
    ///     tape.seed(&mut adjoints, &[(&y, 1.0)])?;
    ///     tape.sweep_between(&mut adjoints, &tape.position(), &start)?; // down to the shared part only
    ///     tape.reset_to(&start)?;                                       // the memory serves for the next scenario
    /// }
    /// let slope = tape.sweep_from_position(&mut adjoints, &start)?.of(&x)?; // and the shared part once
    /// let shared = shared.value();
    /// let expected: f64 = [1.0, 2.0, 3.0].map(|k| k * (k * shared).cos()).iter().sum::<f64>() * shared * 4.0;
    /// assert!((slope - expected).abs() < 1e-12 * expected.abs());
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the strategy keeps no track of places, when nothing has been recorded yet, and when `f` does.
    #[track_caller]
    pub fn resume<R>(&mut self, f: impl FnOnce(&mut Scope<S>) -> R) -> R {
        let end = self.owned.place();
        assert!(end.number() != TapeNumber::default(), "there is no recording to go on with: begin one with `record`");
        self.parts.0.push(end);
        let Self { owned, inputs, parts, .. } = self;
        owned.resume(|number| f(&mut Scope::new(number, inputs, parts)))
    }

    /// Forgets what was recorded behind a position, and keeps the memory. Variables from there are stale from now on.
    ///
    /// # Errors
    ///
    /// [`Error::StalePosition`] when the position is not one that [`position`](Self::position) returned for this recording, or
    /// what lies there has been forgotten itself; [`Error::Storage`] when records cannot be read back from disk.
    pub fn reset_to(&mut self, position: &Position) -> Result<(), Error> {
        let place = position.0;
        if place == self.owned.place() {
            return Ok(());
        }
        let Some(at) = self.parts.0.iter().position(|end| *end == place) else {
            return Err(self.stale(position));
        };
        self.owned.truncate(place)?;
        self.parts.0.truncate(at + 1);
        Ok(())
    }

    /// Adds seeds to the adjoints of these outputs, for [`sweep_between`](Self::sweep_between).
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when an output belongs to another recording; no seed has been added then.
    pub fn seed(&self, adjoints: &mut AdjointVector<S::Value>, seeds: &[(&Real<S>, S::Value)]) -> Result<(), Error> {
        fill(&self.owned, &self.parts, adjoints, seeds.iter().map(|(y, seed)| (*y, *seed)))
    }

    /// Sweeps from one position to an earlier one, and continues with the adjoints that are in the vector.
    ///
    /// Afterwards the vector holds the adjoints of all variables that existed at `to`, those of variables made later are 0. So
    /// a sweep can stop anywhere, and go on from there with [`sweep_between`](Self::sweep_between) or
    /// [`sweep_from_position`](Self::sweep_from_position).
    ///
    /// # Errors
    ///
    /// [`Error::StalePosition`] when a position is of another recording or was forgotten; [`Error::Storage`] and
    /// [`Error::Sweep`] as [`sweep`](Self::sweep). The adjoints are of no use then.
    ///
    /// # Panics
    ///
    /// When `from` lies before `to`.
    pub fn sweep_between<'a>(
        &'a self,
        adjoints: &'a mut AdjointVector<S::Value>,
        from: &Position,
        to: &Position,
    ) -> Result<Adjoints<'a, S>, Error> {
        self.sweep_ends(adjoints, Some(from), Some(to))
    }

    /// Sweeps from a position to the start of the recording, and continues with the adjoints that are in the vector.
    ///
    /// # Errors
    ///
    /// As [`sweep_between`](Self::sweep_between).
    pub fn sweep_from_position<'a>(
        &'a self,
        adjoints: &'a mut AdjointVector<S::Value>,
        from: &Position,
    ) -> Result<Adjoints<'a, S>, Error> {
        self.sweep_ends(adjoints, Some(from), None)
    }

    fn sweep_ends<'a>(
        &'a self,
        adjoints: &'a mut AdjointVector<S::Value>,
        from: Option<&Position>,
        to: Option<&Position>,
    ) -> Result<Adjoints<'a, S>, Error> {
        for position in from.into_iter().chain(to) {
            if !self.has(position) {
                return Err(self.stale(position));
            }
        }
        adjoints.extend_to(S::identifiers(self.owned.tape()));
        self.owned.reverse_between(from.map(|p| p.0), to.map(|p| p.0), adjoints.everything())?;
        Ok(self.adjoints_in(adjoints))
    }

    /// Whether this is a position of the present recording.
    fn has(&self, position: &Position) -> bool {
        let place = position.0;
        let end = self.owned.place();
        if place.number() == self.owned.number() {
            return place.is_before(end);
        }
        self.parts.0.iter().any(|end| place.number() == end.number() && place.is_before(*end))
    }

    fn stale(&self, position: &Position) -> Error {
        Error::StalePosition { position: position.0.number().get(), recording: self.owned.number().get() }
    }
}
