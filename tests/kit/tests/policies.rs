//! The policies at singular points: each cell of the table of conventions under each of them, for every strategy, in
//! both directions; and what `Checked` keeps, and when it forgets it.

#[path = "policies/checked.rs"]
mod checked;
#[path = "policies/functions.rs"]
mod functions;
#[path = "policies/replays.rs"]
mod replays;
#[path = "policies/table.rs"]
mod table;

use tapewright::policy::{Policy, Strict};
use tapewright::prelude::*;
use tapewright::{Error, SweepError};

/// A function under any strategy.
trait Function {
    fn call<S: Taping>(x: &[Real<S>]) -> Real<S>;
}

/// A function under one strategy. A pointer, so that what tests it is compiled once for each strategy.
type Under<S> = fn(&[Real<S>]) -> Real<S>;

/// Of Γ′. What else the table has is exact.
const ROUNDING: f64 = 1e-14;

/// What a gradient is.
#[derive(Clone, Copy, Debug)]
enum Expected<'a> {
    Gradient(&'a [f64]),
    /// An error with the name of the function.
    Refused(&'a str),
}

/// Panics unless `F` has this gradient there under all strategies with this policy.
fn assert_all<P: Policy, F: Function>(x: &[f64], expected: Expected<'_>) {
    let value = F::call::<Passive>(Real::wrap_slice(x)).value();
    assert_reverse::<Jacobian<f64, Linear, InMemory, P>>(F::call, x, value, expected);
    assert_reverse::<PrimalValue<f64, Linear, InMemory, P>>(F::call, x, value, expected);
    assert_reverse::<Continuation<f64, Reuse, P>>(F::call, x, value, expected);
    assert_forward::<Tangent<1, f64, P>>(F::call, x, expected);
    #[cfg(feature = "wide")]
    {
        assert_reverse::<Hybrid<f64, Reuse, InMemory, P>>(F::call, x, value, expected);
        assert_reverse::<Jacobian<f64, Reuse, InMemory, P>>(F::call, x, value, expected);
        assert_reverse::<PrimalValue<f64, Reuse, InMemory, P>>(F::call, x, value, expected);
        assert_reverse::<Hybrid<f64, Linear, InMemory, P>>(F::call, x, value, expected);
        assert_reverse::<Continuation<f64, Linear, P>>(F::call, x, value, expected);
        assert_reverse::<Jacobian<f64, Linear, Shared, P>>(F::call, x, value, expected);
        assert_forward::<Tangent<8, f64, P>>(F::call, x, expected);
    }
}

/// By a sweep with one adjoint vector, with several, between positions, and forward.
fn assert_reverse<S: Reverse<Value = f64>>(f: Under<S>, x: &[f64], value: f64, expected: Expected<'_>) {
    let mut tape = Tape::<S>::new();
    let mut gradient = vec![f64::NAN; x.len()];
    let found = tape.gradient(f, x, &mut gradient);
    check::<S>("gradient", x, found.clone().map(|_| gradient), expected);
    assert!(found.map_or(true, |found| same(found, value)), "the value does not depend on the strategy");

    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(x);
        let y = f(&inputs);
        (inputs, y)
    });
    let found = tape.sweep_lanes(&[(&y, [0.0, 1.0])]).and_then(|found| inputs.iter().map(|x| found.of(x)).collect());
    check::<S>("lanes", x, found.map(|rows: Vec<[f64; 2]>| rows.iter().map(|row| row[1]).collect()), expected);
    let (mut vector, end) = (tapewright::tape::AdjointVector::new(), tape.position());
    let seeded = tape.seed(&mut vector, &[(&y, 1.0)]);
    let swept = seeded.and_then(|()| tape.sweep_from_position(&mut vector, &end)?.of_all(&inputs));
    check::<S>("positions", x, swept, expected);
    let along = |k: usize| {
        let tangents: Vec<_> = inputs.iter().enumerate().map(|(j, x)| (x, f64::from(u8::from(j == k)))).collect();
        tape.jvp(&tangents, &[&y]).map(|found| found[0])
    };
    check::<S>("forward", x, (0..x.len()).map(along).collect(), expected);
}

fn assert_forward<S: Forward<Value = f64>>(f: Under<S>, x: &[f64], expected: Expected<'_>) {
    let run = || jacobian_forward::<S>(|x| vec![f(x)], x).1.concat();
    match expected {
        Expected::Gradient(_) => check::<S>("tangents", x, Ok(run()), expected),
        Expected::Refused(function) => {
            let message = panic_of(run);
            let right =
                message.contains(&format!(": {function} is singular")) && message.contains("policies/table.rs:");
            assert!(right, "tangents of {} at {x:?}: {message}", core::any::type_name::<S>());
        }
    }
}

/// The message of the panic that this must end in.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<String>().expect("a message").clone()
}

fn check<S>(how: &str, x: &[f64], found: Result<Vec<f64>, Error>, expected: Expected<'_>) {
    let right = match (&found, expected) {
        (Ok(found), Expected::Gradient(expected)) => {
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| same(*a, *b) || (a - b).abs() <= ROUNDING * b.abs() && b.is_finite())
        }
        (Err(Error::Sweep(SweepError::Singular { function, file, .. })), Expected::Refused(name)) => {
            function == name && file.ends_with("policies/table.rs")
        }
        _ => false,
    };
    assert!(right, "{how} of {} at {x:?}: {found:?}, expected {expected:?}", core::any::type_name::<S>());
}

/// 0 equals −0, and NaN equals NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// An error of a sweep, as the function's name and the line.
fn refusal<T: core::fmt::Debug>(found: Result<T, Error>) -> Option<(String, u32)> {
    match found {
        Ok(_) => None,
        Err(Error::Sweep(SweepError::Singular { function, line, .. })) => Some((function, line)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn strict_is_the_default() {
    fn default<S: Taping<Policy = Strict>>() {}
    default::<Jacobian>();
    default::<PrimalValue>();
    default::<Hybrid>();
    default::<Continuation>();
    default::<Tangent>();
    default::<Passive>();
}
