//! Reading records back, last first.

use super::layout::{Layout, Partials, ReverseFn, Sweep};
use super::patterns::{self, PATTERNS};
use super::records::{Records, Span, usize_of};
use super::table::{ASSIGNED, CLASSIC, Entry, Kind};
use crate::scratch::Scratch;
use crate::{Float, IndexType, MemoryReport, MemoryUsage};
use smallvec::SmallVec;

/// One record, read in place; `record` is its first byte.
struct Special<V: 'static> {
    record: *const u8,
    bytes: usize,
    arguments: usize,
    /// Floats in front of the identifiers.
    payload: usize,
    layout: Option<&'static Layout<V>>,
}

/// # Safety
///
/// `count` values of type `T`, written as plain bytes, lie from `at` on.
unsafe fn read<T: Copy>(at: *const u8, count: usize) -> impl ExactSizeIterator<Item = T> + Clone {
    // SAFETY: promised by the caller.
    (0..count).map(move |k| unsafe { at.cast::<T>().add(k).read_unaligned() })
}

impl<V: Float, I: IndexType, const VALUES: bool> Records<V, I, VALUES> {
    /// Sweeps from the last statement to the first; see [`Reverse::reverse`](crate::Reverse::reverse).
    pub(crate) fn reverse(&self, adjoints: &mut [V]) {
        assert!(
            adjoints.len() >= self.len(),
            "the adjoint vector has {} entries, the recording needs {}",
            adjoints.len(),
            self.len()
        );
        let mut sweep = Sweep { adjoints, values: self.values(), site: 0 };
        let mut id = usize_of(self.next);
        let mut data = self.data;
        for span in self.spans.iter().rev() {
            // SAFETY: the spans partition the identifiers, in order; `adjoints` is as long as the recording.
            unsafe { self.reverse_span(span, data, id, &mut sweep) }
            id = usize_of(span.first);
            data = span.data_before;
        }
    }

    /// Sweeps over the identifiers of one span, which end before `next`; their data end at `data`.
    ///
    /// # Safety
    ///
    /// The codes of `span.first..next` and the data below `data` belong together, and `sweep` is fit for the recording.
    unsafe fn reverse_span(&self, span: &Span, data: *mut u8, next: usize, sweep: &mut Sweep<'_, V>) {
        let entries = self.table.entries.as_ptr();
        let mut end = data.cast_const();
        let mut code_at = span.codes.cast_const().wrapping_sub(next - 1);
        let mut id = next;
        // The inputs that come before all statements have nothing to be reversed.
        let first = usize_of(span.first.max(self.inputs));
        while id > first {
            id -= 1;
            // SAFETY: `id` is in this span, so its code lies in the span's segment, in which codes follow one another; the
            // code says how many bytes of data lie below `end`. Identifiers in a record are below `id`, which is at most
            // the lengths of adjoints and of values.
            unsafe {
                let code = *code_at;
                code_at = code_at.add(1);
                if code < ASSIGNED {
                    if VALUES || code < CLASSIC {
                        end = self.reverse_special(code, end, id, sweep);
                    } else {
                        let adjoints = &mut *sweep.adjoints;
                        let seed = core::mem::replace(adjoints.get_unchecked_mut(id), V::zero());
                        end = reverse_frequent::<V, I>(code, end, seed, adjoints);
                    }
                    continue;
                }
                let entry = &*entries.add(code as usize);
                if entry.bytes == Entry::<V>::SPECIAL {
                    end = self.reverse_special(code, end, id, sweep);
                    continue;
                }
                end = end.sub(entry.bytes);
                let seed = *sweep.adjoints.get_unchecked(id);
                if seed != V::zero() {
                    *sweep.adjoints.get_unchecked_mut(id) = V::zero();
                    dispatch(code, end, seed, sweep, entry.reverse);
                }
            }
        }
    }

    /// Reverses the record that ends at `end` and returns where it starts.
    ///
    /// # Safety
    ///
    /// A record with this code, of identifier `id`, ends at `end`, and `sweep` is fit for the recording.
    #[inline(never)]
    unsafe fn reverse_special(&self, code: u8, end: *const u8, id: usize, sweep: &mut Sweep<'_, V>) -> *const u8 {
        let kind = self.table.kind(code);
        if kind == Kind::Input {
            return end;
        }
        // SAFETY: promised by the caller.
        let special = unsafe { self.special(code, kind, end) };
        let (adjoints, values) = (&mut *sweep.adjoints, sweep.values);
        let seed = core::mem::replace(&mut adjoints[id], V::zero());
        if seed == V::zero() {
            return special.record;
        }
        // SAFETY: `special` describes the record: payload, then identifiers.
        let (payload, ids) = unsafe {
            let ids = special.record.add(special.payload * size_of::<V>());
            (read::<V>(special.record, special.payload), read::<I>(ids, special.arguments))
        };
        let ids = ids.map(|id| usize_of(id.widen()));
        match kind {
            Kind::Classic(_) | Kind::Wide => {
                ids.zip(payload).for_each(|(id, partial)| adjoints[id] += seed * partial);
            }
            Kind::Ones => ids.for_each(|id| adjoints[id] += seed),
            Kind::Nary => {
                let layout = special.layout.expect("n-ary records have a layout");
                let partials_of = layout.nary.expect("and their layout has the rule");
                let (n, constants) = (special.arguments, special.payload);
                let mut scratch = Scratch::<V>::new();
                scratch.extend(ids.clone().map(|id| values[id]).chain(payload));
                scratch.resize(2 * n + constants, V::zero());
                let (arguments, rest) = scratch.split_at_mut(n);
                let (constants, partials) = rest.split_at_mut(constants);
                partials_of(arguments, constants, partials);
                ids.zip(partials).for_each(|(id, partial)| adjoints[id] += seed * *partial);
            }
            Kind::Mixed | Kind::Explicit => {
                let layout = special.layout.expect("typed records have a layout");
                let passive = special.payload - layout.payload;
                let payload: SmallVec<[V; 128]> = payload.collect();
                let mut passives = payload[..passive].iter();
                let passive_or = |id: usize| if id == 0 { passives.next().copied() } else { values.get(id).copied() };
                let values: Partials<V> =
                    ids.clone().map(passive_or).map(|value| value.expect("every argument has a value")).collect();
                let contributions = layout.expand::<I>(seed, &payload[passive..], &values);
                for (id, contribution) in ids.zip(contributions).filter(|(id, _)| *id != 0) {
                    adjoints[id] += contribution;
                }
            }
            Kind::Input | Kind::Typed | Kind::Pattern => {
                unreachable!("inputs have no data, typed records are no special ones")
            }
        }
        special.record
    }

    /// What lies below `end`.
    ///
    /// # Safety
    ///
    /// A record with this code, of this kind, ends at `end`.
    unsafe fn special(&self, code: u8, kind: Kind, end: *const u8) -> Special<V> {
        let (float, id) = (size_of::<V>(), size_of::<I>());
        let special = |bytes: usize, payload: usize, arguments: usize, layout| Special {
            record: end.wrapping_sub(bytes),
            bytes,
            arguments,
            payload,
            layout,
        };
        // SAFETY: `append` and `append_nary` wrote the record with this code; the reads below mirror them.
        unsafe {
            let count = || end.sub(4).cast::<u32>().read_unaligned() as usize;
            match kind {
                Kind::Input => special(0, 0, 0, None),
                Kind::Classic(n) => special(n as usize * (float + id), n as usize, n as usize, None),
                Kind::Pattern => {
                    let (leaves, factors) = patterns::size(code);
                    special(factors * float + leaves * id, factors, leaves, None)
                }
                Kind::Wide => special(count() * (float + id) + 4, count(), count(), None),
                Kind::Ones => special(count() * id + 4, 0, count(), None),
                Kind::Nary => {
                    let layout = self.table.layout(code);
                    let payload = count() * layout.payload;
                    special(payload * float + count() * id + 4, payload, count(), Some(layout))
                }
                Kind::Mixed | Kind::Explicit | Kind::Typed => {
                    let handle = if kind == Kind::Explicit { size_of::<&Layout<V>>() } else { 0 };
                    let layout = if kind == Kind::Explicit {
                        end.sub(handle).cast::<&'static Layout<V>>().read_unaligned()
                    } else {
                        self.table.layout(code)
                    };
                    let ids = end.sub(handle + layout.arguments * id);
                    let passive = read::<I>(ids, layout.arguments).filter(|id| id.widen() == 0).count();
                    let bytes = layout.bytes + passive * float + handle;
                    special(bytes, layout.payload + passive, layout.arguments, Some(layout))
                }
            }
        }
    }

    /// Bytes and counts, found by walking the recording.
    pub(crate) fn memory(&self) -> MemoryReport {
        let (mut statements, mut arguments, mut payload, mut recorded) = (0, 0, 0, 0);
        let mut id = usize_of(self.next);
        let mut data = self.data;
        for span in self.spans.iter().rev() {
            let mut end = data.cast_const();
            data = span.data_before;
            while id > usize_of(span.first) {
                id -= 1;
                // SAFETY: as in `reverse`.
                let record = unsafe {
                    let code = *span.codes.wrapping_sub(id);
                    let kind = self.table.kind(code);
                    statements += usize::from(kind != Kind::Input);
                    self.special(code, kind, end)
                };
                end = record.record;
                arguments += record.arguments;
                payload += record.payload * size_of::<V>();
                recorded += record.bytes;
            }
        }
        let (segments, values) = self.reserved();
        let codes = self.len() - 1;
        let ids = arguments * size_of::<I>();
        let report = MemoryReport::new(statements, arguments)
            .stream("codes", MemoryUsage::exact(codes))
            .stream("arguments", MemoryUsage::exact(ids))
            .stream(if VALUES { "constants" } else { "partials" }, MemoryUsage::exact(payload))
            .stream("counts", MemoryUsage::exact(recorded - ids - payload))
            .stream("free", MemoryUsage { used: 0, reserved: segments - codes - recorded });
        let report = if VALUES {
            let used = if codes == 0 { 0 } else { self.len() * size_of::<V>() };
            report.stream("values", MemoryUsage { used, reserved: values })
        } else {
            report
        };
        report.stream("tables", MemoryUsage::exact(size_of::<Self>()))
    }
}

/// Reverses a record of a listed pattern or of partials without passive arguments among them; returns where it starts.
///
/// A binary search over the codes: a `match` would become a jump through a table, which is slow where an indirect
/// call is (see [`dispatch`]).
///
/// # Safety
///
/// A record with this code, from `CLASSIC` to `PATTERNS_END`, ends at `end`; its identifiers are below the number of
/// adjoints.
#[inline(always)]
unsafe fn reverse_frequent<V: Float, I: IndexType>(code: u8, end: *const u8, seed: V, adjoints: &mut [V]) -> *const u8 {
    macro_rules! pattern {
        ($k:literal) => {
            patterns::reverse::<V, I, $k>(end, seed, adjoints)
        };
    }
    /// `one!(first or second, a, b)`, by halves.
    macro_rules! search {
        ($at:expr, $a:expr, $b:expr) => {
            if code < $at { $a } else { $b }
        };
    }
    // SAFETY: promised by the caller.
    unsafe {
        if code >= PATTERNS {
            return search!(
                PATTERNS + 4,
                search!(
                    PATTERNS + 2,
                    search!(PATTERNS + 1, pattern!(0), pattern!(1)),
                    search!(PATTERNS + 3, pattern!(2), pattern!(3))
                ),
                search!(
                    PATTERNS + 6,
                    search!(PATTERNS + 5, pattern!(4), pattern!(5)),
                    search!(PATTERNS + 7, pattern!(6), pattern!(7))
                )
            );
        }
        if code < CLASSIC + 4 {
            return search!(
                CLASSIC + 2,
                patterns::reverse_classic::<V, I, 1>(end, seed, adjoints),
                search!(
                    CLASSIC + 3,
                    patterns::reverse_classic::<V, I, 2>(end, seed, adjoints),
                    patterns::reverse_classic::<V, I, 3>(end, seed, adjoints)
                )
            );
        }
        reverse_partials::<V, I>((code - CLASSIC) as usize, end, seed, adjoints)
    }
}

/// Reverses a record of `n` partials and identifiers, which ends at `end`; returns where it starts.
///
/// # Safety
///
/// Such a record ends there.
unsafe fn reverse_partials<V: Float, I: IndexType>(n: usize, end: *const u8, seed: V, adjoints: &mut [V]) -> *const u8 {
    let ids = end.wrapping_sub(n * size_of::<I>());
    let record = ids.wrapping_sub(n * size_of::<V>());
    if seed != V::zero() {
        // SAFETY: promised by the caller.
        let (partials, ids) = unsafe { (read::<V>(record, n), read::<I>(ids, n)) };
        ids.zip(partials).for_each(|(id, partial)| adjoints[usize_of(id.widen())] += seed * partial);
    }
    record
}

/// Calls `reverse`, from one of sixteen call sites chosen by `code`.
///
/// Some machines predict the target of an indirect call to be what it was the last time at the same address (so do the
/// virtual machines that this was measured on, whatever the pattern of calls), but predict conditional branches very well.
/// With one call site a sweep over two alternating statement types took 23 ms for burgers2d, with sixteen 16 ms.
///
/// # Safety
///
/// As [`ReverseFn`].
#[inline(always)]
unsafe fn dispatch<V>(code: u8, record: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    let site = usize::from(code % 16);
    /// Binary search for `site` among the `n` sites from `at` on: `tree!(at, n, n/2, n/4, …)`.
    macro_rules! tree {
        ($at:expr,) => { call_site::<{ $at }, V>(record, seed, sweep, reverse) };
        ($at:expr, $half:literal $($rest:literal)*) => {
            if site < $at + $half { tree!($at, $($rest)*) } else { tree!($at + $half, $($rest)*) }
        };
    }
    // SAFETY: promised by the caller.
    unsafe { tree!(0, 8 4 2 1) }
}

/// # Safety
///
/// As [`ReverseFn`].
#[inline(never)]
unsafe fn call_site<const SITE: usize, V>(record: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    sweep.site = SITE;
    // SAFETY: promised by the caller.
    unsafe { reverse(record, seed, sweep) }
}
