//! Functions of slices of all lengths: around those from which on they are recorded and added up in another way.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use super::lanes::bits;
use super::record;
use tapewright::{dot, linear_combination, prelude::*, sum};
use tapewright_kit_tests::everywhere;

const LENGTHS: [usize; 14] = [0, 1, 2, 3, 4, 13, 14, 15, 16, 17, 27, 28, 100, 3_000];

/// Small integers, of which sums and products are exact.
fn integers(n: usize) -> Vec<f64> {
    (0..n).map(|k| ((k * 7) % 11) as f64 - 4.0).collect()
}

fn values_and_slopes_of_every_length<S: Reverse<Value = f64>>() {
    for n in LENGTHS {
        let at = integers(2 * n + 1);
        let (mut tape, x, y) = record::<S>(&at, &|x| {
            let (a, b) = x[1..].split_at(n);
            // Twice: the first statement of a kind is recorded in another way than those after it.
            (0..2).flat_map(|_| [sum(a), dot(a, b), linear_combination(&at[..n], b), dot(a, a)]).collect()
        });
        let (a, b) = at[1..].split_at(n);
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let values = [a.iter().sum(), product(a, b), product(&at[..n], b), product(a, a)];
        let none = vec![0.0; n];
        let twice: Vec<f64> = a.iter().map(|a| 2.0 * a).collect();
        let slopes = [[&vec![1.0; n][..], &none], [b, a], [&none, &at[..n]], [&twice, &none]];
        for (k, y) in y.iter().enumerate() {
            assert_eq!(y.value(), values[k % 4], "function {k} of {n}");
            let found = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
            assert_eq!(found[1..], slopes[k % 4].concat(), "function {k} of {n}");
            assert_eq!(found[0], 0.0, "the input that is no argument");
        }
    }
}

/// Infinite and signed zero factors, and an argument that is passive or of an outer recording.
fn singular_factors_and_arguments_from_elsewhere<S: Reverse<Value = f64>>() {
    for n in [3, 20] {
        let mut at = integers(n);
        (at[0], at[1], at[2]) = (f64::INFINITY, -0.0, f64::NAN);
        let (mut tape, x, y) = record::<S>(&at, &|x| {
            let mut other = x.to_vec();
            other[0] = Real::constant(2.0);
            vec![dot(x, &other), linear_combination(&at, x), sum(&other)]
        });
        let mut slopes = |y| tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
        let squares = slopes(&y[0]);
        assert_eq!(squares[0], 2.0, "the passive argument is a factor");
        assert_eq!(squares[3..], at.iter().map(|x| 2.0 * x).collect::<Vec<f64>>()[3..]);
        assert_eq!((squares[1], bits(squares[2])), (0.0, bits(f64::NAN)));
        let combined: Vec<u64> = slopes(&y[1]).into_iter().map(bits).collect();
        assert_eq!(combined[2..], at.iter().map(|x| bits(*x)).collect::<Vec<u64>>()[2..]);
        assert_eq!((combined[0], f64::from_bits(combined[1])), (bits(f64::INFINITY), 0.0));
        assert_eq!(slopes(&y[2])[..2], [0.0, 1.0]);
        let zeros: Vec<Real<S>> = [-0.0, -0.0].map(Real::constant).to_vec();
        assert_eq!(sum(&zeros).value().to_bits(), 0.0_f64.to_bits());
    }
    let mut outer = Tape::<S>::new();
    let (x, y) = outer.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let mut inner = Tape::<S>::new();
        let (z, w) = inner.record(|scope| {
            let z = scope.inputs(&[5.0, 7.0]);
            (z.clone(), [dot(&z, &z), dot(&x, &x)])
        });
        let [own, outer] = w;
        let found = inner.sweep(&[(&own, 1.0)]).and_then(|adjoints| adjoints.of_all(&z));
        assert_eq!(found, Ok(vec![10.0, 14.0]));
        (x, outer)
    });
    assert_eq!(outer.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)), Ok(vec![4.0, 6.0]));
}

everywhere!(values_and_slopes_of_every_length, singular_factors_and_arguments_from_elsewhere);
