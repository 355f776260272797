//! One decoded record.

use crate::Number;
use crate::identifier::IndexType;
use crate::tape::format::entry_points::AnyData;
use crate::tape::format::layout::Layout;
use core::ops::Deref;

/// One record, in place. Its bytes do not change for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a, V: Number, I> {
    pub(crate) layout: &'static Layout<V>,
    pub(crate) data: AnyData<'a, V, I>,
    /// Start of the record.
    pub(crate) start: *const u8,
    /// End of the tail, which identifies the result of a statement.
    pub(crate) tail_end: *const u8,
    /// End of the record.
    pub(crate) end: *const u8,
    /// Number of values in front of the identifiers.
    pub(crate) payload: usize,
    /// Count of numbers that the record has: more than one for several inputs, or results of an external function.
    pub(crate) numbers: usize,
    /// The index of the external function or launch, if the record is of one.
    pub(crate) external: Option<usize>,
}

impl<V: Number, I: IndexType> Record<'_, V, I> {
    /// Returns true for records of statements, false for those of independent variables and external functions.
    #[inline(always)]
    pub(crate) const fn is_statement(&self) -> bool {
        self.layout.form.is_of_statement()
    }

    /// Length of the record.
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
