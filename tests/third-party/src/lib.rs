//! A taping strategy and a target of kernels outside tapewright, against the contract crate alone.
//!
//! The target is in [`c_target`]; [`remote`] is a memory of its own for another one.
//!
//! [`CompressedRows`] regards a recording as what it is in linear algebra: a sparse, strictly lower triangular matrix
//! whose row *i* holds the partials of statement *i*. It keeps that matrix in the compressed row format: all partials
//! in one vector, all column numbers in a second one, and where each row ends in a third. An input is an empty row.
//!
//! | bytes for a statement with `a` active arguments | `f64` | `f32` |
//! |---|---|---|
//! | `CompressedRows` | 8 + 12a | 8 + 8a |
//!
//! It records and sweeps with plain vectors, so a recording that grows moves what it holds; make room with `reserve`
//! where that matters. In return the matrix can be looked at: see [`Rows::row`].
#![deny(unsafe_code)]

pub mod c_target;
pub mod remote;

/// The snippets of the book about devices.
#[cfg(all(doctest, feature = "opencl"))]
#[doc = include_str!("../../../book/src/devices.md")]
mod chapter {}

use core::marker::PhantomData;
use tapewright_strategies::contract::Taped;
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::policy::Strict;
use tapewright_strategies::{
    Capacity, MemoryReport, MemoryUsage, Nary, Number, Reverse, Statement, SweepError, Taping, recording,
};

/// Jacobian taping into a sparse matrix in compressed row format, for values of type `V`.
#[derive(Clone, Copy, Debug)]
pub struct CompressedRows<V = f64>(PhantomData<V>);

/// The matrix of partials of one recording.
#[derive(Debug)]
pub struct Rows<V> {
    number: RecordingId,
    /// For each row, one past its last entry.
    ends: Vec<usize>,
    /// For each entry the identifier of the argument.
    columns: Vec<u32>,
    /// For each entry the partial.
    partials: Vec<V>,
}

/// One argument of a statement: its partial and its identifier.
type Argument<V> = (V, LinearId);

impl<V> Default for Rows<V> {
    fn default() -> Self {
        Self { number: RecordingId::default(), ends: Vec::new(), columns: Vec::new(), partials: Vec::new() }
    }
}

impl<V: Number> Rows<V> {
    /// The partials of one input or statement with the identifiers that they belong to; empty for an input. Identifiers
    /// count from 1.
    ///
    /// # Panics
    ///
    /// When the recording has no such identifier.
    pub fn row(&self, identifier: usize) -> impl Iterator<Item = (usize, V)> {
        let start = if identifier == 1 { 0 } else { self.ends[identifier - 2] };
        let entries = start..self.ends[identifier - 1];
        let columns = self.columns[entries.clone()].iter().map(|column| *column as usize);
        columns.zip(self.partials[entries].iter().copied())
    }

    /// The identifier that the next row gets.
    ///
    /// # Panics
    ///
    /// When 2³² − 1 are in use.
    #[track_caller]
    fn next(&self) -> LinearId {
        let used = self.ends.len();
        LinearId::new(self.number, used as u64 + 1)
            .unwrap_or_else(|| panic!("out of identifiers: the recording has {used} inputs and statements"))
    }

    /// Ends a row. Nothing before this changes what is recorded, should it panic.
    #[track_caller]
    fn push(&mut self, row: &[Argument<V>]) -> LinearId {
        let id = self.next();
        let active = || row.iter().filter(|(_, id)| id.is_active());
        self.columns.extend(active().map(|(_, id)| column(*id)));
        self.partials.extend(active().map(|(partial, _)| *partial));
        self.ends.push(self.columns.len());
        id
    }
}

/// Records a statement where its arguments live; passive if none is active.
#[track_caller]
fn record_row<V: Number>(row: &[Argument<V>]) -> LinearId {
    match recording::common_number(row.iter().map(|(_, id)| *id)) {
        Some(number) => recording::with::<CompressedRows<V>, _>(number, |tape| tape.push(row)),
        None => LinearId::PASSIVE,
    }
}

fn column(id: LinearId) -> u32 {
    u32::try_from(id.index()).expect("the identifiers of this strategy have 32 bits")
}

impl<V: Number> Taping for CompressedRows<V> {
    type Value = V;
    type Id = LinearId;
    type Raw = LinearId;
    type Variable = Taped<V, LinearId>;
    type Policy = Strict;

    fn passive() -> LinearId {
        LinearId::PASSIVE
    }

    fn raw(id: &LinearId) -> LinearId {
        *id
    }

    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> LinearId {
        let mut row = Vec::new();
        statement.partials(V::ONE, &mut |partial, id| row.push((partial, id)));
        record_row(&row)
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], _value: V) -> LinearId {
        let variables = || arguments.iter().copied().flatten();
        let values: Vec<V> = variables().map(|variable| variable.value).collect();
        let mut partials = vec![V::ZERO; values.len()];
        R::partials(&values, constants, &mut partials);
        let row: Vec<_> = partials.into_iter().zip(variables().map(|variable| variable.id)).collect();
        record_row(&row)
    }
}

impl<V: Number> Reverse for CompressedRows<V> {
    type Tape = Rows<V>;

    fn begin(tape: &mut Rows<V>, number: RecordingId) {
        tape.number = number;
        tape.ends.clear();
        tape.columns.clear();
        tape.partials.clear();
    }

    #[track_caller]
    fn input(tape: &mut Rows<V>, _value: V) -> LinearId {
        tape.push(&[])
    }

    fn locate(id: &LinearId) -> Option<(RecordingId, usize)> {
        id.is_active().then(|| (id.number(), column(*id) as usize))
    }

    fn identifiers(tape: &Rows<V>) -> usize {
        tape.ends.len() + 1
    }

    fn reverse(tape: &Rows<V>, adjoints: &mut [V]) -> Result<(), SweepError> {
        let length = Self::identifiers(tape);
        assert!(adjoints.len() >= length, "{} adjoints for {length} identifiers", adjoints.len());
        for identifier in (1..length).rev() {
            let mut row = tape.row(identifier).peekable();
            if row.peek().is_none() {
                continue; // an input keeps its adjoint
            }
            let adjoint = core::mem::replace(&mut adjoints[identifier], V::ZERO);
            if !adjoint.is_nought() {
                // Zero times anything is zero, infinities and NaN included.
                let counting = row.filter(|(_, partial)| !partial.is_nought());
                counting.for_each(|(column, partial)| adjoints[column] += adjoint.contribution(partial));
            }
        }
        Ok(())
    }

    fn reserve(tape: &mut Rows<V>, capacity: Capacity) {
        touch(&mut tape.ends, capacity.inputs + capacity.statements, 0);
        touch(&mut tape.columns, capacity.arguments, 0);
        touch(&mut tape.partials, capacity.arguments, V::ZERO);
    }

    fn memory(tape: &Rows<V>) -> MemoryReport {
        let statements = (1..Self::identifiers(tape)).filter(|id| tape.row(*id).next().is_some()).count();
        MemoryReport::new(statements, tape.columns.len())
            .stream("ends", MemoryUsage::of_vec(&tape.ends))
            .stream("columns", MemoryUsage::of_vec(&tape.columns))
            .stream("partials", MemoryUsage::of_vec(&tape.partials))
    }
}

/// Makes room for `more` elements and writes to it, so that the pages are there when the recording comes.
fn touch<T: Copy>(vector: &mut Vec<T>, more: usize, filler: T) {
    let length = vector.len();
    vector.resize(length + more, filler);
    vector.truncate(length);
}
