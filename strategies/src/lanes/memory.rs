//! What the leaves of a tree are while a launch runs: numbers in memory.

use super::grid::{Grid, Region};
use super::keys::{Border, Facts, Key, Keys, Kind, OPERANDS};
use super::lane::{Lane, Vector};
use super::program::{OUTPUTS, Program};
use super::tree::{Leaf, Source};
use crate::Float;
use core::marker::PhantomData;
use core::ptr;

/// Where the operands of a launch lie.
#[derive(Clone, Copy)]
pub(super) struct Memory<V> {
    /// The values that reads see.
    pub(super) values: [*const V; OPERANDS],
    /// What is written.
    pub(super) new: [*mut V; OPERANDS],
    /// The numbers that all points share.
    pub(super) numbers: [V; OPERANDS],
    pub(super) shape: [isize; 4],
    pub(super) strides: [isize; 4],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Float> Sync for Memory<V> {}

impl<V: Float> Memory<V> {
    pub(super) fn new(grid: &Grid) -> Self {
        Self { shape: grid.shape(), strides: grid.strides(), ..Self::nowhere() }
    }

    /// For programs that read nothing.
    pub(super) fn nowhere() -> Self {
        Self {
            values: [ptr::null(); OPERANDS],
            new: [ptr::null_mut(); OPERANDS],
            numbers: [V::zero(); OPERANDS],
            shape: [1; 4],
            strides: [1; 4],
        }
    }

    /// The place of a point.
    #[inline(always)]
    pub(super) fn at(&self, row: [isize; 3], i: isize) -> isize {
        row[0] * self.strides[0] + row[1] * self.strides[1] + row[2] * self.strides[2] + i
    }

    /// How far a read is from the point.
    #[inline(always)]
    pub(super) fn offset(&self, key: Key) -> isize {
        key.shift(0) * self.strides[0] + key.shift(1) * self.strides[1] + key.shift(2) * self.strides[2] + key.shift(3)
    }
}

/// Reads in memory around a place, all inside the views.
#[derive(Clone, Copy)]
pub(super) struct Inside<'m, V>(pub(super) &'m Memory<V>, pub(super) isize);

impl<V: Float, L: Vector<Number = V>> Source<L> for Inside<'_, V> {
    #[inline(always)]
    fn read<K: Leaf>(self) -> L {
        let from = self.0.values[K::KEY.operand()].wrapping_offset(self.1 + self.0.offset(K::KEY));
        // SAFETY: whoever makes this has checked that all reads of the program at this place, and at the places of the other lanes,
        // lie in the operand's buffer or in its margin.
        unsafe { L::load(from) }
    }
    #[inline(always)]
    fn number(self, operand: usize) -> L {
        L::splat(self.0.numbers[operand])
    }
    #[inline(always)]
    fn new<K: Leaf>(self) -> L {
        // SAFETY: as above.
        unsafe { L::load(self.0.new[K::KEY.operand()].wrapping_offset(self.1)) }
    }
    #[inline(always)]
    fn local(self, _: usize) -> L {
        unreachable!("temporaries are bound where they are used")
    }
}

/// Reads at one point, which may lie outside the views.
#[derive(Clone, Copy)]
pub(super) struct Anywhere<'m, V>(pub(super) &'m Memory<V>, pub(super) [isize; 4]);

impl<V: Float> Anywhere<'_, V> {
    /// The number that this read gives.
    pub(super) fn number_at(self, key: Key) -> V {
        let memory = self.0;
        let mut at = 0;
        for d in 0..4 {
            let (mut i, length) = (self.1[d] + key.shift(d), memory.shape[d]);
            if i < 0 || i >= length {
                match key.border() {
                    Border::Inside | Border::Zero => return V::from_f64(0.0),
                    Border::Nearest => i = i.clamp(0, length - 1),
                    Border::Periodic => i = i.rem_euclid(length),
                }
            }
            at += i * memory.strides[d];
        }
        // SAFETY: each coordinate is inside the views, which are not empty, and the buffer has all their elements.
        unsafe { *memory.values[key.operand()].offset(at) }
    }
}

impl<V: Float, L: Lane<Number = V>> Source<L> for Anywhere<'_, V> {
    #[inline]
    fn read<K: Leaf>(self) -> L {
        L::splat(self.number_at(K::KEY))
    }
    #[inline]
    fn number(self, operand: usize) -> L {
        L::splat(self.0.numbers[operand])
    }
    #[inline]
    fn new<K: Leaf>(self) -> L {
        let at = (0..4).map(|d| self.1[d].clamp(0, self.0.shape[d] - 1) * self.0.strides[d]).sum();
        // SAFETY: as in `read`.
        L::splat(unsafe { *self.0.new[K::KEY.operand()].offset(at) })
    }
    #[inline]
    fn local(self, _: usize) -> L {
        unreachable!("temporaries are bound where they are used")
    }
}

/// A source for partials: what none of a program's needs is 0, and is not read.
#[derive(Clone, Copy)]
pub(super) struct Needed<P, S>(S, PhantomData<P>);

impl<P, S> Needed<P, S> {
    #[inline(always)]
    pub(super) const fn of(source: S) -> Self {
        Self(source, PhantomData)
    }
}

impl<L: Lane, P: Program, S: Source<L>> Source<L> for Needed<P, S> {
    #[inline(always)]
    fn read<K: Leaf>(self) -> L {
        if const { P::NEEDS.has(K::KEY) } { self.0.read::<K>() } else { L::zero() }
    }
    #[inline(always)]
    fn number(self, operand: usize) -> L {
        self.0.number(operand)
    }
    #[inline(always)]
    fn new<K: Leaf>(self) -> L {
        if const { P::NEEDS.has(K::KEY) } { self.0.new::<K>() } else { L::zero() }
    }
    #[inline(always)]
    fn local(self, k: usize) -> L {
        self.0.local(k)
    }
}

/// The adjoints of a launch's outputs.
#[derive(Clone, Copy)]
pub(super) struct Seeds<V> {
    /// Null where all are the same.
    pub(super) dense: [*const V; OUTPUTS],
    pub(super) uniform: [V; OUTPUTS],
}

// SAFETY: as `Memory`.
unsafe impl<V: Float> Sync for Seeds<V> {}

impl<V: Float> Seeds<V> {
    /// The seeds at a place.
    ///
    /// # Safety
    ///
    /// The outputs' adjoints can be read there, or there is a margin.
    #[inline(always)]
    pub(super) unsafe fn at<L: Vector<Number = V>, P: Program>(&self, at: isize) -> [L; OUTPUTS] {
        let mut seeds = [L::zero(); OUTPUTS];
        let mut k = 0;
        while k < P::EXPRESSIONS {
            let dense = self.dense[k];
            seeds[k] = if const { all_dense::<P>() } || !dense.is_null() {
                // SAFETY: promised by the caller.
                unsafe { L::load(dense.wrapping_offset(at)) }
            } else {
                L::splat(self.uniform[k])
            };
            k += 1;
        }
        seeds
    }
}

/// Whether the seeds of a program are always arrays: a branch for each of many reads would cost more than filling one.
pub(super) const fn all_dense<P: Program>() -> bool {
    P::WRITES && P::USED.len() > 6
}

/// Whether all partials are for elements at the point itself.
pub(super) const fn is_local<P: Program>() -> bool {
    P::PARTIALS.beside == 0 && !P::PARTIALS.borders
}

/// The points of the range at which all these reads lie inside the views; only reads with a border rule can lie outside.
pub(super) fn inner(leaves: &Facts, shape: [isize; 4], range: &Region) -> Region {
    let mut inner = *range;
    if leaves.borders {
        for d in 0..4 {
            let (least, most) = leaves.shifts[d];
            inner.lo[d] = inner.lo[d].max(-least);
            inner.hi[d] = inner.hi[d].min(shape[d] - most);
        }
    }
    inner
}

/// Checks that all reads without a border rule lie inside the views.
///
/// # Panics
///
/// When one does not.
#[track_caller]
pub(super) fn check_reads<P: Program>(grid: &Grid) {
    let (shape, range) = (grid.shape(), &grid.range);
    let beyond = |d: usize| {
        let (least, most) = P::LEAVES.inside[d];
        range.lo[d] + least < 0 || range.hi[d] + most > shape[d]
    };
    if (0..4).any(beyond) && !range.is_empty() {
        goes_beyond(&P::READS, grid);
    }
}

#[cold]
#[track_caller]
fn goes_beyond(keys: &Keys, grid: &Grid) -> ! {
    let (shape, range) = (grid.shape(), &grid.range);
    let ruled = |key: &Key| key.kind() != Kind::Read || key.border() != Border::Inside;
    let beyond = |key: &Key| {
        let outside = |d: usize| range.lo[d] + key.shift(d) < 0 || range.hi[d] + key.shift(d) > shape[d];
        !ruled(key) && (0..4).any(outside)
    };
    let key = (0..keys.len()).map(|k| keys.get(k)).find(beyond).expect("a read goes beyond the views");
    let shifts: Vec<isize> = (0..4).map(|d| key.shift(d)).collect();
    panic!(
        "operand {} is read at shift {shifts:?} of the points {grid}, which goes beyond the view: shrink the range, or read with a \
         border rule such as `or_zero` (the dimensions of views of lower rank come last)",
        key.operand()
    )
}
