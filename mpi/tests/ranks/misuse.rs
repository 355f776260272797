//! Programs that go wrong: each ends on all ranks, and says why.

use crate::checks::{number, sent};
use mpi::environment::Universe;
use std::time::Duration;
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright_mpi::{Communicator, Ranks, Reduction};

/// A program that fails, and what is said then.
pub(crate) struct Misuse {
    pub(crate) name: &'static str,
    pub(crate) ranks: usize,
    pub(crate) says: &'static [&'static str],
    run: fn(Communicator),
}

const fn on(ranks: usize, name: &'static str, says: &'static [&'static str], run: fn(Communicator)) -> Misuse {
    Misuse { name, ranks, says, run }
}

pub(crate) const PROGRAMS: &[Misuse] = &[
    on(2, "counts-of-a-message", &["receive from rank 0 at", "the counts differ: 3 on rank 1, 2 on rank 0"], |all| {
        if all.rank() == 0 { all.send(&numbers(2), 1) } else { drop(all.receive(&numbers(3), 0)) }
    }),
    on(3, "counts-of-a-call", &["all_reduce at", "the counts differ:"], |all| {
        drop(all.all_reduce(&numbers(if all.rank() == 1 { 4 } else { 3 }), Reduction::Sum));
    }),
    on(2, "other-calls", &["the calls differ: gather on rank 0, all_gather on rank 1"], |all| {
        drop(if all.rank() == 0 { all.gather(&numbers(1), 0) } else { all.all_gather(&numbers(1)) });
    }),
    on(2, "other-means", &["means over all ranks: 2 outputs with 4 numbers on rank 0, 1 with 2 on rank 1"], |all| {
        let outputs = 2 - all.rank();
        let values = tapewright::programs::Program::new(move |_, d| vec![d[0]; outputs]).values(&[], &[[1.0]]);
        drop(all.means(&values.expect("the lengths are right")));
    }),
    on(2, "other-operations", &["the operations of the reduction differ"], |all| {
        let operation = if all.rank() == 0 { Reduction::Sum } else { Reduction::Max };
        drop(all.all_reduce(&numbers(1), operation));
    }),
    on(2, "other-roots", &["the root ranks differ: 0 on rank 0, 1 on rank 1"], |all| {
        drop(all.broadcast(&numbers(1), all.rank()));
    }),
    on(2, "recorded-on-one-rank", &["either all ranks record a call, or none"], |all| {
        let exchange = || drop(all.all_gather::<Jacobian, _>(&[Real::constant(1.0)]));
        if all.rank() == 0 { Tape::<Jacobian>::new().record(|_| exchange()) } else { exchange() }
    }),
    on(2, "other-numbers", &["the types of numbers differ, in bytes: 8 on rank 0, 4 on rank 1"], |all| {
        if all.rank() == 0 {
            drop(all.all_gather(&numbers(1)));
        } else {
            drop(all.all_gather(&[Real::<Passive<f32>>::constant(1.0)]));
        }
    }),
    on(3, "panic", &["rank 1 of 3 has panicked (latest call: all_reduce at", "this ends all ranks"], |all| {
        drop(all.all_reduce(&numbers(1), Reduction::Sum));
        assert!(all.rank() != 1, "a panic of the program");
        drop(all.all_reduce(&numbers(1), Reduction::Sum));
    }),
    on(
        2,
        "never-sent",
        &["rank 1 of 2 has waited", "in receive from rank 0 at", "for ranks that did not come"],
        |all| {
            if all.rank() == 1 {
                drop(all.receive(&numbers(1), 0));
            } else {
                sleep();
            }
        },
    ),
    on(3, "swept-on-one-rank", &["rank 0 of 3 has waited", "all_reduce at"], |all| {
        let mut tape = Tape::<Jacobian>::new();
        let y = tape.record(|scope| all.all_reduce(&[scope.input(1.0)], Reduction::Sum));
        if all.rank() == 0 { drop(tape.sweep(&[(&y[0], 1.0)])) } else { sleep() }
    }),
    on(
        2,
        "swept-on-one-rank-that-others-leave",
        &["the calls differ: all_reduce on rank 0, the end of Ranks on"],
        |all| {
            let mut tape = Tape::<Jacobian>::new();
            let y = tape.record(|scope| all.all_reduce(&[scope.input(1.0)], Reduction::Sum));
            if all.rank() == 0 {
                drop(tape.sweep(&[(&y[0], 1.0)]));
            }
        },
    ),
    on(2, "lanes", &["the numbers of adjoint vectors differ: "], |all| {
        let mut tape = Tape::<Jacobian>::new();
        let y = tape.record(|scope| all.all_reduce(&[scope.input(1.0)], Reduction::Sum));
        if all.rank() == 0 { drop(tape.sweep(&[(&y[0], 1.0)])) } else { drop(tape.sweep_lanes(&[(&y[0], [1.0; 2])])) }
    }),
    on(2, "schedules", &["the time loops around run by different schedules on rank"], |all| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| {
            let (x, schedule) = (scope.inputs(&[1.0]), Revolve::new(20, 2 + all.rank()));
            let step = move |x: &Vec<Real<Passive>>| all.all_reduce(x, Reduction::Sum);
            let taped = move |x: &Vec<Real<Jacobian>>| all.all_reduce(x, Reduction::Sum);
            drop(TimeLoop::<Jacobian>::new(schedule).run(&(), &x, move |_, (), x| step(x), move |_, (), x| taped(x)));
        });
    }),
    on(2, "not-received", &["has not received one from rank 0"], |all| {
        if all.rank() == 0 {
            all.send(&numbers(1), 1);
        }
    }),
    on(2, "not-waited-for", &["immediate_receive from rank 0 at", "was never waited for"], |all| {
        let numbers = numbers(1);
        if all.rank() == 0 { all.send(&numbers, 1) } else { drop(all.immediate_receive(&numbers, 0)) }
    }),
    on(2, "no-such-rank", &["there is no rank 2: they are numbered from 0 to 1"], |all| all.send(&numbers(1), 2)),
    on(2, "failed-sweep", &["rank 1 of 2 has failed: all_reduce at"], |all| {
        let mut tape = Tape::<Jacobian>::new();
        let y = tape.record(|scope| all.all_reduce(&[scope.input(1.0)], Reduction::Sum));
        // The program goes on after the error, as far as it gets.
        let width = if all.rank() == 0 {
            tape.sweep(&[(&y[0], 1.0)]).is_err()
        } else {
            tape.sweep_lanes(&[(&y[0], [1.0; 2])]).is_err()
        };
        assert!(width);
        if all.rank() == 0 {
            sleep();
        }
    }),
];

/// For longer than anybody waits.
fn sleep() {
    std::thread::sleep(Duration::from_mins(10));
}

fn numbers(count: usize) -> Vec<Real<Passive>> {
    vec![Real::constant(1.0); count]
}

/// Runs one of the programs.
pub(crate) fn run(universe: &Universe, name: &str) {
    let misuse = PROGRAMS.iter().find(|misuse| misuse.name == name).expect("a program of the list");
    let ranks = Ranks::new(universe, Duration::from_secs(2));
    (misuse.run)(ranks.all());
}

/// What is an error before any message: sweeps on other threads, and after the ranks have been dropped.
pub(crate) fn refused(ranks: Ranks<'_>) {
    let all = ranks.all();
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[1.5]);
        let y = all.all_reduce(&x, Reduction::Sum);
        (x, y)
    });
    let refuses = |outcome: Result<(), Error>, why: &str| {
        let words = outcome.expect_err("it is refused").to_string();
        assert!(words.contains("all_reduce at") && words.contains(why), "{words}");
    };
    let ((), counts) = sent(all, || {
        std::thread::scope(|threads| {
            let sweep = threads.spawn(|| {
                let mut vector = tapewright::tape::AdjointVector::new();
                tape.sweep_with(&mut vector, &[(&y[0], 1.0)]).map(drop)
            });
            refuses(sweep.join().expect("no panic"), "on the thread that initialized MPI");
        });
    });
    assert_eq!((counts.adjoints.messages, counts.values.messages), (0, 0));
    let elsewhere = std::thread::spawn(move || drop(all.all_reduce(&numbers(1), Reduction::Sum))).join();
    assert!(
        elsewhere.is_err_and(|panic| panic.downcast_ref::<String>().is_some_and(|why| why.contains("the thread that")))
    );
    // Nothing is broken by that.
    assert_eq!(tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of(&x[0])), Ok(number(all.size())));
    drop(ranks);
    refuses(tape.sweep(&[(&y[0], 1.0)]).map(drop), "the ranks of this communicator have been dropped");
}
