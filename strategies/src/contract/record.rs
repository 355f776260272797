//! Records, as those who look at a recording see them.

use crate::{Curvature, Mark, SweepError};
use core::fmt;

/// In which order records are [visited](crate::Reverse::visit).
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// All of them, first to last.
    Ascending,
    /// Last to first, from the first mark to the second, which lies before it; from the end if the first is `None`, and
    /// to the start if the second is.
    Descending(Option<Mark>, Option<Mark>),
}

/// A record of a recording: what [`Reverse::visit`](crate::Reverse::visit) gives.
pub struct RecordView<'a, V> {
    /// Its number, counted from 1. Inputs and external functions may take several numbers, one after the other: this is
    /// the first.
    pub number: usize,
    /// The bytes that it takes.
    pub bytes: usize,
    /// What it records.
    pub kind: RecordKind,
    /// The slots of a statement's arguments, 0 for passive ones; empty for others.
    pub arguments: &'a [usize],
    /// In which pairs of its arguments a statement may not be linear.
    pub curvature: &'a Curvature,
    /// Appends the partial of a statement for each argument. What it appends for passive ones means nothing.
    pub partials: &'a dyn Fn(&mut Vec<V>),
}

/// What is done with each record of a recording; an error ends the visit.
pub type EachRecord<'a, V> = dyn FnMut(&RecordView<'_, V>) -> Result<(), SweepError> + 'a;

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A statement.
    Statement {
        /// The slot of its result.
        result: usize,
    },
    /// Independent variables.
    Inputs,
    /// An [external function](crate::Reverse::external) or a launch, with its number.
    External(usize),
}

impl<V> fmt::Debug for RecordView<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, bytes, kind, arguments, .. } = self;
        write!(f, "record {number} of {bytes} bytes: {kind:?} of {arguments:?}")
    }
}
