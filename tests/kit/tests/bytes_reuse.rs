//! Bytes of records with reused identifiers, and of the smaller of two records, exactly as the strategies document
//! them.

#[path = "common/records.rs"]
mod records;
#[macro_use]
#[path = "common/statements.rs"]
mod statements;

use statements::{ALL, Case, OfFour, inputs_cost, nary_cost};
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright::{dot, linear_combination, logsumexp, sum};

/// What a record keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Partials,
    Values,
    Smaller,
}

/// Strategies of this library, and the sizes that their records are made of.
trait Layout: Reverse {
    const KEEPS: Keeps;
    const REUSES: bool;
    /// Bytes of a value.
    const V: usize = size_of::<<Self as Taping>::Value>();
    /// Bytes of an identifier.
    const I: usize = 4;
    /// Bytes of a statement beside its arguments: the code, a value if values are kept, and with reused identifiers its
    /// own.
    const FIXED: usize =
        1 + if matches!(Self::KEEPS, Keeps::Partials) { 0 } else { Self::V } + if Self::REUSES { Self::I } else { 0 };
    /// Bytes of a partial with its identifier.
    const PAIR: usize = Self::V + Self::I;

    /// The bytes that the strategy documents for a statement with `a` arguments, `d` distinct partials other than ±1,
    /// `c` literals, when `p` of the arguments are passive.
    fn documented([a, d, c]: [usize; 3], p: usize) -> usize {
        let list = Self::FIXED + Self::PAIR * (a - p);
        let partials = Self::FIXED + Self::I * a + Self::V * d;
        let values = Self::FIXED + Self::I * a + Self::V * (c + p);
        match Self::KEEPS {
            _ if p == a => 0,
            Keeps::Partials if p == 0 => partials,
            Keeps::Partials => list,
            Keeps::Values => values,
            Keeps::Smaller => {
                let typed = if d <= c { partials } else { values };
                if p > 0 { typed.min(list) } else { typed }
            }
        }
    }

    /// The ceiling of the classic layouts.
    fn ceiling([a, _, c]: [usize; 3], p: usize) -> usize {
        if Self::KEEPS == Keeps::Partials {
            1 + Self::I + Self::PAIR * (a - p)
        } else {
            Self::V + Self::I + 1 + 8 + Self::I * (a - p) + Self::V * c + Self::PAIR * p
        }
    }
}

macro_rules! layouts {
    ($($strategy:ident $keeps:ident;)*) => { $( layouts! { one $strategy $keeps f64 } layouts! { one $strategy $keeps f32 } )* };
    (one $strategy:ident $keeps:ident $v:ty) => {
        impl Layout for $strategy<$v> {
            const KEEPS: Keeps = Keeps::$keeps;
            const REUSES: bool = false;
        }
        impl Layout for $strategy<$v, Reuse> {
            const KEEPS: Keeps = Keeps::$keeps;
            const REUSES: bool = true;
        }
    };
}
layouts! {
    Jacobian Partials;
    PrimalValue Values;
    Hybrid Smaller;
}

/// Runs `$function::<S>()` for every strategy that `bytes.rs` does not cover.
macro_rules! every_layout {
    ($function:ident) => {
        $function::<Jacobian<f64, Reuse>>();
        $function::<Jacobian<f32, Reuse>>();
        $function::<PrimalValue<f64, Reuse>>();
        $function::<PrimalValue<f32, Reuse>>();
        $function::<Hybrid<f64>>();
        $function::<Hybrid<f32>>();
        $function::<Hybrid<f64, Reuse>>();
        $function::<Hybrid<f32, Reuse>>();
    };
}

/// Bytes of the records: of all streams that grow with the recording, adjoints aside. With reused identifiers the
/// values grow with the variables that are alive and not with the statements.
fn recorded<S: Layout>(report: &MemoryReport) -> usize {
    let values = if S::REUSES { report.usage("values").used } else { 0 };
    records::recorded(report) - values
}

/// Bytes and statements that `f` records, given these variables. With reused identifiers, inputs cost nothing.
fn cost<S: Layout>(tape: &mut Tape<S>, active: [bool; 4], f: impl Fn(&[Real<S>; 4])) -> (usize, usize) {
    let inputs = inputs_cost(tape, active, recorded::<S>);
    assert!(!S::REUSES || inputs == 0, "{inputs} bytes for inputs");
    statements::cost(tape, active, recorded::<S>, f)
}

cases! {
    "x + y" 2 0 0 |x| (&x[0] + &x[1]).into();
    "-x" 1 0 0 |x| (-&x[0]).into();
    "x - (y - (z - w))" 4 0 0 |x| (&x[0] - (&x[1] - (&x[2] - &x[3]))).into();
    "y -= x" 2 0 0 |x| in_place!(x[0], -= &x[1]);
    "x + 1" 1 0 1 |x| (&x[0] + 1.0).into();
    "y += 1" 1 0 1 |x| in_place!(x[0], += 1.0);
    "x·y" 2 2 0 |x| (&x[0] * &x[1]).into();
    "x mod y" 2 1 0 |x| (&x[0] % &x[1]).into();
    "y *= x" 2 2 0 |x| in_place!(x[0], *= &x[1]);
    "y /= 2" 1 1 1 |x| in_place!(x[0], /= 2.0);
    "2·x" 1 1 1 |x| (2.0 * &x[0]).into();
    "a·(b + c − d)" 4 2 0 |x| (&x[0] * (&x[1] + &x[2] - &x[3])).into();
    "2·(x + y + z − w)" 4 1 1 |x| (2.0 * (&x[0] + &x[1] + &x[2] - &x[3])).into();
    "2·x + 3·y + 4·z" 3 3 3 |x| (2.0 * &x[0] + 3.0 * &x[1] + 4.0 * &x[2]).into();
    "2·3·4·x" 1 1 3 |x| (2.0 * (3.0 * (4.0 * &x[0]))).into();
    "x + y·z" 3 2 0 |x| (&x[0] + &x[1] * &x[2]).into();
    "sin x" 1 1 0 |x| x[0].sin().into();
    "ln(x + y)" 2 1 0 |x| (&x[0] + &x[1]).ln().into();
    "exp(x)·y·y" 3 3 0 |x| (x[0].exp() * &x[1] * &x[1]).into();
    "sin x·y + z·w" 4 4 0 |x| (x[0].sin() * &x[1] + &x[2] * &x[3]).into();
    "y += a·(x + z)" 4 2 0 |x| in_place!(x[0], += &x[1] * (&x[2] + &x[3]));
}

fn assert_cases<S: Layout>() {
    let mut tape = Tape::<S>::new();
    for case in cases::<S>() {
        for n in [1, 1_000] {
            let found = cost(&mut tape, ALL, |x| (0..n).for_each(|_| drop((case.statement)(x))));
            assert_eq!(found, (n * S::documented(case.counts, 0), n), "{}", case.name);
            assert!(found.0 <= n * S::ceiling(case.counts, 0), "{}", case.name);
            let report = tape.memory();
            assert_eq!(report.arguments, n * case.counts[0], "{}", case.name);
            assert!(report.streams().iter().all(|(_, usage)| usage.used <= usage.reserved), "{}", case.name);
            if S::REUSES {
                // Slot 0, four inputs and one variable at a time.
                let alive = if S::KEEPS == Keeps::Partials { 0 } else { 6 * S::V };
                assert_eq!(report.usage("values").used, alive, "{}", case.name);
            }
        }
    }
}

#[test]
fn statements_take_the_documented_bytes() {
    every_layout!(assert_cases);
}

fn assert_a_million<S: Layout>() {
    let n = 1_000_000;
    let mut tape = Tape::<S>::new();
    let found = cost(&mut tape, ALL, |x| drop((0..n).fold(x[0].clone(), |y, _| (y * &x[1]).into())));
    assert_eq!(found, (n * S::documented([2, 2, 0], 0), n));
    if S::REUSES && S::KEEPS != Keeps::Partials {
        assert_eq!(tape.memory().usage("values").used, 7 * S::V, "the old and the new value are alive at once");
    }
}

#[test]
fn a_million_statements_take_the_documented_bytes_each() {
    assert_a_million::<Jacobian<f64, Reuse>>();
    assert_a_million::<PrimalValue<f64, Reuse>>();
    assert_a_million::<Hybrid>();
    assert_a_million::<Hybrid<f64, Reuse>>();
}

#[test]
fn default_figures_are_those_of_the_documentation() {
    let figures = |counts| {
        (
            <Jacobian<f64, Reuse> as Layout>::documented(counts, 0),
            <PrimalValue<f64, Reuse> as Layout>::documented(counts, 0),
            <Hybrid as Layout>::documented(counts, 0),
            <Hybrid<f64, Reuse> as Layout>::documented(counts, 0),
        )
    };
    // 1 + 8d + 4a + 4, 9 + 4a + 8c + 4, 9 + 4a + 8·min(d, c), and 4 more.
    assert_eq!(figures([2, 0, 0]), (13, 21, 17, 21), "x + y");
    assert_eq!(figures([1, 1, 1]), (17, 25, 21, 25), "2·x");
    assert_eq!(figures([4, 4, 0]), (53, 29, 25, 29));
    assert_eq!(<Jacobian<f64, Reuse> as Layout>::ceiling([4, 4, 0], 0), 5 + 12 * 4);
    assert_eq!(<PrimalValue<f64, Reuse> as Layout>::ceiling([4, 0, 1], 1), 21 + 4 * 3 + 8 + 12);
}

/// What each case costs with each activity pattern.
fn costs<S: Layout>() -> Vec<(&'static str, usize, usize)> {
    let mut tape = Tape::<S>::new();
    let mut costs = Vec::new();
    for case in cases::<S>() {
        for pattern in 0..16_usize {
            let active = [0, 1, 2, 3].map(|k| pattern >> k & 1 == 1);
            costs.push((case.name, pattern, cost(&mut tape, active, |x| drop((case.statement)(x))).0));
        }
    }
    costs
}

fn assert_no_more_than<S: Layout, P: Layout, J: Layout>() {
    let (hybrid, values, partials) = (costs::<S>(), costs::<P>(), costs::<J>());
    let mut smaller_than_both = 0;
    for ((hybrid, values), partials) in hybrid.iter().zip(&values).zip(&partials) {
        let (name, pattern, bytes) = *hybrid;
        assert!(bytes <= values.2, "{name}, activity {pattern:04b}: {bytes} bytes, {} if values are kept", values.2);
        assert!(bytes <= partials.2 + S::V, "{name}, activity {pattern:04b}: {bytes}, {} for partials", partials.2);
        smaller_than_both += usize::from(bytes < values.2 && bytes < partials.2 + S::V);
    }
    println!("{smaller_than_both} of {} statements take less than with either", hybrid.len());
    assert!(hybrid.iter().any(|(.., bytes)| *bytes > 0));
}

#[test]
fn hybrid_records_take_no_more_than_values_and_at_most_a_value_more_than_partials() {
    assert_no_more_than::<Hybrid, PrimalValue, Jacobian>();
    assert_no_more_than::<Hybrid<f32>, PrimalValue<f32>, Jacobian<f32>>();
    assert_no_more_than::<Hybrid<f64, Reuse>, PrimalValue<f64, Reuse>, Jacobian<f64, Reuse>>();
    assert_no_more_than::<Hybrid<f32, Reuse>, PrimalValue<f32, Reuse>, Jacobian<f32, Reuse>>();
}

fn assert_passive_arguments<S: Layout>() {
    let mut tape = Tape::<S>::new();
    // All four variables, each once, with more partials than literals, as many, and fewer.
    let statements: [([usize; 3], OfFour<S>); 4] = [
        ([4, 3, 1], |x| (&x[0] * (&x[1] + &x[2]) + 0.5 * &x[3]).into()),
        ([4, 1, 1], |x| (2.0 * (&x[0] + &x[1] + &x[2] - &x[3])).into()),
        ([4, 0, 2], |x| (&x[0] + &x[1] + 1.0 + (&x[2] - &x[3] + 2.0)).into()),
        ([4, 4, 0], |x| (x[0].sin() * &x[1] + &x[2] * &x[3]).into()),
    ];
    for (counts, statement) in statements {
        for pattern in 0..16_usize {
            let active = [0, 1, 2, 3].map(|k| pattern >> k & 1 == 1);
            let passive = 4 - pattern.count_ones() as usize;
            for n in [1, 100] {
                let found = cost(&mut tape, active, |x| (0..n).for_each(|_| drop(statement(x))));
                let each = S::documented(counts, passive);
                assert_eq!(found, (n * each, if passive == 4 { 0 } else { n }), "{counts:?}, activity {pattern:04b}");
                assert!(each <= S::ceiling(counts, passive), "{counts:?}, activity {pattern:04b}");
            }
        }
    }
}

#[test]
fn passive_arguments_cost_what_is_documented() {
    every_layout!(assert_passive_arguments);
}

fn assert_functions_of_slices<S: Layout>() {
    for (n, passive) in [(1, 0), (2, 0), (27, 0), (28, 0), (100, 0), (2, 1), (28, 1), (29, 1), (100, 1), (100, 99)] {
        let active = n - passive;
        let counted = S::FIXED + 4 + S::I * active;
        let listed = S::FIXED + S::PAIR * active + if active > 27 { 4 } else { 0 };
        let recomputed = S::KEEPS != Keeps::Partials && passive == 0;
        let other = if recomputed { counted } else { listed };
        let combination = if recomputed { counted + S::V * n } else { listed };
        let weights = vec![1.5; n];
        assert_eq!(nary_cost::<S>((n, passive), recorded::<S>, |x| sum(x)), counted, "sum, {passive} of {n} passive");
        assert_eq!(
            nary_cost::<S>((n, passive), recorded::<S>, |x| logsumexp(x)),
            other,
            "logsumexp, {passive} of {n} passive"
        );
        let found = nary_cost::<S>((n, passive), recorded::<S>, |x| linear_combination(&weights, x));
        assert_eq!(found, combination, "combination, {passive} of {n} passive");
        if n % 2 == 0 {
            assert_eq!(
                nary_cost::<S>((n, passive), recorded::<S>, |x| dot(&x[..n / 2], &x[n / 2..])),
                other,
                "dot of {n}"
            );
        }
    }
}

#[test]
fn functions_of_slices_take_the_documented_bytes() {
    every_layout!(assert_functions_of_slices);
}
