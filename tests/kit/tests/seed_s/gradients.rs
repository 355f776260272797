//! Gradients: rows S9 to S11, S13, S16 and S17.

use super::everywhere::everywhere;
use super::{AT, GRADIENT, VALUE, close, example};
use tapewright::prelude::*;

fn s9_the_adjoint_vector_has_an_entry_for_each_identifier_and_one_more<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&AT);
        let y = example(&x);
        (x, y)
    });
    let gradient = tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("the tape's variables");
    assert_eq!(tape.memory().usage("adjoints").used, 8 * (1 + 3));
    assert!(gradient.iter().zip(GRADIENT).all(|(g, expected)| close(*g, expected, 1e-12)));
    let twice = tape.sweep(&[(&y, 0.5), (&y, 1.5)]).and_then(|adjoints| adjoints.of_all(&x));
    assert_eq!(twice, Ok(gradient.iter().map(|g| 2.0 * g).collect()), "seeds add up");
}

fn s10_gradients_of_closures_and_of_type_erased_functions<S: Reverse<Value = f64>>() {
    let scale = 2.0;
    let closure = gradient::<S>(|x| (scale * &x[0] * &x[1]).into(), &[3.0, 5.0]);
    assert_eq!(closure, [10.0, 6.0]);
    let erased: &dyn Fn(&[Real<S>]) -> Real<S> = &example;
    let (value, gradient) = value_and_gradient::<S>(erased, &AT);
    assert!(close(value, VALUE, 1e-12) && close(gradient[1], GRADIENT[1], 1e-12));
}

/// Gradient at (3, 5).
fn at_3_5<S: Reverse<Value = f64>>(f: impl Fn(&[Real<S>]) -> Real<S>) -> Vec<f64> {
    gradient::<S>(f, &[3.0, 5.0])
}

fn s11_addition<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|x| (&x[0] + &x[1]).into()), [1.0, 1.0], "of variables");
    assert_eq!(at_3_5::<S>(|x| (&x[0] + 2.0).into()), [1.0, 0.0], "of a number on the right");
    assert_eq!(at_3_5::<S>(|x| (2.0 + &x[1]).into()), [0.0, 1.0], "of a number on the left");
}

fn s11_multiplication<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|x| (&x[0] * &x[1]).into()), [5.0, 3.0], "of variables");
    assert_eq!(at_3_5::<S>(|x| (&x[0] * 2.0).into()), [2.0, 0.0], "by a number on the right");
    assert_eq!(at_3_5::<S>(|x| (2.0 * &x[1]).into()), [0.0, 2.0], "by a number on the left");
}

fn s11_exp<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|x| x[0].exp().into()), [3.0_f64.exp(), 0.0]);
}

fn s11_add_assign_and_mul_assign<S: Reverse<Value = f64>>() {
    let sum = |x: &[Real<S>]| {
        let mut y = x[0].clone();
        y += &x[1];
        y += &x[0];
        y
    };
    let product = |x: &[Real<S>]| {
        let mut y = x[0].clone();
        y *= &x[1];
        y *= &x[0];
        y
    };
    assert_eq!(at_3_5::<S>(sum), [2.0, 1.0]);
    assert_eq!(at_3_5::<S>(product), [30.0, 9.0]);
}

fn s13_the_example_gives_the_published_numbers<S: Reverse<Value = f64>>() {
    let (value, gradient) = value_and_gradient::<S>(example, &AT);
    assert!(close(value, VALUE, 1e-12), "{value}");
    assert!(close(gradient[0], GRADIENT[0], 1e-12) && close(gradient[1], GRADIENT[1], 1e-12), "{gradient:?}");
}

fn s16_the_output_may_be_an_input<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|x| x[0].clone()), [1.0, 0.0]);
    assert_eq!(at_3_5::<S>(|x| x[1].clone()), [0.0, 1.0]);
}

fn s16_the_output_may_be_a_constant<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|_| Real::from(7.0)), [0.0, 0.0]);
    assert_eq!(gradient::<S>(|_| Real::from(7.0), &[]), [0.0; 0]);
}

fn s16_an_input_may_be_used_twice_and_an_output_returned_twice<S: Reverse<Value = f64>>() {
    assert_eq!(at_3_5::<S>(|x| (&x[0] * &x[0]).into()), [6.0, 0.0]);
    let f = |x: &[Real<S>]| vec![x[0].clone(), x[0].clone(), x[1].clone()];
    let (values, product) = vjp::<S>(f, &[3.0, 5.0], &[1.0, 2.0, 4.0]).expect("lengths agree");
    assert_eq!((values, product), (vec![3.0, 3.0, 5.0], vec![3.0, 4.0]));
}

fn s17_two_tapes_may_record_at_once_nested_and_in_threads<S: Reverse<Value = f64>>() {
    let nested = at_3_5::<S>(|x| {
        let inner = gradient::<S>(|u| (&u[0] * &u[0] * &u[0]).into(), &[x[0].value()]);
        (&x[0] * inner[0] + &x[1]).into()
    });
    assert_eq!(nested, [27.0, 1.0]);
    let all_record = std::sync::Barrier::new(4);
    std::thread::scope(|threads| {
        for k in 1..=4 {
            let all_record = &all_record;
            threads.spawn(move || {
                let x = f64::from(k);
                let square = |u: &[Real<S>]| {
                    all_record.wait();
                    let y = (&u[0] * &u[0]).into();
                    all_record.wait();
                    y
                };
                assert_eq!(gradient::<S>(square, &[x]), [2.0 * x]);
            });
        }
    });
}

everywhere!(
    s9_the_adjoint_vector_has_an_entry_for_each_identifier_and_one_more,
    s10_gradients_of_closures_and_of_type_erased_functions,
    s11_addition,
    s11_multiplication,
    s11_exp,
    s11_add_assign_and_mul_assign,
    s13_the_example_gives_the_published_numbers,
    s16_the_output_may_be_an_input,
    s16_the_output_may_be_a_constant,
    s16_an_input_may_be_used_twice_and_an_output_returned_twice,
    s17_two_tapes_may_record_at_once_nested_and_in_threads
);
