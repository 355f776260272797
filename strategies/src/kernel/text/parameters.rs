//! Functions of a source, and their parameters.

use super::array::Array;
use super::lines::Reads;
use crate::kernel::ir::access::{AccessKind, LAST, OPERANDS, OUTPUTS};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::ir::program::List;

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
    /// Tangents at points.
    Tangents,
    /// Partial sums of the tangents of the expressions.
    TangentSums,
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
            Self::Tangents => format!("{kernel}_tangents"),
            Self::TangentSums => format!("{kernel}_tangent_sums"),
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
        arrays.extend(set(reads.tangents, OPERANDS).map(Array::Tangents));
        match self {
            Self::Values => arrays.extend(plan.written.iter().copied().map(Array::Output)),
            Self::Gather => arrays.extend(set(plan.partials.views, OPERANDS).map(Array::Adjoints)),
            Self::Tangents => arrays.extend(plan.written.iter().copied().map(Array::NewTangents)),
            Self::Sums | Self::Scalars | Self::TangentSums => arrays.push(Array::Parts),
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
        if matches!(self, Self::Tangents | Self::TangentSums) {
            reads.add(scripts.list(List::Tangents));
            (0..scripts.used.len()).for_each(|n| reads.add(scripts.list(List::Partial(n))));
            return Reads { seeds: 0, ..reads };
        }
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
