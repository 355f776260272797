//! Several adjoint vectors in one sweep.

use super::aligned::{LINE, zeros};
use super::single::{asked_slot, asked_variable, fetched, no_memory, slot};
use crate::error::{Error, same_length};
use crate::expr::Real;
use crate::kernels::View;
use crate::tape::inputs::Inputs;
use crate::tape::outline::Outlined;
use crate::tape::parts::Parts;
use crate::tape::{NONE, Tape};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::{Number, Reverse, Touched};

/// Several adjoint vectors, called *lanes*, for [`Tape::sweep_lanes_with`], kept from sweep to sweep.
///
/// The adjoints of one variable are adjacent. They take `width` times the memory of an
/// [`AdjointVector`](crate::tape::AdjointVector); a sweep panics when the allocator does not have that memory, and
/// nothing is lost then.
#[derive(Clone, Debug)]
pub struct LaneVector<V> {
    width: usize,
    adjoints: Vec<V>,
    /// Index of the first adjoint of slot 0, chosen so that 8 adjoints of a variable are in one cache line.
    start: usize,
    /// Slots outside which all adjoints are 0.
    dirty: [Range<usize>; 2],
    /// The recording that was swept last.
    swept: RecordingId,
    /// Adjoints of passive variables, as many as the largest width so far.
    zeros: Vec<V>,
    /// Adjoints of views, for each lane.
    arrays: Vec<Shadows<V>>,
}

impl<V: Number> LaneVector<V> {
    /// Memory for this number of adjoint vectors, which grows when it is used. Sweeps are fastest for 8 and 16.
    ///
    /// # Panics
    ///
    /// When `width` is 0, and when the allocator has no memory for `width` values.
    #[must_use]
    #[track_caller]
    pub fn new(width: usize) -> Self {
        assert!(width > 0, "a sweep has at least one adjoint vector");
        let zeros = zeros(width).unwrap_or_else(|| no_memory::<V>(1, width));
        let (adjoints, arrays, swept) = (Vec::new(), Vec::new(), RecordingId::NONE);
        Self { width, adjoints, start: 0, dirty: [NONE, NONE], swept, zeros, arrays }
    }

    /// The number of adjoint vectors.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Changes the number of vectors, and sets all to 0.
    fn reshape(&mut self, width: usize) {
        self.wipe();
        if width > self.zeros.len() {
            self.zeros = zeros(width).unwrap_or_else(|| no_memory::<V>(1, width));
        }
        self.width = width;
    }

    fn wipe(&mut self) {
        for dirty in core::mem::replace(&mut self.dirty, [NONE, NONE]) {
            self.adjoints[self.start..][dirty.start * self.width..dirty.end * self.width].fill(V::ZERO);
        }
    }

    /// Makes the vectors long enough for this many identifiers, and 0 everywhere.
    fn clear(&mut self, identifiers: usize) {
        self.wipe();
        let needed = identifiers.saturating_mul(self.width);
        if needed.saturating_add(self.start) > self.adjoints.len() {
            // Grown by doubling, and without copying adjoints that are 0.
            let slack = LINE / size_of::<V>();
            let doubled = needed.max(2 * self.adjoints.len());
            (self.adjoints, self.start) = (Vec::new(), 0);
            let with_slack = |length: usize| zeros(length.saturating_add(slack));
            let found = with_slack(doubled).or_else(|| with_slack(needed));
            self.adjoints = found.unwrap_or_else(|| no_memory::<V>(identifiers, self.width));
            self.start = Some(self.adjoints.as_ptr().align_offset(LINE)).filter(|skip| *skip < slack).unwrap_or(0);
        }
    }

    fn slots(&self) -> usize {
        (self.adjoints.len() - self.start) / self.width
    }

    fn at(&mut self, slot: usize) -> &mut [V] {
        &mut self.adjoints[self.start..][slot * self.width..][..self.width]
    }

    /// The adjoints of views.
    pub(crate) fn arrays(&self) -> &[Shadows<V>] {
        &self.arrays
    }

    /// Forgets the adjoints of views.
    pub(crate) fn forget_arrays(&mut self) {
        self.arrays.iter_mut().for_each(Shadows::clear);
    }

    /// Bytes in use for this many identifiers, and bytes that the allocator gave.
    pub(crate) fn bytes(&self, identifiers: usize) -> (usize, usize) {
        let used = (identifiers * self.width).min(self.adjoints.len());
        (used * size_of::<V>(), self.adjoints.capacity() * size_of::<V>())
    }
}

/// The result of [`Tape::sweep_lanes_with`].
pub struct LaneAdjoints<'a, S: Reverse> {
    owned: &'a OwnedTape<S>,
    parts: &'a Parts,
    inputs: &'a Inputs,
    lanes: &'a LaneVector<S::Value>,
}

impl<'a, S: Reverse> LaneAdjoints<'a, S> {
    /// The adjoints of an input, one for each lane: ∂(Σ seed·output)/∂input. 0 for passive variables.
    ///
    /// # Errors
    ///
    /// The errors of [`Adjoints::of`](crate::tape::Adjoints::of).
    pub fn of(&self, variable: &Real<S>) -> Result<&'a [S::Value], Error> {
        let LaneVector { width, adjoints, start, zeros, .. } = self.lanes;
        let slot = asked_variable(self.owned, self.parts, self.inputs, variable, true)?;
        Ok(slot.map_or(&zeros[..*width], |slot| &adjoints[*start..][slot * width..][..*width]))
    }
}

impl<S: Reverse> LaneAdjoints<'_, S> {
    /// The adjoints of a view in one lane, element by element: see
    /// [`Adjoints::of_view`](crate::tape::Adjoints::of_view).
    ///
    /// # Errors
    ///
    /// The errors of [`Adjoints::of_view`](crate::tape::Adjoints::of_view).
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    pub fn of_view<const R: usize, M: Space<S::Value>>(
        &self,
        view: &View<S, R, M>,
        lane: usize,
    ) -> Result<Cow<'_, [S::Value]>, Error> {
        let slot = asked_slot(self.owned, self.parts, view, true)?;
        fetched(|| self.lanes.arrays[lane].elements(slot, view.len()))
    }
}

impl<S: Reverse> fmt::Debug for LaneAdjoints<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Adjoints of recording {} in {} lanes", self.owned.number(), self.lanes.width)
    }
}

/// The result of [`Tape::sweep_lanes`].
#[derive(Debug)]
pub struct ArrayAdjoints<'a, S: Reverse, const N: usize>(LaneAdjoints<'a, S>);

impl<S: Reverse, const N: usize> ArrayAdjoints<'_, S, N> {
    /// The adjoints of an input, one for each lane: ∂(Σ seed·output)/∂input. 0 for passive variables.
    ///
    /// # Errors
    ///
    /// The errors of [`Adjoints::of`](crate::tape::Adjoints::of).
    pub fn of(&self, variable: &Real<S>) -> Result<[S::Value; N], Error> {
        let lanes = self.0.of(variable)?;
        Ok(core::array::from_fn(|lane| lanes[lane]))
    }

    /// The adjoints of a view in one lane, element by element: see
    /// [`Adjoints::of_view`](crate::tape::Adjoints::of_view).
    ///
    /// # Errors
    ///
    /// The errors of [`Adjoints::of_view`](crate::tape::Adjoints::of_view).
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    pub fn of_view<const R: usize, M: Space<S::Value>>(
        &self,
        view: &View<S, R, M>,
        lane: usize,
    ) -> Result<Cow<'_, [S::Value]>, Error> {
        self.0.of_view(view, lane)
    }
}

/// # Several adjoint vectors at once
impl<S: Reverse> Tape<S> {
    /// [`sweep`](Self::sweep) with `N` adjoint vectors in one pass: entry `l` of each array is a seed, or a result, in
    /// *lane* `l`.
    ///
    /// Each lane gets, bit for bit, what a sweep of its own would give it. The recording is read once, not `N` times,
    /// and partials are computed once for all lanes. The adjoints take `N` times the memory.
    ///
    /// # Errors
    ///
    /// The errors of [`sweep`](Self::sweep).
    ///
    /// ```
    /// use tapewright::prelude::*;
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y, z) = tape.record(|scope| {
    ///     let x = scope.input(3.0);
    ///     (x, (x * x).eval(), x.sin().eval())
    /// });
    /// let adjoints = tape.sweep_lanes(&[(&y, [1.0, 0.0]), (&z, [0.0, 1.0])])?;
    /// assert_eq!(adjoints.of(&x)?, [6.0, 3.0_f64.cos()]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn sweep_lanes<const N: usize>(
        &mut self,
        seeds: &[(&Real<S>, [S::Value; N])],
    ) -> Result<ArrayAdjoints<'_, S, N>, Error> {
        const { assert!(N > 0, "a sweep has at least one adjoint vector") };
        let Self { owned, parts, inputs, lanes, outlined, .. } = self;
        let lanes = lanes.get_or_insert_with(|| LaneVector::new(N));
        lanes.reshape(N);
        let seeds = seeds.iter().map(|(output, seeds)| (*output, &seeds[..]));
        sweep_into(owned, parts, inputs, outlined, lanes, seeds).map(ArrayAdjoints)
    }

    /// [`sweep_lanes`](Self::sweep_lanes) with as many adjoint vectors as the given one has lanes: one seed for each
    /// lane with each output. Several threads can sweep one recording simultaneously, each with lanes of its own.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the number of an output's seeds is not the number of lanes, else as
    /// [`sweep`](Self::sweep).
    ///
    /// ```
    /// use tapewright::{prelude::*, tape::LaneVector};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.inputs(&[1.0, 2.0, 3.0]);
    ///     let y: Vec<Real<_>> = x.iter().map(|each| (*each * x[0]).into()).collect();
    ///     (x, y)
    /// });
    /// let mut lanes = LaneVector::new(y.len());
    /// let unit = |i: usize| (0..y.len()).map(|l| if l == i { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    /// let seeds: Vec<_> = (0..y.len()).map(unit).collect();
    /// let seeds: Vec<_> = y.iter().zip(&seeds).map(|(y, seeds)| (y, &seeds[..])).collect();
    /// let adjoints = tape.sweep_lanes_with(&mut lanes, &seeds)?;
    /// assert_eq!(adjoints.of(&x[0])?, [2.0, 2.0, 3.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn sweep_lanes_with<'a>(
        &'a self,
        lanes: &'a mut LaneVector<S::Value>,
        seeds: &[(&Real<S>, &[S::Value])],
    ) -> Result<LaneAdjoints<'a, S>, Error> {
        sweep_into(&self.owned, &self.parts, &self.inputs, &self.outlined, lanes, seeds.iter().copied())
    }

    /// Sweeps from these outputs with these seeds, and adds the adjoints of the inputs to sums; seeds and sums have one
    /// element for each lane, adjacent.
    pub(crate) fn sweep_lanes_through(
        &mut self,
        width: usize,
        (outputs, seeds): (&[Real<S>], &[S::Value]),
        (inputs, sums): (&[Real<S>], &mut [S::Value]),
    ) -> Result<(), Error> {
        let lanes = self.lanes.get_or_insert_with(|| LaneVector::new(width));
        lanes.reshape(width);
        let seeds = outputs.iter().zip(seeds.chunks_exact(width));
        let adjoints = sweep_into(&self.owned, &self.parts, &self.inputs, &self.outlined, lanes, seeds)?;
        for (input, sums) in inputs.iter().zip(sums.chunks_exact_mut(width)) {
            sums.iter_mut().zip(adjoints.of(input)?).for_each(|(sum, adjoint)| *sum += *adjoint);
        }
        Ok(())
    }

    /// The rows of the Jacobian matrix of these outputs with respect to these inputs.
    pub(crate) fn rows(&mut self, inputs: &[Real<S>], outputs: &[Real<S>]) -> Result<Vec<Vec<S::Value>>, Error> {
        /// Number of lanes in one sweep.
        const WIDTH: usize = 8;
        let mut rows = Vec::with_capacity(outputs.len());
        for outputs in outputs.chunks(WIDTH) {
            if let [output] = outputs {
                rows.push(self.sweep(&[(output, S::Value::ONE)])?.of_all(inputs)?);
                continue;
            }
            let width = outputs.len().next_power_of_two();
            let mut seeds = vec![S::Value::ZERO; outputs.len() * width];
            seeds.iter_mut().step_by(width + 1).for_each(|seed| *seed = S::Value::ONE);
            let mut columns = vec![-S::Value::ZERO; inputs.len() * width];
            self.sweep_lanes_through(width, (outputs, &seeds), (inputs, &mut columns))?;
            rows.extend((0..outputs.len()).map(|lane| columns.iter().copied().skip(lane).step_by(width).collect()));
        }
        Ok(rows)
    }
}

/// Sweeps from these outputs with these seeds.
fn sweep_into<'a, 'y, S: Reverse>(
    owned: &'a OwnedTape<S>,
    parts: &'a Parts,
    inputs: &'a Inputs,
    outlined: &Outlined,
    lanes: &'a mut LaneVector<S::Value>,
    seeds: impl Iterator<Item = (&'y Real<S>, &'y [S::Value])> + Clone,
) -> Result<LaneAdjoints<'a, S>, Error> {
    for (output, seeds) in seeds.clone() {
        same_length(("lanes", lanes.width), ("seeds of an output", seeds.len()))?;
        slot(owned, parts, output)?;
    }
    lanes.clear(S::identifiers(owned.tape()));
    lanes.dirty[0] = 0..lanes.slots(); // should a rule panic, or records be unreadable
    let slots = || seeds.clone().filter_map(|(output, _)| S::locate(output.id())).map(|(_, slot)| slot);
    let outline = outlined.for_sweep(&mut lanes.swept, owned, &mut slots());
    for (output, seeds) in seeds.clone() {
        if let Some(slot) = slot(owned, parts, output)? {
            lanes.at(slot).iter_mut().zip(seeds).for_each(|(adjoint, seed)| *adjoint += *seed);
        }
    }
    let (width, length) = (lanes.width, lanes.slots());
    lanes.forget_arrays();
    lanes.arrays.resize_with(width, Shadows::new);
    let vectors = &mut lanes.adjoints[lanes.start..][..length * width];
    let arrays = &mut lanes.arrays;
    let dirty = if let Some(outline) = outline {
        let Touched { low, high } = owned.reverse_outlined((&outline, &mut slots()), width, vectors, arrays)?;
        [low, high]
    } else {
        owned.reverse_lanes_between(width, None, None, vectors, arrays)?;
        [inputs.hull.clone(), NONE]
    };
    // Adjoints of passive arguments were added to slot 0; with another width, other variables lie there.
    lanes.at(0).fill(S::Value::ZERO);
    lanes.dirty = dirty;
    Ok(LaneAdjoints { owned, parts, inputs, lanes })
}
