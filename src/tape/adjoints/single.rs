//! Adjoint vectors that sweeps work on, and the adjoints that sweeps find.

use super::aligned::Aligned;
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::kernels::View;
use crate::tape::NONE;
use crate::tape::inputs::Inputs;
use crate::tape::outline::Outlined;
use crate::tape::parts::{Parts, Under};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::storage::{catch_storage_errors, uses_devices};
use tapewright_strategies::{Number, Outline, Passive, Reverse, Touched};

/// Adjoint vector of one sweep, kept for the next sweep.
///
/// Every [`Tape`](crate::Tape) has one; make your own to sweep one recording from several threads, see
/// [`Tape::sweep_with`](crate::Tape::sweep_with).
///
/// A sweep panics when the allocator has no memory for the vector. Vector and recording can still be used when there is
/// memory again.
#[derive(Clone, Debug, Default)]
pub struct AdjointVector<V: Number> {
    pub(crate) adjoints: Aligned<V>,
    /// Slots outside which all adjoints are 0, and further ones if there are some.
    pub(crate) dirty: Range<usize>,
    further: Range<usize>,
    /// The recording that was swept last.
    swept: RecordingId,
    /// The unfinished sweep from position to position that this vector is in.
    pub(crate) under: Option<Under>,
    /// The adjoints of views.
    pub(crate) arrays: Shadows<V>,
}

impl<V: Number> AdjointVector<V> {
    /// An empty vector, which grows when it is used.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            adjoints: Aligned::new(),
            dirty: NONE,
            further: NONE,
            swept: RecordingId::NONE,
            under: None,
            arrays: Shadows::new(),
        }
    }

    /// Sets all adjoints to 0.
    pub fn reset(&mut self) {
        self.clear(0);
        self.under = None;
    }

    /// Makes the vector long enough for this many identifiers.
    pub(crate) fn extend_to(&mut self, identifiers: usize) {
        if identifiers > self.adjoints.len() && !self.adjoints.extend_to(identifiers) {
            no_memory::<V>(identifiers, 1);
        }
    }

    /// Mutable access to all adjoints; marks all of them as changed.
    pub(crate) fn everything(&mut self) -> &mut [V] {
        self.dirty = 0..self.adjoints.len();
        &mut self.adjoints
    }

    /// Makes the vector long enough for this many identifiers, and 0 everywhere.
    #[inline(always)]
    pub(crate) fn clear(&mut self, identifiers: usize) {
        // The dirty range may come from a sweep over another tape, or from a sweep that was cut short.
        if !self.dirty.is_empty() {
            self.adjoints[self.dirty.clone()].fill(V::ZERO);
            self.dirty = NONE;
            if !self.further.is_empty() {
                self.adjoints[core::mem::replace(&mut self.further, NONE)].fill(V::ZERO);
            }
        }
        if identifiers > self.adjoints.len() {
            self.grow(identifiers);
        }
        if !self.arrays.is_empty() {
            self.arrays.clear();
        }
    }

    /// Makes the vector long enough for a forward sweep over this many identifiers, and 0 for the inputs: all others
    /// are written before they are read.
    pub(crate) fn clear_inputs(&mut self, identifiers: usize, inputs: &Range<usize>) {
        if identifiers > self.adjoints.len() {
            self.grow(identifiers);
        }
        self.everything()[inputs.clone()].fill(V::ZERO);
        self.further = NONE;
        self.arrays.clear();
    }

    /// Grows by doubling, as the tape does, and without copying adjoints that are 0.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, identifiers: usize) {
        let doubled = identifiers.max(2 * self.adjoints.len());
        (self.adjoints, self.under) = (Aligned::new(), None);
        let found = Aligned::zeros(doubled).or_else(|| Aligned::zeros(identifiers));
        self.adjoints = found.unwrap_or_else(|| no_memory::<V>(identifiers, 1));
    }

    /// Sweeps in reverse from the seeds that are set.
    #[inline(always)]
    pub(crate) fn reverse<S: Reverse<Value = V>>(
        &mut self,
        owned: &OwnedTape<S>,
        inputs: &Range<usize>,
    ) -> Result<(), Error> {
        self.reverse_dirty(owned)?;
        self.dirty = inputs.clone();
        Ok(())
    }

    /// Sweeps in reverse from the seeds that are set, and leaves all adjoints marked as changed, as they are should a
    /// rule panic, or records be unreadable.
    #[inline(always)]
    pub(crate) fn reverse_dirty<S: Reverse<Value = V>>(&mut self, owned: &OwnedTape<S>) -> Result<(), Error> {
        self.dirty = 0..self.adjoints.len();
        Ok(owned.reverse(&mut self.adjoints, &mut self.arrays)?)
    }

    /// Sweeps in reverse from the seeds that are set, which are in these slots, by the outline of the recording.
    #[inline(never)]
    fn reverse_outlined<S: Reverse<Value = V>>(
        &mut self,
        owned: &OwnedTape<S>,
        outline: &Outline,
        slots: &mut dyn Iterator<Item = usize>,
    ) -> Result<(), Error> {
        self.everything();
        let arrays = core::slice::from_mut(&mut self.arrays);
        let Touched { low, high } = owned.reverse_outlined((outline, slots), 1, &mut self.adjoints, arrays)?;
        (self.dirty, self.further) = (low, high);
        Ok(())
    }
}

/// Panics because there is no memory for adjoint vectors.
#[cold]
#[inline(never)]
pub(crate) fn no_memory<V>(identifiers: usize, lanes: usize) -> ! {
    let bytes = identifiers.saturating_mul(lanes).saturating_mul(size_of::<V>());
    let of = if lanes == 1 { String::new() } else { format!(" in {lanes} lanes") };
    panic!("out of memory: the allocator has no {bytes} bytes for the adjoints of {identifiers} identifiers{of}")
}

/// The adjoint slot of a variable; `None` if it is passive.
#[inline(always)]
pub(crate) fn slot<S: Reverse>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    variable: &Real<S>,
) -> Result<Option<usize>, Error> {
    match S::locate(variable.id()) {
        None => Ok(None),
        Some((number, slot)) if number == owned.number() || parts.have(number) => Ok(Some(slot)),
        Some((number, _)) => Err(Error::ForeignVariable { variable: number.get(), recording: owned.number().get() }),
    }
}

/// Sweeps from these outputs with these seeds.
#[inline(always)]
pub(crate) fn sweep_into<'y, S: Reverse>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    inputs: &Inputs,
    outlined: &Outlined,
    adjoints: &mut AdjointVector<S::Value>,
    seeds: impl Iterator<Item = (&'y Real<S>, S::Value)> + Clone,
) -> Result<(), Error> {
    adjoints.clear(S::identifiers(owned.tape()));
    adjoints.under = None;
    fill(owned, parts, adjoints, seeds.clone())?;
    let slots = || seeds.clone().filter_map(|(output, _)| S::locate(output.id())).map(|(_, slot)| slot);
    match outlined.for_sweep(&mut adjoints.swept, owned, &mut slots()) {
        None => adjoints.reverse(owned, &inputs.hull),
        Some(outline) => adjoints.reverse_outlined(owned, &outline, &mut slots()),
    }
}

/// Adds seeds to the adjoints of these outputs; all of them or none.
#[inline(always)]
pub(crate) fn fill<'y, S: Reverse>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    adjoints: &mut AdjointVector<S::Value>,
    seeds: impl Iterator<Item = (&'y Real<S>, S::Value)> + Clone,
) -> Result<(), Error> {
    for (output, _) in seeds.clone() {
        slot(owned, parts, output)?;
    }
    adjoints.extend_to(S::identifiers(owned.tape()));
    let vector = adjoints.everything();
    for (output, seed) in seeds {
        if let Some(slot) = slot(owned, parts, output)? {
            vector[slot] += seed;
        }
    }
    Ok(())
}

/// The slot of a variable whose adjoint is asked for after a sweep; `None` if it is passive. `whole` is true if the
/// sweep went to the beginning of the recording.
#[inline]
pub(crate) fn asked_variable<S: Reverse>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    inputs: &Inputs,
    variable: &Real<S>,
    whole: bool,
) -> Result<Option<usize>, Error> {
    let slot = slot(owned, parts, variable)?;
    if whole && slot.is_some_and(|slot| !inputs.may_have(slot)) {
        return Err(Error::NotAnInput { recording: owned.number().get() });
    }
    Ok(slot)
}

/// Returns what `read` copies from where it is, or the error of a device that fails.
pub(crate) fn fetched<T>(read: impl FnOnce() -> T) -> Result<T, Error> {
    Ok(if uses_devices() { catch_storage_errors(read)? } else { read() })
}

/// The slot of a view whose adjoints are asked for after a sweep; 0 if it is passive. `whole` is true if the sweep went
/// to the beginning of the recording.
pub(crate) fn asked_slot<S: Reverse, const R: usize, M: Space<S::Value>>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    view: &View<S, R, M>,
    whole: bool,
) -> Result<usize, Error> {
    let slot = view_slot(owned, parts, view)?;
    if whole && slot != 0 && !owned.is_input_view(slot) {
        return Err(Error::NotAnInput { recording: owned.number().get() });
    }
    Ok(slot)
}

/// The slot of a view; 0 if it is passive.
pub(crate) fn view_slot<S: Reverse, const R: usize, M: Space<S::Value>>(
    owned: &OwnedTape<S>,
    parts: &Parts,
    view: &View<S, R, M>,
) -> Result<usize, Error> {
    match view.place() {
        None => Ok(0),
        Some((number, slot)) if number == owned.number() || parts.have(number) => Ok(slot),
        Some((number, _)) => Err(Error::ForeignVariable { variable: number.get(), recording: owned.number().get() }),
    }
}

/// Adjoints that a sweep has found. They are gone when the tape records anew:
///
/// ```compile_fail,E0499
/// # use tapewright::prelude::*;
/// # let mut tape = Tape::<Jacobian>::new();
/// let x = tape.record(|scope| scope.input(1.0));
/// let adjoints = tape.sweep(&[(&x, 1.0)]).unwrap();
/// tape.record(|_| ());
/// let _ = adjoints.of(&x);
/// ```
pub struct Adjoints<'a, S: Reverse> {
    pub(crate) owned: &'a OwnedTape<S>,
    pub(crate) parts: &'a Parts,
    pub(crate) inputs: &'a Inputs,
    pub(crate) values: &'a [S::Value],
    pub(crate) arrays: &'a Shadows<S::Value>,
    /// True if the sweep went to the beginning of the recording.
    pub(crate) whole: bool,
}

impl<S: Reverse> Adjoints<'_, S> {
    /// The adjoint of an input: ∂(Σ seed·output)/∂input. 0 for passive variables.
    ///
    /// An input that was overwritten, as by `x *= 5.0`, is another variable from then on. Copy it first.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the variable belongs to another recording. [`Error::NotAnInput`] when the
    /// variable is not an input of this recording: a sweep consumes its adjoint, unless it ends at a
    /// [`Position`](crate::tape::Position) behind the variable.
    #[inline]
    pub fn of(&self, variable: &Real<S>) -> Result<S::Value, Error> {
        let slot = asked_variable(self.owned, self.parts, self.inputs, variable, self.whole)?;
        Ok(slot.map_or(S::Value::ZERO, |slot| self.values[slot]))
    }

    /// The adjoints of a view, element by element: ∂(Σ seed·output)/∂element. For an input that has not been cloned
    /// they are the adjoints of what it held when it was made, whatever was written to it later; 0 for passive views.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignVariable`] when the view belongs to another recording. [`Error::NotAnInput`] when the view is
    /// not an input of this recording, unless the sweep ended at a [`Position`](crate::tape::Position) behind the view.
    pub fn of_view<const R: usize, M: Space<S::Value>>(
        &self,
        view: &View<S, R, M>,
    ) -> Result<Cow<'_, [S::Value]>, Error> {
        let slot = asked_slot(self.owned, self.parts, view, self.whole)?;
        fetched(|| self.arrays.elements(slot, view.len()))
    }

    /// The adjoints of a view as a passive view in its space: a copy that stays where the adjoints are, on a device
    /// say.
    ///
    /// # Errors
    ///
    /// The errors of [`of_view`](Self::of_view).
    pub fn view_of<const R: usize, M: Space<S::Value>>(
        &self,
        view: &View<S, R, M>,
    ) -> Result<View<Passive<S::Value>, R, M>, Error> {
        let slot = asked_slot(self.owned, self.parts, view, self.whole)?;
        fetched(|| View::on(view.shape(), self.arrays.copy(slot, view.len())))
    }

    /// The adjoints of these variables, in order.
    ///
    /// # Errors
    ///
    /// The errors of [`of`](Self::of).
    pub fn of_all(&self, variables: &[Real<S>]) -> Result<Vec<S::Value>, Error> {
        variables.iter().map(|variable| self.of(variable)).collect()
    }

    /// Writes the adjoints of these variables, in order.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the slices differ in length, else as [`of`](Self::of).
    pub fn write(&self, variables: &[Real<S>], adjoints: &mut [S::Value]) -> Result<(), Error> {
        same_length(("variables", variables.len()), ("adjoints", adjoints.len()))?;
        for (adjoint, variable) in adjoints.iter_mut().zip(variables) {
            *adjoint = self.of(variable)?;
        }
        Ok(())
    }
}

impl<S: Reverse> fmt::Debug for Adjoints<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Adjoints of recording {}", self.owned.number())
    }
}
