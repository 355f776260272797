//! Programs: each scenario gives what it gives alone, whatever the width of blocks, the threads and the branches.
#![allow(clippy::cast_precision_loss, reason = "scenarios are few")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels are closures of their operands")]

#[path = "programs/alone.rs"]
mod alone;
#[path = "programs/beside_tapes.rs"]
mod beside_tapes;
#[path = "programs/branches.rs"]
mod branches;
#[path = "programs/calls.rs"]
mod calls;
#[path = "programs/functions.rs"]
mod functions;
#[path = "programs/in_place.rs"]
mod in_place;
#[path = "programs/launches.rs"]
mod launches;
#[path = "programs/options.rs"]
mod options;
#[path = "programs/refusals.rs"]
mod refusals;
#[path = "programs/results.rs"]
mod results;
#[path = "programs/second.rs"]
mod second;
#[path = "programs/special.rs"]
mod special;

use tapewright::prelude::*;
use tapewright::programs::{Program, ProgramReal, Scenarios, scenarios};

/// More than two blocks of 64, and a remainder.
pub(crate) const COUNT: usize = 150;

pub(crate) fn datum(k: usize) -> [f64; 2] {
    [1.5 + (k as f64 * 1.7).sin(), 2.0 + (k % 3) as f64]
}

pub(crate) fn data(count: usize) -> impl Scenarios<f64> {
    scenarios(count, 2, |k, data| data.copy_from_slice(&datum(k)))
}

/// Compares a program of width 1 with a tape for each scenario, bit for bit.
pub(crate) fn assert_bits_of_tapes(
    name: &str,
    on_program: impl Fn(&[ProgramReal], &[ProgramReal]) -> Vec<ProgramReal> + Send + Sync,
    on_tape: impl Fn(&[Real<PrimalValue>]) -> Vec<Real<PrimalValue>>,
) {
    let program = Program::new(on_program).in_blocks_of(1);
    let p = [0.5, 1.25];
    let found = program.gradients(&p, data(COUNT)).unwrap();
    for k in 0..COUNT {
        let (value, gradient) = value_and_gradient::<PrimalValue>(|x| on_tape(x)[0], &[p, datum(k)].concat());
        let at = k * found.values.len() / COUNT;
        assert_eq!((found.values[at], &found.gradients[at][..]), (value, &gradient[2..]), "{name}, scenario {k}");
    }
}

/// Compares a program that four threads share with programs of their own.
pub(crate) fn assert_threads_may_share(
    function: impl Fn(&[ProgramReal], &[ProgramReal]) -> Vec<ProgramReal> + Copy + Send + Sync,
) {
    let program = Program::new(function);
    let at = |thread: usize| [0.5 + thread as f64 / 8.0, 1.25];
    let expected: Vec<_> = (0..4).map(|thread| Program::new(function).gradients(&at(thread), data(COUNT))).collect();
    for _ in 0..5 {
        std::thread::scope(|scope| {
            let threads = (0..4).map(|thread| {
                scope.spawn({
                    let program = &program;
                    move || program.gradients(&at(thread), data(COUNT))
                })
            });
            let found: Vec<_> = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect();
            assert_eq!(found, expected);
        });
    }
    #[cfg(feature = "threads")]
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let program = Program::new(function).in_parallel();
        let found = pool.install(|| program.gradients(&at(0), data(5000)).unwrap());
        assert_eq!(found, Program::new(function).gradients(&at(0), data(5000)).unwrap());
    }
}
