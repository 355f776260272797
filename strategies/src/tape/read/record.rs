//! One record, read back.

use crate::tape::format::entry_points::AnyData;
use crate::tape::format::layout::Layout;
use crate::{IndexType, Number};
use core::ops::Deref;

/// One record, in place: its bytes stay as they are for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a, V: Number, I> {
    pub(crate) layout: &'static Layout<V>,
    pub(crate) data: AnyData<'a, V, I>,
    /// Its first byte.
    pub(crate) start: *const u8,
    /// Where what it overwrites ends.
    pub(crate) tail_end: *const u8,
    /// Where it ends.
    pub(crate) end: *const u8,
    /// Numbers in front of the identifiers.
    pub(crate) payload: usize,
    /// How many numbers it has: more than one if it is several inputs, or results of an external function.
    pub(crate) numbers: usize,
    /// Which external function or launch it is of, if it is.
    pub(crate) external: Option<usize>,
}

impl<V: Number, I: IndexType> Record<'_, V, I> {
    /// Whether it is of a statement, and not of independent variables or of an external function.
    #[inline(always)]
    pub(crate) const fn is_statement(&self) -> bool {
        self.layout.form.is_of_statement()
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        self.end.addr() - self.start.addr()
    }
}

impl<'a, V: Number, I> Deref for Record<'a, V, I> {
    type Target = AnyData<'a, V, I>;
    #[inline(always)]
    fn deref(&self) -> &AnyData<'a, V, I> {
        &self.data
    }
}
