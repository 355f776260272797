//! Forward sweeps over a recording give what forward mode gives.

use crate::{Function, all_kinds, record};
use tapewright::kernels::{View, parallel_for};
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, External, Rules, SweepError, external, prelude::*};
use tapewright_kit_tests::everywhere;

/// Fails unless numbers agree to 1e-13, relative to the larger of their size and 1e-3 of the largest among them: sums
/// may cancel.
fn close(found: &[f64], expected: &[f64]) {
    let largest = expected.iter().fold(1e-300_f64, |max, x| max.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let tolerance = 1e-13 * expected.abs().max(1e-3 * largest);
        assert!((found - expected).abs() <= tolerance, "{found}, but {expected} in forward mode");
    }
    assert_eq!(found.len(), expected.len());
}

/// A function over every strategy.
trait Program {
    fn run<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Vec<Real<S>>;
}

/// Sweeps a recording of `program` forward, twice and in both directions, and compares with forward mode.
fn agrees<S: Reverse<Value = f64>>(program: &impl Program, x: &[f64], direction: &[f64]) {
    let (_, expected) = jvp::<Tangent>(|x| program.run(x), x, direction).expect("equal lengths");
    let (mut tape, inputs, outputs) = record::<S>(x, &|x| program.run(x));
    let outputs: Vec<_> = outputs.iter().collect();
    let gradient = |tape: &mut Tape<S>| {
        let seeds: Vec<_> = outputs.iter().map(|y| (*y, 1.0)).collect();
        tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(&inputs)).expect("of it")
    };
    let before = gradient(&mut tape);
    for _ in 0..2 {
        let tangents: Vec<_> = inputs.iter().zip(direction.iter().copied()).collect();
        close(&tape.jvp(&tangents, &outputs).expect("of it"), &expected);
        assert_eq!(gradient(&mut tape), before, "a reverse sweep after a forward one");
    }
}

struct AllKinds;
impl Program for AllKinds {
    fn run<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Vec<Real<S>> {
        all_kinds(x, Some(&Real::constant(0.25)))
    }
}

fn statements_of_all_kinds<S: Reverse<Value = f64>>() {
    agrees::<S>(&AllKinds, &[0.5, -1.25, 2.0], &[1.0, 0.5, -2.0]);
    agrees::<S>(&AllKinds, &[0.5, -1.25, 2.0], &[0.0, 1.0, 0.0]);
}

/// Variables come and go, so that identifiers are reused and values overwritten many times, in several segments.
struct Long;
impl Program for Long {
    fn run<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Vec<Real<S>> {
        let mut ring: Vec<Real<S>> = x.to_vec();
        for k in 0..12_000 {
            let (i, j) = (k % x.len(), (k * 7 + 1) % x.len());
            ring[i] = (ring[i].sin() * 0.75 + &ring[j] * &x[i] * 0.25).into();
        }
        ring
    }
}

fn long_recordings<S: Reverse<Value = f64>>() {
    agrees::<S>(&Long, &[0.5, -0.25, 0.75, 0.1], &[1.0, 0.5, -2.0, 0.0]);
}

/// (x, y) ↦ (x·y, x + y), at given arguments.
struct Pair(f64, f64);
impl External<f64> for Pair {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs[0] += outputs[0] * self.1 + outputs[1];
        inputs[1] += outputs[0] * self.0 + outputs[1];
        Ok(())
    }
    fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        outputs[0] = inputs[0] * self.1 + inputs[1] * self.0;
        outputs[1] = inputs[0] + inputs[1];
        Ok(())
    }
}

fn external_functions<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut slope = 1.0;
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.5);
        let mut y = x.clone();
        for _ in 0..2000 {
            y = (&y * 0.5 + 0.25).into();
            slope *= 0.5;
        }
        for _ in 0..3 {
            let values = [y.value() * x.value(), y.value() + x.value()];
            let pair = external(&[y.clone(), x.clone()], &values, Pair(y.value(), x.value()));
            let slopes = [slope * x.value() + y.value(), slope + 1.0];
            y = (&pair[0] * 0.5 - pair[1].sin()).into();
            slope = slopes[0] * 0.5 - slopes[1] * pair[1].value().cos();
        }
        (x, y)
    });
    close(&tape.jvp(&[(&x, 1.0)], &[&y]).expect("all rules are there"), &[slope]);
    // One without a forward rule matters only if a tangent reaches it.
    let (x, z, y) = tape.record(|scope| {
        let (x, z) = (scope.input(0.5), scope.input(0.25));
        let rules = Rules::new("mute", |outputs: &[f64], inputs: &mut [f64]| {
            inputs[0] += outputs[0];
            Ok(())
        });
        let same = external(std::slice::from_ref(&x), &[0.5], rules);
        (x, z.clone(), (&same[0] + &z * 3.0).into())
    });
    assert_eq!(tape.jvp(&[(&z, 1.0)], &[&y]), Ok(vec![3.0]));
    let failed = tape.jvp(&[(&x, 1.0)], &[&y]);
    let rule = SweepError::NoRule { function: "mute".into(), rule: "forward" };
    assert_eq!(failed, Err(Error::Sweep(rule)));
    assert_eq!(tape.jvp(&[(&z, 2.0)], &[&y, &z]), Ok(vec![6.0, 2.0]));
}

fn zeros_and_infinities<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y, z) = tape.record(|scope| {
        let x = scope.inputs(&[0.0, 2.0]);
        let y: Real<S> = (x[0].sqrt() + &x[1] * 3.0).into(); // slope ∞
        let z: Real<S> = (&y * &x[1]).into();
        (x, y, z)
    });
    assert_eq!(tape.jvp(&[(&x[1], 1.0)], &[&y, &z]), Ok(vec![3.0, 12.0]));
    assert_eq!(tape.jvp(&[(&x[0], 1.0)], &[&y]), Ok(vec![f64::INFINITY]));
    assert_eq!(tape.jvp(&[], &[&y, &z]), Ok(vec![0.0; 2]));
    let passive = Real::<S>::constant(2.0);
    assert_eq!(tape.jvp(&[(&passive, 1.0), (&x[1], 1.0), (&x[1], 1.0)], &[&passive, &y]), Ok(vec![0.0, 6.0]));
    let foreign = Tape::<S>::new().record(|scope| scope.input(1.0));
    assert!(matches!(tape.jvp(&[(&foreign, 1.0)], &[&y]), Err(Error::ForeignVariable { .. })));
    assert!(matches!(tape.jvp(&[(&x[1], 1.0)], &[&foreign]), Err(Error::ForeignVariable { .. })));
    let mut vector = AdjointVector::new();
    assert_eq!(tape.jvp_with(&mut vector, &[(&x[1], 1.0)], &[&y]), Ok(vec![3.0]));
}

fn resumed_recordings<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.5);
        (x.clone(), (&x * &x).eval())
    });
    let z = tape.resume(|scope| {
        let (x, y) = (scope.renew(&x).expect("earlier"), scope.renew(&y).expect("earlier"));
        (&y * 3.0 + &x).eval()
    });
    assert_eq!(tape.jvp(&[(&x, 1.0)], &[&y, &z]), Ok(vec![1.0, 4.0]));
}

/// Forward sweeps over a recording that goes on, is cut, and gives its tape to another one with records as long.
fn recordings_that_change<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    for factor in [3.0, 5.0] {
        let (x, y, middle) = tape.record(|scope| {
            let x = scope.input(0.5);
            let y = if factor > 4.0 { (x.sin() * factor).eval() } else { (x.exp() * factor).eval() };
            (x, y, scope.position())
        });
        let slope = if factor > 4.0 { factor * 0.5_f64.cos() } else { factor * 0.5_f64.exp() };
        close(&tape.jvp(&[(&x, 1.0)], &[&y]).expect("of it"), &[slope]);
        for terms in [1_u8, 40, 2] {
            let z = tape.resume(|scope| {
                let y = scope.renew(&y).expect("earlier");
                let sum: Real<S> = vec![y.clone(); usize::from(terms)].iter().sum();
                (&sum * &y).eval()
            });
            let value = if factor > 4.0 { factor * 0.5_f64.sin() } else { factor * 0.5_f64.exp() };
            for _ in 0..2 {
                let found = tape.jvp(&[(&x, 1.0)], &[&y, &z]).expect("of it");
                close(&found, &[slope, 2.0 * f64::from(terms) * value * slope]);
            }
            drop(z);
            tape.reset_to(&middle).expect("of it");
        }
    }
}

/// Sweeps a recording along several directions, and along each alone: with the same bits, also where all tangents are
/// 0.
fn several_agree<S: Reverse<Value = f64>>(tape: &mut Tape<S>, inputs: &[Real<S>], outputs: &[Real<S>]) {
    let outputs: Vec<_> = outputs.iter().collect();
    let along = |lane: usize, k: usize| match (lane % 5, k % 3) {
        (0, 0) | (1, _) => 0.0,
        (2, 1) => -1.5,
        (4, 2) => f64::INFINITY,
        (lane, k) => f64::from(u8::try_from(lane * 3 + k).expect("few")),
    };
    let alone = |tape: &mut Tape<S>, lane| {
        let tangents: Vec<_> = inputs.iter().enumerate().map(|(k, x)| (x, along(lane, k))).collect();
        tape.jvp(&tangents, &outputs).expect("of it")
    };
    for width in [1, 2, 3, 7, 8, 15] {
        let directions: Vec<Vec<f64>> =
            (0..inputs.len()).map(|k| (0..width).map(|lane| along(lane, k)).collect()).collect();
        let tangents: Vec<_> = inputs.iter().zip(directions.iter().map(|each| &each[..])).collect();
        let mut lanes = LaneVector::new(width);
        for _ in 0..2 {
            let found = tape.jvp_lanes_with(&mut lanes, &tangents, &outputs).expect("of it");
            assert_eq!(found.len(), outputs.len() * width);
            for lane in 0..width {
                let expected = alone(tape, lane);
                for (k, expected) in expected.iter().enumerate() {
                    let found = found[k * width + lane];
                    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                    assert!(same, "output {k} in lane {lane} of {width}: {found}, not {expected}");
                }
            }
            // A reverse sweep in the same lanes finds them clean.
            let seeds = vec![1.0; width];
            let seeds: Vec<_> = outputs.iter().map(|y| (*y, &seeds[..])).collect();
            let expected = tape.sweep(&outputs.iter().map(|y| (*y, 1.0)).collect::<Vec<_>>()).expect("of it");
            let expected = expected.of_all(inputs).expect("inputs");
            let found = tape.sweep_lanes_with(&mut lanes, &seeds).expect("of it");
            for (x, expected) in inputs.iter().zip(&expected) {
                let expected = expected.to_bits();
                assert!(found.of(x).expect("an input").iter().all(|found| found.to_bits() == expected));
            }
        }
    }
    let tangents: Vec<_> = inputs.iter().enumerate().map(|(k, x)| (x, [along(2, k), along(3, k)])).collect();
    let found = tape.jvp_lanes(&tangents, &outputs).expect("of it");
    let expected = [alone(tape, 2), alone(tape, 3)];
    for (k, found) in found.iter().enumerate() {
        assert_eq!(found.map(f64::to_bits), [expected[0][k].to_bits(), expected[1][k].to_bits()]);
    }
}

fn several_directions<S: Reverse<Value = f64>>() {
    let x = [0.5, -1.25, 2.0];
    for f in [&|x: &[Real<S>]| AllKinds.run(x), &|x: &[Real<S>]| Long.run(x)] as [Function<S>; 2] {
        let (mut tape, inputs, outputs) = record::<S>(&x, f);
        several_agree(&mut tape, &inputs, &outputs);
    }
    // Functions of their author, a launch, slopes that are infinite, and an argument that is assigned to.
    let (mut tape, inputs, outputs) = record::<S>(&[0.0, 2.0, 3.0], &|x| {
        let pair = external(&x[1..3], &[6.0, 5.0], Pair(2.0, 3.0));
        let mut view = View::of_variables([2], &pair);
        parallel_for(view.all(), &mut view, |y| (y.at::<0>() * y.at::<0>(),));
        let root: Real<S> = (x[0].sqrt() + &x[1]).into();
        let mut y = root.clone();
        y += &x[2] * &pair[0];
        y = (y.sin() * &root).into();
        [view.to_variables(), vec![root, y, pair[1].clone(), x[0].clone()]].concat()
    });
    several_agree(&mut tape, &inputs, &outputs);
    let foreign = Tape::<S>::new().record(|scope| scope.input(1.0));
    assert!(matches!(tape.jvp_lanes(&[(&foreign, [1.0, 2.0])], &[]), Err(Error::ForeignVariable { .. })));
    assert!(matches!(tape.jvp_lanes(&[(&inputs[0], [1.0])], &[&foreign]), Err(Error::ForeignVariable { .. })));
    let wrong = tape.jvp_lanes_with(&mut LaneVector::new(3), &[(&inputs[0], &[1.0])], &[]);
    let (expected, found) = (("lanes", 3), ("tangents of an input", 1));
    assert_eq!(wrong, Err(Error::LengthMismatch { expected, found }));
}

everywhere!(
    statements_of_all_kinds,
    long_recordings,
    external_functions,
    zeros_and_infinities,
    resumed_recordings,
    recordings_that_change,
    several_directions,
);

#[test]
fn closures_of_the_user() {
    let mut tape = Tape::<Continuation>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(3.0);
        let square = tapewright::continuation(&[&x, &x], 9.0, |adjoint, x| x.fill(adjoint * 3.0));
        (x, (square + x).eval())
    });
    assert_eq!(tape.jvp(&[(&x, 2.0)], &[&y]), Ok(vec![14.0]));
}

/// What a forward sweep leaves in a vector are tangents, and no adjoints of the sweep that was under way in it.
#[test]
fn a_forward_sweep_ends_the_sweep_from_position_to_position_that_a_vector_was_in() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            (x.clone(), (&x * &x).eval())
        });
        let middle = tape.position();
        let z = tape.resume(|scope| {
            let y = scope.renew(&y).expect("of this recording");
            (&y * &y).eval()
        });
        let mut vector = AdjointVector::new();
        let half = |vector: &mut AdjointVector<f64>| {
            tape.seed(vector, &[(&z, 1.0)]).expect("of it");
            tape.sweep_between(vector, &tape.position(), &middle).expect("in memory");
        };
        let rest = |vector: &mut AdjointVector<f64>| tape.sweep_from_position(vector, &middle).and_then(|a| a.of(&x));
        half(&mut vector);
        assert_eq!(tape.jvp_with(&mut vector, &[(&x, 1.0)], &[&z]), Ok(vec![32.0]));
        assert_eq!(rest(&mut vector), Ok(0.0), "nothing is seeded any more");
        half(&mut vector);
        assert_eq!(rest(&mut vector), Ok(32.0));
    }
    holds::<Hybrid<f64, Reuse>>();
    holds::<Continuation>();
}

/// A matrix with at least five more rows than columns is found by columns, if all functions have forward rules
/// and every entry is finite, which a reverse sweep confirms; otherwise by rows, eight at once.
#[test]
fn tall_jacobians_are_found_by_columns() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let [forward, reverse] = [(); 2].map(|()| std::sync::Arc::new(AtomicUsize::new(0)));
    let found = |rows: u16, has_forward: bool, pole: bool| {
        [&forward, &reverse].into_iter().for_each(|calls| calls.store(0, Relaxed));
        let (along, back) = (forward.clone(), reverse.clone());
        let matrix = jacobian::<Jacobian>(
            |x| {
                let back = back.clone();
                let rule = Rules::new("twice", move |seeds: &[f64], sums: &mut [f64]| {
                    back.fetch_add(1, Relaxed);
                    sums[0] += 2.0 * seeds[0];
                    Ok(())
                });
                let along = along.clone();
                let with_forward = |rule: Rules<f64>| {
                    rule.forward(move |tangents: &[f64], results: &mut [f64]| {
                        along.fetch_add(1, Relaxed);
                        results[0] = 2.0 * tangents[0];
                        Ok(())
                    })
                };
                let rule = if has_forward { with_forward(rule) } else { rule };
                let twice = external(&x[..1], &[2.0 * x[0].value()], rule).remove(0);
                let last = if pole { (x[1] - x[1].value()).sqrt().eval() } else { x[1] };
                (1..=rows).map(|k| (twice * f64::from(k) + last).into()).collect()
            },
            &[0.5, 1.5],
        );
        (matrix.1, [&forward, &reverse].map(|calls| calls.load(Relaxed)))
    };
    for (rows, has_forward, pole, calls) in
        [(7, true, false, [1, 1]), (6, true, false, [0, 6]), (7, false, false, [0, 7]), (7, true, true, [1, 7])]
    {
        let (matrix, called) = found(rows, has_forward, pole);
        let last = if pole { f64::INFINITY } else { 1.0 };
        assert!(matrix.iter().zip(1_u16..).all(|(row, k)| *row == [2.0 * f64::from(k), last]), "{matrix:?}");
        assert_eq!(called, calls);
    }
}

/// Infinite partials may cancel, or meet a zero, on the way forward, and give NaN on the way back: a matrix is the same
/// however many rows it has.
#[test]
fn what_is_infinite_in_one_direction_only_is_found_by_rows() {
    let rooted = |rows: u16| {
        let f = |p: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> {
            let zero = (p[0] - p[0]).sqrt().eval();
            (1..=rows).map(|k| (zero * f64::from(k)).into()).collect()
        };
        let dense = jacobian::<Jacobian>(f, &[2.0]).1.concat();
        let sparse = tapewright::sparse::sparse_jacobian::<Jacobian>(f, &[2.0]).expect("there is a pattern").1;
        assert_eq!(sparse.values().len(), usize::from(rows));
        assert!(sparse.values().iter().zip(&dense).all(|(a, b)| a.to_bits() == b.to_bits()), "{sparse:?} {dense:?}");
        dense
    };
    for rows in [1, 5, 6, 20] {
        assert!(rooted(rows).iter().all(|entry| entry.is_nan()), "{:?}", rooted(rows));
    }
}

#[test]
fn a_forward_rule_that_fails_is_not_missed() {
    let found = |rows: u16| {
        jacobian::<Jacobian>(
            |x| {
                let back = |seeds: &[f64], sums: &mut [f64]| {
                    sums[0] += 3.0 * seeds[0];
                    Ok(())
                };
                let rule = Rules::new("g", back).forward(|_, _| Err(SweepError::rule("g", "not there yet")));
                let y = external(&x[..1], &[3.0 * x[0].value()], rule).remove(0);
                (0..rows).map(|_| y).collect()
            },
            &[2.0],
        )
    };
    assert_eq!(found(6).1.concat(), [3.0; 6]);
    assert_eq!(found(5).1.concat(), [3.0; 5]);
}
