//! Several adjoint vectors in one sweep: each lane is, bit for bit, a sweep of its own.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use crate::{all_kinds, record};
use tapewright::tape::LaneVector;
use tapewright::{Error, External, Rules, SweepError, external, prelude::*};
use tapewright_kit_tests::everywhere;

/// The bits of a number; those of a NaN do not matter.
pub(crate) fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// Seeds of output `output` in so many lanes, zeros of both signs among them.
fn seeds(width: usize, output: usize) -> Vec<f64> {
    const SEEDS: [f64; 9] = [1.0, 0.0, -2.5, -0.0, 1e-300, 0.75, f64::INFINITY, -1e200, 3.0];
    (0..width).map(|lane| SEEDS[(lane * 5 + output * 2) % SEEDS.len()]).collect()
}

/// Sweeps with so many lanes, and lane by lane, and compares the adjoints of the inputs.
pub(crate) fn agrees<S: Reverse<Value = f64>>(
    tape: &mut Tape<S>,
    x: &[Real<S>],
    y: &[Real<S>],
    lanes: &mut LaneVector<f64>,
) {
    let width = lanes.width();
    let all: Vec<Vec<f64>> = (0..y.len()).map(|output| seeds(width, output)).collect();
    let expected: Vec<Vec<f64>> = (0..width)
        .map(|lane| {
            let seeds: Vec<_> = y.iter().zip(&all).map(|(y, seeds)| (y, seeds[lane])).collect();
            tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(x)).expect("of this recording")
        })
        .collect();
    let seeds: Vec<_> = y.iter().zip(&all).map(|(y, seeds)| (y, &seeds[..])).collect();
    let found = tape.sweep_lanes_with(lanes, &seeds).expect("of this recording");
    for (i, x) in x.iter().enumerate() {
        for (lane, found) in found.of(x).expect("of this recording").iter().enumerate() {
            let expected = expected[lane][i];
            assert_eq!(bits(*found), bits(expected), "lane {lane} of {width}, input {i}: {found}, alone {expected}");
        }
    }
}

const WIDTHS: [usize; 8] = [1, 2, 3, 4, 5, 8, 16, 17];

pub(crate) fn agrees_in_every_width<S: Reverse<Value = f64>>(tape: &mut Tape<S>, x: &[Real<S>], y: &[Real<S>]) {
    for width in WIDTHS {
        let mut lanes = LaneVector::new(width);
        agrees(tape, x, y, &mut lanes);
        agrees(tape, x, y, &mut lanes); // nothing is left of the first sweep
    }
}

fn lanes_of_statements_of_all_kinds<S: Reverse<Value = f64>>() {
    let passive = Real::constant(0.25);
    let (mut tape, x, mut y) = record::<S>(&[0.5, -1.25, 2.0], &|x| all_kinds(x, Some(&passive)));
    y.push(passive);
    agrees_in_every_width(&mut tape, &x, &y);
}

fn zeros_keep_their_sign_and_ignore_infinite_partials<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = record::<S>(&[0.0, -0.0, 1.0], &|x| {
        let root: Real<S> = x[0].sqrt().into(); // slope ∞
        let kept: Real<S> = (&x[1] * &root).into(); // partials 0 and −0
        let cut: Real<S> = (x[2].min(0.5) * &root + x[2].max(3.0)).into();
        let negative: Real<S> = (-&kept - &root).into();
        vec![root, kept, cut, negative, x[1].clone()]
    });
    agrees_in_every_width(&mut tape, &x, &y);
    // Only the second lane has a seed.
    let found = tape.sweep_lanes(&[(&y[0], [0.0, 1.0]), (&x[0], [-0.0, 0.0])]).expect("of it");
    assert_eq!(found.of(&x[0]).expect("of it").map(bits), [0.0, f64::INFINITY].map(bits));
}

fn long_recordings_and_external_functions<S: Reverse<Value = f64>>() {
    /// (x, y) ↦ (x·y, x + y), at given arguments.
    struct Pair(f64, f64);
    impl External<f64> for Pair {
        fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            inputs[0] += outputs[0] * self.1 + outputs[1];
            inputs[1] += outputs[0] * self.0 + outputs[1];
            Ok(())
        }
    }
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 1.7]);
        let mut y = x[0].clone();
        let mut ends = Vec::new();
        for round in 0..4 {
            for _ in 0..5000 {
                y = (&y * &x[1]).sin().into();
            }
            let values = [y.value() * x[0].value(), y.value() + x[0].value()];
            let inputs = [y.clone(), x[0].clone(), Real::constant(2.0)];
            let results = external(&inputs[..2 + round % 2], &values, Pair(y.value(), x[0].value()));
            let [product, total] = &results[..] else { panic!("two results") };
            y = (product * 0.5 + total * 0.25).into();
            ends.push(y.clone());
        }
        (x, ends)
    });
    for width in [1, 3, 8] {
        agrees(&mut tape, &x, &y, &mut LaneVector::new(width));
    }
}

/// A function of infinite slope, and one beside it: what its rule makes of a lane in which all adjoints are 0 does not
/// arrive.
fn a_lane_in_which_nothing_arrives_at_an_external_function_is_not_touched<S: Reverse<Value = f64>>() {
    struct Steep;
    impl External<f64> for Steep {
        fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            self.reverse_lanes(1, outputs, inputs)
        }
        fn reverse_lanes(&self, _: usize, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            inputs.iter_mut().zip(outputs).for_each(|(to, from)| *to += from * f64::INFINITY);
            Ok(())
        }
    }
    let (mut tape, x, y) = record::<S>(&[2.0], &|x| {
        let steep = external(&x[..1], &[1.0], Steep).remove(0);
        vec![steep, (&x[0] * 3.0).into()]
    });
    let found = tape.sweep_lanes(&[(&y[0], [1.0, 0.0, -0.0]), (&y[1], [1.0, 1.0, 2.0])]).expect("of this recording");
    assert_eq!(found.of(&x[0]), Ok([f64::INFINITY, 3.0, 6.0]));
    agrees_in_every_width(&mut tape, &x, &y);
}

everywhere!(
    a_lane_in_which_nothing_arrives_at_an_external_function_is_not_touched,
    lanes_of_statements_of_all_kinds,
    zeros_keep_their_sign_and_ignore_infinite_partials,
    long_recordings_and_external_functions,
    widths_may_change_on_one_tape,
);

#[test]
fn lanes_of_the_users_closures() {
    use tapewright::continuation;
    let (mut tape, x, y) = record::<Continuation>(&[0.5, 2.0], &|x| {
        // Not linear in the adjoint to the last bit.
        let y = continuation(&[&x[0], &x[1], &x[0]], 3.0, |adjoint, x| {
            x.copy_from_slice(&[adjoint / 3.0, adjoint * 0.1 + adjoint, -adjoint]);
        });
        let z = (y * x[1] + x[0].sin()).into();
        vec![y, z]
    });
    agrees_in_every_width(&mut tape, &x, &y);
}

#[test]
fn wrong_seeds_are_errors() {
    let (mut tape, x, y) = record::<Jacobian>(&[2.0], &|x| vec![(x[0] * x[0]).into()]);
    let mut lanes = LaneVector::new(3);
    let found = tape.sweep_lanes_with(&mut lanes, &[(&y[0], &[1.0, 2.0])]).err();
    assert!(matches!(found, Some(Error::LengthMismatch { .. })), "{found:?}");
    let foreign = Tape::<Jacobian>::new().record(|scope| scope.input(1.0));
    assert!(matches!(tape.sweep_lanes(&[(&foreign, [1.0; 8])]).err(), Some(Error::ForeignVariable { .. })));
    let found = tape.sweep_lanes(&[(&y[0], [1.0, 2.0]), (&y[0], [0.0, 1.0])]).expect("of it");
    assert_eq!(found.of(&x[0]), Ok([4.0, 12.0]));
    assert_eq!(found.of(&Real::constant(1.0)), Ok([0.0; 2]));
    assert!(matches!(found.of(&foreign), Err(Error::ForeignVariable { .. })));
    assert!(tapewright_kit_tests::panics::panics(&mut || _ = LaneVector::<f64>::new(0)));
}

#[test]
fn lanes_are_in_the_memory_report() {
    let (mut tape, _, y) = record::<Jacobian>(&[2.0], &|x| vec![(x[0] * x[0]).into()]);
    tape.sweep_lanes(&[(&y[0], [1.0; 8])]).expect("of it");
    let usage = tape.memory().usage("lanes");
    assert_eq!(usage.used, 3 * 8 * 8);
    assert!(usage.reserved >= usage.used);
}

/// What passive arguments are given in one width lies where the adjoints of inputs are in another.
fn widths_may_change_on_one_tape<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = record::<S>(&[2.0, 3.0, 4.0, 5.0, 6.0], &|x| {
        let c = Real::<S>::constant(7.0);
        let rule = Rules::new("product", |o: &[f64], i: &mut [f64]| {
            i[0] += 7.0 * o[0];
            i[1] += 2.0 * o[0];
            Ok(())
        });
        let product = external(&[x[0].clone(), c.clone()], &[14.0], rule).remove(0);
        vec![(&product + &c * &x[1] * &x[2] + &x[3] * &x[4] * c.sin() * &c).into()]
    });
    let alone = tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of this recording");
    assert_eq!(alone[..3], [7.0, 28.0, 21.0]);
    let _ = tape.sweep_lanes(&[(&y[0], [1.0; 8])]).expect("of this recording");
    let two = tape.sweep_lanes(&[(&y[0], [1.0; 2])]).expect("of this recording");
    let found: Vec<[f64; 2]> = x.iter().map(|x| two.of(x).expect("of this recording")).collect();
    assert_eq!(found, alone.iter().map(|adjoint| [*adjoint; 2]).collect::<Vec<_>>());
}

/// Eight rows at a time, and the rest; with a passive argument, whose place is another one for the rest.
#[test]
fn rows_of_a_jacobian_are_those_of_single_sweeps() {
    fn check<S: Reverse<Value = f64>>() {
        let c = Real::<S>::constant(7.0);
        let row =
            |x: &[Real<S>], k: usize| -> Real<S> { (x[k % 3].sin() * &x[(k + 1) % 3] / 3.0 + &x[k % 3] * &c).into() };
        for outputs in [1, 2, 3, 5, 8, 9, 10, 16, 19] {
            let (_, rows) = jacobian::<S>(|x| (0..outputs).map(|k| row(x, k)).collect(), &[0.3, 0.7, 1.9]);
            assert_eq!(rows.len(), outputs);
            for (k, found) in rows.iter().enumerate() {
                assert_eq!(*found, gradient::<S>(|x| row(x, k), &[0.3, 0.7, 1.9]), "{k} of {outputs}");
            }
        }
    }
    check::<Jacobian>();
    check::<PrimalValue<f64, Reuse>>();
    check::<Continuation<f64, Reuse>>();
}

/// The last elements of a vector are of no slot if there are fewer or more vectors.
#[test]
fn elements_behind_the_last_slot_do_not_come_back() {
    fn record(tape: &mut Tape<Jacobian>, statements: usize) -> (Real<Jacobian>, Real<Jacobian>) {
        tape.record(|scope| {
            let x = scope.input(0.5);
            (x, (0..statements).fold(x, |y, _| (y.sin() * 1.25).into()))
        })
    }
    for statements in 16..80 {
        let mut tape = Tape::new();
        let (x, y) = record(&mut tape, statements);
        tape.jvp_lanes(&[(&x, [1.0; 8])], &[&y]).unwrap();
        let (x, y) = record(&mut tape, statements / 2 - 2);
        tape.jvp_lanes(&[(&x, [1.0; 16])], &[&y]).unwrap();
        let (x, y) = record(&mut tape, statements);
        let found = tape.sweep_lanes(&[(&y, [1.0; 8])]).unwrap().of(&x).unwrap().to_vec();
        let mut fresh = Tape::new();
        let (x, y) = record(&mut fresh, statements);
        assert_eq!(found, fresh.sweep_lanes(&[(&y, [1.0; 8])]).unwrap().of(&x).unwrap(), "{statements} statements");
    }
}

/// One tape sweeps with any number of vectors after any other, in reverse and forward.
#[test]
fn widths_may_alternate() {
    fn record(tape: &mut Tape<Jacobian>, length: usize) -> (Vec<Real<Jacobian>>, [Real<Jacobian>; 2]) {
        tape.record(|scope| {
            let x = scope.inputs(&[0.5, -1.5, 2.0]);
            let mut y = [x[0], (x[1] * x[2]).into()];
            (0..length).for_each(|k| y = [(y[1].sin() * x[k % 3]).into(), (y[0] * 0.5 + y[1]).into()]);
            (x, y)
        })
    }
    fn turn<const N: usize>(tape: &mut Tape<Jacobian>, length: usize) {
        let (x, y) = record(tape, length);
        let mut fresh = Tape::new();
        let (own_x, own_y) = record(&mut fresh, length);
        let lanes: [f64; N] = core::array::from_fn(|lane| lane as f64 - 1.5);
        let of = |tape: &mut Tape<Jacobian>, x: &[Real<Jacobian>], y: &[Real<Jacobian>; 2]| {
            let forward = tape.jvp_lanes(&[(&x[1], lanes)], &[&y[0], &y[1]]).expect("of it");
            let reverse = tape.sweep_lanes(&[(&y[1], lanes)]).and_then(|found| found.of_all(x)).expect("of it");
            let again = tape.jvp_lanes(&[(&x[2], lanes)], &[&y[0], &x[0]]).expect("of it");
            [forward, reverse, again].concat().concat().into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(of(tape, &x, &y), of(&mut fresh, &own_x, &own_y), "{N} lanes, {length} statements");
    }
    let mut tape = Tape::new();
    for length in [40, 41, 3, 200] {
        turn::<16>(&mut tape, length);
        turn::<3>(&mut tape, length);
        turn::<8>(&mut tape, 2 * length);
        turn::<2>(&mut tape, length);
        turn::<5>(&mut tape, length);
        turn::<1>(&mut tape, length);
        turn::<7>(&mut tape, length + 1);
    }
}
