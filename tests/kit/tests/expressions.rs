//! Expressions: every form of operands, statement boundaries, and statements that name their arguments. That statements
//! of any type are right under every strategy is tested by the conformance kit (`formulas`, `statements`, `rules`).

use approx::assert_relative_eq;
use tapewright::prelude::*;

/// Value and gradient under `Jacobian`, after checking that `PrimalValue` agrees.
macro_rules! both {
    ($f:expr, $x:expr) => {{
        let a = value_and_gradient::<Jacobian>($f, $x);
        assert_eq!(a, value_and_gradient::<PrimalValue>($f, $x));
        a
    }};
}

#[path = "expressions/named_statements.rs"]
mod named_statements;

/// Asserts value and gradient at (3, 2) of an operator in all its forms: by value, by reference, with an `f64` or a
/// borrowed one on either side, and between expressions.
macro_rules! operator_forms {
    ($($name:ident $op:tt: $value:expr, [$left:expr, $right:expr];)*) => { $(
        #[test]
        fn $name() {
            let pairs: [fn(&[Real<Jacobian>]) -> Real<Jacobian>; 5] = [
                |x| (x[0] $op x[1]).into(),
                |x| (&x[0] $op &x[1]).into(),
                |x| (x[0] $op &x[1]).into(),
                |x| (&x[0] $op x[1]).into(),
                |x| ((x[0] + 0.0) $op (x[1] * 1.0)).into(),
            ];
            for f in pairs {
                assert_eq!(value_and_gradient(f, &[3.0, 2.0]), ($value, vec![$left, $right]));
            }
            let lefts: [fn(&[Real<PrimalValue>]) -> Real<PrimalValue>; 6] = [
                |x| (x[0] $op 2.0).into(),
                |x| (&x[0] $op 2.0).into(),
                |x| ((x[0] + 0.0) $op 2.0).into(),
                |x| (x[0] $op &2.0).into(),
                |x| (&x[0] $op &2.0).into(),
                |x| ((x[0] + 0.0) $op &2.0).into(),
            ];
            for f in lefts {
                assert_eq!(value_and_gradient(f, &[3.0]), ($value, vec![$left]));
            }
            let rights: [fn(&[Real<PrimalValue>]) -> Real<PrimalValue>; 6] = [
                |x| (3.0 $op x[0]).into(),
                |x| (3.0 $op &x[0]).into(),
                |x| (3.0 $op (x[0] + 0.0)).into(),
                |x| (&3.0 $op x[0]).into(),
                |x| (&3.0 $op &x[0]).into(),
                |x| (&3.0 $op (x[0] + 0.0)).into(),
            ];
            for f in rights {
                assert_eq!(value_and_gradient(f, &[2.0]), ($value, vec![$right]));
            }
        }
    )* };
}

operator_forms! {
    addition_in_all_forms +: 5.0, [1.0, 1.0];
    subtraction_in_all_forms -: 1.0, [1.0, -1.0];
    multiplication_in_all_forms *: 6.0, [2.0, 3.0];
    division_in_all_forms /: 1.5, [0.5, -0.75];
    remainder_in_all_forms %: 1.0, [1.0, -1.0];
}

#[test]
fn compound_assignment_in_all_forms() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let mut t = x[0];
        t += x[1]; //               x + y
        t -= &x[1]; //              x
        t *= 2.0 * x[1]; //         2xy
        t /= x[0] * x[1]; //        2
        t *= x[0]; //               2x
        t += 1.0; //                2x + 1
        t *= &x[1]; //              2xy + y
        t -= 0.5; //                2xy + y − ½
        t %= 10.0; //               (12 + 2 − ½) mod 10
        t /= 0.25; //               8xy + 4y − 42
        t
    }
    let (value, gradient) = both!(f, &[3.0, 2.0]);
    assert_relative_eq!(value, 14.0, max_relative = 1e-14);
    assert_relative_eq!(gradient[..], [16.0, 28.0][..], max_relative = 1e-14);
}

#[test]
fn borrowed_floats_are_literals() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let mut sum = Real::from(0.0);
        for (w, x) in [0.5, 4.0].iter().zip(x) {
            sum += w * x.exp();
            sum += x.max(w) * w;
        }
        sum
    }
    fn copied<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let mut sum = Real::from(0.0);
        for (w, x) in [0.5, 4.0].into_iter().zip(x) {
            sum += w * x.exp();
            sum += x.max(w) * w;
        }
        sum
    }
    fn assigned<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let mut t = x[0];
        t += &1.0; //  x + 1
        t *= &6.0; //  6x + 6
        t -= &0.5; //  6x + 5½
        t %= &10.0; // (18 + 5½) mod 10
        t /= &0.5;
        t
    }
    assert_eq!(both!(f, &[3.0, 2.0]), both!(copied, &[3.0, 2.0]));
    assert_eq!(both!(assigned, &[3.0]), (7.0, vec![12.0]));
}

#[test]
fn comparisons_in_all_forms_compare_values_and_record_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let (x, y) = (scope.input(1.0), scope.input(2.0));
        let one = x.sin() / x.sin();
        assert_eq!([x < y, y > x, x <= y, y >= x, x != y, x == one, one >= x], [true; 7]);
        assert_eq!([x > y, y < x, x >= y, y <= x, x == y, x != one, one < x], [false; 7]);
        assert_eq!([x < 2.0, 2.0 > x, x == 1.0, 1.0 == x, x <= 1.0, 1.0 >= x, x != 2.0], [true; 7]);
        assert_eq!([x + y == 3.0, x * y >= y, y <= x * y, 0.5 < x * y, x + y != x * y, x + y > x * y], [true; 6]);
        assert_eq!(x.partial_cmp(&Real::undefined()), None);
        assert!(Real::<Jacobian>::undefined() != x);
    });
    assert_eq!(tape.memory().statements, 0);
}

#[test]
fn debug_and_display_show_the_value_and_honour_flags() {
    Tape::<Jacobian>::new().record(|scope| {
        let x = scope.input(1.0);
        assert_eq!(format!("{x:?} {x} {x:8.3}|{:<6.1}|{:+.2?}", x + 0.25, x * 2.0), "1.0 1    1.000|1.2   |+2.00");
    });
}

#[test]
fn the_default_is_zero_and_undefined_is_nan_and_both_are_passive() {
    assert_eq!(Real::<Jacobian>::default().value(), 0.0);
    assert!(Real::<Jacobian>::undefined().value().is_nan());
    let (_, gradient) = value_and_gradient::<Jacobian>(|x| (x[0] + Real::default()).into(), &[1.0]);
    assert_eq!(gradient, [1.0]);
    assert!(!Real::<Jacobian>::default().id().is_active() && !Real::<Jacobian>::undefined().id().is_active());
}

#[test]
fn the_four_statement_boundaries_agree() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let a: Real<S> = (x[0] * 2.0).into();
        let b = Real::from(x[0] * 2.0);
        let c = (x[0] * 2.0).eval();
        let mut d = Real::undefined();
        d.assign(x[0] * 2.0);
        let mut e = Real::from(7.0);
        e.assign(d);
        d.assign(1.0);
        (a + b + c + d + e).into()
    }
    assert_eq!(both!(f, &[3.0]), (25.0, vec![8.0]));
}

/// x₀ + xₖ + … for the indices given.
macro_rules! chain {
    ($x:ident: $($k:tt)*) => { (&$x[0] $(+ &$x[$k])*).into() };
}

#[test]
fn a_chain_of_100_operands_is_one_statement() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        chain!(x: 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0
            1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1)
    }
    assert_eq!(both!(f, &[3.0, 2.0]), (250.0, vec![50.0, 50.0]));
    let mut tape = Tape::<PrimalValue>::new();
    tape.record(|scope| f(&scope.inputs(&[3.0, 2.0])));
    assert_eq!((tape.memory().statements, tape.memory().arguments), (1, 100));
}

type Boxed<S> = Box<dyn Fn(&[Real<S>]) -> Real<S>>;

#[test]
fn gradients_of_closures_function_items_and_trait_objects() {
    let c = 2.0;
    assert_eq!(gradient::<Jacobian>(|x| (x[0] * x[1] * c).into(), &[3.0, 2.0]), [4.0, 6.0]);
    let erased: &dyn Fn(&[Real<Jacobian>]) -> Real<Jacobian> = &|x| (x[0] * x[1] * c).into();
    assert_eq!(value_and_gradient::<Jacobian>(erased, &[3.0, 2.0]), (12.0, vec![4.0, 6.0]));
    let boxed: Boxed<PrimalValue> = Box::new(move |x| (x[0] * c).into());
    assert_eq!(value_and_gradient::<PrimalValue>(&boxed, &[3.0]), (6.0, vec![2.0]));
}

#[test]
fn compound_assignments_take_a_new_identifier() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(3.0);
        let mut y = x;
        assert_eq!(y.id().index(), x.id().index(), "a copy keeps the identifier");
        y += x;
        assert_ne!(y.id().index(), x.id().index());
        let before = y.id().index();
        y *= y;
        assert_ne!(y.id().index(), before);
        (x, y)
    });
    assert_eq!(y.value(), 36.0);
    assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(24.0));
}

#[test]
fn the_example_of_an_exponential_times_a_square_has_the_published_numbers() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0].exp() * x[1] * x[1]).into()
    }
    let (value, gradient) = both!(f, &[5.2, -3.9]);
    assert_relative_eq!(value, 2_757.150_798_921_05, max_relative = 1e-12);
    assert_relative_eq!(gradient[..], [2_757.150_798_921_05, -1_413.923_486_626_18][..], max_relative = 1e-12);
}

#[test]
fn variables_have_the_documented_sizes() {
    assert_eq!(size_of::<Real<Passive>>(), 8);
    assert_eq!(size_of::<Real<Passive<f32>>>(), 4);
    assert_eq!(size_of::<Real<Jacobian>>(), 16);
    assert_eq!(size_of::<Real<PrimalValue>>(), 16);
    assert_eq!(size_of::<Real<Continuation>>(), 16);
    assert_eq!(size_of::<Real<Jacobian<f32>>>(), 16);
    assert_eq!(size_of::<Real<Jacobian<f64, Linear<u64>>>>(), 24);
    assert_eq!(size_of::<Real<PrimalValue<f64, Linear<u64>>>>(), 24);
}

const fn assert_plain<T: Copy + Send + Sync + 'static>() {}
const _: () = {
    assert_plain::<Real<Passive>>();
    assert_plain::<Real<Jacobian>>();
    assert_plain::<Real<PrimalValue<f32, Linear<u64>>>>();
};

#[test]
fn slices_of_floats_are_viewed_as_passive_variables_and_back() {
    let mut floats = [3.0, 4.0];
    assert_eq!(Real::<Passive>::floats(Real::wrap_slice(&floats)), [3.0, 4.0]);
    Real::<Passive>::wrap_slice_mut(&mut floats)[1] *= 2.0;
    assert_eq!(floats, [3.0, 8.0]);
    let mut reals = [Real::<Passive<f32>>::from(1.0), Real::from(2.0)];
    Real::floats_mut(&mut reals)[0] = 5.0;
    assert_eq!(Real::floats(&reals), [5.0, 2.0]);
}

/// Sums of products of an active and a passive variable, in one statement, on either side of the sizes that are treated
/// alike.
#[test]
fn passive_arguments_change_neither_values_nor_gradients() {
    macro_rules! products {
        ($x:ident, $p:ident; $first:literal $($k:literal)*) => {
            ((&$x[$first] * &$p[$first]).exp() $(+ &$x[$k] * &$p[$k] * &$x[$first])*).eval()
        };
    }
    fn check<S: Reverse<Value = f64>>() {
        let x: Vec<f64> = (0..8).map(|k| 0.3 + 0.1 * f64::from(k)).collect();
        let p: Vec<f64> = (0..8).map(|k| 1.7 - 0.4 * f64::from(k)).collect();
        for products in [1, 5, 6, 8] {
            let f = |x: &[Real<S>], p: &[Real<S>]| match products {
                1 => products!(x, p; 0),
                5 => products!(x, p; 0 1 2 3 4),
                6 => products!(x, p; 0 1 2 3 4 5),
                _ => products!(x, p; 0 1 2 3 4 5 6 7),
            };
            let constants: Vec<Real<S>> = p.iter().map(|p| Real::from(*p)).collect();
            let (value, slopes) = value_and_gradient::<S>(|x| f(x, &constants), &x);
            let both: Vec<f64> = x.iter().chain(&p).copied().collect();
            let (expected, all) = value_and_gradient::<S>(|v| f(&v[..8], &v[8..]), &both);
            assert_eq!(value.to_bits(), expected.to_bits());
            assert_eq!(slopes, all[..8], "{products} products");
        }
    }
    check::<Jacobian>();
    check::<PrimalValue<f64, Reuse>>();
    check::<Hybrid>();
    check::<Continuation>();
}
