//! Calling the closures, last first.

use super::closure::{ReverseFn, Sweep, Vtable, result};
use super::{Continuations, bottom};
use crate::{Float, IndexManager};

impl<V: Float, M: IndexManager> Continuations<V, M> {
    /// Calls `f` with the type and the end of each closure, last first. It returns how many bytes were captured.
    #[inline(always)]
    pub(super) fn each_closure(&self, mut f: impl FnMut(&'static Vtable<V>, *const u8) -> usize) {
        for (segment, ends) in self.spans() {
            let bottom = bottom::<V>(segment).cast_const();
            let (mut top, mut end) = (ends.top.cast_const(), ends.data.cast_const());
            while top < bottom {
                // SAFETY: the pointers of the segment lie from `top` to `bottom`.
                let vtable = unsafe { *top };
                top = top.wrapping_add(1);
                end = end.wrapping_sub(f(vtable, end));
            }
        }
    }

    /// Sweeps from the last statement to the first; see [`Reverse::reverse`](crate::Reverse::reverse).
    pub(crate) fn reverse(&self, adjoints: &mut [V]) {
        assert!(
            adjoints.len() >= self.len(),
            "the adjoint vector has {} entries, the recording needs {}",
            adjoints.len(),
            self.len()
        );
        let mut sweep = Sweep { adjoints, site: 0 };
        self.each_closure(|vtable, end| {
            // SAFETY: a closure of this type ends there; its identifiers are below the length of the recording.
            unsafe {
                let bytes = if vtable.bytes != 0 { vtable.bytes } else { (vtable.extent)(end).bytes };
                let adjoint = sweep.adjoints.get_unchecked_mut(result::<M::Index>(end));
                let seed = *adjoint;
                if seed != V::zero() {
                    *adjoint = V::zero();
                    dispatch(vtable.hash, end, seed, &mut sweep, vtable.reverse);
                }
                bytes
            }
        });
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
