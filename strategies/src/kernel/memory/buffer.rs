//! Aligned arrays with margins, so that a SIMD register may read beyond either end. The parts of numbers lie in planes
//! of their own: all values, then all first tangents, and so on. An array that a device uses has a copy there, too.

use super::device::{Change, Device, DeviceArray, DeviceCopy, DeviceMemory, Precision, Region};
use super::pool::{Piece, Pool};
use crate::Number;
use crate::error::refusal;
use crate::kernel::ir::access::RADIUS;
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::number::simd::dispatch::Registers;
use crate::number::simd::planes::{Place, parts, planes};
use crate::number::simd::vector::MOST;
use crate::storage::{LINE, Line};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};
use core::{fmt, slice};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Number of elements before and after an array that a SIMD group may read: the lanes of the largest register, and
/// twice the maximum offset, because a sweep reads values at the difference of two offsets.
pub(crate) const REACH: usize = MOST + 2 * RADIUS.unsigned_abs();

/// Number of cache lines before, between and after planes with parts of this size.
const fn margin_of(part: usize) -> usize {
    let lines = (REACH * part).div_ceil(LINE);
    if lines < 4 { 4 } else { lines }
}

const fn margin<V: Number>() -> usize {
    margin_of(size_of::<V::Part>())
}

/// Bits of the copies of an array that are up to date. If none is, its contents are unspecified.
const HOST: u8 = 4;
const DEVICE: u8 = 1;
/// Bit of an array that has no place on the host yet.
pub(super) const ABSENT: u8 = 2;

/// Array aligned to cache lines, with a plane for each part of a number, one after the other. Before, between and after
/// the planes are margins: a SIMD group at a boundary may read the margin, and discards what it has read.
///
/// Part p of element k is part p·stride + k of the memory, where the stride depends only on the length of the array.
///
/// An array that a target of a device uses gets a copy there. Whoever uses the array next, on the host or on the
/// device, finds the elements that were written last: they are copied when they are needed.
pub struct Buffer<V> {
    /// The allocation, which may be longer than the planes need. Empty until the host uses the array for the first
    /// time: assigned under an exclusive reference, or under the lock of the copies while the bits say that there is
    /// none.
    lines: UnsafeCell<Vec<UnsafeCell<Line>>>,
    /// Number of lines that the allocation has, or will have.
    reserved: usize,
    /// Bits that say what is up to date: the elements on the host, and some copies on devices. Under a shared reference
    /// they change under the lock of the copies only, and what is up to date stays so.
    pub(super) fresh: AtomicU8,
    /// Copies on devices, one in each memory.
    pub(super) copies: Mutex<SmallVec<[DeviceCopy; 1]>>,
    pub(super) length: usize,
    /// Number of lines that the planes and margins need.
    pub(super) needed: usize,
    numbers: PhantomData<V>,
    /// Arena that the buffer returns to when it is dropped.
    pub(super) home: Weak<Arena<V>>,
}

// SAFETY: under a shared reference the lines are allocated and written only if they are absent or stale, so that nobody
// has a reference to them, and under the lock of the copies.
unsafe impl<V: Sync> Sync for Buffer<V> {}

/// Elements of an array: a slice `&[V]` if `V` is `f64` or `f32`, and a vector `Vec<V>` of duals and packs, whose parts
/// arrays keep in planes and not side by side.
pub type Elements<'a, V> = <V as Registers>::Elements<'a>;

/// Memory pool for the arrays of a recording and of its sweeps.
pub(crate) type Arena<V> = Pool<Arc<Buffer<V>>>;

impl<V> Piece for Arc<Buffer<V>> {
    fn size(&self) -> usize {
        self.obtained()
    }
}

#[cold]
#[track_caller]
pub(super) fn no_memory(length: usize) -> ! {
    panic!("there is no memory for an array of {length} numbers")
}

/// Number of cache lines from one plane to the next; `None` on overflow.
fn lines_of_plane<V: Number>(length: usize) -> Option<usize> {
    length.checked_mul(size_of::<V::Part>()).map(|bytes| bytes.div_ceil(LINE) + margin::<V>())
}

/// Number of cache lines for this number of elements with all margins; `None` on overflow of their bytes.
pub(super) fn lines_of<V: Number>(length: usize) -> Option<usize> {
    let lines = lines_of_plane::<V>(length)?.checked_mul(planes::<V>())? + margin::<V>();
    lines.checked_mul(LINE).map(|_| lines)
}

impl<V: Number> Buffer<V> {
    /// Allocates an array of zeros.
    ///
    /// # Panics
    ///
    /// When the size overflows, or the allocator has no memory for the array.
    #[must_use]
    #[track_caller]
    pub fn zeros(length: usize) -> Self {
        let lines = lines_of::<V>(length).and_then(|lines| bytemuck::allocation::try_zeroed_slice_box(lines).ok());
        let Some(lines) = lines else { no_memory(length) };
        Self::made(lines.into_vec(), HOST, length)
    }

    /// Makes an array with unspecified contents, without a place on the host until the host uses it.
    ///
    /// # Panics
    ///
    /// When the size overflows.
    #[must_use]
    #[track_caller]
    pub fn unspecified(length: usize) -> Self {
        Self::made(Vec::new(), ABSENT, length)
    }

    #[track_caller]
    fn made(lines: Vec<UnsafeCell<Line>>, fresh: u8, length: usize) -> Self {
        let needed = lines_of::<V>(length).unwrap_or_else(|| no_memory(length));
        Self {
            lines: UnsafeCell::new(lines),
            reserved: needed,
            fresh: AtomicU8::new(fresh),
            copies: Mutex::new(SmallVec::new()),
            length,
            needed,
            numbers: PhantomData,
            home: Weak::new(),
        }
    }

    /// Copies a slice.
    #[must_use]
    #[track_caller]
    pub fn copy_of(numbers: &[V]) -> Self {
        let mut buffer = Self::zeros(numbers.len());
        buffer.assign(numbers);
        buffer
    }

    /// Place of the first element on the host; [`REACH`] elements before it and after the last one may be read.
    #[inline(always)]
    pub(crate) fn start(&self) -> Place<V> {
        self.fetch();
        self.first()
    }

    /// Mutable version of [`start`](Self::start).
    #[inline(always)]
    pub(crate) fn start_mut(&mut self) -> Place<V> {
        self.fetch();
        *self.fresh.get_mut() = HOST;
        self.first()
    }

    #[inline(always)]
    fn first(&self) -> Place<V> {
        let first = self.base().cast::<V::Part>().wrapping_byte_add(margin::<V>() * LINE);
        Place::new(first, self.stride().cast_signed())
    }

    /// Place of the array for a job of a target that uses this memory: on the host that of the first element, on a
    /// device that of the buffer itself, whose [copy](Self::on_device) is up to date.
    #[inline(always)]
    pub(crate) fn place(&self, device: Device) -> Place<V> {
        let Some(memory) = device else { return self.start() };
        self.send(memory);
        Place::new((&raw const *self).cast_mut().cast(), 0)
    }

    /// Mutable version of [`place`](Self::place): afterwards only the copy on the device is up to date.
    #[inline(always)]
    pub(crate) fn place_mut(&mut self, device: Device) -> Place<V> {
        let Some(memory) = device else { return self.start_mut() };
        self.send(memory);
        let copies = self.copies.get_mut().unwrap_or_else(PoisonError::into_inner);
        copies.iter_mut().for_each(|copy| copy.is_fresh = copy.is_in(memory));
        let fresh = self.fresh.get_mut();
        *fresh = DEVICE | (*fresh & ABSENT);
        Place::new((&raw mut *self).cast(), 0)
    }

    /// [`place_mut`](Self::place_mut) for a job that writes all elements without reading them: nothing is copied to the
    /// device.
    pub(crate) fn place_new(&mut self, device: Device) -> Place<V> {
        if device.is_some() {
            self.forget();
        }
        self.place_mut(device)
    }

    /// Makes the elements unspecified.
    fn forget(&mut self) {
        *self.fresh.get_mut() &= ABSENT;
    }

    /// The copy on this device.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[track_caller]
    pub(crate) fn on_device(&self, memory: &'static dyn DeviceMemory) -> Arc<dyn DeviceArray> {
        let copies = self.copies();
        let copy = copies.iter().find(|copy| copy.is_in(memory));
        Arc::clone(&copy.expect("the array is on the device").array)
    }

    /// Brings the copy on a device up to date.
    ///
    /// # Panics
    ///
    /// When numbers have several parts, and when the device has no memory for the array.
    #[inline(never)]
    #[track_caller]
    fn send(&self, memory: &'static dyn DeviceMemory) {
        assert!(planes::<V>() == 1, "an array of numbers of {} parts cannot be on a device", planes::<V>());
        let mut copies = self.copies();
        let place = copies.iter().position(|copy| copy.is_in(memory)).unwrap_or_else(|| {
            copies.push(DeviceCopy::new(memory, self.length, Precision::of::<V>()));
            copies.len() - 1
        });
        if self.fresh.load(Ordering::Acquire) & DEVICE == 0 {
            copies.iter_mut().for_each(|copy| copy.is_fresh = false);
        }
        if !copies[place].is_fresh {
            if self.fresh.load(Ordering::Acquire) & DEVICE != 0 {
                self.fetch_from(&copies);
            }
            if self.fresh.load(Ordering::Acquire) & HOST != 0 {
                let first = self.first().part(0).cast::<u8>().cast_const();
                // SAFETY: numbers on a device have one part, so that their elements are here; they are up to date, so
                // that nobody writes them as long as there is a shared reference.
                copies[place].array.write(unsafe { slice::from_raw_parts(first, self.length * size_of::<V>()) });
                copies[place].is_fresh = true;
                self.fresh.fetch_or(DEVICE, Ordering::Release);
            }
        }
    }

    /// Carries out a change on a device, if the array it reads, or else this one, is up to date there. Returns false if
    /// the host has to.
    fn change_there(&mut self, change: Elementwise<'_, V>, region: Region<'_>) -> bool {
        let other = match change {
            Elementwise::Copy(other) | Elementwise::Add(other) | Elementwise::Rows(other) => Some(other),
            Elementwise::Fill(_) | Elementwise::AddNumber(_) => None,
        };
        let (source, is_read) = (other.unwrap_or(self), other.is_some());
        match source.fresh.load(Ordering::Acquire) & !ABSENT {
            HOST => return false,
            // Nothing is up to date: the array was on a device before, and will be, unless one has failed since.
            0 if is_read || refusal::has_device_failed() => return false,
            _ => {}
        }
        let copy = {
            let copies = source.copies();
            let fresh = copies.iter().find(|copy| copy.is_fresh);
            fresh.or_else(|| copies.first().filter(|_| !is_read)).cloned()
        };
        let Some(copy) = copy else { return false };
        if matches!((&change, region), (Elementwise::Copy(_) | Elementwise::Fill(_), Region::All)) {
            self.forget();
        }
        self.place_mut(Some(copy.memory));
        let change = match change {
            Elementwise::Fill(number) => Change::Fill(number.as_f64()),
            Elementwise::AddNumber(number) => Change::AddNumber(number.as_f64()),
            Elementwise::Copy(_) => Change::Copy(&*copy.array),
            Elementwise::Add(_) => Change::Add(&*copy.array),
            Elementwise::Rows(_) => Change::Rows(&*copy.array),
        };
        self.on_device(copy.memory).update(change, region)
    }

    /// Number of parts from one plane to the next.
    #[inline(always)]
    fn stride(&self) -> usize {
        if const { planes::<V>() == 1 } {
            return 0;
        }
        (self.needed - margin::<V>()) / planes::<V>() * (LINE / size_of::<V::Part>())
    }

    /// All planes, with the margins between them.
    #[inline]
    fn all(&self) -> &[V::Part] {
        let parts = (self.needed - margin::<V>()) * LINE / size_of::<V::Part>();
        // SAFETY: the lines from the first margin on hold so many parts, of a type that any bits are valid for. They
        // are written under exclusive references only, or if they are stale; and they have just been fetched.
        unsafe { slice::from_raw_parts(self.start().part(0), parts) }
    }

    #[inline]
    fn all_mut(&mut self) -> &mut [V::Part] {
        let parts = (self.needed - margin::<V>()) * LINE / size_of::<V::Part>();
        // SAFETY: as above, and the reference is exclusive.
        unsafe { slice::from_raw_parts_mut(self.start_mut().part(0), parts) }
    }

    /// Returns part `p` of all elements. A number of one part is its own part 0.
    ///
    /// # Panics
    ///
    /// When there is no such part.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn part(&self, p: usize) -> &[V::Part] {
        assert!(p < planes::<V>(), "a number of {} parts has no part {p}", planes::<V>());
        &self.all()[p * self.stride()..][..self.length]
    }

    /// Returns part `p` of all elements, to change them.
    ///
    /// # Panics
    ///
    /// When there is no such part.
    #[inline]
    #[track_caller]
    pub fn part_mut(&mut self, p: usize) -> &mut [V::Part] {
        assert!(p < planes::<V>(), "a number of {} parts has no part {p}", planes::<V>());
        let (start, length) = (p * self.stride(), self.length);
        &mut self.all_mut()[start..][..length]
    }

    /// Numbers the parts of an element, for [`part`](Self::part).
    #[must_use]
    pub const fn parts() -> Range<usize> {
        0..planes::<V>()
    }

    /// Returns an element.
    ///
    /// # Panics
    ///
    /// When there is no such element.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn get(&self, k: usize) -> V {
        self.check(k);
        // SAFETY: the element is in the array.
        unsafe { self.start().wrapping_offset(k.cast_signed()).get() }
    }

    /// Replaces an element.
    ///
    /// # Panics
    ///
    /// When there is no such element.
    #[inline]
    #[track_caller]
    pub fn set(&mut self, k: usize, number: V) {
        self.check(k);
        // SAFETY: the element is in the array.
        unsafe { self.start_mut().wrapping_offset(k.cast_signed()).set(number) }
    }

    #[inline]
    #[track_caller]
    fn check(&self, k: usize) {
        assert!(k < self.length, "an array of {} numbers has no element {k}", self.length);
    }

    /// Iterates over the elements.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = V> + DoubleEndedIterator + '_ {
        (0..self.length).map(|k| self.get(k))
    }

    /// Returns the elements: borrowed if each has one part, else copied.
    #[must_use]
    #[inline]
    pub fn elements(&self) -> V::Elements<'_> {
        V::elements(self.part(0), || self.iter().collect())
    }

    /// Returns the elements as a slice: borrowed if each has one part, else copied.
    #[must_use]
    pub fn to_cow(&self) -> Cow<'_, [V]> {
        if const { planes::<V>() == 1 } {
            return Cow::Borrowed(bytemuck::cast_slice(self.part(0)));
        }
        Cow::Owned(self.to_vec())
    }

    /// Passes the elements to `work`, which changes them: in place if each has one part, else a copy that is put back.
    pub fn change(&mut self, work: impl FnOnce(&mut [V])) {
        if const { planes::<V>() == 1 } {
            return work(bytemuck::cast_slice_mut(self.part_mut(0)));
        }
        let mut numbers = self.to_vec();
        work(&mut numbers);
        self.assign(&numbers);
    }

    /// Copies all elements to a vector.
    #[must_use]
    pub fn to_vec(&self) -> Vec<V> {
        self.iter().collect()
    }

    /// Copies all elements to a slice.
    ///
    /// # Panics
    ///
    /// When the slice has another length.
    #[track_caller]
    pub fn copy_to(&self, numbers: &mut [V]) {
        assert_eq!(numbers.len(), self.length, "a place for each element");
        if const { planes::<V>() == 1 } {
            return bytemuck::cast_slice_mut::<V, V::Part>(numbers).copy_from_slice(self.part(0));
        }
        numbers.iter_mut().enumerate().for_each(|(k, number)| *number = self.get(k));
    }

    /// Copies all elements from a slice.
    ///
    /// # Panics
    ///
    /// When the slice has another length.
    #[track_caller]
    pub fn assign(&mut self, numbers: &[V]) {
        assert_eq!(numbers.len(), self.length, "a number for each element");
        if const { planes::<V>() == 1 } {
            return self.part_mut(0).copy_from_slice(bytemuck::cast_slice(numbers));
        }
        numbers.iter().enumerate().for_each(|(k, number)| self.set(k, *number));
    }

    /// Copies all elements from another array.
    ///
    /// # Panics
    ///
    /// When the array has another length.
    #[track_caller]
    pub fn copy_from(&mut self, other: &Self) {
        assert_eq!(self.length, other.length, "two arrays of one length");
        if !self.change_there(Elementwise::Copy(other), Region::All) {
            self.with(other, |to, from| to.copy_from_slice(from));
        }
    }

    /// Adds the elements of another array, one to one.
    ///
    /// # Panics
    ///
    /// When the array has another length.
    #[track_caller]
    pub fn add(&mut self, other: &Self) {
        assert_eq!(self.length, other.length, "two arrays of one length");
        if !self.change_there(Elementwise::Add(other), Region::All) {
            self.with(other, |to, from| to.iter_mut().zip(from).for_each(|(sum, part)| *sum += *part));
        }
    }

    /// Adds a number to all elements.
    pub(crate) fn add_everywhere(&mut self, number: V) {
        if !self.change_there(Elementwise::AddNumber(number), Region::All) {
            self.with_number(number, |plane, part| plane.iter_mut().for_each(|element| *element += part));
        }
    }

    /// Passes each plane to `work`, with the same plane of another array of any length.
    pub fn with(&mut self, other: &Self, mut work: impl FnMut(&mut [V::Part], &[V::Part])) {
        Self::parts().for_each(|p| work(self.part_mut(p), other.part(p)));
    }

    /// Passes each plane to `work`, with the part of a number.
    pub fn with_number(&mut self, number: V, mut work: impl FnMut(&mut [V::Part], V::Part)) {
        for (p, part) in parts(&number).iter().enumerate() {
            work(self.part_mut(p), *part);
        }
    }

    /// Copies the elements outside the range of a grid from another array.
    ///
    /// # Panics
    ///
    /// When the arrays have fewer elements than the views of the grid.
    #[track_caller]
    pub fn copy_outside(&mut self, other: &Self, grid: &Grid) {
        if self.change_there(Elementwise::Copy(other), Region::Outside(grid)) {
            return;
        }
        self.outside(other, grid, |to, from| match to.len() {
            // Short pieces between two rows, for which a call would take longer than the loop.
            ..=8 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
            _ => to.copy_from_slice(from),
        });
    }

    /// Adds the elements outside the range of a grid, one to one.
    pub(crate) fn add_outside(&mut self, other: &Self, grid: &Grid) {
        if !self.change_there(Elementwise::Add(other), Region::Outside(grid)) {
            self.outside(other, grid, |to, from| to.iter_mut().zip(from).for_each(|(sum, x)| *sum += *x));
        }
    }

    /// Passes the pieces of all planes outside the range of a grid to `work`, with those of another array. Piece by
    /// piece and not plane by plane, because finding the pieces takes longer than moving a few elements.
    #[inline(always)]
    #[track_caller]
    fn outside(&mut self, other: &Self, grid: &Grid, mut work: impl FnMut(&mut [V::Part], &[V::Part])) {
        assert_eq!(self.length, other.length, "two arrays of one length");
        let (stride, from) = (self.stride(), other.all());
        let to = self.all_mut();
        grid.outside(|piece| {
            for p in Self::parts() {
                let piece = p * stride + piece.start..p * stride + piece.end;
                work(&mut to[piece.clone()], &from[piece]);
            }
        });
    }

    /// Sets the elements outside the range of a grid to one value.
    pub(crate) fn fill_outside(&mut self, number: V, grid: &Grid) {
        if self.change_there(Elementwise::Fill(number), Region::Outside(grid)) {
            return;
        }
        let stride = self.stride();
        let to = self.all_mut();
        grid.outside(|piece| {
            for (p, part) in parts(&number).iter().enumerate() {
                to[p * stride + piece.start..p * stride + piece.end].iter_mut().for_each(|to| *to = *part);
            }
        });
    }

    /// Sets the elements in the range of a grid to one value.
    pub(crate) fn fill_inside(&mut self, number: V, grid: &Grid) {
        if !self.change_there(Elementwise::Fill(number), Region::Inside(grid)) {
            self.with_number(number, |plane, part| grid.inside(|piece| plane[piece].fill(part)));
        }
    }

    /// Sets the elements in the range of a grid to the one for their row, of an array that has one for each row of the
    /// range.
    pub(crate) fn fill_rows(&mut self, of_rows: &Self, grid: &Grid) {
        if self.change_there(Elementwise::Rows(of_rows), Region::Inside(grid)) {
            return;
        }
        self.with(of_rows, |plane, of_rows| {
            let mut of_rows = of_rows.iter();
            each_row!(&grid.range, row => {
                let ([a, b, c], range) = (row, &grid.range);
                let number = of_rows.next().expect("one for each row");
                let alone = IndexRange { lo: [a, b, c, range.lo[3]], hi: [a + 1, b + 1, c + 1, range.hi[3]] };
                grid.with(alone).inside(|piece| plane[piece].fill(*number));
            });
        });
    }

    /// Sets all elements to one value.
    pub fn fill(&mut self, number: V) {
        if !self.change_there(Elementwise::Fill(number), Region::All) {
            self.with_number(number, <[V::Part]>::fill);
        }
    }
}

/// Elementwise change of a buffer.
enum Elementwise<'a, V> {
    Fill(V),
    Copy(&'a Buffer<V>),
    Add(&'a Buffer<V>),
    AddNumber(V),
    Rows(&'a Buffer<V>),
}

impl<V> Buffer<V> {
    /// Number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns true if there are no elements.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes of the elements and the margins.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.needed * LINE
    }

    /// Bytes of the allocation: more than [`bytes`](Self::bytes) if a longer array had it before.
    pub(crate) const fn obtained(&self) -> usize {
        self.reserved * LINE
    }

    /// Returns true if the elements on the host are up to date.
    pub(crate) fn is_on_host(&self) -> bool {
        self.fresh.load(Ordering::Acquire) & HOST != 0
    }

    /// Returns true if the array has no place on the host yet.
    #[cfg(test)]
    pub(super) fn is_absent(&self) -> bool {
        self.fresh.load(Ordering::Acquire) & ABSENT != 0
    }

    /// Address of the allocation.
    #[inline(always)]
    fn base(&self) -> *mut Line {
        // SAFETY: the allocation is assigned under an exclusive reference, or while the bits say that there is none,
        // and then nobody asks for its address without the lock.
        let lines = unsafe { &*self.lines.get() };
        debug_assert!(!lines.is_empty(), "an array has a place on the host when the host uses it");
        lines.as_ptr().cast::<Line>().cast_mut()
    }

    fn copies(&self) -> MutexGuard<'_, SmallVec<[DeviceCopy; 1]>> {
        // Whatever panics under the lock leaves copies that are there, and are up to date if they say so.
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the elements on the host up to date, and gives them a place.
    #[inline(always)]
    fn fetch(&self) {
        // `DEVICE` or `ABSENT`, or both, and not `HOST`.
        if self.fresh.load(Ordering::Acquire).wrapping_sub(1) < HOST - 1 {
            self.fetch_from_device();
        }
    }

    #[cold]
    #[track_caller]
    fn fetch_from_device(&self) {
        self.fetch_from(&self.copies());
    }

    /// Gives the elements a place on the host, and brings them up to date if they are stale, from these copies, whose
    /// lock is held.
    #[track_caller]
    fn fetch_from(&self, copies: &[DeviceCopy]) {
        let fresh = self.fresh.load(Ordering::Acquire);
        if fresh & HOST != 0 {
            return;
        }
        // SAFETY: the lock keeps others from assigning it, and without `HOST` nobody else looks at an empty one.
        if unsafe { (*self.lines.get()).is_empty() } {
            let lines = bytemuck::allocation::try_zeroed_slice_box(self.reserved);
            let lines = lines.unwrap_or_else(|()| no_memory(self.length)).into_vec();
            // SAFETY: as above.
            unsafe { *self.lines.get() = lines };
        }
        if fresh & DEVICE != 0 {
            let copy = copies.iter().find(|copy| copy.is_fresh).expect("the latest elements are on a device");
            let first = self.base().cast::<u8>().wrapping_byte_add(margin_of(size_of::<V>()) * LINE);
            // SAFETY: numbers on a device have one part, so that their elements are here. Nobody has a reference to
            // them since they became stale, which took an exclusive reference, and the lock keeps others from fetching.
            copy.array.read(unsafe { slice::from_raw_parts_mut(first, self.length * size_of::<V>()) });
        }
        self.fresh.store(if fresh & DEVICE == 0 { 0 } else { DEVICE | HOST }, Ordering::Release);
    }
}

/// A copy on the host.
impl<V> Clone for Buffer<V> {
    fn clone(&self) -> Self {
        self.fetch();
        // SAFETY: the lines are written under exclusive references only, or if they are stale, and have been fetched.
        let lines = unsafe { slice::from_raw_parts(self.base(), self.needed) };
        Self {
            lines: UnsafeCell::new(lines.iter().map(|line| UnsafeCell::new(*line)).collect()),
            reserved: self.needed,
            fresh: AtomicU8::new(HOST),
            copies: Mutex::new(SmallVec::new()),
            length: self.length,
            needed: self.needed,
            numbers: PhantomData,
            home: Weak::new(),
        }
    }
}

impl<V> fmt::Debug for Buffer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} numbers", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, REACH};
    use crate::{Dual, Number};

    /// The margins hold as many elements as groups read, whatever the size of an element.
    #[test]
    fn margins_are_as_wide_as_groups_reach() {
        fn check<V: Number>() {
            let buffer = Buffer::<V>::zeros(5);
            let (first, size) = (buffer.base().addr(), size_of::<V::Part>());
            let mut end = first;
            for p in Buffer::<V>::parts() {
                let start = buffer.start().part(p).addr();
                assert!(start - end >= REACH * size, "{} bytes before plane {p}", start - end);
                assert_eq!((start % 64, start), (0, buffer.part(p).as_ptr().addr()));
                end = start + 5 * size;
            }
            assert!(first + buffer.bytes() - end >= REACH * size, "{} bytes behind", first + buffer.bytes() - end);
        }
        check::<f32>();
        check::<f64>();
        check::<Dual<f32, 1>>();
        check::<Dual<f64, 1>>();
        check::<Dual<f64, 3>>();
        check::<Dual<f64, 8>>();
        assert_eq!(Buffer::<f64>::zeros(1000).bytes(), 8000 + 512);
    }
}
