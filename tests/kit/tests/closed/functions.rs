//! Every function, against the method of the same name on variables, the trait's method, and `f64`.

use super::report;
use tapewright::prelude::*;
use tapewright::strategies::num_traits::Float as NumFloat;
use tapewright::strategies::num_traits::float::FloatCore;
use tapewright::{Closed, Number};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const POINTS: [f64; 13] = [-INF, -2.5, -1.0, -0.4, -0.0, 0.0, 0.3, 0.5, 1.0, 1.7, 2.5, INF, NAN];

/// A function of `T`s.
type Of<T> = fn(&[T]) -> T;

/// A function of variables, in all its forms.
struct Case<S: Taping> {
    name: &'static str,
    real: Of<Real<S>>,
    /// By the inherent method, and by traits.
    closed: Vec<Of<Closed<S>>>,
    /// The function itself, where the standard library has it.
    number: Option<Of<S::Value>>,
}

/// Makes cases of the rows of the table: of functions that `f64` has, and of others.
macro_rules! cases {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        fn unary<S: Strategy<Value: NumFloat>>() -> Vec<Case<S>> {
            vec![$(cases! { @ $floats1 $unary(x[0]) } ,)* $(cases! { @ native $step(x[0]) } ,)*]
        }
        fn binary<S: Strategy<Value: NumFloat>>() -> Vec<Case<S>> {
            vec![$(cases! { @ $floats2 $binary(x[0], x[1]) } ,)*]
        }
    };
    (@ native $name:ident($x:ident[0] $(, $y:ident[1])?)) => {
        Case {
            name: stringify!($name),
            real: |$x| Real::from($x[0].$name($($y[1])?)),
            closed: vec![|$x| Closed::$name(&$x[0] $(, &$y[1])?), |$x| NumFloat::$name($x[0] $(, $y[1])?)],
            number: Some(|$x| NumFloat::$name($x[0] $(, $y[1])?)),
        }
    };
    (@ registers $($call:tt)*) => {
        cases! { @ native $($call)* }
    };
    (@ $floats:ident $name:ident($x:ident[0] $(, $y:ident[1])?)) => {
        Case {
            name: stringify!($name),
            real: |$x| $x[0].$name($($y[1])?).into(),
            closed: vec![|$x| $x[0].$name($(&$y[1])?)],
            number: None,
        }
    };
}
tapewright::strategies::for_each_function!(cases);

/// The ones that `FloatCore` has, too.
macro_rules! core {
    ($($name:ident)* | $($binary:ident)*) => {
        fn unary_of_core<S: Strategy<Value: NumFloat>>() -> Vec<Case<S>> {
            vec![$(Case {
                name: stringify!($name),
                real: |x| Real::from(x[0].$name()),
                closed: vec![|x| FloatCore::$name(x[0])],
                number: None,
            },)*]
        }
        fn binary_of_core<S: Strategy<Value: NumFloat>>() -> Vec<Case<S>> {
            vec![$(Case {
                name: stringify!($binary),
                real: |x| x[0].$binary(x[1]).into(),
                closed: vec![|x| FloatCore::$binary(x[0], x[1]), |x| Closed::$binary(&x[0], x[1])],
                number: None,
            },)*]
        }
    };
}
core! { abs recip fract to_degrees to_radians signum floor ceil round trunc | max min }

/// Functions without operands of their own, beside variables' methods with numbers.
fn composed<S: Strategy<Value: NumFloat>>() -> Vec<Case<S>> {
    vec![
        Case {
            name: "powi(3)",
            real: |x| x[0].powi(3).into(),
            closed: vec![|x| Closed::powi(&x[0], 3), |x| NumFloat::powi(x[0], 3), |x| FloatCore::powi(x[0], 3)],
            number: Some(|x| NumFloat::powi(x[0], 3)),
        },
        Case {
            name: "powi(-2)",
            real: |x| x[0].powi(-2).into(),
            closed: vec![|x| Closed::powi(&x[0], -2), |x| NumFloat::powi(x[0], -2)],
            number: Some(|x| NumFloat::powi(x[0], -2)),
        },
        Case {
            name: "powf(1.5)",
            real: |x| x[0].powf(1.5).into(),
            closed: vec![|x| Closed::powf(&x[0], 1.5)],
            number: Some(|x| NumFloat::powf(x[0], S::Value::from_f64(1.5))),
        },
        Case {
            name: "clamp(-1, 1.7)",
            real: |x| x[0].clamp(-1.0, 1.7).into(),
            closed: vec![
                |x| Closed::clamp(&x[0], &Closed::from(-1.0), &Closed::from(1.7)),
                |x| NumFloat::clamp(x[0], Closed::from(-1.0), Closed::from(1.7)),
                |x| FloatCore::clamp(x[0], Closed::from(-1.0), Closed::from(1.7)),
            ],
            number: Some(|x| NumFloat::clamp(x[0], S::Value::from_f64(-1.0), S::Value::from_f64(1.7))),
        },
        Case {
            name: "first of sin_cos",
            real: |x| x[0].sin_cos().0.into(),
            closed: vec![|x| Closed::sin_cos(&x[0]).0, |x| NumFloat::sin_cos(x[0]).0],
            number: Some(|x| NumFloat::sin_cos(x[0]).0),
        },
        Case {
            name: "second of sin_cos",
            real: |x| x[0].sin_cos().1.into(),
            closed: vec![|x| Closed::sin_cos(&x[0]).1, |x| NumFloat::sin_cos(x[0]).1],
            number: Some(|x| NumFloat::sin_cos(x[0]).1),
        },
    ]
}

/// x·y + y, which `f64` rounds once and variables twice.
fn mul_add<S: Strategy<Value: NumFloat>>() -> Case<S> {
    Case {
        name: "mul_add",
        real: |x| x[0].mul_add(x[1], x[1]).into(),
        closed: vec![|x| Closed::mul_add(&x[0], &x[1], &x[1]), |x| NumFloat::mul_add(x[0], x[1], x[1])],
        number: None,
    }
}

/// Whether two numbers are the same bits, or both NaN.
fn same<V: Number>(a: &V, b: &V) -> bool {
    tapewright::strategies::same(*a, *b)
}

fn same_all<V: Number>(a: &(V, Vec<V>), b: &(V, Vec<V>)) -> bool {
    same(&a.0, &b.0) && a.1.len() == b.1.len() && a.1.iter().zip(&b.1).all(|(a, b)| same(a, b))
}

fn assert_same<S: Strategy<Value: NumFloat> + Reverse>(case: &Case<S>, x: &[f64]) {
    let x: Vec<S::Value> = x.iter().map(|x| Number::from_f64(*x)).collect();
    let expected = value_and_gradient::<S>(case.real, &x);
    for closed in &case.closed {
        let found = super::differentiated::<S>(closed, &x);
        assert!(same_all(&found, &expected), "{} at {x:?}: {found:?}, expected {expected:?}", case.name);
    }
    if let Some(number) = case.number {
        let value = number(&x);
        assert!(same(&value, &expected.0), "{} at {x:?}: {:?}, expected {value:?}", case.name, expected.0);
    }
}

fn functions_agree<S: Strategy<Value: NumFloat> + Reverse>() {
    for case in unary::<S>().iter().chain(&unary_of_core()).chain(&composed()) {
        POINTS.iter().for_each(|x| assert_same(case, &[*x]));
    }
    for case in binary::<S>().iter().chain(&binary_of_core()).chain([&mul_add()]) {
        for x in POINTS {
            POINTS.iter().for_each(|y| assert_same(case, &[x, *y]));
        }
    }
}

#[test]
fn functions_agree_with_variables_and_floats_in_f64() {
    functions_agree::<Jacobian>();
}

#[test]
fn functions_agree_with_variables_and_floats_in_f32() {
    functions_agree::<PrimalValue<f32, Linear<u64>>>();
}

#[test]
fn every_function_is_one_statement_and_steps_are_none() {
    let steps = ["signum", "floor", "ceil", "round", "trunc"];
    let pairs = ["first of sin_cos", "second of sin_cos"];
    let of_core = unary_of_core().into_iter().chain(binary_of_core());
    for case in unary().into_iter().chain(binary()).chain(of_core).chain(composed()).chain([mul_add()]) {
        let expected = if steps.contains(&case.name) { 0 } else { 1 + usize::from(pairs.contains(&case.name)) };
        for closed in &case.closed {
            assert_eq!(report::<Jacobian, _>(&[1.2, 2.5], closed).statements, expected, "{}", case.name);
        }
    }
}

#[test]
fn classification_and_decoding_look_at_the_value() {
    fn assert_alike<V: tapewright::Float>(number: V) {
        let x = Closed::<Jacobian<V>>::constant(number);
        let answers = [
            (NumFloat::is_nan(x), FloatCore::is_nan(x), number.is_nan()),
            (NumFloat::is_infinite(x), FloatCore::is_infinite(x), number.is_infinite()),
            (NumFloat::is_finite(x), FloatCore::is_finite(x), number.is_finite()),
            (NumFloat::is_normal(x), FloatCore::is_normal(x), number.is_normal()),
            (NumFloat::is_subnormal(x), FloatCore::is_subnormal(x), number.is_subnormal()),
            (NumFloat::is_sign_positive(x), FloatCore::is_sign_positive(x), number.is_sign_positive()),
            (NumFloat::is_sign_negative(x), FloatCore::is_sign_negative(x), number.is_sign_negative()),
        ];
        assert!(answers.iter().all(|(a, b, c)| a == c && b == c), "{number}: {answers:?}");
        assert_eq!((NumFloat::classify(x), FloatCore::classify(x)), (number.classify(), number.classify()));
        assert_eq!(NumFloat::integer_decode(x), number.integer_decode());
        assert_eq!(FloatCore::integer_decode(x), number.integer_decode());
    }
    for x in POINTS.into_iter().chain([f64::MIN_POSITIVE / 4.0, f64::MAX]) {
        assert_alike(x);
    }
    assert_alike(f32::MIN_POSITIVE / 4.0);
}
