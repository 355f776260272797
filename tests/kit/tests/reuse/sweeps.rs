//! Sweeps of one recording may run at once.

use super::{Reusing, churn, each, swept};
use tapewright::prelude::*;
use tapewright::tape::AdjointVector;
use tapewright::{Spilled, dot, sum};
use tapewright_kit_tests::FewPages;

/// Statements of many kinds, in which identifiers are used again and again.
fn recorded<S: Reusing>(n: usize) -> (Tape<S>, Vec<Real<S>>, Vec<Real<S>>) {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[0.3, 0.7, 1.1]);
        let mut y: Vec<Real<S>> = x.clone();
        for k in 0..n {
            let (i, j) = (k % 3, (k + 1) % 3);
            let t = (y[i].sin() * &y[j] + &x[i] * 0.25).eval();
            let passive = Real::from(0.5);
            y[i] = (&t * &passive + &y[j] / (2.0 + &t * &t)).into();
            if k % 7 == 0 {
                y[j] = (&sum(&y) * 0.25 + dot(&y, &x) * 0.125).into();
                churn(&y[i], 3);
            }
        }
        (x, y)
    });
    (tape, x, y)
}

fn all_gradients<S: Reusing>(tape: &mut Tape<S>, x: &[Real<S>], y: &[Real<S>]) -> Vec<Vec<u64>> {
    let gradient = |y| tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(x)).expect("the tape's");
    y.iter().map(gradient).map(|gradient| gradient.into_iter().map(f64::to_bits).collect()).collect()
}

fn at_once<S: Reusing<Tape: Sync>>() {
    let (mut tape, x, y) = recorded::<S>(3000);
    let sequential = all_gradients(&mut tape, &x, &y);
    let tape = &tape;
    std::thread::scope(|threads| {
        for k in 0..6 {
            let (x, y, sequential) = (&x, &y, &sequential);
            threads.spawn(move || {
                let mut adjoints = AdjointVector::new();
                for round in 0..4 {
                    let at = (k + round) % y.len();
                    let swept = tape.sweep_with(&mut adjoints, &[(&y[at], 1.0)]).and_then(|found| found.of_all(x));
                    let bits: Vec<u64> = swept.expect("the tape's variables").into_iter().map(f64::to_bits).collect();
                    assert_eq!(bits, sequential[at], "thread {k}, output {at}");
                }
            });
        }
    });
}

#[test]
fn threads_may_sweep_one_recording_at_once() {
    at_once::<PrimalValue<f64, Reuse, Spilled<FewPages>>>();
    at_once::<Hybrid<f64, Reuse>>();
    #[cfg(feature = "wide")]
    at_once::<Jacobian<f64, Linear, Spilled<FewPages>>>();
}

/// The adjoint that a sweep keeps of the last argument of a record is of no use once the record before it has added to
/// that argument as another one of its own.
#[test]
fn a_variable_may_be_the_last_argument_twice_and_another_one_too() {
    fn recorded<S: Reusing>() {
        let mut tape = Tape::<S>::new();
        let (inputs, y) = tape.record(|scope| {
            let inputs = scope.inputs(&[0.25, 3.0, 5.0]);
            let (p, x, a) = (&inputs[0], &inputs[1], &inputs[2]);
            // Records of one kind, next to one another: a variable and a product, whose second factor is x.
            let first = (p + x * x).eval();
            let second = (&first + a * x).eval();
            let y = (&second + &first * x).eval();
            (inputs, y)
        });
        let first = 0.25 + 9.0;
        // y = first + a·x + first·x, where first = p + x².
        let expected = [4.0, 4.0 * 6.0 + 5.0 + first, 3.0];
        assert_eq!(swept(&mut tape, &y, &inputs), expected);
    }
    each!(recorded);
}
