//! Asking the closures for their partials, first to last.

use super::super::forward::dot;
use super::super::walk::check_length;
use super::closure::{Vtable, arguments, result};
use super::{Continuations, Ends, POINTER, bottom};
use crate::{Float, IndexManager, Mark, Stop, SweepError};

impl<V: Float, M: IndexManager> Continuations<V, M> {
    /// Sweeps from the first statement to the last; see [`Reverse::forward_through`](crate::Reverse::forward_through).
    pub(crate) fn forward_through(
        &self,
        tangents: &mut [V],
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        check_length(tangents.len(), self.len());
        let mut stops = stops.peekable();
        let (mut closures, mut partials) = (Vec::new(), Vec::new());
        let last = Ends { data: self.data, top: self.top };
        let ends = self.full.iter().copied().chain((!self.data.is_null()).then_some(last));
        for (k, (ends, segment)) in ends.zip(&self.segments).enumerate() {
            Self::collect(ends, bottom::<V>(segment), &mut closures);
            let count = closures.len();
            while let Some((vtable, end)) = closures.pop() {
                // A mark says how many bytes of the stack the closures before it take.
                let behind = (k as u64, ((count - closures.len()) * POINTER) as u64);
                while stops.next_if(|stop| (stop.numbers()[0], stop.numbers()[1]) < behind).is_some() {
                    at(tangents)?;
                }
                // SAFETY: the closure has just been found; its identifiers are below the length of the recording.
                unsafe {
                    let slots = || arguments::<V, M::Index>(vtable, end);
                    partials.clear();
                    if slots().any(|slot| tangents[slot] != V::zero()) {
                        (vtable.list)(end, V::one(), &mut partials);
                    }
                    tangents[result::<M::Index>(end)] = dot(slots().zip(partials.iter().copied()), tangents);
                }
            }
        }
        stops.try_for_each(|_| at(tangents))
    }

    /// Lists the closures of a segment, last first, with where their captures end.
    fn collect(ends: Ends<V>, bottom: *mut &'static Vtable<V>, closures: &mut Vec<(&'static Vtable<V>, *const u8)>) {
        let (mut top, mut end) = (ends.top, ends.data.cast_const());
        while top < bottom {
            // SAFETY: the pointers of the segment lie from its top to its bottom, and a closure of this type ends there.
            let (vtable, bytes) = unsafe { (*top, ((*top).extent)(end).bytes) };
            closures.push((vtable, end));
            top = top.wrapping_add(1);
            end = end.wrapping_sub(bytes);
        }
    }
}
