//! The strategies by name.

use crate::cli::Request;
#[cfg(feature = "opencl")]
use crate::programs::wall;
use crate::programs::{Launched, Packed, RecordedOnce, Sequence, cpu};
use tapewright::advisor::Contest;
#[cfg(feature = "opencl")]
use tapewright::advisor::Entrant;
use tapewright::kernels::Host;
#[cfg(feature = "cuda")]
use tapewright::kernels::devices::Cuda;
#[cfg(feature = "opencl")]
use tapewright::kernels::devices::{DeviceSpace, OpenCl};
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Spills;
use tapewright::{Error, Spilled};
use tapewright_problems::{Libor, Problem};

/// Slabs of spilled tapes: small, so that tapes of a few megabytes spill too.
const SLAB: usize = 256 << 10;

/// A strategy with its index management and its layer, by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// Contents of records, in words joined by `_`.
    pub(crate) records: &'static str,
    /// How identifiers are given out: `linear` or `reuse`.
    pub(crate) indices: &'static str,
    /// Home of the records: `in_memory`, `shared` or `spilled`; `checkpointed` where they live one stage at a time,
    /// `blocks` where each is a small block, `kernels` where they are whole loops over arrays, `opencl` and `cuda`
    /// where these run on a device, `packs` where one recording holds eight evaluations, `program` where one serves all.
    pub(crate) layer: &'static str,
}

/// A comparison of strategies on a workload.
pub(crate) type On<'p, P> = Contest<'p, Sequence<P>>;

/// Adds a strategy to the comparison of a workload.
pub(crate) type Enter<P> = for<'p> fn(On<'p, P>, &'p Sequence<P>, &'p Request) -> On<'p, P>;

/// A strategy that a workload can run under.
pub(crate) type Run<P> = (Strategy, Enter<P>);

/// Lists the strategies of all workloads. One line adds one: what it records, its indices, its layer, how its tape is
/// made, and its type.
macro_rules! strategies {
    ($($records:ident $indices:ident $layer:ident, $tape:ident::<$type:ty>;)*) => {
        impl Strategy {
            pub(crate) const ALL: &[Self] = &[
                $(Self::new(stringify!($records), stringify!($indices), stringify!($layer)),)*
                Self::CHECKPOINTED, Self::BLOCKS, Self::KERNELS, Self::OPENCL, Self::CUDA, Self::PACKS, Self::PROGRAM,
            ];

            /// The strategies that any workload can run under.
            pub(crate) fn runs<P: Problem>() -> impl Iterator<Item = Run<P>> {
                let runs: Vec<Enter<P>> = vec![$(|contest, of, request| {
                    let strategy = Self::new(stringify!($records), stringify!($indices), stringify!($layer));
                    contest.on_tape(strategy.title(), || $tape::<$type, P>(of, request), |x| of.problem.eval(of.k(), x))
                }),*];
                Self::ALL.iter().copied().zip(runs)
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

/// `Jacobian` on a workload that is written in another form: in stages that are recorded one at a time when a sweep
/// gets to them.
pub(crate) fn checkpointed<P: Problem>() -> Run<P> {
    (Strategy::CHECKPOINTED, |contest, of, _| {
        let eval = |x: &[Real<Jacobian>]| of.problem.eval_in_stages(of.k(), x);
        contest.on_tape(Strategy::CHECKPOINTED.title(), || Ok(Tape::new()), eval)
    })
}

/// `Jacobian` on a workload in small blocks, each of which is one statement.
pub(crate) fn blocks<P: Problem>() -> Run<P> {
    (Strategy::BLOCKS, |contest, of, _| {
        let eval = |x: &[Real<Jacobian>]| of.problem.eval_in_blocks(of.k(), x);
        contest.on_tape(Strategy::BLOCKS.title(), || Ok(Tape::new()), eval)
    })
}

/// `Jacobian` on a workload of kernels over arrays, with a record for each loop.
pub(crate) fn kernels<P: Problem>() -> Run<P> {
    (Strategy::KERNELS, |contest, of, _| {
        contest.enter(Strategy::KERNELS.title(), || Ok(Some(Box::new(Launched::<_, Host>::new(&of.problem, cpu)))))
    })
}

/// `Jacobian` on a workload of kernels over arrays, on a device if this build has found one.
pub(crate) fn kernels_on_device<P: Problem>() -> Option<Run<P>> {
    let runs: Vec<Run<P>> = vec![
        #[cfg(feature = "cuda")]
        (Strategy::CUDA, |contest, of, _| {
            let start = || Ok(Some(Box::new(Launched::<_, Cuda>::new(&of.problem, wall)) as Box<dyn Entrant>));
            contest.enter(Strategy::CUDA.title(), start)
        }),
        #[cfg(feature = "opencl")]
        (Strategy::OPENCL, |contest, of, _| {
            let start = || Ok(Some(Box::new(Launched::<_, OpenCl>::new(&of.problem, wall)) as Box<dyn Entrant>));
            contest.enter(Strategy::OPENCL.title(), start)
        }),
    ];
    let (found, _) = device()?;
    runs.into_iter().find(|(strategy, _)| *strategy == found)
}

/// The device that this build has found: the strategy that runs on it, and its name.
pub(crate) fn device() -> Option<(Strategy, String)> {
    let found: Vec<Option<(Strategy, String)>> = vec![
        #[cfg(feature = "cuda")]
        Cuda::selected().ok().map(|device| (Strategy::CUDA, device.name)),
        #[cfg(feature = "opencl")]
        OpenCl::selected().ok().map(|device| (Strategy::OPENCL, device.name)),
    ];
    found.into_iter().flatten().next()
}

/// The Libor market model, recorded once for all paths.
pub(crate) fn program() -> Run<Libor> {
    (Strategy::PROGRAM, |contest, of, _| {
        contest.enter(Strategy::PROGRAM.title(), || Ok(Some(Box::new(RecordedOnce::new(&of.problem)))))
    })
}

/// `Jacobian` on a workload of many evaluations, eight in one recording.
pub(crate) fn packs<P: Problem>() -> Run<P> {
    (Strategy::PACKS, |contest, of, _| {
        contest.enter(Strategy::PACKS.title(), || Ok(Some(Box::new(Packed::new(&of.problem)))))
    })
}

impl Strategy {
    const CHECKPOINTED: Self = Self::new("jacobian", "linear", "checkpointed");
    const BLOCKS: Self = Self::new("jacobian", "linear", "blocks");
    const KERNELS: Self = Self::new("jacobian", "linear", "kernels");
    const OPENCL: Self = Self::new("jacobian", "linear", "opencl");
    const CUDA: Self = Self::new("jacobian", "linear", "cuda");
    const PACKS: Self = Self::new("jacobian", "linear", "packs");
    const PROGRAM: Self = Self::new("program", "linear", "program");

    const fn new(records: &'static str, indices: &'static str, layer: &'static str) -> Self {
        Self { records, indices, layer }
    }

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
            if word != default && word != self.records {
                name += between;
                name += word;
            }
        }
        name
    }

    pub(crate) fn is_in_memory(self) -> bool {
        self.layer == "in_memory"
    }

    /// True of shared and spilled tapes: these take as long as others, or much longer, so they are measured on request.
    pub(crate) fn is_on_other_layer(self) -> bool {
        self.layer == "shared" || self.is_spilled()
    }

    pub(crate) fn is_spilled(self) -> bool {
        self.layer == "spilled"
    }

    /// True if the workload is written in another form.
    pub(crate) fn is_other_form(self) -> bool {
        !self.is_in_memory() && !self.is_on_other_layer()
    }

    /// True if the statements of the workload are records on the tape, of `f64`: in stages nearly all are recorded later,
    /// kernels are not made of statements, the numbers of packs have eight lanes, and programs have instructions.
    pub(crate) fn has_statements(self) -> bool {
        self.is_in_memory() || self.is_on_other_layer() || self == Self::BLOCKS
    }

    /// True if something is recorded for each gradient, in memory that a tape reports.
    pub(crate) fn is_on_tape(self) -> bool {
        self != Self::PROGRAM
    }
}

#[allow(clippy::unnecessary_wraps, reason = "as `spilled`, which can fail")]
fn in_memory<S: Reverse<Value = f64>, P: Problem>(_: &Sequence<P>, _: &Request) -> Result<Tape<S>, Error> {
    Ok(Tape::new())
}

/// A tape that has memory for a quarter of the records of one evaluation, or for two slabs if that is more.
fn spilled<S: Spills + Reverse<Value = f64>, P: Problem>(
    of: &Sequence<P>,
    request: &Request,
) -> Result<Tape<S>, Error> {
    let options = SpillOptions::default().slab(SLAB).directory(&request.directory);
    let mut tape = Tape::<S>::spilled(options.clone())?;
    let x = of.problem.inputs(0);
    tape.try_record(|scope| of.problem.eval(0, &scope.inputs(&x)))?;
    let report = tape.memory();
    let records = report.total().used - report.usage("tables").used - report.usage("values").used;
    // Two slabs with what the allocator keeps of them.
    let least = 2 * (SLAB + 4096);
    Tape::spilled(options.memory(least.max(records / 4)))
}
