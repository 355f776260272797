//! The strategies by name.

use crate::blocks;
use crate::checkpointed;
use crate::cli::Request;
use crate::launched;
use crate::taped::{Contender, Taped};
use tapewright::prelude::*;
use tapewright::{Error, SpillOptions, Spilled, Spills};
use tapewright_problems::Problem;

/// Slabs of spilled tapes: small, so that tapes of a few megabytes spill too.
const SLAB: usize = 256 << 10;

/// A strategy with its index management and its layer, by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// What is recorded, in words joined by `_`.
    pub(crate) records: &'static str,
    /// How identifiers are given out: `linear` or `reuse`.
    pub(crate) indices: &'static str,
    /// Where records live: `in_memory`, `shared` or `spilled`; `checkpointed` where they live one stage at a time,
    /// `blocks` where each is a small block, `kernels` where they are whole loops over arrays.
    pub(crate) layer: &'static str,
}

/// Puts a workload on a tape of one strategy.
pub(crate) type Run<P> = for<'p> fn(&'p P, &Request) -> Result<Box<dyn Contender + 'p>, Error>;

/// Lists the strategies. One line adds one: what it records, its indices, its layer, how its tape is made, and its
/// type.
macro_rules! strategies {
    ($($records:ident $indices:ident $layer:ident, $tape:ident::<$type:ty>;)*) => {
        impl Strategy {
            pub(crate) const ALL: &[Self] = &[$(Self {
                records: stringify!($records),
                indices: stringify!($indices),
                layer: stringify!($layer),
            },)* Self::CHECKPOINTED, Self::BLOCKS, Self::KERNELS];

            /// The strategies for this workload, each with what makes its tape.
            pub(crate) fn runs<P: Problem>() -> impl Iterator<Item = (Self, Run<P>)> {
                let runs: Vec<Run<P>> = vec![$(|problem, request| {
                    Ok(Box::new(Taped::<$type, P>::new(problem, $tape(problem, request)?)?))
                }),*];
                let stages = P::CHECKPOINTED.then_some((Self::CHECKPOINTED, checkpointed::run::<P> as Run<P>));
                let blocks = P::BLOCKS.then_some((Self::BLOCKS, blocks::run::<P> as Run<P>));
                let kernels = P::KERNELS.then_some((Self::KERNELS, launched::run::<P> as Run<P>));
                Self::ALL.iter().copied().zip(runs).chain(stages).chain(blocks).chain(kernels)
            }
        }
    };
}

strategies! {
    jacobian linear in_memory, in_memory::<Jacobian>;
    primal_value linear in_memory, in_memory::<PrimalValue>;
    hybrid linear in_memory, in_memory::<Hybrid>;
    jacobian reuse in_memory, in_memory::<Jacobian<f64, Reuse>>;
    primal_value reuse in_memory, in_memory::<PrimalValue<f64, Reuse>>;
    hybrid reuse in_memory, in_memory::<Hybrid<f64, Reuse>>;
    jacobian linear shared, in_memory::<Jacobian<f64, Linear, Shared>>;
    continuation linear in_memory, in_memory::<Continuation>;
    jacobian reuse spilled, spilled::<Jacobian<f64, Reuse, Spilled>>;
    primal_value reuse spilled, spilled::<PrimalValue<f64, Reuse, Spilled>>;
}

impl Strategy {
    /// The name on the command line: `jacobian`, `hybrid_reuse`, `jacobian_reuse_spilled`.
    pub(crate) fn name(self) -> String {
        self.words(self.records.to_owned(), "_")
    }

    /// The name in tables: `Jacobian`, `Hybrid reuse`, `Jacobian reuse spilled`.
    pub(crate) fn title(self) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        self.words(self.records.split('_').map(capital).collect(), " ")
    }

    /// Names what is not the default.
    fn words(self, mut name: String, between: &str) -> String {
        for (word, default) in [(self.indices, "linear"), (self.layer, "in_memory")] {
            if word != default {
                name += between;
                name += word;
            }
        }
        name
    }

    pub(crate) fn is_in_memory(self) -> bool {
        self.layer == "in_memory"
    }

    pub(crate) fn is_shared(self) -> bool {
        self.layer == "shared"
    }

    pub(crate) fn is_spilled(self) -> bool {
        self.layer == "spilled"
    }
}

#[allow(clippy::unnecessary_wraps, reason = "as `spilled`, which can fail")]
fn in_memory<S: Reverse<Value = f64>, P: Problem>(_: &P, _: &Request) -> Result<Tape<S>, Error> {
    Ok(Tape::new())
}

/// A tape that has memory for a quarter of the records of one evaluation, or for two slabs if that is more.
fn spilled<S: Spills + Reverse<Value = f64>, P: Problem>(problem: &P, request: &Request) -> Result<Tape<S>, Error> {
    let options = SpillOptions::default().slab(SLAB).directory(&request.directory);
    let mut tape = Tape::<S>::spilled(options.clone())?;
    let x = problem.inputs(0);
    tape.try_record(|scope| problem.eval(0, &scope.inputs(&x)))?;
    let report = tape.memory();
    let records = report.total().used - report.usage("tables").used - report.usage("values").used;
    // Two slabs with what the allocator keeps of them.
    let least = 2 * (SLAB + 4096);
    Tape::spilled(options.memory(least.max(records / 4)))
}
