//! What the operations return, number by number; and drivers, replays and other types.

use crate::checks::{dot, number, scattered, sent};
use mpi::environment::Universe;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::Communicator as Endpoint;
use std::time::Duration;
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright_mpi::{Communicator, Ranks, Reduction};

pub(crate) fn check(all: Communicator) {
    moved_numbers(all);
    extrema_and_products(all);
    sums_have_the_same_bits(all);
    an_output_on_the_root_alone(all);
    other_types(all);
    a_pause_on_all_ranks(all);
    replays(all);
    messages_are_counted(all);
    the_library_for_mpi_goes_on(all);
}

fn constants(values: &[f64]) -> &[Real<Passive>] {
    Real::wrap_slice(values)
}

fn moved_numbers(all: Communicator) {
    let (rank, size) = (number(all.rank()), all.size());
    let numbers = |of: f64| [10.0 * of, 10.0 * of + 1.0];
    let everything: Vec<f64> = (0..size).flat_map(|of| numbers(number(of))).collect();
    let last = size - 1;
    let mine = numbers(rank);
    assert_eq!(Real::floats(&all.all_gather(constants(&mine))), everything);
    assert_eq!(Real::floats(&all.broadcast(constants(&mine), last)), numbers(number(last)));
    let gathered = all.gather(constants(&mine), last);
    assert_eq!(Real::floats(&gathered), if all.rank() == last { &everything[..] } else { &[] });
    let scattered = all.scatter(&gathered, constants(&[0.0; 2]), last);
    assert_eq!(Real::floats(&scattered), mine);
    let nothing: &[f64] = &[];
    assert!(all.all_gather(constants(nothing)).is_empty());
    assert!(all.all_reduce(constants(nothing), Reduction::Max).is_empty());
    assert!(all.sendrecv(constants(nothing), all.rank(), all.rank()).is_empty());
}

fn extrema_and_products(all: Communicator) {
    let (rank, size) = (all.rank(), all.size());
    // All are equal, then ascending, then all but one are 1.
    let at = [7.0, number(rank), if rank == 0 { 0.0 } else { 1.0 }];
    let reduced = |operation, k: usize| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&at);
            let y = all.all_reduce(&x, operation);
            (x, y)
        });
        // One rank seeds the result.
        let seed = if rank + 1 == size { 1.0 } else { 0.0 };
        (y[k].value(), tape.sweep(&[(&y[k], seed)]).and_then(|adjoints| adjoints.of(&x[k])).expect("a sweep"))
    };
    let one_if = |condition| if condition { 1.0 } else { 0.0 };
    assert_eq!(reduced(Reduction::Max, 0), (7.0, one_if(rank == 0)));
    assert_eq!(reduced(Reduction::Min, 0), (7.0, one_if(rank == 0)));
    assert_eq!(reduced(Reduction::Max, 1), (number(size) - 1.0, one_if(rank + 1 == size)));
    assert_eq!(reduced(Reduction::Min, 1), (0.0, one_if(rank == 0)));
    assert_eq!(reduced(Reduction::Product, 2), (0.0, one_if(rank == 0)));
    let zeros =
        |of: usize| all.all_reduce(constants(&[if rank < of { 0.0 } else { 2.0 }]), Reduction::Product)[0].value();
    assert_eq!(zeros(0), 2.0_f64.powf(number(size)));
    assert_eq!(zeros(2), 0.0);
}

fn sums_have_the_same_bits(all: Communicator) {
    let addend = |rank: usize, k: usize| (0.1 + number(k)).powf(number(rank) - 3.0) * 1e3_f64.powf(1.0 - number(rank));
    let mine: Vec<f64> = (0..50).map(|k| addend(all.rank(), k)).collect();
    let expected: Vec<f64> =
        (0..50).map(|k| (1..all.size()).fold(addend(0, k), |sum, rank| sum + addend(rank, k))).collect();
    assert_eq!(Real::floats(&all.all_reduce(constants(&mine), Reduction::Sum)), expected);
    let root = all.reduce(constants(&mine), Reduction::Sum, 0);
    assert_eq!(Real::floats(&root), if all.rank() == 0 { &expected[..] } else { &[] });
}

/// Drivers sweep on ranks whose own result depends on nothing.
fn an_output_on_the_root_alone(all: Communicator) {
    let at = scattered(all, 2, 1);
    let gradient = gradient::<Jacobian>(
        |x| all.reduce(&[(x[0] * x[1]).eval()], Reduction::Sum, 0).pop().unwrap_or_else(|| Real::constant(1.0)),
        &at,
    );
    assert_eq!(gradient, [at[1], at[0]]);
}

fn other_types(all: Communicator) {
    let small = |k: usize| f32::from(u8::try_from(k).expect("it is small"));
    let rank = small(all.rank());
    let gradient = gradient::<Jacobian<f32>>(
        |x| {
            let y = all.sendrecv(x, (all.rank() + 1) % all.size(), (all.rank() + all.size() - 1) % all.size());
            (y[0] * y[1]).into()
        },
        &[1.5_f32, rank],
    );
    assert_eq!(gradient, [rank, 1.5]);
    let view = View::<Passive<f32>, 1>::filled([5], 2.0);
    assert_eq!(all.all_reduce(&[view], Reduction::Product)[0].values(), [2.0_f32.powf(small(all.size())); 5]);
}

fn a_pause_on_all_ranks(all: Communicator) {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0]);
        let y = tapewright::pause(|| all.all_reduce(&x, Reduction::Sum));
        (x, y)
    });
    let (adjoints, counts) = sent(all, || tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of_all(&x)));
    assert_eq!((adjoints, counts.adjoints.messages), (Ok(vec![0.0]), 0));
    let (_, tangents) = jvp::<Tangent>(
        |x| {
            let y = tapewright::pause(|| all.all_reduce(x, Reduction::Sum));
            vec![(x[0] * y[0]).into()]
        },
        &[3.0],
        &[1.0],
    )
    .expect("one direction");
    assert_eq!(tangents, [3.0 * number(all.size())]);
}

/// A recording is computed again at other inputs, with messages.
fn replays(all: Communicator) {
    fn f<S: Taping<Value = f64>>(all: Communicator, x: &[Real<S>]) -> Real<S> {
        let constant = View::filled([1], 2.0);
        let moved = all.broadcast(&[View::of_variables([1], &x[..1]), constant], 0);
        let y =
            all.all_reduce(&[(&x[0] * &x[1]).eval(), moved[0].variable([0]), moved[1].variable([0])], Reduction::Sum);
        (&y[0] * &y[1] * &y[2]).into()
    }
    let (old, new) = (scattered(all, 2, 1), scattered(all, 2, 2));
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&old);
        let y = f(all, &x);
        (x, y)
    });
    tape.replay(&[(&x[0], new[0]), (&x[1], new[1])]).expect("a replay");
    let replayed = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("a sweep");
    let (value, gradient) = value_and_gradient::<PrimalValue>(|x| f(all, x), &new);
    assert_eq!((tape.value_of(&y), replayed), (Ok(value), gradient));
    assert!(all.counts().replays.messages > 0 || all.size() == 1);
}

fn messages_are_counted(all: Communicator) {
    let (size, is_root) = (all.size() as u64, all.rank() == 0);
    let (_, counts) = sent(all, || all.broadcast(constants(&[1.0; 3]), 0));
    let expected = if is_root { (size - 1, 24 * (size - 1)) } else { (0, 0) };
    assert_eq!((counts.values.messages, counts.values.bytes), expected);
    let to = (all.rank() + 1) % all.size();
    let (_, counts) = sent(all, || all.sendrecv(constants(&[1.0; 4]), to, (all.rank() + all.size() - 1) % all.size()));
    assert_eq!((counts.values.messages, counts.values.bytes), if size == 1 { (0, 0) } else { (1, 32) });
}

/// Every other rank has messages of its own.
pub(crate) fn parts(universe: &Universe) {
    let world = universe.world();
    let part = world.split_by_color(Color::with_value(world.rank() % 2)).expect("every rank has a color");
    let ranks = Ranks::of(universe, &part, Duration::from_mins(1));
    let all = ranks.all();
    let gradient = gradient::<Jacobian>(|x| all.all_reduce(&[(x[0] * x[0]).eval()], Reduction::Product)[0], &[2.0]);
    let others = number(all.size() - 1);
    // All ranks ask for the derivative of the product that they have.
    assert_eq!(gradient, [number(all.size()) * 4.0 * 4.0_f64.powf(others)]);
}

/// Messages of the program meet none of these, and parts of the ranks can have messages of their own.
fn the_library_for_mpi_goes_on(all: Communicator) {
    assert_eq!(usize::try_from(SimpleCommunicator::world().size()), Ok(all.size()));
    assert_eq!(dot(&[1.0], &[1.0]), number(all.size()));
}
