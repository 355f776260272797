//! Records as a visitor of a recording sees them.

use crate::SweepError;
use crate::external::Mark;
use crate::rules::Curvature;
use core::fmt;

/// The order in which records are [visited](crate::Reverse::visit).
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// All records, first to last.
    Ascending,
    /// Records from the first mark down to the second, earlier one, last to first. `None` as the first mark stands for
    /// the end of the recording, `None` as the second one for its start.
    Descending(Option<Mark>, Option<Mark>),
}

/// One record, as [`Reverse::visit`](crate::Reverse::visit) passes it to the visitor.
pub struct RecordView<'a, V> {
    /// The number of the record, counted from 1. Inputs and external functions may take several consecutive numbers;
    /// this is the first of them.
    pub number: usize,
    /// Size of the record in bytes.
    pub bytes: usize,
    /// The kind of the record.
    pub kind: RecordKind,
    /// The slots of a statement's arguments, 0 for passive ones; empty for records of other kinds.
    pub arguments: &'a [usize],
    /// The pairs of arguments in which a statement may not be linear.
    pub curvature: &'a Curvature,
    /// Appends the partial of a statement with respect to each argument. Values appended for passive arguments are
    /// meaningless.
    pub partials: &'a dyn Fn(&mut Vec<V>),
}

/// A visitor, called with each record of a recording; an error ends the visit.
pub type EachRecord<'a, V> = dyn FnMut(&RecordView<'_, V>) -> Result<(), SweepError> + 'a;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A statement.
    Statement {
        /// The slot of the statement's result.
        result: usize,
    },
    /// Independent variables.
    Inputs,
    /// An [external function](crate::Reverse::external) or a launch, with its index in the recording's list of them.
    External(usize),
}

impl<V> fmt::Debug for RecordView<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, bytes, kind, arguments, .. } = self;
        write!(f, "record {number} of {bytes} bytes: {kind:?} of {arguments:?}")
    }
}
