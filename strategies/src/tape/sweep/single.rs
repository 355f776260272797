//! The sweeps with one vector: in reverse with adjoints, forward with tangents.

use super::forward::{Lanes, ROW};
use crate::contract::AtExternal;
use crate::external::Mark;
use crate::outline::{Outline, Touched};
use crate::scratch::Scratch;
use crate::shape::Shape;
use crate::storage::Layer;
use crate::tape::format::code::{self, EXTERNAL, FREQUENT, SHAPES, by_shape, classic};
use crate::tape::format::entry_points::{Adding, Places, Recent, Summing, Sweep, Tangents};
use crate::tape::format::kind::{Data, Ids, Kind, branch, prefetch};
use crate::tape::format::layout::Form;
use crate::tape::format::partials::{Factored, Scattered};
use crate::tape::format::variadic::Listed;
use crate::tape::read::cursor::{Cursor, Values};
use crate::tape::store::prefetch;
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, Passed, SweepError, counts};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from the last statement to the first; see [`Reverse::reverse`](crate::Reverse::reverse).
    pub(crate) fn reverse(&self, adjoints: &mut [V]) -> Result<(), SweepError> {
        let mut at = |external, _, _: &mut [V]| Err(SweepError::left_out(external));
        let [span] = *self.spans else { return self.reverse_through(adjoints, (None, None), &mut at) };
        if !self.is_open() {
            return self.reverse_through(adjoints, (None, None), &mut at);
        }
        // No cursor: it would take a large part of the time of a gradient of a few operations.
        self.check_length(adjoints.len());
        let mut values = self.walked_values();
        let mut sweep = Self::sweep(adjoints, &mut values, &mut at);
        let numbers = (usize_of(self.inputs), usize_of(self.next));
        let large = prefetch::is_large(self.data.addr() - span.start.addr());
        // SAFETY: all records behind the inputs lie in the only segment, which is being written and therefore in
        // memory; they end at the address of the next record.
        unsafe { self.reverse_some(large, numbers, self.data, &mut sweep) };
        sweep.check()
    }

    /// Sweeps between positions; see [`Reverse::reverse_through`](crate::Reverse::reverse_through).
    pub(crate) fn reverse_through(
        &self,
        adjoints: &mut [V],
        (from, to): (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        self.check_length(adjoints.len());
        let mut values = self.walked_values();
        let (mut cursor, large) = (Cursor::new(self), self.is_large());
        if let Some(from) = from {
            cursor.go_to(from, &mut values)?;
        }
        let mut sweep = Self::sweep(adjoints, &mut values, at);
        let to = usize_of(to.map_or(1, |to| to.numbers()[0]));
        cursor.move_to(to, |numbers, end| {
            // SAFETY: the reader has the bytes as they were written, and the last of these records ends at `end`.
            let reached = unsafe { self.reverse_some(large, numbers, end, &mut sweep) };
            sweep.check().map(|()| reached)
        })
    }

    /// Sweeps over the chunks of the recording to which the seeds in these slots come.
    pub(crate) fn reverse_chunks(
        &self,
        adjoints: &mut [V],
        (outline, seeded): (&Outline, &mut dyn Iterator<Item = usize>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<Touched, SweepError> {
        self.check_length(adjoints.len());
        let mut values = self.walked_values();
        let (mut cursor, large) = (Cursor::new(self), self.is_large());
        let mut sweep = Self::sweep(adjoints, &mut values, at);
        outline.sweep(seeded, |chunk| {
            if !chunk.launches && !Self::has_adjoint(outline, chunk, (1, sweep.adjoints())) {
                return Ok(false);
            }
            cursor.go_to_chunk(chunk);
            cursor.move_to(chunk.numbers.start, |numbers, end| {
                // SAFETY: the reader has the bytes as they were written, and the last of these records ends at `end`.
                let reached = unsafe { self.reverse_some(large, numbers, end, &mut sweep) };
                sweep.check().map(|()| reached)
            })?;
            Ok(true)
        })
    }

    /// Makes a sweep over these adjoints, as many as the recording has identifiers, with values to which it may write
    /// if they are a copy.
    fn sweep<'a>(adjoints: &'a mut [V], values: &'a mut Values<'_, V>, at: &'a mut AtExternal<'_, V>) -> Sweep<'a, V> {
        let known = values.len();
        let values = match values {
            Values::OfTheTime(copy) => copy.as_mut_ptr(),
            Values::Lasting(values) => values.as_ptr().cast_mut(),
        };
        Sweep::new(adjoints, (values, known), at)
    }

    /// Returns true if the records exceed the caches.
    fn is_large(&self) -> bool {
        prefetch::is_large((0..self.spans.len()).map(|at| self.data_of(at)).sum())
    }

    /// Panics if an adjoint vector is too short.
    pub(crate) fn check_length(&self, adjoints: usize) {
        let needed = self.len();
        assert!(adjoints >= needed, "the adjoint vector has {adjoints} entries, the recording needs {needed}");
    }

    /// Calls [`reverse_span`](Self::reverse_span), with hints to the caches if the recording is large.
    ///
    /// # Safety
    ///
    /// The conditions of [`reverse_span`](Self::reverse_span).
    #[inline(always)]
    unsafe fn reverse_some(
        &self,
        large: bool,
        numbers: (usize, usize),
        end: *const u8,
        sweep: &mut Sweep<'_, V>,
    ) -> (usize, *const u8) {
        // SAFETY: promised by the caller.
        unsafe {
            if large {
                self.reverse_span::<true>(numbers, end, sweep)
            } else {
                self.reverse_span::<false>(numbers, end, sweep)
            }
        }
    }

    /// Sweeps over the records of a span with numbers below `next` and from `first` on, which end at `end`. Returns
    /// number and start of the first of these records; 0 as the number if `sweep` failed. `PREFETCH` is true if the
    /// caches need hints.
    ///
    /// # Safety
    ///
    /// The segment's bytes are those that were written, the record in front of `next` ends at `end`, and `sweep` is one
    /// of the recording.
    unsafe fn reverse_span<const PREFETCH: bool>(
        &self,
        (first, mut next): (usize, usize),
        mut end: *const u8,
        sweep: &mut Sweep<'_, V>,
    ) -> (usize, *const u8) {
        let adjoints = sweep.places.adjoints;
        while next > first {
            if PREFETCH {
                prefetch(end.wrapping_sub(prefetch::AHEAD));
            }
            // SAFETY: a record ends here; its code or the address in front of `end` tells its layout. Identifiers in it
            // are below the lengths of adjoints and of values.
            unsafe {
                let code = if K::BY_ADDRESS { 0 } else { *end.sub(1) };
                if !K::BY_ADDRESS && (FREQUENT..EXTERNAL).contains(&code) {
                    next -= 1;
                    let (id, data_end) = Self::undo_before(end.sub(Self::CODE), next, sweep.places.values);
                    let seed = take(adjoints, id);
                    (next, end) = self.reverse_frequent::<PREFETCH>(code, (first, next), (data_end, end), seed, sweep);
                } else if let (reverse, Some(skip)) = self.functions_before(end, code) {
                    next -= 1;
                    let (id, data_end) = Self::undo_before(end.sub(Self::CODE), next, sweep.places.values);
                    let seed = take(adjoints, id);
                    if seed.is_ordinary() {
                        end = reverse(data_end, V::Passed::of(seed), &mut sweep.places);
                    } else {
                        if !seed.is_nought() {
                            self.reverse_with_care(end, seed, sweep);
                        }
                        end = skip(data_end);
                    }
                } else {
                    (next, end) = self.reverse_varying(end, next, sweep);
                }
            }
        }
        (next, end)
    }

    /// Reverses the record of any kind that ends at `end` with the number before `next`; returns its number and its
    /// start. The number is 0 if the sweep has failed.
    ///
    /// # Safety
    ///
    /// A record ends at `end`, and `sweep` is one of the recording.
    #[inline(never)]
    unsafe fn reverse_varying(&self, end: *const u8, next: usize, sweep: &mut Sweep<'_, V>) -> (usize, *const u8) {
        // SAFETY: promised by the caller.
        unsafe {
            let record = self.record(end);
            let number = next - record.numbers;
            if !record.is_statement() {
                if let Some(external) = record.external {
                    sweep.meet(external);
                }
                return (if sweep.failed.is_none() { number } else { 0 }, record.start);
            }
            let (id, _) = Self::undo_before(record.tail_end, number, sweep.places.values);
            let seed = take(sweep.places.adjoints, id);
            if seed.is_ordinary() {
                record.reverse(seed, &mut sweep.places);
            } else if !seed.is_nought() {
                self.reverse_with_care(end, seed, sweep);
            }
            (number, record.start)
        }
    }

    /// Reverses the record of a statement of any kind that ends at `end`, for any seed, and leaves out products with a
    /// zero.
    ///
    /// # Safety
    ///
    /// A record ends at `end`, `sweep` is one of the recording, and where identifiers are reused, the values are those
    /// from before the record.
    #[cold]
    #[inline(never)]
    unsafe fn reverse_with_care(&self, end: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
        let mut partials = Scratch::<V>::new();
        // SAFETY: promised by the caller.
        let ids = unsafe {
            let record = self.record(end);
            record.contributions(V::ONE, sweep.values(), &mut partials);
            record.ids()
        };
        for (id, partial) in ids.zip(&**partials).filter(|(_, partial)| counts(seed, **partial)) {
            sweep.adjoints()[id] += seed.contribution(*partial);
        }
    }

    /// Reverses a record of a frequent kind with number `next`, which ends at `end` and whose data end at `data_end`,
    /// and possibly some records before it, from number `first` on. Returns number and start of the first reversed
    /// record.
    ///
    /// A binary search over the codes: a `match` would become a jump through a table, which is slow where the target of
    /// an indirect jump is predicted to be the one of the last time.
    ///
    /// # Safety
    ///
    /// A record with this code, from `FREQUENT` on and below `EXTERNAL`, ends at `end`, and `sweep` is one of the
    /// recording.
    #[inline(always)]
    unsafe fn reverse_frequent<const PREFETCH: bool>(
        &self,
        code: u8,
        (first, next): (usize, usize),
        (data_end, end): (*const u8, *const u8),
        seed: V,
        sweep: &mut Sweep<'_, V>,
    ) -> (usize, *const u8) {
        macro_rules! leaf {
            (PlusProduct) => {
                leaf!(run of PlusProduct)
            };
            (run of $shape:ident) => {
                self.reverse_run::<code::$shape, PREFETCH>(code, (first, next), (data_end, end), seed, sweep)
            };
            ($shape:ident) => {
                (next, self.reverse_in_place::<code::$shape>(data_end, end, seed, sweep))
            };
        }
        // SAFETY: promised by the caller.
        unsafe {
            by_shape!(code, leaf, else if code >= classic(4) {
                (next, self.reverse_listed(usize::from(code - classic(1)) + 1, data_end, end, seed, sweep))
            } else if code < classic(2) {
                leaf!(run of Factor)
            } else if code < classic(3) {
                leaf!(Factors)
            } else {
                leaf!(ThreeFactors)
            })
        }
    }

    /// Reverses the record of this shape with number `next`, and those before it, from number `first` on, as long as
    /// they have the same code. Returns number and start of the first reversed record.
    ///
    /// # Safety
    ///
    /// The conditions of [`reverse_frequent`](Self::reverse_frequent).
    #[inline(always)]
    unsafe fn reverse_run<H: Shape, const PREFETCH: bool>(
        &self,
        code: u8,
        (first, mut next): (usize, usize),
        (mut data_end, mut end): (*const u8, *const u8),
        mut seed: V,
        sweep: &mut Sweep<'_, V>,
    ) -> (usize, *const u8) {
        let (adjoints, mut recent) = (sweep.places.adjoints, Recent::new());
        // SAFETY: promised by the caller.
        unsafe {
            while seed.is_ordinary() {
                let data = Data::<Scattered<H>, V, M::Index>::new(data_end, 0, sweep.places.values, 0);
                let factors = data.numbers();
                H::scatter(seed, seed, &mut Factored { factors, to: &mut recent.adding(data, adjoints) });
                end = data.start();
                if next == first || *end.sub(1) != code {
                    return (next, end);
                }
                if PREFETCH {
                    prefetch(end.wrapping_sub(prefetch::AHEAD));
                }
                next -= 1;
                let id;
                (id, data_end) = Self::undo_before(end.sub(Self::CODE), next, sweep.places.values);
                seed = recent.take(adjoints, id);
            }
            (next, self.reverse_in_place::<H>(data_end, end, seed, sweep))
        }
    }

    /// Reverses a record of this shape; returns its start.
    ///
    /// # Safety
    ///
    /// A record ends at `end` and its data end at `data_end`, and `sweep` is one of the recording.
    #[inline(always)]
    unsafe fn reverse_in_place<H: Shape>(
        &self,
        data_end: *const u8,
        end: *const u8,
        seed: V,
        sweep: &mut Sweep<'_, V>,
    ) -> *const u8 {
        // SAFETY: promised by the caller.
        unsafe {
            let data = Data::<Scattered<H>, V, M::Index>::new(data_end, 0, sweep.places.values, 0);
            // Partials of ±1 count whatever the seed.
            if if H::FACTORS == 0 { !seed.is_nought() } else { seed.is_ordinary() } {
                Kind::reverse(data, seed, &mut Adding::<V, M::Index>::new(data_end, data.arguments(), &sweep.places));
            } else if !seed.is_nought() {
                self.reverse_with_care(end, seed, sweep);
            }
            data.start()
        }
    }

    /// Reverses a record of `n` partials; returns its start.
    ///
    /// # Safety
    ///
    /// The conditions of [`reverse_in_place`](Self::reverse_in_place).
    #[inline(never)]
    unsafe fn reverse_listed(
        &self,
        n: usize,
        data_end: *const u8,
        end: *const u8,
        seed: V,
        sweep: &mut Sweep<'_, V>,
    ) -> *const u8 {
        // SAFETY: promised by the caller.
        unsafe {
            let data = Data::<Listed, V, M::Index>::new(data_end, n, sweep.places.values, 0);
            if seed.is_ordinary() {
                Kind::reverse(data, seed, &mut Adding::<V, M::Index>::new(data_end, data.arguments(), &sweep.places));
            } else if !seed.is_nought() {
                self.reverse_with_care(end, seed, sweep);
            }
            data.start()
        }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from the first statement to the last along one direction, given the values at the end of the recording.
    ///
    /// Not inlined: with the sweep along several directions around it, the loop has too few registers.
    #[inline(never)]
    pub(super) fn forward_alone(
        &self,
        values: &mut Values<'_, V>,
        tangents: &mut [V],
        at: &mut AtExternal<'_, V>,
    ) -> Result<(), SweepError> {
        let mut row = [V::ZERO; ROW];
        self.up_by_spans(values, |found, mut number, values| {
            for end in found.ends {
                let start = tangents.as_mut_ptr();
                // SAFETY: the record has just been found; there is a tangent for each identifier.
                let (id, numbers) = match unsafe { self.tangent_before(end, number, start, (values, &mut row)) } {
                    Some((id, tangent)) if tangent.is_ordinary() => {
                        // SAFETY: as above.
                        unsafe { start.add(id).write(tangent) }
                        (id, 1)
                    }
                    Some((id, tangent)) if tangent.is_nought() => {
                        tangents[id] = V::ZERO;
                        (id, 1)
                    }
                    _ => {
                        // SAFETY: as above.
                        let record = unsafe { self.record(end) };
                        Self::forward_varying(&record, number, values, &mut Lanes { count: 1, tangents }, at)?;
                        (if record.is_statement() { Self::result(&record, number) } else { 0 }, record.numbers)
                    }
                };
                if let (Values::OfTheTime(values), Some(value)) = (&mut *values, found.assigned.pop()) {
                    values[id] = value; // of what is no statement, nobody reads the value
                }
                number += numbers;
            }
            Ok(())
        })
    }

    /// Returns the result of the statement whose record ends at `end` and has this number, and its tangent, which is
    /// not right if it is not finite, and may be −0. `None` for records of varying length.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`, and there is a tangent for each identifier.
    #[inline(always)]
    unsafe fn tangent_before(
        &self,
        end: *const u8,
        number: usize,
        tangents: *const V,
        (values, row): (&mut Values<'_, V>, &mut [V; ROW]),
    ) -> Option<(usize, V)> {
        // SAFETY: promised by the caller.
        unsafe {
            let known = values.len();
            let at = match values {
                Values::OfTheTime(copy) => copy.as_mut_ptr(),
                Values::Lasting(values) => values.as_ptr().cast_mut(),
            };
            let code = if K::BY_ADDRESS { 0 } else { *end.sub(1) };
            if const { !K::BY_ADDRESS } && Self::is_in_place(code) {
                let (id, data_end) = Self::result_before(end.sub(Self::CODE), number);
                return Some((id, Self::tangent_in_place(code, data_end, (tangents, at))));
            }
            let (layout, tail_end) = self.layout_before(end);
            let (n, forward) = (layout.arguments, layout.functions.forward);
            if layout.form != Form::Fixed || n > ROW {
                return None;
            }
            let (id, ids_end) = Self::result_before(tail_end, number);
            // Partials that are kept cost less than a look at the tangents.
            let nought = |id| (*tangents.add(id)).is_nought();
            if !layout.partials && Ids::<M::Index>::before(ids_end, n).fold(true, |all, id| all & nought(id)) {
                return Some((id, V::ZERO));
            }
            let place = forward as usize / 16;
            branch(place & 1 != 0);
            branch(place & 2 != 0);
            let mut places = Places::new(row, (at, known));
            places.arguments = n;
            Some((id, forward(ids_end, V::Passed::of(V::ONE), Tangents::adjacent(tangents), &mut places)))
        }
    }

    /// Returns true for codes of records that are read in place: few partials, and frequent shapes.
    #[inline(always)]
    const fn is_in_place(code: u8) -> bool {
        code >= classic(1) && code < EXTERNAL && (code < classic(4) || code >= SHAPES)
    }

    /// Returns the tangent of the statement whose record has this code, which is read in place, and the end of its data
    /// here. A product with zero may be NaN in it.
    ///
    /// # Safety
    ///
    /// The data of a record with this code end at `data_end`, and these are the tangents and the
    /// values of the recording.
    #[inline(always)]
    unsafe fn tangent_in_place(code: u8, data_end: *const u8, (tangents, values): (*const V, *mut V)) -> V {
        macro_rules! leaf {
            ($shape:ident) => {
                Self::tangent_of::<code::$shape>(data_end, (tangents, values))
            };
        }
        // SAFETY: promised by the caller.
        unsafe {
            by_shape!(code, leaf, else if code < classic(2) {
                leaf!(Factor)
            } else if code < classic(3) {
                leaf!(Factors)
            } else {
                leaf!(ThreeFactors)
            })
        }
    }

    /// Returns the tangent of a statement of this shape.
    ///
    /// # Safety
    ///
    /// The data of a record of this shape end at `data_end`, and these are the tangents and the
    /// values of the recording.
    #[inline(always)]
    unsafe fn tangent_of<H: Shape>(data_end: *const u8, (tangents, values): (*const V, *mut V)) -> V {
        // SAFETY: promised by the caller.
        let data = unsafe { Data::<Scattered<H>, V, M::Index>::new(data_end, 0, values, 0) };
        // SAFETY: identifiers of records are below the number of tangents.
        let mut to = unsafe { Summing::new(data.ids(), Tangents::adjacent(tangents)) };
        Kind::reverse(data, V::ONE, &mut to);
        to.done()
    }
}

/// Takes the adjoint of this variable, and sets it to 0.
///
/// # Safety
///
/// `adjoints` has an entry `id`.
#[inline(always)]
unsafe fn take<V: Number>(adjoints: *mut V, id: usize) -> V {
    // SAFETY: promised by the caller.
    unsafe {
        let place = adjoints.add(id);
        let adjoint = (*place).by_registers();
        place.write(V::ZERO.by_registers());
        adjoint
    }
}
