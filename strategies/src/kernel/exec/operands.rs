//! Operands of launches: checks of shape and aliasing, once for each launch, and their bindings.

use super::bindings::Bindings;
use crate::kernel::ir::access::{Access, AccessKind, AccessSet, AccessSummary, Boundary, OPERANDS};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, StorageError};

/// One operand of a launch.
#[derive(Debug)]
pub enum Operand<'a, V> {
    /// A view that is read.
    Read(&'a Buffer<V>),
    /// A number that all points share.
    Number(V),
    /// A view that is written, and read at most at the point itself.
    Update(&'a mut Buffer<V>),
    /// A view that is read from the first buffer, and written to the second.
    Replace(&'a Buffer<V>, &'a mut Buffer<V>),
}

/// One operand of a recorded launch.
#[derive(Debug)]
pub struct KeptOperand<V> {
    /// The slot of the view before the launch; 0 if it is passive, or no view.
    pub before: usize,
    /// The slot of the view afterwards, if it is written.
    pub after: Option<usize>,
    /// The values before the launch, if partials need them.
    pub values: Option<Version<V>>,
    /// The values afterwards, if partials need them.
    pub new: Option<Version<V>>,
    /// The value of a number that all points share, and which input of the launch it is.
    pub number: Option<(V, usize)>,
}

impl<V> KeptOperand<V> {
    /// Whether a replay knows what the operand holds before the launch.
    pub(crate) const fn is_known(&self) -> bool {
        self.number.is_some() || self.before != 0 || self.values.is_some()
    }
}

/// The operands in memory, after all that the loops rely on has been checked; and whether some are written in place.
///
/// # Panics
///
/// When an operand has not as many elements as the grid, or is read beyond it; when an operand is read or written that
/// is not among them; and when there are too many.
#[track_caller]
pub(crate) fn memory<'m, V: Number>(
    plan: &KernelInfo,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
) -> (Bindings<V>, bool) {
    let mut memory = Bindings::new(grid);
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    let (mut views, mut numbers, mut written, mut in_place) = (0_u8, 0_u8, 0, false);
    for (k, operand) in operands.enumerate() {
        assert!(k < OPERANDS, "a launch has at most {OPERANDS} operands");
        views |= 1 << k;
        match operand {
            Operand::Read(buffer) => {
                fits(buffer);
                memory.values[k] = buffer.start();
            }
            Operand::Number(number) => {
                memory.numbers[k] = number;
                (views, numbers) = (views & !(1 << k), numbers | 1 << k);
            }
            Operand::Update(buffer) => {
                fits(buffer);
                let is_read_beside = AccessSummary::has(plan.leaves.beside, k);
                assert!(!is_read_beside, "a view that is read beside the point is not written in place");
                memory.new[k] = buffer.start_mut();
                memory.values[k] = memory.new[k];
                (written, in_place) = (written + 1, true);
            }
            Operand::Replace(old, new) => {
                [old, &*new].into_iter().for_each(fits);
                memory.values[k] = old.start();
                memory.new[k] = new.start_mut();
                written += 1;
            }
        }
    }
    check_operands(plan, &memory, (views, numbers), written);
    check_reads(plan, grid);
    (memory, in_place)
}

/// Checks that the operands, these views and numbers by bits, are what the kernel expects, and that it writes `written`
/// of them.
///
/// # Panics
///
/// When they are not.
#[track_caller]
fn check_operands<V>(plan: &KernelInfo, memory: &Bindings<V>, (views, numbers): (u8, u8), written: usize) {
    let expected = if plan.writes { plan.expressions } else { 0 };
    assert!(
        plan.in_order && written == expected,
        "one expression for each operand that is written, each before its value is used"
    );
    // The kernel's own temporaries and new values are no leaves of it.
    assert!(plan.leaves.new == 0, "`new` is asked for what the launch does not write: that is not there");
    assert!(!plan.leaves.locals, "a temporary is used where it is not bound: it is not there");
    assert!(
        plan.leaves.views & !views == 0 && plan.leaves.numbers & !numbers == 0,
        "a token of another launch is used, whose operand is not there"
    );
    for operand in plan.written {
        assert!(!memory.new[*operand].is_null(), "operand {operand} is written, and cannot be");
    }
}

/// Checks that all reads without a border rule lie inside the views.
///
/// # Panics
///
/// When one does not.
#[track_caller]
pub(crate) fn check_reads(plan: &KernelInfo, grid: &Grid) {
    if plan.leaves.beside == 0 {
        return;
    }
    let (shape, range) = (grid.shape(), &grid.range);
    let beyond = |d: usize| {
        let (least, most) = plan.leaves.inside[d];
        range.lo[d] + least < 0 || range.hi[d] + most > shape[d]
    };
    if (0..4).any(beyond) && !range.is_empty() {
        goes_beyond(&plan.scripts.reads, grid);
    }
}

#[cold]
#[track_caller]
fn goes_beyond(keys: &AccessSet, grid: &Grid) -> ! {
    let (shape, range) = (grid.shape(), &grid.range);
    let ruled = |key: &Access| key.kind() != AccessKind::Read || key.border() != Boundary::Inside;
    let beyond = |key: &Access| {
        let outside = |d: usize| range.lo[d] + key.shift(d) < 0 || range.hi[d] + key.shift(d) > shape[d];
        !ruled(key) && (0..4).any(outside)
    };
    let key = (0..keys.len()).map(|k| keys.get(k)).find(beyond).expect("a read goes beyond the views");
    let shifts = grid.of_views([0, 1, 2, 3].map(|d| key.shift(d)));
    panic!(
        "operand {} is read at shift {shifts:?} of the points {grid}, which goes beyond the view: shrink the range, or \
         read with a border rule such as `or_zero`",
        key.operand()
    )
}

/// Checks that the values that partials need are there, and lets what they do not need be read as anything.
#[track_caller]
pub(crate) fn check_needs<V: Number>(plan: &KernelInfo, memory: &Bindings<V>) {
    if plan.kept.views | plan.kept.new == 0 {
        return;
    }
    for operand in 0..OPERANDS {
        let there = !AccessSummary::has(plan.kept.views, operand) || !memory.values[operand].is_null();
        let there = there && (!AccessSummary::has(plan.kept.new, operand) || !memory.new[operand].is_null());
        assert!(there, "the values of operand {operand} are needed, and were not kept");
    }
}

impl<V: Number> Bindings<V> {
    /// What a recording has kept of operand `k`. It stays there until the launch [ends](ReadCache::end).
    ///
    /// # Errors
    ///
    /// When it cannot be read back.
    ///
    /// # Panics
    ///
    /// When its arrays have not this length.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        k: usize,
        kept: &KeptOperand<V>,
        length: usize,
        fetched: &mut ReadCache<V>,
    ) -> Result<(), StorageError> {
        let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), length, "all views of a launch have one shape");
        if let Some(values) = &kept.values {
            let values = fetched.get(values)?;
            fits(values);
            self.values[k] = values.start();
        }
        if let Some(new) = &kept.new {
            let new = fetched.get(new)?;
            fits(new);
            self.new[k] = new.start().cast_mut();
        }
        if let Some((number, _)) = kept.number {
            self.numbers[k] = number;
        }
        Ok(())
    }
}
