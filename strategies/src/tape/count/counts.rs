//! Counts of a recording, and the bytes that each strategy takes for it.

use crate::tape::store::recording::{Closures, Content, Partials, Records, Values};
use crate::{InMemory, IndexManager, Number};

/// A strategy whose bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// [`Jacobian`](crate::Jacobian).
    Jacobian,
    /// [`PrimalValue`](crate::PrimalValue).
    PrimalValue,
    /// [`Hybrid`](crate::Hybrid).
    Hybrid,
    /// [`Continuation`](crate::Continuation).
    Continuation,
}

impl Counted {
    /// All strategies, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::Jacobian, Self::PrimalValue, Self::Hybrid, Self::Continuation];

    /// Returns true if the tape keeps the value of every variable.
    pub(crate) const fn keeps_values(self) -> bool {
        match self {
            Self::Jacobian => Partials::VALUES,
            Self::PrimalValue | Self::Hybrid => Values::VALUES,
            Self::Continuation => Closures::VALUES,
        }
    }

    /// Returns true if records end in an address, false if they end in a code.
    pub(crate) const fn is_by_address(self) -> bool {
        match self {
            Self::Jacobian => Partials::BY_ADDRESS,
            Self::PrimalValue | Self::Hybrid => Values::BY_ADDRESS,
            Self::Continuation => Closures::BY_ADDRESS,
        }
    }

    /// Returns the bytes at the end of each record, and the bytes in front of these in each record of a statement.
    pub(crate) const fn code_and_tail<V: Number, M: IndexManager>(self) -> (usize, usize) {
        type Of<V, M, K> = Records<V, M, InMemory, K>;
        match self {
            Self::Jacobian => (Of::<V, M, Partials>::CODE, Of::<V, M, Partials>::TAIL),
            Self::PrimalValue | Self::Hybrid => (Of::<V, M, Values>::CODE, Of::<V, M, Values>::TAIL),
            Self::Continuation => (Of::<V, M, Closures>::CODE, Of::<V, M, Closures>::TAIL),
        }
    }
}

/// The counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Statements with an active argument.
    pub statements: usize,
    /// Active arguments of statements.
    pub active: usize,
    /// Passive arguments of statements that have active ones.
    pub passive: usize,
    /// Distinct partials other than ±1 (*d* in the formulas), not counting functions of slices.
    pub factors: usize,
    /// `f64` operands (*c* in the formulas).
    pub constants: usize,
    /// Functions of slices among the statements.
    pub slices: usize,
    /// Different types of statements.
    pub kinds: usize,
    /// 1 + the largest identifier; with [`Reuse`](crate::Reuse) 1 + the maximum number of variables that were alive at
    /// the same time.
    pub identifiers: usize,
    /// Bytes of records, in the order of [`Counted::ALL`].
    pub(crate) records: [usize; 4],
    /// Statements whose partials are computed in the sweep, in the order of [`Counted::ALL`].
    pub(crate) recomputed: [usize; 4],
    /// Bytes of a value.
    pub(crate) value: usize,
}

impl Counts {
    /// Bytes of records, and of values where they are kept: the used bytes in a report of the tape, without its tables,
    /// its adjoints, and the data that external functions and launches keep.
    #[must_use]
    pub const fn tape(&self, strategy: Counted) -> usize {
        self.records[strategy as usize] + self.values(strategy)
    }

    /// Bytes of the values that the strategy keeps in addition to its records: one for each entry of an adjoint vector,
    /// or none.
    #[must_use]
    pub const fn values(&self, strategy: Counted) -> usize {
        if strategy.keeps_values() { self.adjoints() } else { 0 }
    }

    /// Bytes of an adjoint vector.
    #[must_use]
    pub const fn adjoints(&self) -> usize {
        if self.identifiers <= 1 { 0 } else { self.identifiers * self.value }
    }

    /// Statements whose partials are computed in the sweep.
    #[must_use]
    pub const fn recomputed(&self, strategy: Counted) -> usize {
        self.recomputed[strategy as usize]
    }
}
