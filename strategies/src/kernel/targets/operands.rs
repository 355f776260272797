//! Operands of launches: checks of shape and aliasing once for each launch, and their bindings.

use super::bindings::Bindings;
use crate::Number;
use crate::error::StorageError;
use crate::kernel::ir::access::{
    Access, AccessKind, AccessSet, AccessSummary, Boundary, DimensionBits, Needs, OPERANDS, OperandBits,
};
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use smallvec::SmallVec;

/// One operand of a launch.
#[derive(Debug)]
pub enum Operand<'a, V> {
    /// A view that is read.
    Read(&'a Buffer<V>),
    /// A view of lower rank that is read, and the dimensions of the launch that it lies along.
    Along(&'a Buffer<V>, DimensionBits),
    /// A uniform scalar, shared by all points.
    Number(V),
    /// A view that is written in place, and read at the point itself only.
    Update(&'a mut Buffer<V>),
    /// A view that is read from the first buffer and written to the second.
    Replace(&'a Buffer<V>, &'a mut Buffer<V>),
}

/// One operand of a recorded launch.
#[derive(Debug)]
pub struct KeptOperand<V> {
    /// Slot of the view before the launch; 0 if it is passive or not a view.
    pub before: usize,
    /// Slot of the view after the launch, if it is written.
    pub after: Option<usize>,
    /// Values before the launch, if partial derivatives need them.
    pub values: Option<Version<V>>,
    /// Values after the launch, if partial derivatives need them.
    pub new: Option<Version<V>>,
    /// The uniform scalar, if the operand is one.
    pub number: Option<KeptScalar<V>>,
}

/// A uniform scalar of a recorded launch.
#[derive(Clone, Copy, Debug)]
pub struct KeptScalar<V> {
    /// Value of the variable.
    pub value: V,
    /// Index of the variable among the inputs of the launch.
    pub input: usize,
    /// True if the variable is active.
    pub active: bool,
}

impl<V> KeptOperand<V> {
    /// Returns a view that is read, in this slot, and its values if they are kept.
    #[must_use]
    #[inline(always)]
    pub const fn of_view(slot: usize, values: Option<Version<V>>) -> Self {
        Self { before: slot, after: None, values, new: None, number: None }
    }

    /// Returns a uniform scalar.
    #[must_use]
    #[inline(always)]
    pub const fn of_number(number: KeptScalar<V>) -> Self {
        Self { before: 0, after: None, values: None, new: None, number: Some(number) }
    }

    /// Returns true if a replay knows the operand's values before the launch.
    pub(crate) const fn is_known(&self) -> bool {
        self.number.is_some() || self.before != 0 || self.values.is_some()
    }
}

/// Checks everything the loops rely on, and binds the operands. Returns true if some operand is written in place.
///
/// # Panics
///
/// When an operand has another number of elements than the grid, or is read outside its view; when an operand that is
/// read or written is missing; and when there are too many operands.
#[track_caller]
pub(crate) fn bind<'m, V: Number>(
    plan: &KernelInfo,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    memory: &mut Bindings<V>,
) -> bool {
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    let (mut views, mut along, mut numbers) = (OperandBits::MIN, OperandBits::MIN, OperandBits::MIN);
    let (mut written, mut in_place) = (0, false);
    for (k, operand) in operands.enumerate() {
        assert!(k < OPERANDS, "a launch has at most {OPERANDS} operands");
        views |= 1 << k;
        match operand {
            Operand::Read(buffer) => {
                fits(buffer);
                memory.values[k] = buffer.place(memory.device);
            }
            Operand::Along(buffer, dimensions) => {
                let (found, expected) = (dimensions, plan.leaves.dimensions[k]);
                if found != expected {
                    lies_along_others(k, grid, found, expected);
                }
                assert_eq!(buffer.len(), plan.elements(k, grid), "an operand has the launch's lengths");
                memory.values[k] = buffer.place(memory.device);
                (views, along) = (views & !(1 << k), along | 1 << k);
            }
            Operand::Number(number) => {
                memory.numbers[k] = number;
                (views, numbers) = (views & !(1 << k), numbers | 1 << k);
            }
            Operand::Update(buffer) => {
                fits(buffer);
                let is_read_beside = AccessSummary::has(plan.leaves.beside, k);
                assert!(!is_read_beside, "a view that is read beside the point is not written in place");
                memory.new[k] = buffer.place_mut(memory.device);
                memory.values[k] = memory.new[k];
                (written, in_place) = (written + 1, true);
            }
            Operand::Replace(old, new) => {
                [old, &*new].into_iter().for_each(fits);
                memory.values[k] = old.place(memory.device);
                memory.new[k] = new.place_mut(memory.device);
                written += 1;
            }
        }
    }
    check_operands(plan, memory, Kinds { views, along, numbers }, written);
    check_reads(plan, grid);
    in_place
}

/// The operands of each kind, as bits.
#[derive(Clone, Copy)]
struct Kinds {
    views: OperandBits,
    along: OperandBits,
    numbers: OperandBits,
}

/// Checks that the operands are those the kernel expects, and that it writes `written` of them.
///
/// # Panics
///
/// When they are not.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn check_operands<V: Number>(plan: &KernelInfo, memory: &Bindings<V>, found: Kinds, written: usize) {
    let expected = if plan.writes { plan.expressions } else { 0 };
    assert!(
        written == expected,
        "a kernel has an expression for each operand that is written: this one has {expected} for {written} operands"
    );
    assert!(plan.in_order, "an expression uses a new value that a later expression computes: change their order");
    // Temporaries and new values that the kernel defines itself have been resolved, so those left are undefined.
    assert!(
        plan.leaves.new == 0,
        "the kernel uses `new` of operand {}, which this launch does not write: give the operand as `&mut`, and use \
         the tokens that this closure gets",
        plan.leaves.new.trailing_zeros()
    );
    assert!(
        !plan.leaves.locals,
        "a temporary is used outside of the closure that `bind` passes it to: use it there, or bind it again"
    );
    let Kinds { views, along, numbers } = found;
    if plan.leaves.views & !views | plan.leaves.along & !along | plan.leaves.numbers & !numbers != 0 {
        token_of_another_launch(&plan.leaves, found);
    }
    for operand in plan.written {
        assert!(
            !memory.new[*operand].is_null(),
            "the kernel writes operand {operand}, which the launch only reads: give it as `&mut`"
        );
    }
}

/// Fails because the kernel reads an operand that the launch does not have, or that is of another kind.
#[cold]
#[track_caller]
fn token_of_another_launch(leaves: &AccessSummary, found: Kinds) -> ! {
    let kinds = [
        ("a view", leaves.views, found.views),
        ("a view of lower rank", leaves.along, found.along),
        ("a variable", leaves.numbers, found.numbers),
    ];
    let missing = kinds.iter().map(|(kind, read, found)| (*kind, read & !found)).find(|(_, missing)| *missing != 0);
    let (kind, missing) = missing.expect("an operand is missing");
    let k = missing.trailing_zeros();
    let there = kinds.iter().find(|(.., found)| found >> k & 1 == 1).map_or("nothing", |(kind, ..)| kind);
    panic!(
        "the kernel reads operand {k} as {kind}, and the launch has {there} there: it uses a token of another launch; \
         use the tokens that its closure gets"
    )
}

/// Fails because operand `k` lies along other dimensions of a launch over this grid than the kernel reads it along.
#[cold]
#[track_caller]
fn lies_along_others(k: usize, grid: &Grid, found: DimensionBits, expected: DimensionBits) -> ! {
    let unused = 4 - grid.of_views([0; 4]).len();
    let [found, expected] = [found, expected]
        .map(|bits| (unused..4).filter(|d| bits >> d & 1 == 1).map(|d| d - unused).collect::<SmallVec<[usize; 4]>>());
    panic!(
        "operand {k} lies along the dimensions {found:?} of the launch, and the kernel reads it along {expected:?}: it \
         uses a token of another launch; use the tokens that its closure gets"
    )
}

/// Checks that all reads without a boundary rule lie inside the views.
///
/// # Panics
///
/// When one does not.
#[inline]
#[track_caller]
pub(crate) fn check_reads(plan: &KernelInfo, grid: &Grid) {
    if plan.leaves.beside != 0 {
        check_reads_beside(plan, grid);
    }
}

#[track_caller]
fn check_reads_beside(plan: &KernelInfo, grid: &Grid) {
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

/// Checks that all values needed by partial derivatives are bound.
#[track_caller]
pub(crate) fn check_needs<V: Number>(needs: Needs, memory: &Bindings<V>) {
    let missing = memory.missing(needs);
    assert!(missing == Needs::NONE, "these values are needed, and were not kept: {missing:?}");
}

impl<V: Number> Bindings<V> {
    /// Binds what a recording has kept of operand `k`. The arrays stay in the cache until the launch
    /// [ends](ReadCache::end).
    ///
    /// # Errors
    ///
    /// When a spilled array cannot be read back.
    ///
    /// # Panics
    ///
    /// When the arrays have another length than `length`.
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
            self.values[k] = values.place(self.device);
        }
        if let Some(new) = &kept.new {
            let new = fetched.get(new)?;
            fits(new);
            self.new[k] = new.place(self.device);
        }
        if let Some(scalar) = kept.number {
            self.numbers[k] = scalar.value;
        }
        Ok(())
    }
}
