//! Each operation under each strategy: products with the Jacobian from both sides, differences, several adjoint vectors,
//! and numbers of messages.

use crate::cases::{Case, INPUTS, check_all};
use core::cell::Cell;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use tapewright::{Continuation, Error, Hybrid, Jacobian, Linear, Passive, PrimalValue, Real, Reuse, Reverse, Shared};
use tapewright::{Spilled, SweepError, Tangent, Tape};
use tapewright_mpi::{Communicator, Counts, Traffic};

thread_local! {
    /// A digest of the bits of all gradients so far.
    static BITS: Cell<u64> = const { Cell::new(0) };
}

/// A digest of the bits of all gradients on all ranks.
pub(crate) fn bits(all: Communicator) -> u64 {
    let mut of_all = vec![0; all.size()];
    SimpleCommunicator::world().all_gather_into(&BITS.get(), &mut of_all[..]);
    of_all.into_iter().fold(0, |digest: u64, bits| digest.rotate_left(7) ^ bits)
}

/// Checks all cases under all strategies; returns how many pairs there are.
pub(crate) fn all_strategies(all: Communicator) -> usize {
    let checks = [
        check_all::<Jacobian>,
        check_all::<Jacobian<f64, Reuse>>,
        check_all::<Jacobian<f64, Linear<u64>, Spilled>>,
        check_all::<PrimalValue>,
        check_all::<PrimalValue<f64, Reuse, Shared>>,
        check_all::<Hybrid>,
        check_all::<Continuation<f64, Reuse>>,
    ];
    checks.iter().map(|check| check(all)).sum()
}

/// The sum over the ranks.
pub(crate) fn total(number: f64) -> f64 {
    let mut sum = 0.0;
    SimpleCommunicator::world().all_reduce_into(&number, &mut sum, SystemOperation::sum());
    sum
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    total(a.iter().zip(b).map(|(a, b)| a * b).sum())
}

/// A small number.
pub(crate) fn number(k: usize) -> f64 {
    f64::from(u32::try_from(k).expect("it is small"))
}

/// Scattered numbers, others on each rank.
pub(crate) fn scattered(all: Communicator, count: usize, seed: u32) -> Vec<f64> {
    let one = |k: usize| (f64::from(seed) + 1.7 * number(k) + 0.9 * number(all.rank())).sin();
    (0..count).map(one).collect()
}

/// What one rank has sent in `f`.
pub(crate) fn sent<R>(all: Communicator, f: impl FnOnce() -> R) -> (R, Counts) {
    let before = all.counts();
    let result = f();
    let after = all.counts();
    let less = |a: Traffic, b: Traffic| Traffic { messages: a.messages - b.messages, bytes: a.bytes - b.bytes };
    let counts = Counts {
        values: less(after.values, before.values),
        adjoints: less(after.adjoints, before.adjoints),
        tangents: less(after.tangents, before.tangents),
        replays: less(after.replays, before.replays),
        waited: after.waited.saturating_sub(before.waited),
    };
    (result, counts)
}

/// Messages and bytes of all ranks.
fn of_all(traffic: Traffic) -> (f64, f64) {
    let sum = |count: u64| total(number(usize::try_from(count).expect("it is small")));
    (sum(traffic.messages), sum(traffic.bytes))
}

#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!((found - expected).abs() <= tolerance * scale, "{what}: {found:e}, and {expected:e} was expected");
}

/// A recording of a case on this rank.
struct Recording<S: Reverse<Value = f64>> {
    tape: Tape<S>,
    x: Vec<Real<S>>,
    y: Vec<Real<S>>,
    values: Traffic,
}

fn record<S: Reverse<Value = f64>, C: Case>(all: Communicator, at: &[f64]) -> Recording<S> {
    let mut tape = Tape::<S>::new();
    let ((x, y), counts) = sent(all, || {
        tape.record(|scope| {
            let x = scope.inputs(at);
            let y = C::run(all, &x);
            (x, y)
        })
    });
    Recording { tape, x, y, values: counts.values }
}

impl<S: Reverse<Value = f64>> Recording<S> {
    fn sweep(&mut self, seeds: &[f64]) -> Vec<f64> {
        self.tape.sweep_all(&self.y, seeds).and_then(|adjoints| adjoints.of_all(&self.x)).expect("a sweep")
    }
}

/// Checks a case under a strategy.
pub(crate) fn check<S: Reverse<Value = f64>, C: Case>(all: Communicator) {
    let at = scattered(all, INPUTS, 3);
    let direction = scattered(all, INPUTS, 11);
    let plain =
        |at: &[f64]| -> Vec<f64> { C::run::<Passive>(all, Real::wrap_slice(at)).iter().map(Real::value).collect() };
    let mut recording = record::<S, C>(all, &at);
    let values: Vec<f64> = recording.y.iter().map(Real::value).collect();
    assert_eq!(values, plain(&at), "values of {}", C::NAME);

    let weights = scattered(all, values.len(), 5);
    let (gradient, counts) = sent(all, || recording.sweep(&weights));
    let what = format!("{} under {}", C::NAME, core::any::type_name::<S>());
    // A stage sends its values again in each sweep.
    if !C::NAME.contains("stage") {
        assert_eq!(of_all(counts.adjoints), of_all(recording.values), "messages of {what}");
    }
    BITS.set(gradient.iter().fold(BITS.get(), |digest, slope| digest.rotate_left(7) ^ slope.to_bits()));
    let again = recording.sweep(&weights);
    assert_eq!(again, gradient, "a second sweep of {what}");

    let slope = dot(&gradient, &direction);
    let (_, tangents) = tapewright::jvp::<Tangent<1>>(|x| C::run(all, x), &at, &direction).expect("a direction");
    assert_near(slope, dot(&weights, &tangents), 1e-13, &format!("{what}: sides of the Jacobian"));
    let (_, several) = tapewright::jvps::<Tangent<3>>(|x| C::run(all, x), &at, &[&at, &direction]).expect("directions");
    assert_eq!(several[1], tangents, "two directions at once of {what}");
    differences(&plain, (&at, &direction), (&weights, slope), &what);
    forward_sweep(&mut recording, &direction, &tangents, &what);
    lanes(all, &mut recording, &weights, C::NAME);
    nothing_seeded(&mut recording, &what);
}

/// Compares a slope with a central difference.
fn differences(
    plain: &dyn Fn(&[f64]) -> Vec<f64>,
    (at, direction): (&[f64], &[f64]),
    (weights, slope): (&[f64], f64),
    what: &str,
) {
    let step = 1e-5;
    let along = |t: f64| -> Vec<f64> { at.iter().zip(direction).map(|(x, d)| x + t * d).collect() };
    let (above, below) = (dot(weights, &plain(&along(step))), dot(weights, &plain(&along(-step))));
    assert_near(slope, (above - below) / (2.0 * step), 1e-7, &format!("{what}: difference"));
}

/// Compares a forward sweep over the recording with forward mode.
fn forward_sweep<S: Reverse<Value = f64>>(
    recording: &mut Recording<S>,
    direction: &[f64],
    expected: &[f64],
    what: &str,
) {
    let tangents: Vec<_> = recording.x.iter().zip(direction.iter().copied()).collect();
    let outputs: Vec<&Real<S>> = recording.y.iter().collect();
    match recording.tape.jvp(&tangents, &outputs) {
        Ok(found) => {
            found.iter().zip(expected).for_each(|(a, b)| assert_near(*a, *b, 1e-12, &format!("{what}: forward sweep")));
        }
        Err(Error::Sweep(SweepError::Unsupported { .. })) => {}
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Compares several adjoint vectors at once with one after the other.
fn lanes<S: Reverse<Value = f64>>(all: Communicator, recording: &mut Recording<S>, weights: &[f64], name: &str) {
    let lane =
        |l: usize| -> Vec<f64> { weights.iter().map(|w| if l == 2 { 0.0 } else { w * (1.0 + number(l)) }).collect() };
    let one_by_one: Vec<Vec<f64>> = (0..4).map(|l| recording.sweep(&lane(l))).collect();
    let all_lanes: Vec<Vec<f64>> = (0..4).map(lane).collect();
    let seeds: Vec<_> =
        recording.y.iter().enumerate().map(|(k, y)| (y, [0, 1, 2, 3].map(|l| all_lanes[l][k]))).collect();
    let (found, counts) = sent(all, || {
        let adjoints = recording.tape.sweep_lanes(&seeds).expect("a sweep");
        recording.x.iter().map(|x| adjoints.of(x).expect("a variable of it")).collect::<Vec<_>>()
    });
    for (k, found) in found.iter().enumerate() {
        (0..4).for_each(|l| assert_eq!(found[l], one_by_one[l][k], "lane {l} of {name}"));
    }
    if !name.contains("stage") {
        let (messages, bytes) = of_all(recording.values);
        assert_eq!(of_all(counts.adjoints), (messages, 4.0 * bytes), "messages of {name} with four adjoint vectors");
    }
}

/// A sweep in which no adjoint arrives anywhere ends, and finds zeros.
fn nothing_seeded<S: Reverse<Value = f64>>(recording: &mut Recording<S>, what: &str) {
    let found = recording.tape.sweep(&[]).and_then(|adjoints| adjoints.of_all(&recording.x)).expect("a sweep");
    assert_eq!(found, [0.0; INPUTS], "{what}");
}
