//! Functions of slices: their bytes, and their derivatives however many arguments they have.

use super::{Keeps, Layout, every_layout, of_records};
use tapewright::prelude::*;
use tapewright::storage::{SpillDefaults, SpillOptions};
use tapewright::{Number, Spilled, dot, linear_combination, logsumexp, sum};

/// A function of a slice, with coefficients.
type OfSlice<S> = fn(&[Real<S>], &[f64]) -> Real<S>;

/// Bytes of one statement over `n` variables of which the first `passive` are passive.
fn cost<S: Reverse>(n: usize, passive: usize, f: OfSlice<S>) -> usize {
    let mut tape = Tape::<S>::new();
    let (half, weights) = (S::Value::from_f64(0.5), vec![1.5; n]);
    let mut record = |statement: bool| {
        tape.record(|scope| {
            let mut x = vec![Real::constant(half); passive];
            x.extend(scope.inputs(&vec![half; n - passive]));
            if statement {
                drop(f(&x, &weights));
            }
        });
        of_records::<S>(&tape.memory())
    };
    let inputs = record(false);
    let bytes = record(true) - inputs;
    assert_eq!(tape.memory().statements, usize::from(passive < n));
    bytes
}

fn assert_functions_of_slices<S: Layout>() {
    for (n, passive) in [
        (1, 0),
        (2, 0),
        (26, 0),
        (27, 0),
        (28, 0),
        (29, 0),
        (100, 0),
        (100_000, 0),
        (2, 1),
        (28, 1),
        (29, 1),
        (100, 1),
        (100, 99),
        (30, 30),
    ] {
        let active = n - passive;
        let some = |bytes: usize| if active == 0 { 0 } else { bytes };
        let counted = S::FIXED + 4 + S::I * active;
        // Wide lists of partials keep their number.
        let listed = S::FIXED + S::PAIR * active + if active > 27 { 4 } else { 0 };
        let recomputed = S::KEEPS != Keeps::Partials && passive == 0;
        let other = if recomputed { counted } else { listed };
        let combination = if recomputed { counted + S::V * n } else { listed };
        assert_eq!(cost::<S>(n, passive, |x, _| sum(x)), some(counted), "sum, {passive} of {n} passive");
        assert_eq!(cost::<S>(n, passive, |x, _| logsumexp(x)), some(other), "logsumexp, {passive} of {n} passive");
        let found = cost::<S>(n, passive, |x, weights| linear_combination(weights, x));
        assert_eq!(found, some(combination), "combination, {passive} of {n} passive");
        if n % 2 == 0 {
            let found = cost::<S>(n, passive, |x, _| dot(&x[..x.len() / 2], &x[x.len() / 2..]));
            assert_eq!(found, some(other), "dot of {n}, {passive} passive");
        }
    }
}

#[test]
fn functions_of_slices_take_the_documented_bytes() {
    every_layout!(assert_functions_of_slices);
}

/// Records of 10⁵ arguments: a record lies in one slab, and the other spilled layers of these tests have no budget for
/// such slabs.
struct Roomy;
impl SpillDefaults for Roomy {
    fn options() -> SpillOptions {
        SpillOptions::default().slab(16 << 10).memory(16 << 20)
    }
}

#[test]
fn statements_may_have_any_number_of_arguments() {
    fn holds<S: Reverse<Value = f64>>() {
        for n in [253, 254, 255, 256, 257, 65_535, 65_536, 100_000] {
            let values: Vec<f64> = (0..n).map(|k| 1.0 + f64::from(k % 7)).collect();
            let weights: Vec<f64> = (0..n).map(|k| f64::from(k % 5)).collect();
            let mut tape = Tape::<S>::new();
            let mut found = vec![0.0; values.len()];
            let f = |x: &[Real<S>]| {
                let y: Real<S> = (sum(x) + 2.0 * dot(x, x)).into();
                (&y + linear_combination(&weights, x)).into()
            };
            tape.gradient(f, &values, &mut found).expect("lengths agree");
            assert_eq!(tape.memory().statements, 5);
            let expected: Vec<f64> = values.iter().zip(&weights).map(|(x, w)| 1.0 + 4.0 * x + w).collect();
            assert_eq!(found, expected);
        }
    }
    holds::<Jacobian<f64, Linear<u64>>>();
    holds::<PrimalValue<f64, Reuse, Spilled<Roomy>>>();
    holds::<Continuation>();
}
