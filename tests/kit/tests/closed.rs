//! Closed arithmetic: every operation is a statement, and code generic over `num_traits` runs under every strategy.

#[path = "closed/functions.rs"]
mod functions;
#[path = "closed/numbers.rs"]
mod numbers;
#[path = "closed/owned.rs"]
mod owned;
#[path = "closed/programs.rs"]
mod programs;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright::{Binary, Closed, Float, Unary, binary, unary};

/// Value and gradient of a function of closed variables.
pub(crate) fn differentiated<S: Reverse>(
    f: impl FnOnce(&[Closed<S>]) -> Closed<S>,
    x: &[S::Value],
) -> (S::Value, Vec<S::Value>) {
    value_and_gradient::<S>(|x| f(Closed::wrap_slice(x)).open(), x)
}

/// What the tape reports after `f` at `x`.
pub(crate) fn report<S: Reverse, R>(x: &[S::Value], f: impl FnOnce(&[Closed<S>]) -> R) -> MemoryReport {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| f(Closed::wrap_slice(&scope.inputs(x))));
    tape.memory()
}

/// Asserts value and gradient at (3, 2) of an operator in all its forms, and that each is one statement.
macro_rules! operator_forms {
    ($($name:ident $op:tt $assign:tt: $value:expr, [$left:expr, $right:expr];)*) => { $(
        #[test]
        fn $name() {
            let pairs: [fn(&[Closed<Jacobian>]) -> Closed<Jacobian>; 6] = [
                |x| x[0] $op x[1],
                |x| &x[0] $op &x[1],
                |x| x[0] $op &x[1],
                |x| &x[0] $op x[1],
                |x| { let mut y = x[0]; y $assign x[1]; y },
                |x| { let mut y = x[0]; y $assign &x[1]; y },
            ];
            for f in pairs {
                assert_eq!(differentiated(f, &[3.0, 2.0]), ($value, vec![$left, $right]));
                assert_eq!(report(&[3.0, 2.0], f).statements, 1);
            }
            let lefts: [fn(&[Closed<PrimalValue>]) -> Closed<PrimalValue>; 6] = [
                |x| x[0] $op 2.0,
                |x| &x[0] $op 2.0,
                |x| x[0] $op &2.0,
                |x| &x[0] $op &2.0,
                |x| { let mut y = x[0]; y $assign 2.0; y },
                |x| { let mut y = x[0]; y $assign &2.0; y },
            ];
            for f in lefts {
                assert_eq!(differentiated(f, &[3.0]), ($value, vec![$left]));
                assert_eq!(report(&[3.0], f).statements, 1);
            }
            let rights: [fn(&[Closed<PrimalValue>]) -> Closed<PrimalValue>; 4] =
                [|x| 3.0 $op x[0], |x| 3.0 $op &x[0], |x| &3.0 $op x[0], |x| &3.0 $op &x[0]];
            for f in rights {
                assert_eq!(differentiated(f, &[2.0]), ($value, vec![$right]));
                assert_eq!(report(&[2.0], f).statements, 1);
            }
        }
    )* };
}

operator_forms! {
    addition_in_all_forms + +=: 5.0, [1.0, 1.0];
    subtraction_in_all_forms - -=: 1.0, [1.0, -1.0];
    multiplication_in_all_forms * *=: 6.0, [2.0, 3.0];
    division_in_all_forms / /=: 1.5, [0.5, -0.75];
    remainder_in_all_forms % %=: 1.0, [1.0, -1.0];
}

#[test]
fn negation_by_value_and_by_reference() {
    assert_eq!(differentiated::<Jacobian>(|x| -x[0], &[3.0]), (-3.0, vec![-1.0]));
    assert_eq!(differentiated::<PrimalValue>(|x| -&x[0], &[3.0]), (-3.0, vec![-1.0]));
}

/// Ten operations.
fn ten_operations<S: Strategy>(x: &[Closed<S>]) -> Closed<S> {
    (x[0] * x[1] + x[0].sin()) / (x[1].exp() + 2.0) - (x[0] - x[1]).cos() * 0.5
}

/// The same as one statement.
fn one_statement<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    ((x[0] * x[1] + x[0].sin()) / (x[1].exp() + 2.0) - (x[0] - x[1]).cos() * 0.5).into()
}

/// Bytes of what `f` records, without inputs and adjoints, and the numbers of statements and arguments.
fn cost<S: Reverse<Value = f64>, R>(f: impl Fn(&[Closed<S>]) -> R) -> (usize, usize, usize) {
    let recorded = |times: usize| report::<S, _>(&[0.3, 0.4], |x| (0..times).for_each(|_| _ = f(x)));
    let bytes = |report: &MemoryReport| report.total().used - report.usage("adjoints").used;
    let (once, twice) = (recorded(1), recorded(2));
    (bytes(&twice) - bytes(&once), once.statements, once.arguments)
}

#[test]
fn t2_ten_operations_are_ten_records() {
    // Partials: two for a product and for a quotient, one for each of three functions and for `* 0.5`, none for sums.
    assert_eq!(cost::<Jacobian, _>(ten_operations), (10 + 4 * 15 + 8 * (2 + 2 + 3 + 1), 10, 15));
    // Numbers: a value for each record, and the two literals.
    assert_eq!(cost::<PrimalValue, _>(ten_operations), (10 * 9 + 4 * 15 + 8 * 2, 10, 15));
    assert_eq!(cost::<Jacobian, _>(|x| one_statement(Closed::peel_slice(x))), (1 + 4 * 6 + 8 * 5, 1, 6));
    assert_eq!(cost::<PrimalValue, _>(|x| one_statement(Closed::peel_slice(x))), (9 + 4 * 6 + 8 * 2, 1, 6));
}

#[test]
fn ten_operations_have_the_gradient_of_the_one_statement() {
    let x = [0.3, 0.4];
    let (value, gradient) = value_and_gradient::<Jacobian>(one_statement, &x);
    for (v, g) in [differentiated::<Jacobian>(ten_operations, &x), differentiated::<PrimalValue>(ten_operations, &x)] {
        assert_eq!(v, value);
        approx::assert_relative_eq!(g[..], gradient[..], max_relative = 1e-15);
    }
}

#[test]
fn sums_and_products_of_iterators_are_a_statement_for_each_item_but_the_first() {
    fn f<S: Strategy>(x: &[Closed<S>]) -> Closed<S> {
        let sums = x.iter().sum::<Closed<S>>() + x.iter().copied().sum::<Closed<S>>();
        let products = x.iter().product::<Closed<S>>() + x.iter().copied().product::<Closed<S>>();
        let none = x[..0].iter().sum::<Closed<S>>() + x[..0].iter().copied().product::<Closed<S>>();
        sums * products * none
    }
    let x = [3.0, 2.0, 5.0];
    // 2s · 2p · 1 with s = 10, p = 30
    assert_eq!(differentiated::<Jacobian>(f, &x), (1200.0, vec![520.0, 720.0, 360.0]));
    assert_eq!(report::<PrimalValue, _>(&x, f).statements, 4 * 2 + 2 + 2);
}

#[test]
fn comparisons_compare_values_and_record_nothing() {
    let report = report::<Jacobian, _>(&[1.0, 2.0], |x| {
        let (x, y) = (x[0], x[1]);
        assert_eq!([x < y, y > x, x <= y, y >= x, x != y, x == Closed::from(1.0)], [true; 6]);
        assert_eq!([x > y, y < x, x >= y, y <= x, x == y], [false; 5]);
        assert_eq!([x < 2.0, 2.0 > x, x == 1.0, 1.0 == x, x <= 1.0, 1.0 >= x, x != 2.0], [true; 7]);
        assert_eq!(x.partial_cmp(&Closed::from(f64::NAN)), None);
    });
    assert_eq!(report.statements, 0);
}

#[test]
fn conversions_cost_nothing_and_keep_the_variable() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.inputs(&[1.0, 2.0]);
        let closed = Closed::wrap_slice(&x);
        assert_eq!(Closed::peel_slice(closed).as_ptr(), x.as_ptr());
        assert_eq!((closed[1].as_real().id().index(), Closed::from(x[1]).open().id().index()), (2, 2));
        let back: Real<_> = closed[0].into();
        assert_eq!(back.id().index(), 1);
        let inputs = x.clone();
        let swapped = Closed::wrap_slice_mut(&mut x);
        swapped.swap(0, 1);
        Closed::peel_slice_mut(swapped)[1].assign(5.0);
        assert_eq!((x[0].value(), x[1].value(), x[1].id().is_active()), (2.0, 5.0, false));
        (inputs, Closed::from(x[0] * x[0] * x[1]))
    });
    assert_eq!(tape.memory().statements, 1, "an expression is one statement");
    assert_eq!(tape.sweep(&[(y.as_real(), 1.0)]).and_then(|adjoints| adjoints.of_all(&x)), Ok(vec![0.0, 20.0]));
}

#[test]
fn a_closed_variable_is_as_large_as_a_variable() {
    assert_eq!(size_of::<Closed<Passive>>(), 8);
    assert_eq!(size_of::<Closed<Passive<f32>>>(), 4);
    assert_eq!(size_of::<Closed<Jacobian>>(), size_of::<Real<Jacobian>>());
    let floats = [1.0, 2.0];
    assert_eq!(Real::floats(Closed::peel_slice(Closed::wrap_slice(Real::wrap_slice(&floats)))), floats);
}

#[test]
fn debug_display_and_exponents_show_the_value() {
    let x = Closed::<Jacobian>::from(1.5);
    assert_eq!(format!("{x:?} {x} {x:6.2} {x:e}"), "1.5 1.5   1.50 1.5e0");
    assert_eq!(Closed::<Jacobian>::default(), 0.0);
}

/// x·|x|.
struct SignedSquare;
impl Unary for SignedSquare {
    fn value<V: Float>(x: V) -> V {
        x * x.abs()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.abs() + x.abs()
    }
}

/// x²·y.
struct SquareTimes;
impl Binary for SquareTimes {
    fn value<V: Float>(x: V, y: V) -> V {
        x * x * y
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        (x + x) * y
    }
    fn partial_right<V: Float>(x: V, _: V, _: V) -> V {
        x * x
    }
}

#[test]
fn rules_of_users_take_closed_variables() {
    fn f<S: Strategy>(x: &[Closed<S>]) -> Closed<S> {
        let square: Closed<S> = unary::<_, SignedSquare, _>(&x[0]).into();
        binary::<_, SquareTimes, _, _>(square, &x[1]).into()
    }
    assert_eq!(differentiated::<PrimalValue>(f, &[-2.0, 3.0]), (48.0, vec![-96.0, 16.0]));
}

thread_local! {
    /// The place of this thread's latest panic.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Runs a one-line closure that must panic with this message, and name the line of this very call.
#[track_caller]
fn refused_here<R>(part: &str, f: impl FnOnce() -> R) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PLACE.set(info.location().map(|at| (at.file().to_owned(), at.line())));
            before(info);
        }));
    });
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("this should have panicked") };
    let message = payload.downcast::<String>().expect("panics carry text");
    assert!(message.contains(part), "{part:?} is not in {message:?}");
    let here = Location::caller();
    assert_eq!(PLACE.take(), Some((here.file().to_owned(), here.line())), "place of {message:?}");
}

#[test]
fn foreign_variables_are_refused_at_the_line_of_the_operation() {
    use tapewright::strategies::num_traits::{Float as NumFloat, Pow};
    let mut outdated = Tape::<Jacobian>::new();
    let old = outdated.record(|scope| Closed::from(scope.input(1.0)));
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let x = Closed::from(scope.input(2.0));
        let two = "variables of two recordings";
        refused_here(two, || x + old);
        let mut y = x;
        refused_here(two, || y -= &old);
        refused_here(two, || x.hypot(old));
        refused_here(two, || NumFloat::max(x, old));
        refused_here(two, || x.pow(old));
        let finished = "which is not active on this thread";
        refused_here(finished, || -old);
        refused_here(finished, || 2.0 / old);
        refused_here(finished, || old.sin());
        refused_here(finished, || NumFloat::sqrt(old));
        refused_here("clamp needs low ≤ high", || x.clamp(2.0.into(), 1.0.into()));
    });
    assert_eq!(tape.memory().statements, 0);
}
