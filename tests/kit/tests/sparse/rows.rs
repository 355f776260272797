//! Jacobian matrices whose rows are found one after the other, each by the records that it depends on.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use super::record;
use tapewright::prelude::*;
use tapewright::sparse::{Pattern, SparseJacobian};
use tapewright::{Error, linear_combination};
use tapewright_kit_tests::everywhere;

/// A function of small functions.
type Function<'a, S> = &'a dyn Fn(&[Real<S>]) -> Vec<Real<S>>;

/// Evaluates the matrix several times, and compares each row with a sweep from its output, bit for bit
/// where rows are found one after the other.
fn agrees<S: Reverse<Value = f64>>(x: &[f64], f: Function<S>) {
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, x);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    // Where identifiers are reused, colors are swept, which may be those of columns.
    let by_colors = core::any::type_name::<S>().contains("Reuse");
    for _ in 0..3 {
        let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("the pattern is right").clone();
        for (row, y) in y.iter().enumerate() {
            let expected = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
            for (column, expected) in expected.iter().enumerate() {
                let found = matrix.get(row, column).unwrap_or(0.0);
                let near = (found - expected).abs() <= 1e-13 * expected.abs();
                let same = found.to_bits() == expected.to_bits() || by_colors && near;
                assert!(same, "({row}, {column}): {found}, not {expected}");
            }
        }
    }
}

/// Blocks of two outputs that share statements, in any order, over parameters that all of them read.
fn blocks<S: Reverse<Value = f64>>() {
    let x: Vec<f64> = (0..40).map(|k| 0.3 + 0.05 * f64::from(k)).collect();
    agrees::<S>(&x, &|x| {
        let mut outputs = Vec::new();
        for own in &x[3..] {
            let r: Real<S> = (&x[0] * own + x[1].sin()).into();
            let s: Real<S> = (&r * &r + own * &x[2]).into();
            outputs.push((&s * &r).into());
            outputs.push((s.exp() - &r).into());
        }
        outputs.swap(3, 50);
        outputs.reverse();
        outputs
    });
}

/// More outputs at once than there are lanes, twice the same, one that others are made of, inputs and constants, and
/// statements of more than 32 arguments.
fn outputs_of_all_kinds<S: Reverse<Value = f64>>() {
    agrees::<S>(&[0.5, -1.25, 0.0, 2.0], &|x| {
        let weights: Vec<f64> = (0..40).map(f64::from).collect();
        let many: Vec<_> = (0..40).map(|k| x[k % 4].clone()).collect();
        let shared: Real<S> = linear_combination(&weights, &many);
        let mut outputs: Vec<Real<S>> = (0..21).map(|k| (&shared * weights[k] + &x[k % 4] * &shared).into()).collect();
        outputs.insert(7, outputs[3].clone());
        outputs.insert(0, outputs[5].clone());
        outputs.push(shared);
        outputs.extend([x[1].clone(), Real::constant(3.0), x[1].clone(), x[2].sqrt().into()]);
        outputs.push((x[2].sqrt() * &x[2] + x[0].ln()).into());
        outputs
    });
}

/// Records in many segments, and outputs far apart.
fn long_recordings<S: Reverse<Value = f64>>() {
    agrees::<S>(&[0.5, 0.25, 0.75], &|x| {
        let mut outputs = Vec::new();
        for k in 0..60 {
            let mut y = x[k % 3].clone();
            for _ in 0..100 {
                y = (y.sin() * 0.75 + &x[1] * 0.25).into();
            }
            outputs.push(y);
        }
        outputs
    });
}

everywhere!(blocks, outputs_of_all_kinds, long_recordings);

/// The adjoints of other inputs are neither read nor left to the next row; inputs among statements are found, too.
#[test]
fn inputs_that_nobody_asks_for() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, late, y) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0, 5.0]);
            let first = (&x[0] * &x[1]).eval();
            let late = scope.inputs(&[7.0, 11.0]);
            let y = vec![first.clone(), (&first * &late[1] * &x[2]).eval(), late[0].clone(), (&late[0] * &x[0]).eval()];
            (x, late, y)
        });
        for inputs in
            [vec![x[1].clone()], vec![x[2].clone(), x[0].clone(), x[0].clone()], vec![late[1].clone(), x[0].clone()]]
        {
            let mut jacobian = SparseJacobian::new(&tape, &inputs, &y).expect("there is a pattern");
            for _ in 0..2 {
                let matrix = jacobian.evaluate(&mut tape, &inputs, &y).expect("the pattern is right").to_dense();
                for (row, y) in matrix.iter().zip(&y) {
                    let expected = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs));
                    assert_eq!(Ok(row), expected.as_ref());
                }
            }
        }
    }
    holds::<Jacobian>();
    holds::<Jacobian<f64, Reuse>>();
    holds::<Hybrid>();
}

/// However small an entry is, and where entries of other rows would cancel it.
#[test]
fn an_entry_that_the_pattern_lacks_is_found() {
    let f = |x: &[Real<Jacobian>], small: f64| -> Vec<Real<Jacobian>> {
        let at = |k: usize| {
            if k == 3 || k == 5 {
                (x[k] * 1e9 + x[7] * (small * (4.0 - if k == 3 { 3.0 } else { 5.0 }))).into()
            } else {
                (x[k] * 2.0).into()
            }
        };
        (0..7).map(at).collect()
    };
    let pattern = Pattern::from_rows(8, (0..7).map(|k| [k]));
    let mut jacobian = SparseJacobian::with_pattern(pattern);
    let mut tape = Tape::new();
    let (x, y) = record(&mut tape, |x| f(x, 1e-200), &[1.0; 8]);
    let found = jacobian.evaluate(&mut tape, &x, &y).map(|_| ());
    assert_eq!(found, Err(Error::PatternChanged { row: Some(3), column: Some(7) }));
    // A dependence without a slope is no entry.
    let (x, y) = record(&mut tape, |x| f(x, 0.0), &[1.0; 8]);
    assert_eq!(
        jacobian.evaluate(&mut tape, &x, &y).map(|matrix| matrix.values().to_vec()),
        Ok(vec![2.0, 2.0, 2.0, 1e9, 2.0, 1e9, 2.0])
    );
}

/// Where rows share most records, colors are swept instead, with the same numbers.
#[test]
fn rows_that_depend_on_everything_are_swept_in_colors() {
    agrees::<Jacobian>(&[0.5, 0.25], &|x| {
        let mut y = x[0];
        for _ in 0..3000 {
            y = (y.sin() + 0.5).into();
        }
        (0..200_u16).map(|k| (y * f64::from(k) + x[1]).into()).collect::<Vec<Real<Jacobian>>>()[..4].to_vec()
    });
}

/// Evaluates one matrix for several functions in turns, and compares each row with a sweep from its output, bit for
/// bit: what an earlier recording said of groups of rows need not hold for the next one.
fn agrees_in_turns(columns: usize, pattern: Pattern, turns: &[Function<Jacobian>]) {
    let x: Vec<f64> = (0..columns).map(|k| 0.25 + 0.125 * k as f64).collect();
    let (mut tape, mut jacobian) = (Tape::<Jacobian>::new(), SparseJacobian::with_pattern(pattern));
    for (turn, f) in turns.iter().enumerate() {
        let (x, y) = record(&mut tape, f, &x);
        let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("the pattern is right").clone();
        for (row, y) in y.iter().enumerate() {
            let expected = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
            for (column, expected) in expected.iter().enumerate() {
                let found = matrix.get(row, column).unwrap_or(0.0);
                assert_eq!(
                    found.to_bits(),
                    expected.to_bits(),
                    "turn {turn}, ({row}, {column}): {found}, not {expected}"
                );
            }
        }
    }
}

/// Pairs of outputs over a statement of their own, which may read a statement of another pair, with a slope.
fn pairs(x: &[Real<Jacobian>], reads: impl Fn(usize) -> Option<(usize, f64)>) -> Vec<Real<Jacobian>> {
    let mut own: Vec<Real<Jacobian>> = Vec::new();
    let mut outputs = Vec::new();
    for k in 0..20 {
        let (other, slope) = reads(k).map_or((x[0], 0.5), |(other, slope)| (own[other], slope));
        own.push((x[k] * x[k + 1].sin()).into());
        let inner = (own[k] * own[k]).eval();
        outputs.push((other * slope + inner).into());
        outputs.push((inner - x[k]).into());
    }
    outputs
}

#[test]
fn groups_of_rows_may_change() {
    let full = || Pattern::from_rows(21, (0..40).map(|_| 0..21));
    let apart = |x: &[Real<Jacobian>]| pairs(x, |_| None);
    // Adjoints of two pairs cancel at the statement of a third one.
    let cancel = |x: &[Real<Jacobian>]| {
        pairs(x, |k| match k {
            7 => Some((3, 1.0)),
            12 => Some((3, -1.0)),
            _ => None,
        })
    };
    let chained = |x: &[Real<Jacobian>]| pairs(x, |k| k.checked_sub(1).map(|k| (k, 0.5)));
    agrees_in_turns(
        21,
        full(),
        &[&apart, &apart, &apart, &cancel, &cancel, &apart, &apart, &chained, &chained, &apart],
    );
    agrees_in_turns(21, full(), &[&apart, &cancel, &apart, &cancel, &cancel]);
    agrees_in_turns(21, full(), &[&cancel, &apart, &apart, &cancel]);
    // As many outputs, over other numbers of records; some are inputs, the same, or passive.
    let others = |x: &[Real<Jacobian>]| {
        let mut outputs = pairs(x, |_| None);
        outputs[5] = (outputs[5].exp() * x[0].sin().eval()).into();
        (outputs[8], outputs[9], outputs[30], outputs[0]) = (x[4], x[4], Real::from(2.0), outputs[39]);
        outputs
    };
    let reversed = |x: &[Real<Jacobian>]| pairs(x, |_| None).into_iter().rev().collect();
    let inputs = |x: &[Real<Jacobian>]| (0..40).map(|k| x[k % 21]).collect();
    agrees_in_turns(21, full(), &[&apart, &others, &others, &apart, &reversed, &reversed, &apart, &inputs, &apart]);
    agrees_in_turns(21, full(), &[&others, &others, &others, &reversed, &inputs, &inputs, &cancel]);
}

/// Constants are no outputs of a sweep, so a known group may reach beyond those that there are.
#[test]
fn outputs_of_known_groups_may_become_constants() {
    let outputs = |x: &[Real<Jacobian>], constants: usize| -> Vec<Real<Jacobian>> {
        let both = (x[0] * x[1]).eval();
        let mut outputs = [both.sin().into(), both.cos().into()];
        outputs[2 - constants..].fill(Real::from(2.0));
        outputs.to_vec()
    };
    let [two, one, none] = [0, 1, 2].map(|constants| move |x: &[Real<Jacobian>]| outputs(x, constants));
    let full = Pattern::from_rows(2, (0..2).map(|_| 0..2));
    agrees_in_turns(2, full, &[&two, &two, &one, &one, &two, &two, &none, &none, &two]);
}

/// Entries that would be −0 if a row's adjoints began as −0, and adjoints that are not finite.
#[test]
fn zeros_of_known_groups_have_the_signs_of_a_sweep() {
    let f = |x: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> {
        let of = |k: usize| {
            let zero = (x[k] * -0.0 + x[k + 1] * 3.0).eval();
            [(zero * -0.0 + x[k + 1] * 0.0).into(), ((x[k] - 0.25).sqrt() * zero).into()]
        };
        (0..20).flat_map(of).collect()
    };
    let pattern = Pattern::from_rows(21, (0..40).map(|row| row / 2..row / 2 + 2));
    agrees_in_turns(21, pattern, &[&f, &f, &f]);
}

/// The pattern was right for a first recording, whose groups are known; entries of two rows outside it cancel.
#[test]
fn an_entry_that_the_pattern_lacks_is_found_in_known_groups() {
    let f = |x: &[Real<Jacobian>], with: bool| -> Vec<Real<Jacobian>> {
        let at = |k: usize| match k {
            3 | 5 if with => (x[k] * 1e9 + x[7] * (1e-200 * (4.0 - k as f64))).into(),
            _ => (x[k] * 2.0).into(),
        };
        (0..8).rev().map(at).collect()
    };
    for rounds in 1..4 {
        let mut jacobian = SparseJacobian::with_pattern(Pattern::from_rows(8, (0..8).rev().map(|k| [k])));
        let mut tape = Tape::new();
        for _ in 0..rounds {
            let (x, y) = record(&mut tape, |x| f(x, false), &[1.0; 8]);
            assert_eq!(jacobian.evaluate(&mut tape, &x, &y).map(|matrix| matrix.values().to_vec()), Ok(vec![2.0; 8]));
        }
        for _ in 0..2 {
            let (x, y) = record(&mut tape, |x| f(x, true), &[1.0; 8]);
            let found = jacobian.evaluate(&mut tape, &x, &y).map(|_| ());
            assert_eq!(found, Err(Error::PatternChanged { row: Some(2), column: Some(7) }));
        }
        let (x, y) = record(&mut tape, |x| f(x, false), &[1.0; 8]);
        assert_eq!(jacobian.evaluate(&mut tape, &x, &y).map(|matrix| matrix.values().to_vec()), Ok(vec![2.0; 8]));
    }
}
