//! The numerical conventions as data: functions, points, and the value and slopes that each has there. The chapter of
//! that name in the book has a list of them, which is made here.
//!
//! Rows about one function hold by its rule, so they run where slopes are kept, where they are computed in the sweep
//! and in forward mode, in both float widths. Rows about statements run under every kind of strategy and all policies.
//! Duals, packs and closed variables are compared with plain variables, function by function, in `second_order`, `packs`
//! and `closed`.

#[path = "conventions/book.rs"]
mod book;
#[path = "conventions/distributions.rs"]
mod distributions;
#[path = "conventions/elementary.rs"]
mod elementary;
#[path = "conventions/limits.rs"]
mod limits;
#[path = "conventions/special.rs"]
mod special;
#[path = "conventions/statements.rs"]
mod statements;

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::policy::{self, Policy, Strict};
use tapewright::prelude::*;
use tapewright::strategies::policy::SingularSlope;
use tapewright::tape::AdjointVector;
use tapewright::{Error, Number};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A function under one strategy. A pointer, so that what tests it is compiled once for each strategy.
type Of<S> = fn(&[Real<S>]) -> Real<S>;

/// A function as it is written, with points.
struct Row {
    function: &'static str,
    points: Vec<Point>,
}

/// Arguments, the value, and the slopes under `Strict`.
struct Point {
    x: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
    /// The slopes under `Subgradient`, and the function that `Checked` refuses; of rows about policies.
    policies: Vec<(Vec<f64>, Option<&'static str>)>,
}

/// Defines a table of rows `function => { point => value, slopes; … }`, for policies `point => value, slopes, slopes
/// under Subgradient, function that Checked refuses`: `rows()` are the data, `functions::<S>()` the functions.
macro_rules! conventions {
    ($x:ident; $($function:expr => {
        $($point:expr => $value:expr, $slopes:expr $(, $subgradient:expr, $refused:expr)?;)+
    })*) => {
        pub(super) fn rows() -> Vec<Row> {
            vec![$(Row {
                function: stringify!($function),
                points: vec![$(Point {
                    x: $point.to_vec(),
                    value: $value,
                    slopes: $slopes.to_vec(),
                    policies: vec![$(($subgradient.to_vec(), $refused))?],
                }),+],
            }),*]
        }
        pub(super) fn functions<S: Taping>() -> Vec<Of<S>> {
            vec![$(|$x: &[Real<S>]| ($function).into()),*]
        }
    };
}
pub(crate) use conventions;

/// Value and slopes, or the message of the error or panic, with the way in which they were found.
type Found = (&'static str, Result<(f64, Vec<f64>), String>);

fn floats<V: Number>(x: &[f64]) -> Vec<V> {
    x.iter().map(|x| V::from_f64(*x)).collect()
}

fn doubles<V: Number>(x: &[V]) -> Vec<f64> {
    x.iter().map(|x| x.as_f64()).collect()
}

/// By a sweep with one adjoint vector, with several, between positions, and forward.
fn by_reverse<S: Reverse>(f: Of<S>, x: &[f64]) -> Vec<Found> {
    let x = floats::<S::Value>(x);
    let (zero, one) = (S::Value::ZERO, S::Value::ONE);
    let mut tape = Tape::<S>::new();
    let mut slopes = vec![zero; x.len()];
    let gradient = tape.gradient(f, &x, &mut slopes).map(|_| slopes);
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(&x);
        let y = f(&inputs);
        (inputs, y)
    });
    let lanes = tape.sweep_lanes(&[(&y, [zero, one])]).and_then(|found| inputs.iter().map(|x| found.of(x)).collect());
    let lanes = lanes.map(|rows: Vec<[S::Value; 2]>| rows.iter().map(|row| row[1]).collect());
    let (mut vector, end) = (AdjointVector::new(), tape.position());
    let seeded = tape.seed(&mut vector, &[(&y, one)]);
    let between = seeded.and_then(|()| tape.sweep_from_position(&mut vector, &end)?.of_all(&inputs));
    let along = |k: usize| {
        let tangents: Vec<_> = (0..).zip(&inputs).map(|(j, x)| (x, if j == k { one } else { zero })).collect();
        tape.jvp(&tangents, &[&y]).map(|found| found[0])
    };
    let forward = (0..x.len()).map(along).collect();
    let value = y.value().as_f64();
    let found = |slopes: Result<Vec<S::Value>, Error>| match slopes {
        Ok(slopes) => Ok((value, doubles(&slopes))),
        Err(error) => Err(error.to_string()),
    };
    vec![
        ("gradient", found(gradient)),
        ("lanes", found(lanes)),
        ("positions", found(between)),
        ("forward sweep", found(forward)),
    ]
}

/// By forward mode, which panics where sweeps return errors.
fn by_tangents<S: Forward>(f: Of<S>, x: &[f64]) -> Vec<Found> {
    let run = || jacobian_forward::<S>(|x| vec![f(x)], &floats(x));
    let found = match catch_unwind(AssertUnwindSafe(run)) {
        Ok((values, rows)) => Ok((values[0].as_f64(), doubles(&rows.concat()))),
        Err(panic) => Err(panic.downcast_ref::<String>().expect("a message").clone()),
    };
    vec![("tangents", found)]
}

/// Compares what was found with the row; 0 equals −0, and NaN equals NaN.
fn assert_found(strategy: &str, slope: SingularSlope, tolerance: f64, function: &str, point: &Point, found: &[Found]) {
    let close = |a: f64, b: f64| {
        // The smallest numbers have few digits.
        let near = (a - b).abs() <= tolerance * b.abs() + 1e-322;
        a == b || (a.is_nan() && b.is_nan()) || b.is_finite() && near
    };
    let (slopes, refused) = match (slope, point.policies.first()) {
        (SingularSlope::Limit, _) => (&point.slopes, None),
        (SingularSlope::Zero, Some((slopes, _))) => (slopes, None),
        (SingularSlope::Refused, Some((_, refused))) => (&point.slopes, *refused),
        (_, None) => return,
    };
    for (how, found) in found {
        let right = match (found, refused) {
            (Ok((value, found)), None) => {
                close(*value, point.value)
                    && found.len() == slopes.len()
                    && found.iter().zip(slopes).all(|(a, b)| close(*a, *b))
            }
            (Err(message), Some(name)) => {
                message.contains(&format!(": {name} is singular")) && message.contains("conventions/statements.rs:")
            }
            _ => false,
        };
        let (x, value) = (&point.x, point.value);
        assert!(
            right,
            "{function} at {x:?}, {how} under {strategy}: {found:?}, expected {value}, {slopes:?}, refused {refused:?}"
        );
    }
}

/// Tests all rows of a table under a strategy.
fn hold<S: Taping>(rows: &[Row], functions: &[Of<S>], find: fn(Of<S>, &[f64]) -> Vec<Found>) {
    let tolerance = if size_of::<S::Value>() == 4 { 2e-6 } else { 1e-13 };
    for (row, f) in rows.iter().zip(functions) {
        for point in &row.points {
            let found = find(*f, &point.x);
            assert_found(core::any::type_name::<S>(), S::Policy::SLOPE, tolerance, row.function, point, &found);
        }
    }
}

/// Defines tests of tables of functions, under a strategy each.
macro_rules! functions_under {
    ($($name:ident: $find:ident $strategy:ty, $($table:ident)*;)*) => { $(
        #[test]
        fn $name() {
            $(hold::<$strategy>(&$table::rows(), &$table::functions(), $find);)*
        }
    )* };
}

functions_under! {
    functions_have_the_slopes_of_the_table_where_slopes_are_kept:
        by_reverse Jacobian, elementary special distributions limits;
    functions_have_the_slopes_of_the_table_in_single_precision:
        by_reverse PrimalValue<f32>, elementary special distributions;
    functions_have_the_slopes_of_the_table_in_forward_mode:
        by_tangents Tangent<2>, elementary special distributions limits;
}
#[cfg(feature = "wide")]
functions_under! {
    functions_have_the_slopes_of_the_table_where_values_are_kept:
        by_reverse PrimalValue, elementary special distributions limits;
    functions_have_the_slopes_of_the_table_in_forward_mode_and_single_precision:
        by_tangents Tangent<8, f32>, elementary special distributions;
}

/// Tests the rows about statements under a policy, in every kind of record.
fn statements_hold<P: Policy>() {
    let rows = statements::rows();
    hold::<Jacobian<f64, Linear, InMemory, P>>(&rows, &statements::functions(), by_reverse);
    hold::<PrimalValue<f64, Linear, InMemory, P>>(&rows, &statements::functions(), by_reverse);
    hold::<Continuation<f64, Reuse, P>>(&rows, &statements::functions(), by_reverse);
    hold::<Tangent<1, f64, P>>(&rows, &statements::functions(), by_tangents);
    #[cfg(feature = "wide")]
    {
        hold::<Hybrid<f64, Reuse, InMemory, P>>(&rows, &statements::functions(), by_reverse);
        hold::<PrimalValue<f64, Reuse, InMemory, P>>(&rows, &statements::functions(), by_reverse);
        hold::<Tangent<8, f64, P>>(&rows, &statements::functions(), by_tangents);
    }
}

#[test]
fn singular_slopes_are_limits_under_strict() {
    statements_hold::<Strict>();
}

#[test]
fn singular_slopes_are_zero_under_subgradient() {
    statements_hold::<policy::Subgradient>();
}

#[test]
fn singular_functions_are_refused_with_their_line_under_checked() {
    statements_hold::<policy::Checked>();
}
