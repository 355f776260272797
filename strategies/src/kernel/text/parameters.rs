//! Functions of a source, and the arrays that are their parameters.

use super::lines::Reads;
use crate::kernel::ir::access::{AccessKind, LAST, OPERANDS, OUTPUTS};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::ir::program::List;

/// An array that is a parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Array {
    /// Values of an operand from before the launch.
    Values(usize),
    /// Values of an operand from after the launch.
    NewValues(usize),
    /// Adjoints of an output, one for each element, or for each row of the range.
    Seeds(usize),
    /// Values of an operand, to be written.
    Output(usize),
    /// Adjoints of an operand, which receive contributions.
    Adjoints(usize),
    /// Partial sums of chunks, or the best values of parts of chunks.
    Parts,
    /// Positions among the elements of the best values of parts of chunks: integers of 64 bits.
    Places,
    /// Positions among the elements of the best values of chunks: integers of 64 bits.
    Found,
    /// Sums of chunks or blocks, or the best value of each chunk.
    Sums,
    /// Sums of rows.
    Totals,
}

impl Array {
    /// Name of the parameter.
    pub(super) fn name(self) -> String {
        match self {
            Self::Values(k) => format!("x{k}"),
            Self::NewValues(k) => format!("z{k}"),
            Self::Seeds(k) => format!("s{k}"),
            Self::Output(k) => format!("y{k}"),
            Self::Adjoints(k) => format!("d{k}"),
            Self::Parts => String::from("parts"),
            Self::Places => String::from("places"),
            Self::Found => String::from("found"),
            Self::Sums => String::from("sums"),
            Self::Totals => String::from("totals"),
        }
    }

    /// Type of the pointer.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Values(_) | Self::NewValues(_) | Self::Seeds(_) => "const TW_REAL *",
            Self::Places | Self::Found => "tw_index *",
            _ => "TW_REAL *",
        }
    }
}

/// A function of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Values at points.
    Values,
    /// Partial sums of the expressions.
    Sums,
    /// Best values of parts of chunks.
    Extremum,
    /// Adjoints of elements.
    Gather,
    /// Partial sums of the adjoints of uniform scalars.
    Scalars,
    /// Adjoints of uniform scalars, point by point.
    ScalarsInOrder,
    /// Sums of the adjoints of an operand of lower rank: partial sums of chunks, or sums of blocks.
    Along(usize),
    /// Addition of these sums to the adjoints.
    AddAlong(usize),
    /// Sums of partial sums.
    AddPairs,
    /// Sums of the chunks of each row.
    AddRows,
    /// Best values of chunks.
    Best,
}

impl Function {
    /// Name of the function in the source of a kernel with this name.
    pub(super) fn name(self, kernel: &str) -> String {
        match self {
            Self::Values => format!("{kernel}_values"),
            Self::Sums => format!("{kernel}_sums"),
            Self::Extremum => format!("{kernel}_extremum"),
            Self::Gather => format!("{kernel}_gather"),
            Self::Scalars => format!("{kernel}_scalars"),
            Self::ScalarsInOrder => format!("{kernel}_scalars_in_order"),
            Self::Along(k) => format!("{kernel}_along{k}"),
            Self::AddAlong(k) => format!("{kernel}_along{k}_add"),
            Self::AddPairs => String::from("tw_add_pairs"),
            Self::AddRows => String::from("tw_add_rows"),
            Self::Best => String::from("tw_best"),
        }
    }

    /// Returns true if the function is the same for all kernels.
    pub(super) const fn is_general(self) -> bool {
        matches!(self, Self::AddPairs | Self::AddRows | Self::Best)
    }

    /// Returns the arrays that are parameters of the function, in order.
    pub(super) fn arrays(self, plan: &KernelInfo) -> Vec<Array> {
        let reads = self.reads(plan);
        let set = |bits: u16, count: usize| (0..count).filter(move |k| bits >> k & 1 == 1);
        let mut arrays: Vec<Array> = set(reads.values, OPERANDS).map(Array::Values).collect();
        arrays.extend(set(reads.new, OPERANDS).map(Array::NewValues));
        arrays.extend(set(reads.seeds, OUTPUTS).map(Array::Seeds));
        match self {
            Self::Values => arrays.extend(plan.written.iter().copied().map(Array::Output)),
            Self::Gather => arrays.extend(set(plan.partials.views, OPERANDS).map(Array::Adjoints)),
            Self::Sums | Self::Scalars => arrays.push(Array::Parts),
            Self::Along(k) if plan.leaves.dimensions[k] & LAST == 0 => arrays.push(Array::Parts),
            Self::ScalarsInOrder | Self::Along(_) => arrays.push(Array::Sums),
            Self::AddAlong(k) => arrays.extend([Array::Sums, Array::Adjoints(k)]),
            Self::Extremum => arrays.extend([Array::Parts, Array::Places]),
            Self::AddPairs => arrays = vec![Array::Parts, Array::Sums],
            Self::AddRows => arrays = vec![Array::Sums, Array::Totals],
            Self::Best => arrays = vec![Array::Parts, Array::Places, Array::Sums, Array::Found],
        }
        arrays
    }

    /// Operands and outputs that the lists of the function read.
    fn reads(self, plan: &KernelInfo) -> Reads {
        let (mut reads, scripts) = (Reads::default(), plan.scripts);
        let mut add = |kind: AccessKind, operand: Option<usize>| {
            for n in 0..scripts.used.len() {
                let key = scripts.used.get(n);
                if key.kind() == kind && operand.is_none_or(|operand| key.operand() == operand) {
                    reads.add(scripts.list(List::Partial(n)));
                }
            }
        };
        match self {
            Self::Values | Self::Sums | Self::Extremum => reads.add(scripts.list(List::Values)),
            Self::Gather => add(AccessKind::Read, None),
            Self::Scalars | Self::ScalarsInOrder => add(AccessKind::Number, None),
            Self::Along(k) => add(AccessKind::Along, Some(k)),
            Self::AddAlong(k) if plan.leaves.dimensions[k] & LAST == 0 => add(AccessKind::Along, Some(k)),
            _ => {}
        }
        reads
    }
}
