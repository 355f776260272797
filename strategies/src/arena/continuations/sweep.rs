//! Calling the closures, last first.

use super::super::prefetch::{self, prefetch};
use super::super::records::usize_of;
use super::super::walk::check_length;
use super::closure::{ReverseFn, Sweep, Vtable, arguments, result};
use super::{Continuations, Ends, bottom};
use crate::scratch::Scratch;
use crate::{Float, IndexManager, Mark, Stop, SweepError, counts};

/// A place that moves through a recording, last closure first.
pub(super) struct Cursor<'a, V: Float, M: IndexManager> {
    closures: &'a Continuations<V, M>,
    /// The segment.
    pub(super) at: usize,
    pub(super) ends: Ends<V>,
}

impl<'a, V: Float, M: IndexManager> Cursor<'a, V, M> {
    /// Behind the last closure; `None` if there never was a segment.
    pub(super) fn new(closures: &'a Continuations<V, M>) -> Option<Self> {
        let ends = Ends { data: closures.data, top: closures.top };
        (!closures.data.is_null()).then(|| Self { closures, at: closures.full.len(), ends })
    }

    /// Moves down to a mark, or to the start, and calls `f` with the type and the end of each closure in between. It returns
    /// how many bytes were captured.
    #[inline(always)]
    pub(super) fn move_to(&mut self, mark: Option<Mark>, mut f: impl FnMut(&'static Vtable<V>, *const u8) -> usize) {
        let [first, stack, ..] = mark.map_or([0; 4], Mark::numbers).map(usize_of);
        loop {
            let bottom = bottom::<V>(&self.closures.segments[self.at]);
            // Any number is good for a mark: a limit above the top is reached at once.
            let limit = if self.at == first { bottom.wrapping_byte_sub(stack).min(bottom) } else { bottom };
            let (mut top, mut end) = (self.ends.top, self.ends.data.cast_const());
            while top < limit {
                // SAFETY: the pointers of the segment lie from its top to its bottom.
                let vtable = unsafe { *top };
                top = top.wrapping_add(1);
                end = end.wrapping_sub(f(vtable, end));
            }
            self.ends = Ends { data: end.cast_mut(), top };
            if self.at <= first {
                return;
            }
            self.at -= 1;
            self.ends = self.closures.full[self.at];
        }
    }
}

impl<V: Float, M: IndexManager> Cursor<'_, V, M> {
    /// Moves down to a mark without calling closures: where they end is found by walking over those of one segment.
    pub(super) fn go_to(&mut self, mark: Mark) {
        let at = usize_of(mark.numbers()[0]);
        if at < self.at {
            (self.at, self.ends) = (at, self.closures.full[at]);
        }
        self.move_to(Some(mark), |vtable, end| {
            // SAFETY: the cursor found the closure.
            if vtable.bytes != 0 { vtable.bytes } else { unsafe { (vtable.extent)(end).bytes } }
        });
    }
}

impl<V: Float, M: IndexManager> Continuations<V, M> {
    /// Calls `f` with the type and the end of each closure, last first. It returns how many bytes were captured.
    #[inline(always)]
    pub(super) fn each_closure(&self, f: impl FnMut(&'static Vtable<V>, *const u8) -> usize) {
        if let Some(mut cursor) = Cursor::new(self) {
            cursor.move_to(None, f);
        }
    }

    /// Sweeps from the last statement to the first; see [`Reverse::reverse`](crate::Reverse::reverse).
    pub(crate) fn reverse(&self, adjoints: &mut [V]) -> Result<(), SweepError> {
        self.reverse_through(adjoints, (None, None), &mut core::iter::empty(), &mut |_| Ok(()))
    }

    /// Sweeps with stops; see [`Reverse::reverse_through`](crate::Reverse::reverse_through).
    pub(crate) fn reverse_through(
        &self,
        adjoints: &mut [V],
        (from, to): (Option<Mark>, Option<Mark>),
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        check_length(adjoints.len(), self.len());
        let Some(mut cursor) = Cursor::new(self) else {
            return stops.map(|_| ()).try_for_each(|()| at(adjoints));
        };
        if let Some(from) = from {
            cursor.go_to(from);
        }
        let mut sweep = Sweep { adjoints, site: 0 };
        for stop in stops {
            self.down_to(&mut cursor, Some(stop), &mut sweep);
            at(sweep.adjoints)?;
        }
        self.down_to(&mut cursor, to, &mut sweep);
        Ok(())
    }

    /// Calls the closures down to a mark, with hints for the caches where there are more captures than these hold.
    fn down_to(&self, cursor: &mut Cursor<'_, V, M>, mark: Option<Mark>, sweep: &mut Sweep<'_, V>) {
        if prefetch::is_large(self.full.len(), 0) {
            cursor.move_to(mark, |vtable, end| Self::call::<true>(vtable, end, sweep));
        } else {
            cursor.move_to(mark, |vtable, end| Self::call::<false>(vtable, end, sweep));
        }
    }

    /// Calls the closure of this type that ends there; returns how many bytes were captured.
    #[inline(always)]
    fn call<const PREFETCH: bool>(vtable: &Vtable<V>, end: *const u8, sweep: &mut Sweep<'_, V>) -> usize {
        if PREFETCH {
            prefetch(end.wrapping_sub(prefetch::AHEAD));
        }
        // SAFETY: the cursor found the closure; its identifiers are below the length of the recording, and there are as many
        // adjoints.
        unsafe {
            let bytes = if vtable.bytes != 0 { vtable.bytes } else { (vtable.extent)(end).bytes };
            let adjoint = sweep.adjoints.get_unchecked_mut(result::<M::Index>(end));
            let seed = *adjoint;
            if seed.is_ordinary() {
                *adjoint = V::zero();
                dispatch(vtable.hash, end, seed, sweep, vtable.reverse);
            } else if !seed.is_nought() {
                Self::call_with_care(vtable, end, sweep);
            }
            bytes
        }
    }

    /// [`call`](Self::call) for a seed that is not finite: zero partials contribute nothing.
    ///
    /// # Safety
    ///
    /// A closure of this type ends there, and its identifiers are below the number of adjoints.
    #[cold]
    #[inline(never)]
    unsafe fn call_with_care(vtable: &Vtable<V>, end: *const u8, sweep: &mut Sweep<'_, V>) {
        // SAFETY: promised by the caller.
        let seed = core::mem::replace(&mut sweep.adjoints[unsafe { result::<M::Index>(end) }], V::zero());
        let mut partials = Scratch::<V>::new();
        // SAFETY: promised by the caller.
        let slots = unsafe {
            (vtable.list)(end, V::one(), &mut partials);
            arguments::<V, M::Index>(vtable, end)
        };
        for (slot, partial) in slots.zip(partials.iter()).filter(|(_, partial)| counts(seed, **partial)) {
            sweep.adjoints[slot] += seed * *partial;
        }
    }
}

/// Calls `reverse`, from one of sixteen call sites chosen by `code`, as the sweep over records does (`arena/walk.rs`).
///
/// Where an indirect call is predicted to go where it last went from the same address, closures of two types in turn
/// would otherwise be mispredicted every time. Where it is predicted from its history, the sites cost up to half as much time
/// again for recordings that fit into caches, and little for others; see the decision note on continuations.
///
/// # Safety
///
/// As [`ReverseFn`].
#[inline(always)]
unsafe fn dispatch<V>(code: u32, end: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    let site = code % 16;
    /// Binary search for `site` among the `n` sites from `at` on: `tree!(at, n, n/2, n/4, …)`.
    macro_rules! tree {
        ($at:expr,) => { call_site::<{ $at }, V>(end, seed, sweep, reverse) };
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
unsafe fn call_site<const SITE: u32, V>(end: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    sweep.site = SITE as usize;
    // SAFETY: promised by the caller.
    unsafe { reverse(end, seed, sweep) }
}
