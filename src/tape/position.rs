//! Positions in a recording: to sweep from one to another, to forget everything after one, and to resume there.

use super::adjoints::single::fill;
use super::parts::{Kept, Under};
use super::scope::Scope;
use super::{AdjointVector, Adjoints, Tape};
use crate::error::Error;
use crate::expr::Real;
use crate::kernels::View;
use tapewright_strategies::contract::Dependence;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::recording::{self, Place};
use tapewright_strategies::{Number as _, Reverse};

/// A position in a recording, between two statements: see [`Scope::position`] and [`Tape::position`].
///
/// A position belongs to one recording of one tape. Using it with another recording, or after the recording has been
/// forgotten, is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub(super) Place);

impl<S: Reverse> Scope<'_, S> {
    /// Position after the last statement.
    ///
    /// # Panics
    ///
    /// When the strategy has no positions (all recording strategies of this library have them), and while the recording
    /// is paused.
    #[must_use]
    #[track_caller]
    pub fn position(&self) -> Position {
        Position(recording::place::<S>(self.number()))
    }

    /// A variable of an earlier part of this recording, as a variable of the part that is being recorded: see
    /// [`Tape::resume`]. Passive variables are returned unchanged.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable is of another recording, or of a part that was forgotten.
    ///
    /// # Panics
    ///
    /// While the recording is paused.
    pub fn renew(&self, variable: &Real<S>) -> Result<Real<S>, Error> {
        match S::locate(variable.id()) {
            None => Ok(variable.clone()),
            Some((number, _)) if number == self.number() => Ok(variable.clone()),
            Some((number, _)) if self.parts.have(number) => {
                let id = recording::with::<S, _>(self.number(), |tape| S::renew(tape, variable.id()));
                Ok(Real::from_parts(variable.peek(), id))
            }
            Some((number, _)) => Err(Error::ForeignVariable { variable: number.get(), recording: self.number().get() }),
        }
    }

    /// [`renew`](Self::renew) for a view.
    ///
    /// # Errors
    ///
    /// The errors of [`renew`](Self::renew).
    pub fn renew_view<const R: usize, M: Space<S::Value>>(&self, view: &View<S, R, M>) -> Result<View<S, R, M>, Error> {
        match view.place() {
            Some((number, slot)) if number != self.number() => {
                if !self.parts.have(number) {
                    return Err(Error::ForeignVariable { variable: number.get(), recording: self.number().get() });
                }
                let mut renewed = view.clone();
                renewed.dependence = Dependence::Recorded { number: self.number(), slot };
                Ok(renewed)
            }
            _ => Ok(view.clone()),
        }
    }

    /// [`renew`](Self::renew) for several variables.
    ///
    /// # Errors
    ///
    /// The errors of [`renew`](Self::renew).
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
    /// When the strategy has no positions.
    #[must_use]
    #[track_caller]
    pub fn position(&self) -> Position {
        Position(self.owned.place())
    }

    /// Resumes the recording: the statements of `f` are recorded after its end.
    ///
    /// Variables of the earlier parts can be swept from, and their adjoints asked for, as before. To compute with them
    /// in `f`, [`Scope::renew`] them: each part of a recording has an id of its own, so that variables of a part that
    /// was forgotten with [`reset_to`](Self::reset_to) are recognized. With [`Reuse`](crate::Reuse) indices,
    /// identifiers of earlier parts are not reused any more.
    ///
    /// ```
    /// use tapewright::{prelude::*, tape::AdjointVector};
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
    /// When the strategy has no positions, when nothing has been recorded yet, and when `f` does.
    #[track_caller]
    pub fn resume<R>(&mut self, f: impl FnOnce(&mut Scope<S>) -> R) -> R {
        let end = self.owned.place();
        assert!(end.number() != RecordingId::default(), "there is no recording to go on with: begin one with `record`");
        self.parts.end(end);
        let Self { owned, inputs, parts, .. } = self;
        owned.resume(|number| f(&mut Scope::new(number, inputs, parts)))
    }

    /// Forgets everything that was recorded after a position, and keeps the memory. Variables of the forgotten part are
    /// stale from now on.
    ///
    /// # Errors
    ///
    /// [`Error::StalePosition`] when the position is of another recording or has been forgotten itself;
    /// [`Error::PositionInside`] when the position is not the end of a part, where [`position`](Self::position) was
    /// called and the recording was resumed, with nothing recorded in between. [`Error::Storage`] when records cannot
    /// be read back from disk; the complete recording is forgotten then.
    ///
    /// # Panics
    ///
    /// When the strategy has no positions, and when the destructor of an external function panics; the complete
    /// recording is forgotten then.
    pub fn reset_to(&mut self, position: &Position) -> Result<(), Error> {
        let place = position.0;
        if place == self.owned.place() {
            return Ok(());
        }
        let Some(at) = self.parts.ends.iter().position(|end| *end == place) else {
            let inside = Error::PositionInside { recording: place.number().get() };
            return Err(if self.has(position) { inside } else { self.stale(position) });
        };
        // Everything after the position is forgotten in any case, also when the disk fails or a destructor panics.
        self.parts.ends.truncate(at + 1);
        let views = self.owned.views_at(place).unwrap_or(0);
        self.parts.cut(Kept { identifiers: place.identifiers(), views });
        self.inputs.truncate(place.identifiers());
        Ok(self.owned.truncate(place)?)
    }

    /// Adds seeds to the adjoints of these outputs, for [`sweep_between`](Self::sweep_between). Other adjoints in the
    /// vector are kept if they come from a sweep from position to position over this recording; else they are 0 from
    /// now on.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when an output belongs to another recording; no seed has been added then.
    /// [`Error::CutShort`] when a sweep from position to position over this recording has ended early: call
    /// [`AdjointVector::reset`] first.
    pub fn seed(&self, adjoints: &mut AdjointVector<S::Value>, seeds: &[(&Real<S>, S::Value)]) -> Result<(), Error> {
        let seeded = self.take_up(adjoints)?.seeded;
        fill(&self.owned, &self.parts, adjoints, seeds.iter().map(|(y, seed)| (*y, *seed)))?;
        let slots = seeds.iter().filter_map(|(y, _)| S::locate(y.id())).map(|(_, slot)| slot + 1);
        let seeded = slots.max().unwrap_or(0).max(seeded);
        adjoints.under = adjoints.under.map(|under| Under { seeded, ..under });
        Ok(())
    }

    /// Prepares the vector for a sweep from position to position over this recording in its present state.
    fn take_up(&self, adjoints: &mut AdjointVector<S::Value>) -> Result<Under, Error> {
        let recording = self.parts.root(self.owned.number());
        let under = match adjoints.under {
            Some(under) if under.recording == recording && under.cut_short => {
                return Err(Error::CutShort { recording: self.owned.number().get() });
            }
            Some(under) if under.recording == recording => {
                // Slots of forgotten variables may belong to other variables now.
                let since = self.parts.kept_since(under.cuts);
                let kept = since.identifiers.min(adjoints.adjoints.len());
                adjoints.adjoints[kept..].fill(S::Value::ZERO);
                adjoints.arrays.forget_behind(since.views);
                Under { cuts: self.parts.cuts, seeded: under.seeded.min(kept), ..under }
            }
            _ => {
                adjoints.reset();
                Under { recording, cuts: self.parts.cuts, seeded: 0, cut_short: false }
            }
        };
        adjoints.under = Some(under);
        Ok(under)
    }

    /// Sweeps from one position to an earlier one, and continues with the adjoints that are in the vector.
    ///
    /// Afterwards the vector holds the adjoints of all variables that existed at `to`, and of inputs that were
    /// registered since. So a sweep can stop anywhere, and go on from there with [`sweep_between`](Self::sweep_between)
    /// or [`sweep_from_position`](Self::sweep_from_position).
    ///
    /// With [`Reuse`](crate::Reuse) indices, seed only variables that exist at `from`, and ask only for variables that
    /// exist at `to`: the identifiers of all others belong to something else at that position. A variable that was
    /// assigned to since (`y += x`) and kept its identifier stands for its value at that position. Under strategies
    /// that keep values each such sweep begins with a walk from the end of the recording down to `from`, which restores
    /// the values.
    ///
    /// # Errors
    ///
    /// [`Error::StalePosition`] when a position is of another recording or was forgotten; [`Error::SeedBehind`] when a
    /// variable was seeded that was made after `from` (with [`Linear`](crate::Linear) indices); [`Error::Storage`] and
    /// [`Error::Sweep`] as [`sweep`](Self::sweep). After these two errors, and after a panic of a rule, the adjoints
    /// are invalid: to continue with them is an [`Error::CutShort`] until the vector is
    /// [`reset`](AdjointVector::reset).
    ///
    /// # Panics
    ///
    /// When `from` lies before `to`, and when a rule does.
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
    /// The errors of [`sweep_between`](Self::sweep_between).
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
        let under = self.take_up(adjoints)?;
        if from.is_some_and(|from| under.seeded > from.0.identifiers()) {
            return Err(Error::SeedBehind { recording: self.owned.number().get() });
        }
        adjoints.extend_to(S::identifiers(self.owned.tape()));
        // Holds if a rule panics, or records cannot be read.
        adjoints.under = Some(Under { cut_short: true, ..under });
        adjoints.everything();
        let (from, to) = (from.map(|p| p.0), to.map(|p| p.0));
        self.owned.reverse_between(from, to, &mut adjoints.adjoints, &mut adjoints.arrays)?;
        adjoints.under = Some(Under { seeded: 0, ..under });
        Ok(self.adjoints_in(adjoints))
    }

    /// Returns true if this is a position of the present recording.
    fn has(&self, position: &Position) -> bool {
        self.owned.has(position.0)
    }

    fn stale(&self, position: &Position) -> Error {
        Error::StalePosition { position: position.0.number().get(), recording: self.owned.number().get() }
    }
}
