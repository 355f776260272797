//! Bytes of records, exactly as the strategies document them, and never above the ceilings of their layouts.

#[path = "common/records.rs"]
mod records;
#[macro_use]
#[path = "common/statements.rs"]
mod statements;

use records::recorded;
use statements::{ALL, Case, cost, nary_cost};
use tapewright::checkpoint::{TapePool, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::{dot, linear_combination, logsumexp, sum};
use tapewright_problems as problems;

/// Strategies with variables of linear indices, and the sizes that their records are made of.
trait Layout: Strategy + Reverse {
    /// Bytes of a value.
    const V: usize = size_of::<<Self as Taping>::Value>();
    /// Bytes of an identifier.
    const I: usize;
    /// Whether the tape keeps values rather than partials.
    const VALUES: bool;

    /// The bytes that the strategy documents for a statement with `a` active arguments, `d` distinct partials other
    /// than ±1 and `c` literals.
    fn documented(a: usize, d: usize, c: usize) -> usize {
        if Self::VALUES { 1 + Self::V + Self::I * a + Self::V * c } else { 1 + Self::V * d + Self::I * a }
    }

    /// The ceiling of the layout for a statement with `a` arguments, `c` literals, and `p` passive arguments besides.
    fn ceiling(a: usize, c: usize, p: usize) -> usize {
        let pair = Self::V + Self::I;
        if Self::VALUES { Self::V + 8 + 1 + Self::I * a + Self::V * c + pair * p } else { 1 + pair * a }
    }
}

macro_rules! layouts {
    ($($strategy:ident $v:ty, $i:ty, $values:literal;)*) => { $(
        impl Layout for $strategy<$v, Linear<$i>> {
            const I: usize = size_of::<$i>();
            const VALUES: bool = $values;
        }
    )* };
}
layouts! {
    Jacobian f64, u32, false;
    Jacobian f64, u64, false;
    Jacobian f32, u32, false;
    Jacobian f32, u64, false;
    PrimalValue f64, u32, true;
    PrimalValue f64, u64, true;
    PrimalValue f32, u32, true;
    PrimalValue f32, u64, true;
}

/// Runs `$function::<S>($arguments)` for every strategy, value type and width of identifiers.
macro_rules! every_layout {
    ($function:ident($($argument:expr),*)) => {
        $function::<Jacobian<f64, Linear<u32>>>($($argument),*);
        $function::<Jacobian<f64, Linear<u64>>>($($argument),*);
        $function::<Jacobian<f32, Linear<u32>>>($($argument),*);
        $function::<Jacobian<f32, Linear<u64>>>($($argument),*);
        $function::<PrimalValue<f64, Linear<u32>>>($($argument),*);
        $function::<PrimalValue<f64, Linear<u64>>>($($argument),*);
        $function::<PrimalValue<f32, Linear<u32>>>($($argument),*);
        $function::<PrimalValue<f32, Linear<u64>>>($($argument),*);
    };
}

/// Ends a statement whose variable nobody needs.
fn keep<S: Taping>(_: Real<S>) {}

cases! {
    "x + y" 2 0 0 |x| (x[0] + x[1]).into();
    "x - y" 2 0 0 |x| (x[0] - x[1]).into();
    "-x" 1 0 0 |x| (-x[0]).into();
    "x - (y - (z - w))" 4 0 0 |x| (x[0] - (x[1] - (x[2] - x[3]))).into();
    "y += x" 2 0 0 |x| in_place!(x[0], += x[1]);
    "y -= x" 2 0 0 |x| in_place!(x[0], -= x[1]);
    "x + 1" 1 0 1 |x| (x[0] + 1.0).into();
    "2 - x" 1 0 1 |x| (2.0 - x[0]).into();
    "y += 1" 1 0 1 |x| in_place!(x[0], += 1.0);
    "x·y" 2 2 0 |x| (x[0] * x[1]).into();
    "x·x" 2 2 0 |x| (x[0] * x[0]).into();
    "x/y" 2 2 0 |x| (x[0] / x[1]).into();
    "x mod y" 2 1 0 |x| (x[0] % x[1]).into();
    "y *= x" 2 2 0 |x| in_place!(x[0], *= x[1]);
    "y *= 2" 1 1 1 |x| in_place!(x[0], *= 2.0);
    "y /= 2" 1 1 1 |x| in_place!(x[0], /= 2.0);
    "2·x" 1 1 1 |x| (2.0 * x[0]).into();
    "a·(b + c)" 3 2 0 |x| (x[0] * (x[1] + x[2])).into();
    "a·(b + c − d)" 4 2 0 |x| (x[0] * (x[1] + x[2] - x[3])).into();
    "2·(x + y + z − w)" 4 1 1 |x| (2.0 * (x[0] + x[1] + x[2] - x[3])).into();
    "(x + y)/4" 2 1 1 |x| ((x[0] + x[1]) / 4.0).into();
    "x + 2·(y − z)" 3 1 1 |x| (x[0] + 2.0 * (x[1] - x[2])).into();
    "x + y·z" 3 2 0 |x| (x[0] + x[1] * x[2]).into();
    "(x − y)·(z + w)" 4 2 0 |x| ((x[0] - x[1]) * (x[2] + x[3])).into();
    "sin x" 1 1 0 |x| x[0].sin().into();
    "exp(sin x)" 1 1 0 |x| x[0].sin().exp().into();
    "−exp(−x)" 1 1 0 |x| (-(-x[0]).exp()).into();
    "ln(x + y)" 2 1 0 |x| (x[0] + x[1]).ln().into();
    "sin x · y" 2 2 0 |x| (x[0].sin() * x[1]).into();
    "exp(x)·y·y" 3 3 0 |x| (x[0].exp() * x[1] * x[1]).into();
    "max(x, y)" 2 2 0 |x| x[0].max(x[1]).into();
    "x³" 1 1 1 |x| x[0].powi(3).into();
    "x·y + z" 3 2 0 |x| x[0].mul_add(x[1], x[2]).into();
    "y += a·(x + z)" 4 2 0 |x| in_place!(x[0], += x[1] * (x[2] + x[3]));
}

fn assert_cases<S: Layout>(repetitions: usize) {
    let mut tape = Tape::<S>::new();
    for case in cases::<S>() {
        let [a, d, c] = case.counts;
        let found = cost(&mut tape, ALL, recorded, |x| (0..repetitions).for_each(|_| keep((case.statement)(x))));
        assert_eq!(found, (repetitions * S::documented(a, d, c), repetitions), "{}", case.name);
        assert!(found.0 <= repetitions * S::ceiling(a, c, 0), "{}", case.name);
        let report = tape.memory();
        assert_eq!(report.arguments, repetitions * a, "{}", case.name);
        assert!(report.streams().iter().all(|(_, usage)| usage.used <= usage.reserved), "{}", case.name);
    }
}

#[test]
fn one_statement_takes_the_documented_bytes() {
    every_layout!(assert_cases(1));
}

#[test]
fn a_thousand_statements_take_the_documented_bytes_each() {
    every_layout!(assert_cases(1_000));
}

/// Statements of each kind: fewer where the test must be quick, and still more bytes than a first segment has.
const MANY: usize = if cfg!(feature = "wide") { 1_000_000 } else { 100_000 };

#[test]
fn many_jacobian_statements_take_the_documented_bytes_each() {
    assert_cases::<Jacobian>(MANY);
}

#[test]
fn many_primal_value_statements_take_the_documented_bytes_each() {
    assert_cases::<PrimalValue>(MANY);
}

#[test]
fn default_figures_are_those_of_the_documentation() {
    let figures = |a, d, c| (<Jacobian as Layout>::documented(a, d, c), <PrimalValue as Layout>::documented(a, d, c));
    assert_eq!(figures(2, 0, 0), (9, 17), "x + y");
    assert_eq!(figures(3, 2, 0), (29, 21), "a·(b + c)");
    assert_eq!(figures(4, 4, 0), (49, 25));
    assert_eq!((<Jacobian as Layout>::ceiling(4, 0, 0), <PrimalValue as Layout>::ceiling(4, 1, 1)), (49, 53));
}

fn assert_passive_arguments<S: Layout>() {
    let mut tape = Tape::<S>::new();
    for pattern in 0..16_usize {
        let active = [0, 1, 2, 3].map(|k| pattern >> k & 1 == 1);
        let a = pattern.count_ones() as usize;
        let f = |x: &[Real<S>; 4]| Real::<S>::from(x[0] * (x[1] + x[2]) + 0.5 * x[3]);
        for repetitions in [1, 100] {
            let found = cost(&mut tape, active, recorded, |x| (0..repetitions).for_each(|_| keep(f(x))));
            let each = match (a, S::VALUES) {
                (0, _) => 0,
                (4, _) => S::documented(4, 3, 1),
                (_, false) => 1 + (S::V + S::I) * a,
                (_, true) => S::documented(4, 0, 1) + S::V * (4 - a),
            };
            assert_eq!(found, (repetitions * each, if a == 0 { 0 } else { repetitions }), "activity {pattern:04b}");
            assert!(each <= S::ceiling(a, 1, 4 - a));
        }
    }
}

#[test]
fn passive_arguments_cost_what_is_documented() {
    every_layout!(assert_passive_arguments());
}

/// A statement of partials, one for each active argument; wide ones keep their number.
fn partials<S: Layout>(a: usize) -> usize {
    let value = if S::VALUES { S::V } else { 0 };
    1 + value + (S::V + S::I) * a + if a > 27 { 4 } else { 0 }
}

fn assert_functions_of_slices<S: Layout>() {
    for n in [1, 2, 4, 26, 27, 28, 29, 100, 1_000, 100_000] {
        let counted = 5 + S::I * n + if S::VALUES { S::V } else { 0 };
        let other = if S::VALUES { counted } else { partials::<S>(n) };
        let combination = if S::VALUES { counted + S::V * n } else { partials::<S>(n) };
        let ones = vec![1.5; n];
        assert_eq!(nary_cost::<S>((n, 0), recorded, |x| sum(x)), counted, "sum of {n}");
        assert_eq!(nary_cost::<S>((n, 0), recorded, |x| logsumexp(x)), other, "logsumexp of {n}");
        assert_eq!(
            nary_cost::<S>((n, 0), recorded, |x| linear_combination(&ones, x)),
            combination,
            "combination of {n}"
        );
        if n % 2 == 0 {
            assert_eq!(nary_cost::<S>((n, 0), recorded, |x| dot(&x[..n / 2], &x[n / 2..])), other, "dot of {n}");
        }
        assert!(other.max(counted) <= S::ceiling(n, 0, 0) + 4);
    }
}

#[test]
fn functions_of_slices_take_the_documented_bytes() {
    every_layout!(assert_functions_of_slices());
}

fn assert_functions_of_slices_with_passive_arguments<S: Layout>() {
    for (n, passive) in [(2, 1), (28, 1), (29, 1), (100, 99), (100, 1), (30, 30)] {
        let expected = if passive == n { 0 } else { partials::<S>(n - passive) };
        let active = n - passive;
        let ones = vec![1.5; n];
        let summed = if active == 0 { 0 } else { 5 + S::I * active + if S::VALUES { S::V } else { 0 } };
        assert_eq!(nary_cost::<S>((n, passive), recorded, |x| sum(x)), summed, "{passive} of {n}");
        assert_eq!(nary_cost::<S>((n, passive), recorded, |x| logsumexp(x)), expected, "{passive} of {n}");
        assert_eq!(
            nary_cost::<S>((n, passive), recorded, |x| linear_combination(&ones, x)),
            expected,
            "{passive} of {n}"
        );
    }
}

#[test]
fn functions_of_slices_keep_partials_when_some_arguments_are_passive() {
    every_layout!(assert_functions_of_slices_with_passive_arguments());
}

/// Four choices at each of four levels make 256 types, more than a tape has codes for.
const LEVELS: usize = 4;
const CODES: usize = 208;

/// Records one statement; a function of its own for each type, so that none becomes too large to compile quickly.
#[inline(never)]
fn record<S: Taping, E: Into<Real<S>>>(expression: E) -> Real<S> {
    expression.into()
}

/// Pushes −x₀ with x₁ … x₄ added, subtracted, or subtracted from, in all ways: one statement of each type.
macro_rules! all_signs {
    ($x:ident $out:ident $e:expr;) => { $out.push(record::<S, _>($e)) };
    ($x:ident $out:ident $e:expr; $level:literal $($rest:literal)*) => {
        all_signs!($x $out $e + &$x[$level]; $($rest)*);
        all_signs!($x $out $e - &$x[$level]; $($rest)*);
        all_signs!($x $out &$x[$level] + ($e); $($rest)*);
        all_signs!($x $out &$x[$level] - ($e); $($rest)*);
    };
}

fn statements_of_all_signs<S: Taping>(x: &[Real<S>], out: &mut Vec<Real<S>>) {
    all_signs!(x out -&x[0]; 1 2 3 4);
}

/// The sign with which each argument occurs in statement `k`.
fn signs(k: usize) -> [f64; LEVELS + 1] {
    let mut signs = [-1.0, 0.0, 0.0, 0.0, 0.0];
    for level in 1..=LEVELS {
        let choice = k >> (2 * (LEVELS - level)) & 3;
        signs[level] = if choice == 1 { -1.0 } else { 1.0 };
        if choice == 3 {
            signs[..level].iter_mut().for_each(|sign| *sign = -*sign);
        }
    }
    signs
}

fn assert_more_types_than_codes<S: Layout>(extra: usize) {
    let mut tape = Tape::<S>::new();
    let values = [0.0, 1.5, 3.0, 4.5, 6.0].map(<S::Value as tapewright::Number>::from_f64);
    let all = 1 << (2 * LEVELS);
    let weights: Vec<f64> = (-100..).take(all).map(f64::from).collect();
    for _ in 0..3 {
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&values);
            let mut terms = Vec::new();
            statements_of_all_signs(&x, &mut terms);
            assert_eq!(terms.len(), all);
            let y = linear_combination(&weights, &terms);
            (x, y)
        });
        let bytes = recorded(&tape.memory());
        // The values of the inputs and of slot 0, if they are kept; the combination; the statements.
        let inputs = if S::VALUES { (LEVELS + 2) * S::V } else { 0 };
        let typed = S::documented(LEVELS + 1, 0, 0);
        assert_eq!(bytes, inputs + partials::<S>(all) + all * typed + (all - CODES) * extra);
        let adjoints = tape.sweep(&[(&y, tapewright::Number::from_f64(1.0))]).expect("the variables are the tape's");
        for (level, x) in x.iter().enumerate() {
            let expected: f64 = weights.iter().enumerate().map(|(k, w)| w * signs(k)[level]).sum();
            let found = adjoints.of(x).map(tapewright::Number::as_f64);
            assert_eq!(found, Ok(expected), "argument {level}");
        }
    }
}

#[test]
fn jacobian_statements_beyond_208_shapes_keep_one_partial_for_each_argument() {
    assert_more_types_than_codes::<Jacobian>(8 * (LEVELS + 1));
}

#[test]
fn primal_value_statements_beyond_208_types_take_8_bytes_more() {
    assert_more_types_than_codes::<PrimalValue>(8);
}

#[test]
fn beyond_208_types_passive_arguments_cost_as_before() {
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.inputs(&[1.0; LEVELS + 1]);
        statements_of_all_signs(&x, &mut Vec::new());
        x[3] = Real::from(2.0);
        let mut terms = Vec::new();
        statements_of_all_signs(&x, &mut terms);
        (x, terms.pop().expect("256 terms"))
    });
    let inputs = 8 + 8 * (LEVELS + 1);
    let typed = 9 + 4 * (LEVELS + 1);
    assert_eq!(recorded(&tape.memory()), inputs + 512 * typed + (512 - CODES) * 8 + 256 * 8);
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    let expected = signs(255);
    assert_eq!(adjoints.of_all(&x), Ok(vec![expected[0], expected[1], expected[2], 0.0, expected[4]]));
}

/// Under strategies whose bytes beyond 208 types no test counts.
#[test]
#[cfg(feature = "wide")]
fn beyond_208_types_derivatives_are_right_whatever_the_record() {
    fn assert<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let mut x = scope.inputs(&[0.5, 1.5, 3.0, 4.5, 6.0]);
            let (mut first, mut terms) = (Vec::new(), Vec::new());
            statements_of_all_signs(&x, &mut first);
            // Identifiers that come back are used by statements that have no code.
            drop(first);
            x[3] = Real::from(2.0);
            statements_of_all_signs(&x, &mut terms);
            let y = terms
                .iter()
                .zip(1_i32..)
                .fold(Real::from(0.0), |sum, (term, k)| (sum + term * term * f64::from(k)).into());
            // Under `Hybrid`, a list of partials that takes no more bytes than a typed record with an address.
            let listed: Real<S> = (x[0].sin() - &x[1]).into();
            (x, [y, listed])
        });
        let slopes = tape.sweep(&[(&y[1], 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("they are the tape's");
        assert_eq!(slopes, [0.5_f64.cos(), -1.0, 0.0, 0.0, 0.0]);
        let value = |k: usize| signs(k).iter().zip([0.5, 1.5, 3.0, 2.0, 6.0]).map(|(sign, x)| sign * x).sum::<f64>();
        let adjoints = tape.sweep(&[(&y[0], 1.0)]).expect("the variables are the tape's");
        for level in [0, 1, 2, 4] {
            let sum: f64 = (1_i32..).zip(0..256).map(|(k, at)| 2.0 * f64::from(k) * value(at) * signs(at)[level]).sum();
            assert_eq!(adjoints.of(&x[level]), Ok(sum), "argument {level}");
        }
        assert_eq!(adjoints.of(&x[3]), Ok(0.0));
    }
    assert::<Hybrid>();
    assert::<Jacobian<f64, Reuse>>();
    assert::<PrimalValue<f64, Reuse>>();
    assert::<Hybrid<f64, Reuse>>();
}

/// Records evaluation 0 of a workload and compares its bytes with the ceilings, given what its streams hold.
fn assert_below_the_ceilings(problem: &impl problems::Problem) {
    let x = problem.inputs(0);
    let mut gradient = vec![0.0; x.len()];
    let mut tape = Tape::<Jacobian>::new();
    tape.gradient(|x| problem.eval(0, x), &x, &mut gradient).expect("lengths agree");
    let report = tape.memory();
    assert!(report.statements > 0, "{} records", problem.name());
    let jacobian = recorded(&report);
    // A statement of more than 27 partials may take 4 bytes more; its own number of arguments makes up for that.
    let wide = 4 * (report.arguments / 28).min(report.statements);
    assert!(jacobian <= report.statements + 12 * report.arguments + wide, "{}: {report}", problem.name());

    let mut tape = Tape::<PrimalValue>::new();
    tape.gradient(|x| problem.eval(0, x), &x, &mut gradient).expect("lengths agree");
    let report = tape.memory();
    let primal = recorded(&report) - 8 * x.len() - 8;
    let ceiling = 17 * report.statements + 4 * report.arguments + report.usage("constants").used;
    assert!(primal <= ceiling, "{}: {report}", problem.name());
    assert_eq!(report.usage("codes").used, report.statements);
    assert_eq!(report.usage("arguments").used, 4 * report.arguments);
}

#[test]
fn every_workload_is_below_the_ceilings() {
    const SIZES: &str = "these sizes are possible";
    assert_below_the_ceilings(&problems::Burgers::new(16, 4).expect(SIZES));
    assert_below_the_ceilings(&problems::ExpSq::new(1).expect(SIZES));
    assert_below_the_ceilings(&problems::Laplacian::new(1_000).expect(SIZES));
    assert_below_the_ceilings(&problems::RepeatedSin::new(1_000).expect(SIZES));
    assert_below_the_ceilings(&problems::Libor::new(10, 5, 1).expect(SIZES));
    assert_below_the_ceilings(&problems::Gmm::iris());
    assert_below_the_ceilings(&problems::Gmm::synthetic(8, 4, 20).expect(SIZES));
    assert_below_the_ceilings(&problems::Lstm::synthetic(2, 5, 8).expect(SIZES));
}

/// A loop stops at its turn with the last step recorded: on a tape that begins with little memory.
#[test]
fn the_tape_of_a_recorded_step_is_small_if_the_step_is() {
    fn check<S: Reverse<Value = f64>>(bytes: usize) {
        let recorded = |loops: usize| {
            let mut tape = Tape::<S>::new();
            tape.record(|scope| {
                let step = |x: Real<S>, _| {
                    let one = TimeLoop::<S>::new(Revolve::new(1, 1));
                    one.run(&(), &x, |_, (), x| x.sin().eval(), |_, (), x| x.sin().eval()).expect("in memory")
                };
                (0..loops).fold(scope.input(0.5), step)
            });
            tape.memory().usage("externals").reserved
        };
        let pool = TapePool::<S>::new();
        let tables = pool.with(|tape| {
            tape.record(|scope| scope.input(0.5).sin().eval());
            tape.memory().usage("tables").reserved
        });
        assert_eq!(pool.reserved(), tables + bytes, "{}", std::any::type_name::<S>());
        let each = recorded(5) - recorded(4);
        assert_eq!(each, pool.reserved() + 1280, "the entry has its state, its schedule and its settings");
    }
    check::<Jacobian>(8192);
    check::<PrimalValue>(8192 + 4096); // and 512 values
    // 64 KiB of a shared tape are its own.
    check::<Jacobian<f64, Linear, Shared>>(80_496 - 10_864);
}
