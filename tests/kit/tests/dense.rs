//! Jacobian matrices by the driver that chooses, and in memory of the caller.

use tapewright::dense::{DenseJacobian, Function, Way, dense_jacobian};
use tapewright::prelude::*;
use tapewright::{Error, Rules, advisor, external, program};
use tapewright_kit_tests::panics::panic_of;

/// A matrix of this many rows: xᵢ² in each second row, and the product of neighbors in the others.
#[derive(Clone, Copy)]
struct Rows(usize);

impl Function for Rows {
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]> {
        let at = |i: usize| x[i % x.len()];
        (0..self.0).map(|i| (at(i) * at(i + i % 2)).eval()).collect::<Vec<_>>()
    }
}

impl Rows {
    fn by_hand(self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let mut entries = vec![0.0; self.0 * n];
        for (i, row) in entries.chunks_exact_mut(n).enumerate() {
            let (a, b) = (i % n, (i + i % 2) % n);
            row[a] += x[b];
            row[b] += x[a];
        }
        entries
    }
}

const SHAPES: [[usize; 2]; 9] = [[1, 1], [1, 40], [2, 2], [9, 9], [30, 3], [200, 5], [5, 200], [17, 33], [0, 3]];

fn inputs(n: usize) -> Vec<f64> {
    (2_u32..).take(n).map(f64::from).collect()
}

#[test]
fn every_way_finds_the_same_matrix_in_every_shape() {
    let mut driver = DenseJacobian::<Tangent<4>, Jacobian>::new();
    let mut tape = Tape::<PrimalValue>::new();
    for [m, n] in SHAPES {
        let (f, x) = (Rows(m), inputs(n));
        let expected = f.by_hand(&x);
        let (mut values, mut found) = (vec![0.0; m], vec![0.0; m * n]);
        let fixed = [Way::Forward, Way::Tape].map(DenseJacobian::<Tangent<4>, Hybrid>::always);
        for mut driver in fixed {
            driver.evaluate(&f, &x, &mut values, &mut found).expect("it fits");
            assert_eq!(found, expected, "{m} × {n}, {:?}", driver.way());
        }
        for _ in 0..3 {
            found.fill(0.5);
            driver.evaluate(&f, &x, &mut values, &mut found).expect("it fits");
            assert_eq!(found, expected, "{m} × {n}, {:?}", driver.way());
        }
        let (alone, rows) = dense_jacobian::<Tangent<4>, Jacobian>(&f, &x);
        assert_eq!((&alone, rows.len(), rows.concat()), (&values, m, expected.clone()));
        found.fill(0.5);
        tape.jacobian(|x| f.outputs(x).as_ref().to_vec(), &x, &mut values, &mut found).expect("it fits");
        assert_eq!((&alone, &found), (&values, &expected));
    }
}

#[test]
fn tall_matrices_are_found_forward_and_wide_ones_by_a_tape() {
    let way = |m: usize, n: usize| {
        let mut driver = DenseJacobian::<Tangent<8>, Jacobian>::new();
        assert_eq!(driver.way(), None);
        driver.evaluate(&Rows(m), &inputs(n), &mut vec![0.0; m], &mut vec![0.0; m * n]).expect("it fits");
        driver.way()
    };
    for [m, n] in [[1, 1], [2, 2], [6, 6], [30, 3], [25, 5], [200, 5]] {
        assert_eq!(way(m, n), Some(Way::Forward), "{m} × {n}");
    }
    for [m, n] in [[1, 30], [2, 50], [5, 200]] {
        assert_eq!(way(m, n), Some(Way::Tape), "{m} × {n}");
    }
}

#[test]
fn other_numbers_of_inputs_or_outputs_are_another_choice() {
    let mut driver = DenseJacobian::<Tangent<8>, Jacobian>::new();
    let mut way = |m: usize, n: usize| {
        driver.evaluate(&Rows(m), &inputs(n), &mut vec![0.0; m], &mut vec![0.0; m * n]).expect("it fits");
        driver.way().expect("there was an evaluation")
    };
    assert_eq!([way(5, 200), way(5, 4), way(5, 200), way(1, 200)], [Way::Tape, Way::Forward, Way::Tape, Way::Tape]);
}

#[test]
fn without_inputs_there_are_values() {
    fn constant<S: Strategy<Value = f64>>(_: &[Real<S>]) -> [Real<S>; 2] {
        [Real::from(7.0), Real::from(8.0)]
    }
    let f = program!(constant);
    assert_eq!(dense_jacobian::<Tangent<3>, Jacobian>(&f, &[]), (vec![7.0, 8.0], vec![vec![], vec![]]));
    for mut driver in [Way::Forward, Way::Tape].map(DenseJacobian::<Tangent<3>, Jacobian>::always) {
        let mut values = [0.0; 2];
        assert_eq!(driver.evaluate(&f, &[], &mut values, &mut []), Ok(()));
        assert_eq!(values, [7.0, 8.0]);
    }
}

#[test]
fn memory_for_another_number_of_entries_is_an_error_and_for_other_outputs_a_panic() {
    for way in [Way::Forward, Way::Tape] {
        let evaluate = |outputs: usize, entries: usize| {
            let mut driver = DenseJacobian::<Tangent<2>, Jacobian>::always(way);
            driver.evaluate(&Rows(3), &[1.0, 2.0], &mut vec![0.0; outputs], &mut vec![0.0; entries])
        };
        assert_eq!(evaluate(3, 6), Ok(()));
        for entries in [5, 7] {
            let text = evaluate(3, entries).expect_err("six are needed").to_string();
            assert!(text.contains('6') && text.contains(&entries.to_string()), "{text}");
        }
        let text = panic_of(&mut || _ = evaluate(2, 4));
        assert!(text.contains("3 outputs") && text.contains("memory for 2"), "{text}");
    }
    let mut tape = Tape::<Jacobian>::new();
    let text = panic_of(&mut || _ = tape.jacobian(|x| [x[0]], &[1.0], &mut [0.0; 2], &mut [0.0; 2]));
    assert!(text.contains("1 outputs") && text.contains("memory for 2"), "{text}");
    assert_eq!(tape.jacobian(|x| [x[0]], &[1.0], &mut [0.0], &mut [0.0]), Ok(()));
    let error = tape.jacobian(|_| -> [_; 1] { unreachable!() }, &[1.0], &mut [0.0], &mut []);
    assert!(matches!(error, Err(Error::LengthMismatch { expected: (_, 1), found: (_, 0) })), "{error:?}");
}

#[test]
fn functions_without_a_forward_rule_are_recorded() {
    fn f<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let rules = Rules::new("twice", |outputs: &[f64], inputs: &mut [f64]| {
            inputs[0] += 2.0 * outputs[0];
            Ok(())
        });
        external(x, &[2.0 * x[0].value()], rules)
    }
    let mut driver = DenseJacobian::<Tangent<2>, Jacobian>::new();
    let mut entries = [0.0];
    driver.evaluate(&program!(f), &[3.0], &mut [0.0], &mut entries).expect("it fits");
    assert_eq!((entries, driver.way()), ([2.0], Some(Way::Tape)));
}

#[test]
fn programs_have_one_output_or_several() {
    fn one<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0] * x[1]).into()
    }
    fn array<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 2] {
        [(x[0] * x[1]).into(), x[1]]
    }
    fn list<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
        array(x).to_vec()
    }
    let x = [2.0, 3.0];
    assert_eq!(dense_jacobian::<Tangent<2>, Jacobian>(&program!(one), &x).1, [[3.0, 2.0]]);
    assert_eq!(dense_jacobian::<Tangent<2>, Jacobian>(&program!(array), &x).1, [[3.0, 2.0], [0.0, 1.0]]);
    assert_eq!(dense_jacobian::<Tangent<2>, Jacobian>(&program!(list), &x).1, [[3.0, 2.0], [0.0, 1.0]]);
    // The advisor asks about the sum of several outputs, which is a statement more.
    assert_eq!(advisor::forecast(&program!(one), &x).linear().statements, 1);
    assert_eq!(advisor::forecast(&program!(list), &x).linear().statements, 2);
}
