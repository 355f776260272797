//! Programs whose scenarios are shared out over the ranks.

use tapewright::Dual;
use tapewright::prelude::*;
use tapewright::programs::{Evaluations, Means, Program, Scenarios, scenarios};
use tapewright::strategies::Float;
use tapewright_mpi::Communicator;

/// Two outputs, one of which branches.
fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> [Real<S>; 2] {
    let x = (p[0] * (p[1] * d[0] + d[1]).exp()).eval();
    [if x > 1.5 { (x * x).into() } else { (x + p[1]).into() }, (x.sin() * p[1]).into()]
}

fn data(count: usize) -> impl Scenarios<f64> + Copy {
    scenarios(count, 2, |k, data| {
        let of = |k: usize| f64::from(u32::try_from(k).expect("there are few scenarios"));
        (data[0], data[1]) = (of(k * 37 % 101) * 0.02 - 1.0, of(k * 61 % 89) * 0.02);
    })
}

/// Computes programs on all ranks; returns the bits of what was found.
pub(crate) fn check(all: Communicator) -> u64 {
    let parameters = [0.8, -0.3];
    let program = Program::new(f);
    // More ranks than scenarios, shares that differ in length, and more than a chunk.
    let mut bits = 0;
    for count in [0, 1, 3, 997, 5000] {
        let mine = program.gradient(&parameters, all.share(data(count))).expect("the lengths are right");
        let means = all.means(&mine);
        assert_eq!(means.count(), count);
        let alone = program.gradient(&parameters, data(count)).expect("the lengths are right");
        agree(&means, &alone);
        if all.size() == 1 {
            assert_eq!(
                format!("{means:?}"),
                format!("{:?}", alone.means()),
                "one rank has the bits of a program alone"
            );
        }
        let numbers = (0..means.outputs()).flat_map(|output| means.mean_gradient(output).to_vec());
        bits = numbers.fold(bits, |bits: u64, number| bits.rotate_left(5) ^ number.to_bits());
    }
    // The same numbers on all ranks.
    let halves = [bits >> 32, bits & u64::from(u32::MAX)].map(|half| u32::try_from(half).expect("it is half"));
    let halves = halves.map(f64::from);
    for other in all.all_gather(Real::<Passive>::wrap_slice(&halves)).chunks_exact(2) {
        assert_eq!([other[0].value(), other[1].value()], halves, "the ranks have other bits");
    }
    second_order(all);
    bits
}

/// Asserts that means, errors and gradients are those of all scenarios on one rank.
fn agree(means: &Means<f64>, alone: &Evaluations<f64>) {
    let close =
        |a: f64, b: f64| assert!(a == b || (a - b).abs() <= 1e-12 * b.abs() || a.is_nan() && b.is_nan(), "{a}, {b}");
    for output in 0..means.outputs() {
        close(means.mean(output), alone.mean(output));
        close(means.standard_error(output), alone.standard_error(output));
        let gradients = means.mean_gradient(output).iter().zip(alone.mean_gradient(output));
        gradients.for_each(|(a, b)| close(*a, b));
        assert_eq!(means.mean_gradient(output).len(), 2);
    }
}

/// Hessian matrices of means times a vector, over all ranks.
fn second_order(all: Communicator) {
    let program = Program::<Dual<f64, 1>>::new(f);
    let directions = [[1.0], [2.0]];
    let found = program.hessian_times(&[0.8, -0.3], &directions, all.share(data(997))).expect("the lengths are right");
    let alone = program.hessian_times(&[0.8, -0.3], &directions, data(997)).expect("the lengths are right");
    let means = all.means(&found);
    for (a, b) in means.mean_gradient(0).iter().zip(alone.mean_gradient(0)) {
        assert!(b.is_finite() && (a.tangents[0] - b.tangents[0]).abs() <= 1e-12 * b.tangents[0].abs(), "{a} and {b}");
    }
}
