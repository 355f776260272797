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
use tapewright_strategies::{Number, Reverse, RowSweep, Scratch, Touched};

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
    /// Slots outside which all adjoints are blank.
    dirty: [Range<usize>; 2],
    /// True if blank adjoints are −0, and not 0.
    negative: bool,
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
        Self { width, adjoints, start: 0, dirty: [NONE, NONE], negative: false, swept, zeros, arrays }
    }

    /// The number of adjoint vectors.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Adjoint vectors with −0 in the place of 0, for sweeps over known groups of rows.
    pub(crate) fn of_rows() -> Self {
        Self { negative: true, ..Self::new(1) }
    }

    /// Changes the number of vectors. What is not blank stays so until it is cleared: forward sweeps need not do that.
    fn reshape(&mut self, width: usize) {
        if width == self.width {
            return;
        }
        for dirty in &mut self.dirty {
            *dirty = dirty.start * self.width / width..(dirty.end * self.width).div_ceil(width);
        }
        if width > self.zeros.len() {
            self.zeros = zeros(width).unwrap_or_else(|| no_memory::<V>(1, width));
        }
        self.width = width;
    }

    fn wipe(&mut self) {
        let (blank, width) = (self.blank(), self.width);
        let vectors = &mut self.adjoints[self.start..];
        for dirty in core::mem::replace(&mut self.dirty, [NONE, NONE]) {
            let end = vectors.len().min(dirty.end * width);
            vectors[dirty.start * width..end].fill(blank);
        }
    }

    /// Makes the vectors long enough for this many identifiers, and blank everywhere.
    fn clear(&mut self, identifiers: usize) {
        self.wipe();
        self.grow(identifiers);
    }

    /// Makes the vectors long enough for a forward sweep over this many identifiers, and 0 for the inputs: all others
    /// are written before they are read.
    fn clear_inputs(&mut self, identifiers: usize, inputs: &Range<usize>) {
        self.grow(identifiers);
        let width = self.width;
        self.everything().0[inputs.start * width..inputs.end * width].fill(V::ZERO);
        self.dirty[1] = NONE;
    }

    fn grow(&mut self, identifiers: usize) {
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
            if self.negative {
                self.adjoints.fill(-V::ZERO);
            }
        }
    }

    /// The adjoint of a variable to which no adjoint has come.
    fn blank(&self) -> V {
        if self.negative { -V::ZERO } else { V::ZERO }
    }

    fn slots(&self) -> usize {
        (self.adjoints.len() - self.start) / self.width
    }

    /// Says that any adjoint may be other than blank, also those behind the last slot, which may be of more vectors.
    fn mark_all(&mut self) {
        self.dirty[0] = 0..(self.adjoints.len() - self.start).div_ceil(self.width);
    }

    /// All adjoints of all lanes, and the adjoints of views in each lane.
    fn everything(&mut self) -> (&mut [V], &mut [Shadows<V>]) {
        self.mark_all();
        self.arrays.resize_with(self.width, Shadows::new);
        let length = self.slots() * self.width;
        (&mut self.adjoints[self.start..][..length], &mut self.arrays)
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

    /// The adjoints of these variables, in order, one for each lane.
    ///
    /// # Errors
    ///
    /// The errors of [`of`](Self::of).
    pub fn of_all(&self, variables: &[Real<S>]) -> Result<Vec<[S::Value; N]>, Error> {
        variables.iter().map(|variable| self.of(variable)).collect()
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

    /// [`jvp`](Self::jvp) along `N` directions in one pass: entry `l` of each array is an entry of direction `l`, or a
    /// derivative along it.
    ///
    /// Each direction gets, bit for bit, what `jvp` along it alone would give. The recording is read once, and partials
    /// are computed once for all directions. The tangents take `N` times the memory.
    ///
    /// # Errors
    ///
    /// The errors of [`jvp`](Self::jvp).
    ///
    /// ```
    /// use tapewright::prelude::*;
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.inputs(&[3.0, 2.0]);
    ///     let y: Real<_> = (x[0] * x[1]).into();
    ///     (x, [y, (y * y).into()])
    /// });
    /// let slopes = tape.jvp_lanes(&[(&x[0], [1.0, 0.0]), (&x[1], [0.0, 1.0])], &[&y[0], &y[1]])?;
    /// assert_eq!(slopes, [[2.0, 3.0], [24.0, 36.0]]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn jvp_lanes<const N: usize>(
        &mut self,
        tangents: &[(&Real<S>, [S::Value; N])],
        outputs: &[&Real<S>],
    ) -> Result<Vec<[S::Value; N]>, Error> {
        const { assert!(N > 0, "a sweep has at least one direction") };
        let Self { owned, parts, inputs: hull, lanes, .. } = self;
        let lanes = lanes.get_or_insert_with(|| LaneVector::new(N));
        lanes.reshape(N);
        let tangents = tangents.iter().map(|(input, tangents)| (*input, &tangents[..]));
        let mut results = Vec::with_capacity(outputs.len());
        let take = |_, found: &[S::Value]| results.push(core::array::from_fn(|lane| found[lane]));
        carry((owned, parts, hull), lanes, tangents, outputs.iter().copied(), take)?;
        Ok(results)
    }

    /// [`jvp_lanes`](Self::jvp_lanes) along as many directions as the given vector has lanes: one tangent for each lane
    /// with each input. Returns the tangents of the outputs, those of one output adjacent. Several threads can sweep
    /// one recording simultaneously, each with lanes of its own.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when the number of an input's tangents is not the number of lanes, else as
    /// [`jvp`](Self::jvp).
    ///
    /// ```
    /// use tapewright::{prelude::*, tape::LaneVector};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(3.0);
    ///     (x, [(x * x).eval(), x.sin().eval()])
    /// });
    /// let found = tape.jvp_lanes_with(&mut LaneVector::new(3), &[(&x, &[1.0, 10.0, 100.0])], &[&y[0]])?;
    /// assert_eq!(found, [6.0, 60.0, 600.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn jvp_lanes_with(
        &self,
        lanes: &mut LaneVector<S::Value>,
        tangents: &[(&Real<S>, &[S::Value])],
        outputs: &[&Real<S>],
    ) -> Result<Vec<S::Value>, Error> {
        let mut results = Vec::with_capacity(outputs.len() * lanes.width);
        let take = |_, found: &[S::Value]| results.extend_from_slice(found);
        carry(
            (&self.owned, &self.parts, &self.inputs),
            lanes,
            tangents.iter().copied(),
            outputs.iter().copied(),
            take,
        )?;
        Ok(results)
    }

    /// [`jvp_lanes`](Self::jvp_lanes) of slices, without temporary lists: tangents and results have one element for
    /// each lane, adjacent.
    pub(crate) fn jvp_lanes_through(
        &mut self,
        width: usize,
        (inputs, tangents): (&[Real<S>], &[S::Value]),
        (outputs, results): (&[Real<S>], &mut [S::Value]),
    ) -> Result<(), Error> {
        let Self { owned, parts, inputs: hull, lanes, .. } = self;
        let lanes = lanes.get_or_insert_with(|| LaneVector::new(width));
        lanes.reshape(width);
        let tangents = inputs.iter().zip(tangents.chunks_exact(width));
        let take = |k: usize, found: &[S::Value]| results[k * width..][..width].copy_from_slice(found);
        carry((owned, parts, hull), lanes, tangents, outputs.iter(), take)
    }

    /// Sweeps from each of these outputs, over as many records as it depends on; see
    /// [`Reverse::reverse_rows`](tapewright_strategies::Reverse::reverse_rows). `None` if the sweep gave up. If the
    /// groups of outputs are known, the adjoints are in the vectors [`of_rows`](LaneVector::of_rows).
    pub(crate) fn sweep_rows(
        &mut self,
        known: Option<&mut LaneVector<S::Value>>,
        rows: RowSweep<'_, S::Value>,
    ) -> Result<Option<usize>, Error> {
        let Self { owned, lanes, .. } = self;
        let width = rows.lanes;
        let lanes = known.unwrap_or_else(|| lanes.get_or_insert_with(|| LaneVector::new(width)));
        lanes.reshape(width);
        lanes.clear(S::identifiers(owned.tape()));
        let found = owned.reverse_rows(lanes.everything().0, rows)?;
        let blank = lanes.blank();
        lanes.at(0).fill(blank);
        if found.is_some() {
            lanes.dirty = [NONE, NONE];
        }
        Ok(found)
    }

    /// Writes the Jacobian matrix of these outputs with respect to these inputs, by rows.
    pub(crate) fn rows(
        &mut self,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
        entries: &mut [S::Value],
    ) -> Result<(), Error> {
        let n = inputs.len();
        let units: [[S::Value; WIDTH]; WIDTH] =
            core::array::from_fn(|i| core::array::from_fn(|j| if i == j { S::Value::ONE } else { S::Value::ZERO }));
        for (k, outputs) in outputs.chunks(WIDTH).enumerate() {
            let entries = &mut entries[k * WIDTH * n..][..outputs.len() * n];
            if let [output] = outputs {
                self.sweep(&[(output, S::Value::ONE)])?.write(inputs, entries)?;
                continue;
            }
            let width = outputs.len().next_power_of_two();
            let lanes = self.lanes.get_or_insert_with(|| LaneVector::new(width));
            lanes.reshape(width);
            let seeds = outputs.iter().zip(units.iter().map(|unit| &unit[..width]));
            let adjoints = sweep_into(&self.owned, &self.parts, &self.inputs, &self.outlined, lanes, seeds)?;
            for (j, input) in inputs.iter().enumerate() {
                let column = entries.iter_mut().skip(j).step_by(n);
                column.zip(adjoints.of(input)?).for_each(|(entry, adjoint)| *entry = *adjoint);
            }
        }
        Ok(())
    }

    /// Writes the Jacobian matrix of these outputs with respect to these inputs by rows, computed by forward sweeps.
    pub(crate) fn columns(
        &mut self,
        inputs: &[Real<S>],
        outputs: &[Real<S>],
        entries: &mut [S::Value],
    ) -> Result<(), Error> {
        let n = inputs.len();
        let (mut seeds, mut columns) = (Scratch::<S::Value>::new(), Scratch::<S::Value>::new());
        for (first, inputs) in (0..).step_by(WIDTH).zip(inputs.chunks(WIDTH)) {
            let width = inputs.len().next_power_of_two();
            seeds.clear();
            seeds.resize(inputs.len() * width, S::Value::ZERO);
            seeds.iter_mut().step_by(width + 1).for_each(|seed| *seed = S::Value::ONE);
            columns.clear();
            columns.resize(outputs.len() * width, S::Value::ZERO);
            self.jvp_lanes_through(width, (inputs, &seeds), (outputs, &mut columns))?;
            for (row, found) in entries.chunks_exact_mut(n).zip(columns.chunks_exact(width)) {
                row[first..][..inputs.len()].copy_from_slice(&found[..inputs.len()]);
            }
        }
        Ok(())
    }
}

/// The maximum number of rows or columns in one sweep.
const WIDTH: usize = 8;

/// Sweeps forward with these tangents of inputs, and passes the tangents of the outputs to `each`, in order.
fn carry<'x, S: Reverse>(
    (owned, parts, inputs): (&OwnedTape<S>, &Parts, &Inputs),
    lanes: &mut LaneVector<S::Value>,
    tangents: impl Iterator<Item = (&'x Real<S>, &'x [S::Value])> + Clone,
    outputs: impl Iterator<Item = &'x Real<S>>,
    mut each: impl FnMut(usize, &[S::Value]),
) -> Result<(), Error> {
    let mut slots = Scratch::<Option<usize>>::new();
    for output in outputs {
        slots.push(slot(owned, parts, output)?);
    }
    let identifiers = S::identifiers(owned.tape());
    if owned.has_statements_only() {
        lanes.clear_inputs(identifiers, &inputs.hull);
    } else {
        lanes.clear(identifiers);
    }
    for (input, tangents) in tangents {
        same_length(("lanes", lanes.width), ("tangents of an input", tangents.len()))?;
        if let Some(slot) = slot(owned, parts, input)? {
            lanes.mark_all();
            lanes.at(slot).iter_mut().zip(tangents).for_each(|(to, tangent)| *to += *tangent);
        }
    }
    lanes.forget_arrays();
    let width = lanes.width;
    let (vectors, arrays) = lanes.everything();
    // Reverse sweeps leave arbitrary values in the slot of passive variables.
    vectors[..width].fill(S::Value::ZERO);
    owned.forward(width, vectors, arrays)?;
    for (k, slot) in slots.iter().enumerate() {
        each(k, &vectors[slot.unwrap_or(0) * width..][..width]);
    }
    Ok(())
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
    lanes.mark_all(); // should a rule panic, or records be unreadable
    let slots = || seeds.clone().filter_map(|(output, _)| S::locate(output.id())).map(|(_, slot)| slot);
    let outline = outlined.for_sweep(&mut lanes.swept, owned, &mut slots());
    for (output, seeds) in seeds.clone() {
        if let Some(slot) = slot(owned, parts, output)? {
            lanes.at(slot).iter_mut().zip(seeds).for_each(|(adjoint, seed)| *adjoint += *seed);
        }
    }
    lanes.forget_arrays();
    let width = lanes.width;
    let (vectors, arrays) = lanes.everything();
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
