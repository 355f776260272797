//! Sums that differ without an entry outside the pattern, and entries outside it that no sum shows.

use super::record;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::exchange::Exchange;
use tapewright::prelude::*;
use tapewright::sparse::{SparseHessian, SparseJacobian, SparseMatrix, sparse_hessian, sparse_jacobian};
use tapewright::strategies::rules::Curvature;
use tapewright::{Dual, Error, External, Float, Nary, Number, PrimalValue, SweepError, jacobian, nary};

type S = PrimalValue<Dual<f64, 2>>;

/// The matrix at a second point, with the pattern of the first.
fn at_another<T: Reverse<Value: Float>>(
    f: impl Fn(&[Real<T>]) -> Vec<Real<T>>,
    first: &[T::Value],
    second: &[T::Value],
) -> Result<SparseMatrix<T::Value>, Error> {
    let mut tape = Tape::<T>::new();
    let (x, y) = record(&mut tape, &f, first);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    let (x, y) = record(&mut tape, &f, second);
    jacobian.evaluate(&mut tape, &x, &y).cloned()
}

/// Entries that are nothing but rounding errors, different ones along the weights.
#[test]
fn rounding_errors_do_not_change_a_pattern() {
    for k in 0..50 {
        let x = [1.0 + f64::from(k) * 0.01];
        let noise = sparse_jacobian::<Jacobian>(|x| vec![(x[0] * 0.1 * 3.0 - x[0] * 0.3).into()], &x);
        assert!(noise.is_ok());
        let noise = sparse_hessian::<S>(|x| (x[0] * x[0] * 0.1 * 3.0 - x[0] * x[0] * 0.3).into(), &x);
        assert!(noise.is_ok());
    }
}

/// The digits of a `Dual` are those of its parts.
#[test]
fn dual_numbers_have_the_precision_of_their_parts() {
    type V = Dual<f32, 1>;
    let x = [0.37, 0.41, 0.43, 0.53, 0.59].map(|value| V { value, tangents: [1.0] });
    let f = |x: &[Real<Jacobian<V>>]| x.windows(2).map(|x| (x[0] * x[1].sin()).into()).collect();
    assert!(sparse_jacobian::<Jacobian<V>>(f, &x).is_ok());
}

#[test]
fn missing_tangents_are_noticed() {
    type V = Dual<f64, 1>;
    let number = |value| V { value, tangents: [1.0] };
    let f = |x: &[Real<Jacobian<V>>]| {
        let others = if x[0].value().value > 0.0 { Real::from(0.0) } else { (x[1] * x[1]).eval() };
        vec![(x[0] * 2.0 + others).into()]
    };
    let outcome = at_another(f, &[number(1.0), number(0.0)], &[number(-1.0), number(0.0)]);
    assert!(matches!(outcome, Err(Error::PatternChanged { .. })), "{outcome:?}");
}

/// They would spoil the entries of other columns of their color.
#[test]
fn missing_entries_that_are_infinite_are_noticed() {
    let f = |x: &[Real<Jacobian>]| {
        let others = if x[0].value() > 0.0 { Real::from(0.0) } else { x[1].sqrt().into() };
        vec![(x[0] * 2.0 + others).into()]
    };
    for value in [0.0, -1.0, 1.0] {
        let outcome = at_another(f, &[1.0, 1.0], &[-1.0, value]);
        assert!(matches!(outcome, Err(Error::PatternChanged { .. })), "{value}: {outcome:?}");
    }
    let f = |x: &[Real<S>]| -> Real<S> {
        let factor = if x[0].value().value > 0.0 { 0.0 } else { 1e200 };
        let others = if factor > 0.0 { (x[0] * x[1] * factor * factor).eval() } else { Real::from(0.0) };
        (x[0] * x[0] + x[1] * x[1] + others).into()
    };
    let mut tape = Tape::<S>::new();
    let mut hessian = SparseHessian::new(&mut tape, f, &[1.0, 1.0]).expect("there is a pattern");
    let outcome = hessian.evaluate(&mut tape, f, &[-1.0, 1.0], &mut [0.0; 2]);
    assert!(matches!(outcome, Err(Error::PatternChanged { .. })), "{outcome:?}");
}

/// What a function says of arguments that it was not given.
#[test]
fn curvature_of_fewer_arguments() {
    struct Product;
    impl<V: Number> Nary<V> for Product {
        const CURVATURE: Curvature = Curvature::LINEAR.and((0, 1), (1, 2));
        fn value(x: &[V], _: &[V]) -> V {
            x.iter().fold(V::ONE, |product, x| product * *x)
        }
        fn partials(x: &[V], _: &[V], partials: &mut [V]) {
            let others = |k: usize| x.iter().enumerate().filter(move |(i, _)| *i != k);
            (0..)
                .zip(partials)
                .for_each(|(k, partial)| *partial = others(k).fold(V::ONE, |product, (_, x)| product * *x));
        }
    }
    for (n, pattern) in [(1, "..\n..\n"), (2, ".x\nx.\n")] {
        let mut tape = Tape::<PrimalValue>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0]);
            let y = nary::<_, Product>(&[&x[..n]], &[]);
            (x, y)
        });
        assert_eq!(tape.hessian_pattern(&x, &y).expect("there is a pattern").to_string(), pattern);
    }
}

/// The sweeps in which others take part are as many as outputs ask for, whatever the inputs.
#[test]
fn inputs_do_not_decide_how_often_exchanges_are_swept() {
    static FORWARD: AtomicUsize = AtomicUsize::new(0);
    static REVERSE: AtomicUsize = AtomicUsize::new(0);
    struct Mirror;
    impl External<f64> for Mirror {
        fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            REVERSE.fetch_add(1, Ordering::Relaxed);
            inputs.copy_from_slice(outputs);
            Ok(())
        }
        fn reverse_lanes(&self, lanes: usize, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
            assert_eq!(outputs.len() / lanes, inputs.len() / lanes);
            self.reverse(outputs, inputs)
        }
        fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
            FORWARD.fetch_add(1, Ordering::Relaxed);
            outputs.copy_from_slice(inputs);
            Ok(())
        }
    }
    for n in 0..3 {
        REVERSE.store(0, Ordering::Relaxed);
        let f = |x: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> {
            let sent = [x.first().copied().unwrap_or(Real::constant(3.0))];
            let exchange = Exchange::of(&sent);
            let values = exchange.values();
            let received = exchange.finish(&sent, &values, Mirror);
            (0..20_u32).map(|k| (received[0] * f64::from(k)).into()).collect()
        };
        let (_, rows) = jacobian::<Jacobian>(f, &vec![1.0; n]);
        assert!(rows.iter().all(|row| row.len() == n));
        assert_eq!((FORWARD.load(Ordering::Relaxed), REVERSE.load(Ordering::Relaxed)), (0, 3), "{n} inputs");
    }
}

#[test]
#[should_panic(expected = "another tape")]
fn foreign_outputs_are_refused_without_inputs() {
    let foreign = Tape::<Jacobian>::new().record(|scope| scope.input(1.0));
    let _ = jacobian::<Jacobian>(|_| vec![foreign], &[]);
}

/// Passive arguments keep their places.
#[test]
fn statements_with_passive_arguments_are_as_bent_as_others() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let c = Real::<S>::from(2.0);
        (&c * &x[0] + &c / &x[1] + &c * &x[2] * &x[3] + x[4].powf(&c)).into()
    }
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[1.0; 5]);
        let y = f(&x);
        (x, y)
    });
    let pattern = tape.hessian_pattern(&x, &y).expect("there is a pattern");
    assert_eq!(pattern.to_string(), ".....\n.x...\n...x.\n..x..\n....x\n");
}

/// Forward, the infinities of two paths cancel to NaN; in reverse, 1 − 1 + 1 comes first. The number of outputs must
/// not decide which of them is seen.
#[test]
fn infinite_entries_are_what_reverse_sweeps_find() {
    let f = |x: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> {
        let pole = (1.0 / x[0]).eval();
        let twice = (pole + pole).eval();
        (0..40).map(|_| (twice - pole).into()).collect()
    };
    let (_, few) = jacobian::<Jacobian>(|x| f(x)[..1].to_vec(), &[-1e-310]);
    let (_, many) = jacobian::<Jacobian>(f, &[-1e-310]);
    assert_eq!(few[0][0], f64::NEG_INFINITY);
    assert!(many.iter().all(|row| row[0] == f64::NEG_INFINITY), "{many:?}");
    let (_, sparse) = sparse_jacobian::<Jacobian>(f, &[-1e-310]).expect("it is found");
    assert!(sparse.values().iter().all(|entry| *entry == f64::NEG_INFINITY), "{sparse:?}");
}
