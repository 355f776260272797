//! The claims of the literature on an arena of continuations, one test each.

#![allow(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::prelude::*;
use tapewright::strategies::{IndexType, LinearId};
use tapewright::{Float, linear_combination};

/// Strategies with linear `f64` variables.
trait Copying: Strategy + Reverse<Value = f64> {}
impl<S: Strategy + Reverse<Value = f64>> Copying for S {}

/// Asserts for every strategy.
macro_rules! every {
    ($f:ident) => {
        $f::<Jacobian>();
        $f::<PrimalValue>();
        $f::<Continuation>();
    };
}

/// exp(x₀)·x₁·x₁.
fn example<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0].exp() * x[1] * x[1]).into()
}

const AT: [f64; 2] = [5.2, -3.9];
const VALUE: f64 = 2_757.150_798_921_05;
const GRADIENT: [f64; 2] = [2_757.150_798_921_05, -1_413.923_486_626_18];

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

#[test]
fn s1_values_and_identifiers_come_in_two_widths_each() {
    fn holds<S: Strategy + Reverse>(tolerance: f64) {
        let at = AT.map(<S::Value as Float>::from_f64);
        let (value, gradient) = value_and_gradient::<S>(example, &at);
        assert!(close(value.as_f64(), VALUE, tolerance));
        assert!(gradient.iter().zip(GRADIENT).all(|(g, expected)| close(g.as_f64(), expected, tolerance)));
    }
    holds::<Jacobian<f64, Linear<u32>>>(1e-12);
    holds::<Jacobian<f64, Linear<u64>>>(1e-12);
    holds::<Jacobian<f32, Linear<u32>>>(1e-5);
    holds::<Jacobian<f32, Linear<u64>>>(1e-5);
    holds::<PrimalValue<f64, Linear<u32>>>(1e-12);
    holds::<PrimalValue<f64, Linear<u64>>>(1e-12);
    holds::<PrimalValue<f32, Linear<u32>>>(1e-5);
    holds::<PrimalValue<f32, Linear<u64>>>(1e-5);
    holds::<Continuation<f64, Linear<u32>>>(1e-12);
    holds::<Continuation<f64, Linear<u64>>>(1e-12);
    holds::<Continuation<f32, Linear<u32>>>(1e-5);
    holds::<Continuation<f32, Linear<u64>>>(1e-5);
}

#[test]
fn s2_running_out_of_identifiers_is_an_error_before_it_happens() {
    fn holds<S: Copying>(mut tape: Tape<S>) {
        let ((x, y), refused) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0]);
            let y: Real<S> = (x[0] * x[1]).into();
            ((x[0], y), catch_unwind(AssertUnwindSafe(|| Real::<S>::from(y * y))))
        });
        let payload = refused.expect_err("the fourth identifier");
        assert!(
            payload.downcast_ref::<String>().is_some_and(|message| message.contains("has 3 inputs and statements"))
        );
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(3.0));
    }
    let mut records = Tape::<Jacobian>::new();
    records.tape_mut().limit_identifiers(3);
    holds(records);
    let mut closures = Tape::<Continuation>::new();
    closures.tape_mut().limit_identifiers(3);
    holds(closures);
}

#[test]
fn s3_the_arena_grows_and_a_reset_keeps_it() {
    fn holds<S: Copying>() {
        let mut tape = Tape::<S>::new();
        let mut gradient = [0.0];
        let long = |x: &[Real<S>]| (0..400_000).fold(x[0], |y, _| (y + x[0] * 0.5).into());
        tape.gradient(long, &[1.0], &mut gradient).expect("lengths agree");
        assert_eq!(gradient, [200_001.0], "a recording of several segments");
        let reserved = tape.memory().total().reserved;
        assert!(reserved > 4 << 20);
        for _ in 0..3 {
            tape.reset();
            assert_eq!(tape.memory().total().reserved, reserved);
            tape.gradient(long, &[1.0], &mut gradient).expect("lengths agree");
            assert_eq!((gradient, tape.memory().total().reserved), ([200_001.0], reserved));
        }
    }
    every!(holds);
}

#[test]
fn s4_arrays_lie_in_the_arena() {
    let mut tape = Tape::<Continuation>::new();
    for n in [1, 2, 1000, 100_000] {
        let coefficients = vec![0.5; n];
        let (x, y) = tape.record(|scope| {
            let x = scope.input(3.0);
            (x, linear_combination(&coefficients, &vec![x; n]))
        });
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.5 * n as f64));
        // Partials, identifiers, their number and the result's, in whole words.
        assert_eq!(tape.memory().usage("closures").used, 8 * n + (4 * (n + 2)).next_multiple_of(8));
    }
}

/// Bytes that `f` of two inputs records.
fn cost<S: Copying>(f: impl Fn(&[Real<S>]) -> Real<S>) -> usize {
    let bytes = |f: &dyn Fn(&[Real<S>]) -> Real<S>| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| f(&scope.inputs(&[0.5, 0.6])));
        tape.memory().total().used
    };
    bytes(&f) - bytes(&|x| x[0])
}

#[test]
fn s5_each_operation_records_fewer_bytes_than_a_virtual_closure() {
    fn holds<S: Copying>() {
        // In C++ the closures take 24, 16, 40, 24 and 24 bytes, and 8 each on the stack of pointers.
        assert!(cost::<S>(|x| (x[0] + x[1]).into()) <= 24 + 8, "x + y");
        assert!(cost::<S>(|x| (x[0] + 1.0).into()) <= 16 + 8, "x + 1");
        assert!(cost::<S>(|x| (x[0] * x[1]).into()) <= 40 + 8, "x·y");
        assert!(cost::<S>(|x| (x[0] * 2.0).into()) <= 24 + 8, "x·2");
        assert!(cost::<S>(|x| x[0].exp().into()) <= 24 + 8, "exp x");
    }
    every!(holds);
}

/// Bytes of closures and of their pointers on the stack, for one statement of two inputs.
fn closure_and_pointer<V: Float, I: IndexType>(
    f: impl Fn(&[Real<Continuation<V, Linear<I>>>]) -> Real<Continuation<V, Linear<I>>>,
) -> (usize, usize) {
    let mut tape = Tape::<Continuation<V, Linear<I>>>::new();
    tape.record(|scope| f(&scope.inputs(&[0.5, 0.6].map(V::from_f64))));
    let report = tape.memory();
    assert_eq!(report.statements, 1);
    (report.usage("closures").used, report.usage("functions").used)
}

#[test]
fn s5_closures_capture_what_is_documented() {
    fn holds<V: Float, I: IndexType>() {
        let bytes = |a: usize, d: usize| ((size_of::<V>() * d + size_of::<I>() * (a + 1)).next_multiple_of(8), 8);
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] + x[1]).into()), bytes(2, 0), "x + y");
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] + 1.0).into()), bytes(1, 0), "x + 1");
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] * x[1]).into()), bytes(2, 2), "x·y");
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] * 2.0).into()), bytes(1, 1), "x·2");
        assert_eq!(closure_and_pointer::<V, I>(|x| x[0].exp().into()), bytes(1, 1), "exp x");
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0].exp() * x[1] * x[1]).into()), bytes(3, 3), "exp(x)·y·y");
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] * (x[1] - x[0])).into()), bytes(3, 2), "x·(y − x)");
        let half = Real::constant(V::from_f64(0.5));
        assert_eq!(closure_and_pointer::<V, I>(|x| (x[0] * half).into()), bytes(2, 2), "x·y with y passive");
    }
    holds::<f64, u32>();
    holds::<f64, u64>();
    holds::<f32, u32>();
    holds::<f32, u64>();
}

#[test]
fn s5_no_closure_is_larger_than_that_of_the_seed() {
    let closure = |f: fn(&[Real<Continuation>]) -> Real<Continuation>| closure_and_pointer(f);
    assert_eq!(closure(|x| (x[0] + x[1]).into()), (16, 8), "add_vv takes 24 + 8");
    assert_eq!(closure(|x| (x[0] + 1.0).into()), (8, 8), "add_v takes 16 + 8");
    assert_eq!(closure(|x| (x[0] * x[1]).into()), (32, 8), "multiply_vv takes 40 + 8");
    assert_eq!(closure(|x| (x[0] * 2.0).into()), (16, 8), "multiply_v takes 24 + 8");
    assert_eq!(closure(|x| x[0].exp().into()), (16, 8), "exp_v takes 24 + 8");
    assert_eq!(closure(example), (40, 8), "exp_v and two multiply_vv take 104 + 24");
}

#[test]
fn s7_the_stack_keeps_its_capacity() {
    let mut tape = Tape::<Continuation>::new();
    let chain = |x: &[Real<Continuation>]| (0..300_000).fold(x[0], |y, _| (y + x[0]).into());
    let mut reserved = 0;
    for _ in 0..3 {
        tape.gradient(chain, &[1.0], &mut [0.0]).expect("lengths agree");
        assert_eq!(tape.memory().usage("functions").used, 8 * 300_000);
        let recorded = tape.memory().total().reserved;
        assert!(reserved == 0 || reserved == recorded);
        tape.reset();
        let report = tape.memory();
        assert_eq!((report.usage("functions").used, report.usage("closures").used), (0, 0));
        reserved = report.total().reserved;
        assert_eq!(reserved, recorded);
    }
}

#[test]
fn s8_a_variable_is_a_value_and_an_identifier_in_16_bytes() {
    assert_eq!(size_of::<Real<Jacobian>>(), 16);
    assert_eq!(size_of::<Real<PrimalValue>>(), 16);
    assert_eq!(size_of::<Real<Continuation>>(), 16);
    assert_eq!(size_of::<Real<Passive>>(), 8);
    Tape::<Jacobian>::new().record(|scope| {
        let x = scope.input(1.0);
        let copy = x;
        assert_eq!((copy.id().index(), copy.id().number()), (x.id().index(), x.id().number()), "a copy keeps the id");
        let y: Real<_> = (x + 1.0).into();
        assert_ne!(y.id().index(), x.id().index(), "a new value has a new id");
    });
    let default = Real::<Jacobian>::default();
    assert_eq!((default.value(), default.id().is_active()), (0.0, false));
    let undefined = Real::<Jacobian>::undefined();
    assert!(undefined.value().is_nan() && !undefined.id().is_active());
}

#[test]
fn s9_the_adjoint_vector_has_an_entry_for_each_identifier_and_one_more() {
    fn holds<S: Copying>() {
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
    every!(holds);
}

#[test]
fn s10_gradients_of_closures_and_of_type_erased_functions() {
    fn holds<S: Copying>() {
        let scale = 2.0;
        let closure = gradient::<S>(|x| (scale * x[0] * x[1]).into(), &[3.0, 5.0]);
        assert_eq!(closure, [10.0, 6.0]);
        let erased: &dyn Fn(&[Real<S>]) -> Real<S> = &example;
        let (value, gradient) = value_and_gradient::<S>(erased, &AT);
        assert!(close(value, VALUE, 1e-12) && close(gradient[1], GRADIENT[1], 1e-12));
    }
    every!(holds);
}

/// Gradient at (3, 5).
fn at_3_5<S: Copying>(f: impl Fn(&[Real<S>]) -> Real<S>) -> Vec<f64> {
    gradient::<S>(f, &[3.0, 5.0])
}

#[test]
fn s11_addition_of_variables() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| (x[0] + x[1]).into()), [1.0, 1.0]);
    }
    every!(holds);
}

#[test]
fn s11_addition_of_a_number_on_either_side() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| (x[0] + 2.0).into()), [1.0, 0.0]);
        assert_eq!(at_3_5::<S>(|x| (2.0 + x[1]).into()), [0.0, 1.0]);
    }
    every!(holds);
}

#[test]
fn s11_multiplication_of_variables() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| (x[0] * x[1]).into()), [5.0, 3.0]);
    }
    every!(holds);
}

#[test]
fn s11_multiplication_by_a_number_on_either_side() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| (x[0] * 2.0).into()), [2.0, 0.0]);
        assert_eq!(at_3_5::<S>(|x| (2.0 * x[1]).into()), [0.0, 2.0]);
    }
    every!(holds);
}

#[test]
fn s11_exp() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| x[0].exp().into()), [3.0_f64.exp(), 0.0]);
    }
    every!(holds);
}

#[test]
fn s11_add_assign_and_mul_assign() {
    fn holds<S: Copying>() {
        let sum = |x: &[Real<S>]| {
            let mut y = x[0];
            y += x[1];
            y += x[0];
            y
        };
        let product = |x: &[Real<S>]| {
            let mut y = x[0];
            y *= x[1];
            y *= x[0];
            y
        };
        assert_eq!(at_3_5::<S>(sum), [2.0, 1.0]);
        assert_eq!(at_3_5::<S>(product), [30.0, 9.0]);
    }
    every!(holds);
}

#[test]
fn s12_add_assign_takes_a_fresh_identifier_and_leaves_the_operand_alone() {
    fn holds<S: Copying<Id = LinearId>>() {
        let mut tape = Tape::<S>::new();
        let (x, before, after) = tape.record(|scope| {
            let x = scope.inputs(&[3.0, 5.0]);
            let mut y = x[0];
            let before = y;
            y += x[1];
            (x, before, y)
        });
        assert_eq!((before.id().index(), after.id().index(), after.value()), (1, 3, 8.0));
        let swept = tape.sweep(&[(&after, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
        assert_eq!(swept, Ok(vec![1.0, 1.0]));
    }
    every!(holds);
}

#[test]
fn s13_the_example_gives_the_published_numbers() {
    fn holds<S: Copying>() {
        let (value, gradient) = value_and_gradient::<S>(example, &AT);
        assert!(close(value, VALUE, 1e-12), "{value}");
        assert!(close(gradient[0], GRADIENT[0], 1e-12) && close(gradient[1], GRADIENT[1], 1e-12), "{gradient:?}");
    }
    every!(holds);
}

#[test]
fn s14_the_example_takes_fewer_bytes_than_objects_on_a_heap() {
    fn holds<S: Copying>() {
        let one = cost::<S>(example);
        let four = cost::<S>(|x| {
            let e: Real<S> = x[0].exp().into();
            let p: Real<S> = (e * x[1]).into();
            let q: Real<S> = (p * x[1]).into();
            (q + 0.0).into()
        });
        assert!(one <= 184 && four <= 184, "{one} and {four} bytes");
    }
    every!(holds);
}

#[test]
fn s16_the_output_may_be_an_input() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| x[0]), [1.0, 0.0]);
        assert_eq!(at_3_5::<S>(|x| x[1]), [0.0, 1.0]);
    }
    every!(holds);
}

#[test]
fn s16_the_output_may_be_a_constant() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|_| Real::from(7.0)), [0.0, 0.0]);
        assert_eq!(gradient::<S>(|_| Real::from(7.0), &[]), [0.0; 0]);
    }
    every!(holds);
}

#[test]
fn s16_an_input_may_be_used_twice_and_an_output_returned_twice() {
    fn holds<S: Copying>() {
        assert_eq!(at_3_5::<S>(|x| (x[0] * x[0]).into()), [6.0, 0.0]);
        let (values, product) =
            vjp::<S>(|x| vec![x[0], x[0], x[1]], &[3.0, 5.0], &[1.0, 2.0, 4.0]).expect("lengths agree");
        assert_eq!((values, product), (vec![3.0, 3.0, 5.0], vec![3.0, 4.0]));
    }
    every!(holds);
}

#[test]
fn s17_two_tapes_may_record_at_once_nested_and_in_threads() {
    fn holds<S: Copying>() {
        let nested = at_3_5::<S>(|x| {
            let inner = gradient::<S>(|u| (u[0] * u[0] * u[0]).into(), &[x[0].value()]);
            (x[0] * inner[0] + x[1]).into()
        });
        assert_eq!(nested, [27.0, 1.0]);
        std::thread::scope(|threads| {
            for k in 1..=4 {
                threads.spawn(move || {
                    let x = f64::from(k);
                    assert_eq!(gradient::<S>(|u| (u[0] * u[0]).into(), &[x]), [2.0 * x]);
                });
            }
        });
    }
    every!(holds);
}
