//! Predicted bytes are measured bytes: on every workload, and on statements of all kinds.

#[cfg(feature = "wide")]
use tapewright::Spilled;
use tapewright::advisor::{Program, forecast};
use tapewright::prelude::*;
use tapewright::{Rules, dot, external, linear_combination, logsumexp, sum};
#[cfg(feature = "wide")]
use tapewright_kit_tests::FewPages;
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, Workload};

/// Pushes a statement of each type that −x₀ becomes when variables are added, subtracted, or subtracted from.
macro_rules! all_signs {
    ($x:ident $out:ident $e:expr;) => { $out.push(recorded::<S, _>($e)) };
    ($x:ident $out:ident $e:expr; $level:literal $($rest:literal)*) => {
        all_signs!($x $out $e + &$x[$level]; $($rest)*);
        all_signs!($x $out $e - &$x[$level]; $($rest)*);
        all_signs!($x $out &$x[$level] + ($e); $($rest)*);
        all_signs!($x $out &$x[$level] - ($e); $($rest)*);
    };
}

/// A function of its own for each type, so that none becomes too large to compile quickly.
#[inline(never)]
fn recorded<S: Taping, E: Into<Real<S>>>(expression: E) -> Real<S> {
    expression.into()
}

/// Bytes on the tape and of adjoints that are used after a gradient.
fn measured<S: Reverse<Value = f64>>(program: &impl Program, x: &[f64]) -> (usize, usize) {
    let mut tape = Tape::<S>::new();
    let run = |x: &[Real<S>]| program.run_reusing(x).expect("it is over `S: Taping`");
    tape.gradient(run, x, &mut vec![0.0; x.len()]).unwrap_or_else(|error| panic!("{error}"));
    let memory = tape.memory();
    let adjoints = memory.usage("adjoints").used;
    (memory.total().used - memory.usage("tables").used - adjoints, adjoints)
}

/// Compares each row of the forecast for a program with tapes of that strategy.
macro_rules! assert_as_predicted {
    ($program:expr, $x:expr; $($name:literal: $($strategy:ty),*;)*) => {{
        let (program, x) = ($program, $x);
        let forecast = forecast(program, x);
        $(
            let row = forecast.row($name).unwrap_or_else(|| panic!("no {} in {forecast:?}", $name));
            $(
                let found = measured::<$strategy>(program, x);
                assert_eq!(found, (row.tape, row.adjoints), "{}", stringify!($strategy));
            )*
        )*
        assert_eq!(forecast.rows().iter().filter(|row| row.bytes() > 0).count(), 8);
    }};
}

/// One strategy of each kind.
#[track_caller]
fn assert_exact(program: &impl Program, x: &[f64]) {
    assert_as_predicted! { program, x;
        "Jacobian": Jacobian;
        "PrimalValue<f64, Reuse>": PrimalValue<f64, Reuse>;
        "Hybrid": Hybrid;
        "Continuation<f64, Reuse>": Continuation<f64, Reuse>;
    }
}

/// The other index manager of each, and the layers, which hold the same bytes.
#[cfg(feature = "wide")]
fn assert_exact_everywhere(program: &impl Program, x: &[f64]) {
    assert_as_predicted! { program, x;
        "Jacobian": Jacobian<f64, Linear, Shared>;
        "PrimalValue": PrimalValue, PrimalValue<f64, Linear, Spilled<FewPages>>;
        "Continuation": Continuation;
        "Jacobian<f64, Reuse>": Jacobian<f64, Reuse>, Jacobian<f64, Reuse, Spilled<FewPages>>;
        "Hybrid<f64, Reuse>": Hybrid<f64, Reuse, Shared>;
    }
}

fn made<P: Problem, E: std::fmt::Display>(problem: Result<P, E>) -> (Workload<P>, Vec<f64>) {
    let problem = problem.unwrap_or_else(|error| panic!("{error}"));
    let x = problem.inputs(0);
    (Workload(problem), x)
}

/// A program over `S: Taping` as a type.
macro_rules! programs {
    ($($(#[$doc:meta])* $name:ident: |$x:ident| $body:block)*) => { $(
        $(#[$doc])*
        struct $name;
        impl $name {
            fn run<S: Taping<Value = f64>>($x: &[Real<S>]) -> Real<S> $body
        }
        impl Program for $name {
            fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
                Self::run(x)
            }
            fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> {
                Some(Self::run(x))
            }
        }
    )* };
}

programs! {
    /// Statements of four arguments each of which may be passive, with literals and without; copies, and variables that
    /// are gone.
    Mixed: |x| {
        let mut all = Real::from(0.0);
        for pattern in 0..16_u32 {
            let at = |k: usize| if pattern >> k & 1 == 1 { x[k].clone() } else { Real::from(x[k].value()) };
            let product: Real<S> = (&at(0) * &at(1) + at(2).exp() * &at(3)).into();
            let sum: Real<S> = (3.0 * (&at(0) + &at(1)) - 2.0 * &at(2) / 7.0 + &at(3)).into();
            let copy = sum.clone();
            all += &product * &copy;
            all = (-all).max(1e-3).into();
        }
        all
    }

    /// Functions of short and long slices, of which some have passive elements.
    Slices: |x| {
        let mut terms = Vec::new();
        for length in [1_u16, 2, 27, 28, 40] {
            let mut y: Vec<Real<S>> = (0..length).map(|k| (&x[usize::from(k % 4)] * f64::from(k)).into()).collect();
            for _ in 0..2 {
                terms.extend([sum(&y), dot(&y, &y), logsumexp(&y), linear_combination(&vec![0.5; y.len()], &y)]);
                y[0] = Real::from(0.3);
            }
        }
        sum(&terms)
    }

    /// External functions with one result, two and none, and statements behind them.
    Externals: |x| {
        let rules = |results: usize| {
            Rules::new("sums", move |outputs: &[f64], inputs: &mut [f64]| {
                inputs.iter_mut().for_each(|input| *input += outputs[..results].iter().sum::<f64>());
                Ok(())
            })
        };
        let total: f64 = x.iter().map(Real::value).sum();
        let mut y: Real<S> = (&x[0] * &x[1]).into();
        for results in [0, 1, 2] {
            for z in external(x, &vec![total; results], rules(results)) {
                y = (&y * &z + 1.0).into();
            }
        }
        y
    }

    /// 256 types of statements, more than a tape has codes for.
    Many: |x| {
        let mut terms = vec![x[0].clone()];
        all_signs!(x terms -&x[0]; 1 2 3 0);
        sum(&terms)
    }
}

const X: [f64; 4] = [0.5, 1.5, 2.5, 3.5];

#[test]
fn statements_with_passive_arguments_take_the_bytes_predicted() {
    assert_exact(&Mixed, &X);
    #[cfg(feature = "wide")]
    assert_exact_everywhere(&Mixed, &X);
}

#[test]
fn functions_of_slices_take_the_bytes_predicted() {
    assert_exact(&Slices, &X);
    #[cfg(feature = "wide")]
    assert_exact_everywhere(&Slices, &X);
}

#[test]
fn external_functions_take_the_bytes_predicted() {
    assert_exact(&Externals, &X);
    #[cfg(feature = "wide")]
    assert_exact_everywhere(&Externals, &X);
}

#[test]
fn more_types_than_a_tape_has_codes_for_take_the_bytes_predicted() {
    let (program, x) = (Many, X);
    let forecast = forecast(&program, &x);
    assert_eq!(forecast.linear().kinds, 256);
    for (strategy, found) in [
        ("Jacobian", measured::<Jacobian>(&program, &x)),
        ("PrimalValue", measured::<PrimalValue>(&program, &x)),
        ("Continuation", measured::<Continuation>(&program, &x)),
    ] {
        let row = forecast.row(strategy).expect("there are four");
        assert_eq!(found, (row.tape, row.adjoints), "{strategy}");
    }
}

/// One row for each workload.
macro_rules! workloads {
    ($($name:ident: $problem:expr;)*) => { $(
        #[test]
        fn $name() {
            let (program, x) = made($problem);
            assert_exact(&program, &x);
        }
    )* };
}
workloads! {
    burgers_takes_the_bytes_predicted: Burgers::new(12, 5);
    expsq_takes_the_bytes_predicted: ExpSq::new(1);
    gmm_takes_the_bytes_predicted: Gmm::synthetic(4, 3, 5);
    laplacian_takes_the_bytes_predicted: Laplacian::new(100);
    libor_takes_the_bytes_predicted: Libor::new(10, 5, 2);
    lstm_takes_the_bytes_predicted: Lstm::synthetic(2, 4, 3);
    repeated_sin_takes_the_bytes_predicted: RepeatedSin::new(1000);
}
