//! Gathers of several launches in one parallel region: all of them for one small part of the range after the other.

use crate::Number;
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::targets::blocks::{each_block, in_small_parts};
use crate::kernel::targets::jobs::{Accumulation, Accumulations};
use crate::kernel::targets::kernel::{Gather, GatherIn};
use crate::number::simd::planes::Place;

/// Bytes of a part of an array. What the launches use at the points of a part fits in the first cache together, and the
/// processor fetches the next part of every array meanwhile.
const PART: usize = 2048;
/// Least number of elements of a part. Parts lie in the memory of a thread as they lie in an array: equally far from a
/// multiple of this number.
const LEAST: usize = 64;

/// Number of points of a part.
const fn points<V>() -> usize {
    let points = PART / size_of::<V>() / LEAST * LEAST;
    if points < LEAST { LEAST } else { points }
}

/// Carries out the jobs part by part.
pub(crate) fn gather_by_parts<V: Number>(all: &Accumulations<'_, V>) {
    // Jobs stay on this thread. What they point to may be used on others.
    let gathers: Vec<&Gather<'_, V>> = all.jobs.iter().map(Accumulation::gather).collect();
    let passing: Vec<usize> = all.passing.iter().map(|array| array.part(0).addr()).collect();
    each_block(&all.jobs[0].reached, gathers.len(), |block| {
        let mut gathers = ThreadGathers::new(&gathers, &passing);
        // SAFETY: jobs have been checked, and borrow the adjoints. Parts are disjoint, and the jobs use adjoints of the
        // elements of a part only, so that nobody else uses these.
        in_small_parts(block, points::<V>().cast_signed(), |part| unsafe { gathers.gather(part) });
    });
}

/// The gathers of a thread. Arrays that only pass adjoints from one launch to another are not written: there is memory
/// for a part of them instead, which stays in the cache.
struct ThreadGathers<'a, V: Number> {
    /// The compiled loop of each gather, and the gather.
    gathers: Vec<(GatherIn<V>, Gather<'a, V>)>,
    /// Places of the gathers that are in memory for a part.
    moved: Vec<Moved>,
    /// Element that this memory begins with.
    first: isize,
    /// Keeps the memory alive.
    _memory: Vec<Buffer<V>>,
}

/// A place in a gather.
struct Moved {
    gather: usize,
    /// An output whose adjoints are read, or an operand whose adjoints are accumulated.
    number: usize,
    is_output: bool,
}

impl<'a, V: Number> ThreadGathers<'a, V> {
    /// Copies the gathers, and replaces the arrays at these addresses.
    fn new(gathers: &[&Gather<'a, V>], passing: &[usize]) -> Self {
        let loop_of =
            |gather: &Gather<'a, V>| gather.kernel.table().gather.expect("a job asks for the loop of its kernel");
        let mut gathers: Vec<_> = gathers.iter().map(|gather| (loop_of(gather), gather.copied())).collect();
        let (mut moved, mut memory) = (Vec::new(), Vec::with_capacity(passing.len()));
        for array in passing {
            let mut part = Buffer::zeros(points::<V>() + LEAST);
            for (gather, (_, own)) in gathers.iter_mut().enumerate() {
                for (is_output, places) in [(true, &mut own.seeds.dense[..]), (false, &mut own.to[..])] {
                    let found = places.iter_mut().enumerate().filter(|(_, place)| place.part(0).addr() == *array);
                    for (number, place) in found {
                        *place = part.start_mut();
                        moved.push(Moved { gather, number, is_output });
                    }
                }
            }
            memory.push(part);
        }
        Self { gathers, moved, first: 0, _memory: memory }
    }

    /// Gathers the adjoints of the elements of a part, launch by launch.
    ///
    /// # Safety
    ///
    /// Nobody else uses the adjoints of these elements. The part is one of a complete range, of at most as many points
    /// as the memory has.
    unsafe fn gather(&mut self, part: &IndexRange) {
        let [a, b, c, i] = part.lo;
        let first = self.gathers[0].1.memory.at([a, b, c], i) / LEAST.cast_signed() * LEAST.cast_signed();
        let by = self.first - first;
        for Moved { gather, number, is_output } in &self.moved {
            let own = &mut self.gathers[*gather].1;
            let place: &mut Place<V> = if *is_output { &mut own.seeds.dense[*number] } else { &mut own.to[*number] };
            *place = place.wrapping_offset(by);
        }
        self.first = first;
        for (gather_in, gather) in &self.gathers {
            // SAFETY: promised by the caller.
            unsafe { gather_in(gather, part) }
        }
    }
}
