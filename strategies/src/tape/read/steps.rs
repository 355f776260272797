//! Statements that are computed one by one, the first one first.

use super::cursor::{Found, Values};
use crate::identifier::IndexType;
use crate::storage::{Layer, Reader, Segments};
use crate::tape::format::entry_points::{AnyData, Places};
use crate::tape::store::recording::{Content, Records};
use crate::tape::store::steps::{Step, Steps, Stop};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError, counts};

impl<V: Number, I: IndexType> Step<V, I> {
    /// The statement that assigns to `result` and has these data, in memory that begins at `start`.
    pub(crate) fn of(data: &AnyData<'_, V, I>, start: *const u8, result: usize) -> Self {
        Self {
            functions: data.functions(),
            ids_end: data.end().addr() - start.addr(),
            arguments: u32::try_from(data.arguments()).expect("arguments are counted in 32 bits"),
            result: I::narrow(result as u64),
        }
    }

    /// The identifier of its result.
    #[inline(always)]
    pub(crate) fn result(&self) -> usize {
        usize_of(self.result.widen())
    }

    /// # Safety
    ///
    /// The memory of the statement begins at `start`, and does not change for `'a`. Identifiers are below `known`.
    #[inline(always)]
    pub(crate) unsafe fn data<'a>(&self, start: *const u8, known: usize) -> AnyData<'a, V, I> {
        // SAFETY: promised by the caller.
        unsafe { AnyData::new(self.functions, start.wrapping_add(self.ids_end), self.arguments as usize, known) }
    }
}

/// Computes the values of statements, the first one first.
///
/// # Safety
///
/// The memory of all statements begins at `start`, and does not change meanwhile. Identifiers are below the number of
/// values.
#[inline(always)]
pub(crate) unsafe fn compute<V: Number, I: IndexType>(steps: &[Step<V, I>], start: *const u8, values: &mut [V]) {
    for step in steps {
        // SAFETY: promised by the caller.
        let value = unsafe { step.data(start, values.len()) }.value(values);
        values[step.result()] = value.expect("what can be replayed says how");
    }
}

/// Passes adjoints from the results of statements to their arguments, the last one first, and sets those of results to
/// 0. `contributions` is memory.
///
/// # Safety
///
/// The conditions of [`compute`], also for the number of adjoints.
pub(crate) unsafe fn reverse<V: Number, I: IndexType>(
    steps: &[Step<V, I>],
    start: *const u8,
    (values, adjoints): (&[V], &mut [V]),
    contributions: &mut Vec<V>,
) {
    for step in steps.iter().rev() {
        let seed = core::mem::replace(&mut adjoints[step.result()], V::ZERO);
        if seed.is_nought() {
            continue;
        }
        // SAFETY: promised by the caller.
        let data = unsafe { step.data(start, values.len()) };
        if seed.is_ordinary() {
            let mut places = Places::new(adjoints, (values.as_ptr().cast_mut(), values.len()));
            // SAFETY: there are a value and an adjoint for each identifier, and nobody writes to the values.
            unsafe { data.reverse(seed, &mut places) };
            continue;
        }
        contributions.clear();
        data.contributions(V::ONE, values, contributions);
        for (id, partial) in data.ids().zip(&*contributions).filter(|(_, partial)| counts(seed, **partial)) {
            adjoints[id] += seed.contribution(*partial);
        }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Computes the values of all statements again, and calls `stop` at guards and external functions in between.
    ///
    /// `steps` are those of the last time. If the recording has changed since then, they are listed anew: all of them,
    /// or those of a segment at a time if records may leave memory.
    pub(crate) fn up_by_steps(
        &self,
        steps: &mut Steps<V, M::Index>,
        values: &mut [V],
        mut stop: impl FnMut(Stop, &mut [V]) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        assert!(values.len() >= self.len(), "there is a value for each identifier");
        let extent = self.extent();
        if steps.of == Some(extent) {
            let (mut reader, mut from) = (self.segments.reader(), (0, 0));
            for (span, to) in steps.ends.iter().enumerate() {
                // SAFETY: the steps are those of the span, whose segment the reader has; there is a value for each
                // identifier.
                unsafe { steps.run((from, *to), reader.segment(span)?, values, &mut stop)? };
                from = *to;
            }
            return steps.stops[from.1..].iter().try_for_each(|(_, last)| stop(*last, values));
        }
        steps.clear();
        let mut guards = 0;
        self.up_by_spans(&mut Values::Lasting(&[]), |found, number, _| {
            if L::SPILLS {
                steps.clear();
            }
            let (start, from) = (found.start, (steps.list.len(), steps.stops.len()));
            self.list_steps(found, number, &mut guards, steps);
            let to = (steps.list.len(), steps.stops.len());
            steps.ends.push(to);
            // SAFETY: as above, and the segment is still the one in which they were found.
            unsafe { steps.run((from, to), start, values, &mut stop) }
        })?;
        let (last, first) = (steps.list.len(), steps.stops.len());
        steps.stops.extend((guards..self.guards.list.len()).map(|guard| (last, Stop::Guard(guard))));
        steps.stops[first..].iter().try_for_each(|(_, last)| stop(*last, values))?;
        if L::SPILLS {
            steps.clear();
        } else {
            steps.of = Some(extent);
        }
        Ok(())
    }

    /// Lists the steps of a span, whose first record has this number, from the guard with index `guard` on.
    fn list_steps(&self, found: Found<'_, V>, mut number: usize, guard: &mut usize, steps: &mut Steps<V, M::Index>) {
        for end in found.ends {
            // SAFETY: it has just been found.
            let record = unsafe { self.record(end) };
            let passed = self.guards.list[*guard..].iter().take_while(|guard| guard.number <= number as u64).count();
            steps.stops.extend((*guard..*guard + passed).map(|guard| (steps.list.len(), Stop::Guard(guard))));
            *guard += passed;
            if let Some(external) = record.external {
                steps.stops.push((steps.list.len(), Stop::External(external)));
            } else if record.is_statement() && record.arguments() > 0 {
                // Others are constants.
                steps.list.push(Step::of(&record.data, found.start, number));
            }
            number += record.numbers;
        }
    }
}

impl<V: Number, I: IndexType> Steps<V, I> {
    /// Takes steps and stops in their order: those from these counts of steps and stops on, up to those.
    ///
    /// # Safety
    ///
    /// The conditions of [`compute`].
    unsafe fn run(
        &self,
        ((mut step, first), (end, last)): ((usize, usize), (usize, usize)),
        start: *const u8,
        values: &mut [V],
        stop: &mut impl FnMut(Stop, &mut [V]) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        for (at, kind) in &self.stops[first..last] {
            // SAFETY: promised by the caller.
            unsafe { compute(&self.list[step..*at], start, values) };
            stop(*kind, values)?;
            step = *at;
        }
        // SAFETY: as above.
        unsafe { compute(&self.list[step..end], start, values) };
        Ok(())
    }
}
