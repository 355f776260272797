//! Lists and ranges of elements, and the loops that move elements between arrays by them.
//!
//! Several threads divide the array that is written, so that each has consecutive elements. A list by which elements
//! are scattered has places in any order, possibly repeated; its entries are sorted into bins once, see [`Bins`]. No
//! two threads write the same element, and each element is written in the order of the list, so there is nothing to
//! lock, and sums have the same bits for any number of threads.

use super::selection::Selection;
#[cfg(any(feature = "opencl", feature = "cuda"))]
use super::sent::{Sent, SentList};
use crate::Number;
use crate::kernel::memory::buffer::Buffer;
#[cfg(any(feature = "opencl", feature = "cuda"))]
use crate::kernel::memory::device::DeviceMemory;
use crate::kernel::targets::blocks::{POINTS, each_part, threads_for};
use crate::number::simd::planes::{parts, planes};
use core::fmt;
use core::mem::take;
use core::ops::Range;
use std::sync::{Arc, OnceLock};

/// Number of elements of an array that a thread takes at a time, and of entries of a list that are sorted together.
const PART: usize = POINTS.unsigned_abs();

/// Positions of elements, in any order, that kernels look up: an array that is not differentiated.
///
/// Clones share the list, and what several threads make of it when they first write elements by it: 8 bytes for each
/// index, and a table. Devices have 4 bytes for each index once elements were read by it, and up to 12 once some were
/// written.
#[derive(Clone)]
pub struct Indices(Arc<List>);

struct List {
    places: Box<[u32]>,
    /// One more than the largest index.
    bound: usize,
    /// Two entries of the list with the same index, if there are any; found on request.
    twins: OnceLock<Option<(usize, usize)>>,
    /// The entries for several threads that write; made on request.
    bins: OnceLock<Bins>,
    /// Arrays on devices that were made of the list.
    #[cfg(any(feature = "opencl", feature = "cuda"))]
    sent: Sent,
}

impl Indices {
    /// Copies a list of indices.
    ///
    /// # Panics
    ///
    /// When an index is beyond 2³² − 1.
    #[must_use]
    #[track_caller]
    pub fn new(places: &[usize]) -> Self {
        let most = places.iter().max().copied().unwrap_or_default();
        assert!(u32::try_from(most).is_ok(), "index {most} is beyond 2^32 - 1, the largest that there can be");
        #[allow(clippy::cast_possible_truncation, reason = "none is larger than the largest")]
        let places: Box<[u32]> = places.iter().map(|place| *place as u32).collect();
        let bound = if places.is_empty() { 0 } else { most + 1 };
        Self(Arc::new(List {
            places,
            bound,
            twins: OnceLock::new(),
            bins: OnceLock::new(),
            #[cfg(any(feature = "opencl", feature = "cuda"))]
            sent: Sent::default(),
        }))
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.places.len()
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.places.is_empty()
    }

    /// Returns the index at this position in the list.
    ///
    /// # Panics
    ///
    /// When the list is shorter.
    #[must_use]
    #[track_caller]
    pub fn get(&self, position: usize) -> usize {
        self.0.places[position] as usize
    }

    /// Iterates over the indices, in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.0.places.iter().map(|place| *place as usize)
    }

    /// Returns one more than the largest index; 0 if the list is empty.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.0.bound
    }

    /// Returns two positions in the list that hold the same index, or `None` if all indices are distinct.
    #[must_use]
    pub fn twins(&self) -> Option<(usize, usize)> {
        *self.0.twins.get_or_init(|| {
            let mut order: Vec<(u32, usize)> = self.0.places.iter().copied().zip(0..).collect();
            order.sort_unstable();
            order.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1))
        })
    }

    /// Address and bytes of the list, with what was made of it.
    pub(crate) fn address_and_bytes(&self) -> (usize, usize) {
        let bins = self.0.bins.get().map_or(0, Bins::bytes);
        (Arc::as_ptr(&self.0).addr(), size_of_val(&*self.0.places) + bins)
    }

    /// The list on a device, for reading elements or for writing them, which is made at its first use; `None` if it is
    /// too long.
    #[cfg(any(feature = "opencl", feature = "cuda"))]
    pub(crate) fn sent_to(&self, memory: &'static dyn DeviceMemory, writes: bool) -> Option<SentList> {
        self.0.sent.list(memory, writes, &self.0.places, self.bound())
    }

    fn bins(&self) -> &Bins {
        // Made before the lock is taken: a thread that waits for the others' parts may run a task that asks for the
        // same bins.
        let made = self.0.bins.get().is_none().then(|| Bins::of(&self.0.places, self.bound()));
        self.0.bins.get_or_init(|| made.expect("there were none"))
    }
}

impl fmt::Debug for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Entries of a list, sorted by place so far that threads can take disjoint sets of places.
///
/// The list is cut into panels. The entries of a panel are in the order of their bins, those of a bin in the order of
/// the list; all bins stand for equally many consecutive places. A thread takes a range of bins and goes through the
/// panels in order, so it reads the values from beginning to end, as a loop over the list does. A complete sort by
/// place would lead it to and fro.
struct Bins {
    /// Number of places of a bin, a power of two.
    width: usize,
    /// Place of each entry, and its position in the panel.
    entries: Box<[[u32; 2]]>,
    /// For each panel and bin the end of the bin's entries in the panel.
    ends: Box<[u32]>,
    /// Number of entries in each bin.
    totals: Box<[usize]>,
}

impl Bins {
    /// Maximum number of bins: enough for many threads to have equal shares.
    const MOST: usize = 256;
    /// Minimum number of places of a bin. With fewer, additions to the same element follow so closely that they wait
    /// for one another.
    const LEAST: usize = 1024;

    fn of(places: &[u32], bound: usize) -> Self {
        let width = bound.div_ceil(Self::MOST).next_power_of_two().max(Self::LEAST);
        let (count, shift) = (bound.div_ceil(width), width.trailing_zeros());
        let mut entries = vec![[0; 2]; places.len()].into_boxed_slice();
        let mut ends = vec![0; count * places.len().div_ceil(PART)].into_boxed_slice();
        let panels = places.chunks(PART).zip(entries.chunks_mut(PART)).zip(ends.chunks_mut(count));
        each_part(panels.collect(), &|_, ((places, entries), ends)| sort(places, shift, entries, ends));
        let mut totals = vec![0; count].into_boxed_slice();
        for ends in ends.chunks(count) {
            let starts = [0].iter().chain(ends);
            totals.iter_mut().zip(ends).zip(starts).for_each(|((total, end), start)| *total += (end - start) as usize);
        }
        Self { width, entries, ends, totals }
    }

    /// Divides an array among threads: for each the range of its bins, with about as many entries as the others have,
    /// and their elements.
    fn divide<'a, V>(&self, threads: usize, mut to: &'a mut [V]) -> Vec<(Range<usize>, &'a mut [V])> {
        let (mut end, mut entries) = (0, 0);
        let share = |share: usize| {
            let start = end;
            while end < self.totals.len() && (entries + self.totals[end] / 2) * threads < self.entries.len() * share {
                entries += self.totals[end];
                end += 1;
            }
            let length = ((end - start) * self.width).min(to.len());
            let (part, rest) = take(&mut to).split_at_mut(length);
            to = rest;
            (start..end, part)
        };
        (1..=threads).map(share).collect()
    }

    /// Calls `f` with the place and the position in the list of each entry of these bins.
    fn each(&self, bins: &Range<usize>, mut f: impl FnMut(usize, usize)) {
        if bins.is_empty() {
            return;
        }
        for (panel, ends) in self.ends.chunks(self.totals.len()).enumerate() {
            let first = panel * PART;
            let start = if bins.start == 0 { 0 } else { ends[bins.start - 1] };
            let entries = &self.entries[first + start as usize..first + ends[bins.end - 1] as usize];
            entries.iter().for_each(|[place, position]| f(*place as usize, first + *position as usize));
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.ends) + size_of_val(&*self.totals)
    }
}

/// Sorts the entries of a panel by bin, and leaves the end of each bin.
fn sort(places: &[u32], shift: u32, entries: &mut [[u32; 2]], ends: &mut [u32]) {
    places.iter().for_each(|place| ends[(place >> shift) as usize] += 1);
    let mut start = 0;
    for end in &mut *ends {
        start += core::mem::replace(end, start);
    }
    for (position, place) in (0..).zip(places) {
        let end = &mut ends[(place >> shift) as usize];
        entries[*end as usize] = [*place, position];
        *end += 1;
    }
}

/// Elements of a view that a transfer moves, in order.
#[derive(Clone, Debug)]
pub enum Indexing {
    /// The elements of a range, possibly with steps.
    Range(Selection),
    /// The elements of a list, possibly with repetitions.
    List(Indices),
}

/// Values that are written to the selected elements.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, V> {
    /// A value for each element, in order.
    Each(&'a Buffer<V>),
    /// One value for all.
    All(V),
}

impl<'a, V: Number> Values<'a, V> {
    fn plane(&self, p: usize) -> PlaneValues<'a, V::Part> {
        match self {
            Self::Each(values) => PlaneValues::Each(values.part(p)),
            Self::All(value) => PlaneValues::All(parts(value)[p]),
        }
    }
}

/// Contents of an array before elements are written to it.
#[derive(Clone, Copy, Debug)]
pub enum Base<'a, V> {
    /// The elements that the array has.
    Kept,
    /// Zeros, whatever the array holds.
    Zero,
    /// The elements of another array of the same length.
    CopyOf(&'a Buffer<V>),
}

impl<'a, V: Number> Base<'a, V> {
    fn plane(self, p: usize) -> PlaneBase<'a, V::Part> {
        match self {
            Self::Kept => PlaneBase::Kept,
            Self::Zero => PlaneBase::Zero,
            Self::CopyOf(base) => PlaneBase::CopyOf(base.part(p)),
        }
    }

    /// Lays the base in the complete array.
    pub(crate) fn lay(self, to: &mut Buffer<V>) {
        Buffer::<V>::parts().for_each(|p| self.plane(p).lay(to.part_mut(p)));
    }
}

/// [`Values`] in one plane.
#[derive(Clone, Copy, Debug)]
enum PlaneValues<'a, V> {
    /// A value for each element, in order.
    Each(&'a [V]),
    /// One value for all.
    All(V),
}

/// [`Base`] in one plane.
#[derive(Clone, Copy, Debug)]
enum PlaneBase<'a, V> {
    /// The elements that the array has.
    Kept,
    /// Zeros, whatever the array holds.
    Zero,
    /// The elements of another array of the same length.
    CopyOf(&'a [V]),
}

impl<V: Number> PlaneBase<'_, V> {
    /// Lays the base in the complete array.
    fn lay(self, to: &mut [V]) {
        if !matches!(self, PlaneBase::Kept) {
            each_slice(to, PART, |first, part| self.lay_part(first, part));
        }
    }

    /// Lays the base in a part of the array that begins at this index.
    fn lay_part(self, first: usize, part: &mut [V]) {
        match self {
            PlaneBase::Kept => {}
            PlaneBase::Zero => part.fill(V::ZERO),
            PlaneBase::CopyOf(base) => part.copy_from_slice(&base[first..first + part.len()]),
        }
    }
}

/// Calls `work` with the index of the first element and with the elements of each part of this length, possibly on
/// several threads.
fn each_slice<V: Number>(elements: &mut [V], length: usize, work: impl Fn(usize, &mut [V]) + Sync) {
    if elements.len() <= length {
        return work(0, elements);
    }
    each_part(elements.chunks_mut(length).collect(), &|n, part| work(n * length, part));
}

impl Indexing {
    /// Number of elements, with repetitions.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Range(range) => range.count(),
            Self::List(indices) => indices.len(),
        }
    }

    /// Returns the index of element number `number`.
    #[must_use]
    pub fn get(&self, number: usize) -> usize {
        match self {
            Self::Range(range) => range.get(number),
            Self::List(indices) => indices.get(number),
        }
    }

    /// Returns one more than the largest index that there can be.
    pub(crate) fn bound(&self) -> usize {
        match self {
            Self::Range(range) => range.elements(),
            Self::List(indices) => indices.bound(),
        }
    }

    /// Checks that the elements are in an array of this length.
    ///
    /// # Panics
    ///
    /// When they are not.
    #[track_caller]
    pub(crate) fn assert_inside(&self, length: usize) {
        let bound = self.bound();
        assert!(
            bound <= length,
            "the selected elements are those of an array of at least {bound} elements, and this one has {length}"
        );
    }

    /// Returns true if these are known to be all elements of the view.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self, Self::Range(range) if range.is_all())
    }

    /// Copies the selected elements of `from` to `to`, in order.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, or the number of indices is not the number of elements of `to`.
    pub(crate) fn take<V: Number>(&self, from: &Buffer<V>, to: &mut Buffer<V>) {
        to.with(from, |to, from| self.gather(from, to, |to, from| *to = from));
    }

    /// Copies the selected elements of an array to a slice, in order.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, or the number of indices is not the number of elements of `to`.
    pub fn copy_out<V: Number>(&self, from: &Buffer<V>, to: &mut [V]) {
        if const { planes::<V>() == 1 } {
            return self.gather(from.part(0), bytemuck::cast_slice_mut(to), |to, from| *to = from);
        }
        let mut found = Buffer::zeros(to.len());
        self.take(from, &mut found);
        found.copy_to(to);
    }

    /// Adds the selected elements of `from` to those of `to`, in order.
    ///
    /// # Panics
    ///
    /// When [`take`](Self::take) does.
    pub(crate) fn take_sum<V: Number>(&self, from: &Buffer<V>, to: &mut Buffer<V>) {
        to.with(from, |to, from| self.gather(from, to, |to, from| *to += from));
    }

    /// Lays the base in `to`, and writes the values, in order, to the selected elements.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, the number of indices is not the number of values, or the base has another
    /// length than `to`.
    pub(crate) fn put<V: Number>(&self, values: Values<'_, V>, base: Base<'_, V>, to: &mut Buffer<V>) {
        for p in Buffer::<V>::parts() {
            self.scatter(values.plane(p), base.plane(p), to.part_mut(p), |to, from| *to = from);
        }
    }

    /// Lays the base in `to`, and adds the values, in order, to the selected elements.
    ///
    /// # Panics
    ///
    /// When [`put`](Self::put) does.
    pub(crate) fn add<V: Number>(&self, values: Values<'_, V>, base: Base<'_, V>, to: &mut Buffer<V>) {
        for p in Buffer::<V>::parts() {
            self.scatter(values.plane(p), base.plane(p), to.part_mut(p), |to, from| *to += from);
        }
    }

    fn gather<V: Number>(&self, from: &[V], to: &mut [V], write: impl Fn(&mut V, V) + Sync) {
        assert_eq!(self.count(), to.len(), "an element for each place");
        each_slice(to, PART, |first, part| match self {
            Self::Range(range) => range.pieces(first..first + part.len(), |number, piece| {
                let to = &mut part[number - first..][..piece.length];
                if piece.step == 1 {
                    to.iter_mut().zip(&from[piece.first..]).for_each(|(to, from)| write(to, *from));
                } else {
                    to.iter_mut().zip(piece.indices()).for_each(|(to, place)| write(to, from[place]));
                }
            }),
            Self::List(indices) => {
                let places = &indices.0.places[first..first + part.len()];
                part.iter_mut().zip(places).for_each(|(to, place)| write(to, from[*place as usize]));
            }
        });
    }

    fn scatter<V: Number>(
        &self,
        values: PlaneValues<'_, V>,
        base: PlaneBase<'_, V>,
        to: &mut [V],
        write: impl Fn(&mut V, V) + Sync,
    ) {
        if let PlaneValues::Each(values) = values {
            assert_eq!(self.count(), values.len(), "an element for each place");
        }
        self.assert_inside(to.len());
        match self {
            Self::Range(range) => put_range(range, values, base, to, write),
            Self::List(indices) => put_list(indices, values, base, to, write),
        }
    }
}

/// [`Indexing::scatter`] for a range.
fn put_range<V: Number>(
    range: &Selection,
    values: PlaneValues<'_, V>,
    base: PlaneBase<'_, V>,
    to: &mut [V],
    write: impl Fn(&mut V, V) + Sync,
) {
    let points = if matches!(base, PlaneBase::Kept) { range.count() } else { to.len() };
    let length = if threads_for(points) > 1 { PART } else { usize::MAX };
    each_slice(to, length, |first, part| {
        base.lay_part(first, part);
        let numbers = range.count_before(first)..range.count_before(first + part.len());
        range.pieces(numbers, |number, piece| {
            let part = &mut part[piece.first - first..];
            let to = part.iter_mut().step_by(piece.step).take(piece.length);
            match values {
                PlaneValues::Each(values) if piece.step == 1 => {
                    part.iter_mut().zip(&values[number..][..piece.length]).for_each(|(to, from)| write(to, *from));
                }
                PlaneValues::Each(values) => to.zip(&values[number..]).for_each(|(to, from)| write(to, *from)),
                PlaneValues::All(value) if piece.step == 1 => {
                    part[..piece.length].iter_mut().for_each(|to| write(to, value));
                }
                PlaneValues::All(value) => to.for_each(|to| write(to, value)),
            }
        });
    });
}

/// [`Indexing::scatter`] for a list.
fn put_list<V: Number>(
    indices: &Indices,
    values: PlaneValues<'_, V>,
    base: PlaneBase<'_, V>,
    to: &mut [V],
    write: impl Fn(&mut V, V) + Sync,
) {
    base.lay(to);
    let threads = threads_for(indices.len());
    if threads > 1 && indices.bound() > Bins::LEAST {
        let bins = indices.bins();
        return each_part(bins.divide(threads, to), &|_, (own, part)| {
            let first = own.start * bins.width;
            match values {
                PlaneValues::Each(values) => bins.each(&own, |place, k| write(&mut part[place - first], values[k])),
                PlaneValues::All(value) => bins.each(&own, |place, _| write(&mut part[place - first], value)),
            }
        });
    }
    let places = indices.0.places.iter().map(|place| *place as usize);
    match values {
        PlaneValues::Each(values) => places.enumerate().for_each(|(k, place)| write(&mut to[place], values[k])),
        PlaneValues::All(value) => places.for_each(|place| write(&mut to[place], value)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bins, Indices, PART};

    /// Few places and many, in disorder, in order and all the same; more than a panel and less.
    fn lists() -> Vec<Vec<u32>> {
        let make = |length: u32, place: &dyn Fn(u32) -> u32| (0..length).map(place).collect();
        let long = u32::try_from(PART).expect("it is small") + 100;
        vec![
            make(long, &|k| k.wrapping_mul(2_654_435_761) % 70_001),
            make(long, &|k| k / 3),
            make(long, &|_| 5000),
            make(10, &|k| 9 - k),
        ]
    }

    #[test]
    fn threads_share_all_entries_and_each_place_has_its_own_in_order() {
        for places in lists() {
            let bound = places.iter().max().map_or(0, |place| *place as usize + 1);
            let bins = Bins::of(&places, bound);
            for threads in [1, 2, 3, 7] {
                let (mut found, mut first) = (vec![vec![]; bound], 0);
                let mut array = vec![0; bound + 3];
                for (own, part) in bins.divide(threads, &mut array) {
                    bins.each(&own, |place, k| {
                        assert!((first..first + part.len()).contains(&place), "{threads} threads");
                        found[place].push(k);
                    });
                    first += part.len();
                }
                let mut expected = vec![vec![]; bound];
                places.iter().enumerate().for_each(|(k, place)| expected[*place as usize].push(k));
                assert!(found == expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn twins_are_the_first_two_entries_with_the_smallest_repeated_index() {
        assert_eq!(Indices::new(&[4, 1, 0, 4, 1, 1]).twins(), Some((1, 4)));
        assert_eq!(Indices::new(&[4, 1, 0]).twins(), None);
        assert_eq!(Indices::new(&[]).twins(), None);
    }
}
