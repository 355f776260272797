//! Bytes of records, exactly as the strategies document them, and never above the ceilings of the classic layouts.
//!
//! Bytes of a statement with four arguments, all active, of which no two have the same partial and none a partial of
//! ±1:
//!
//! | | partials | values | saved |
//! |---|---|---|---|
//! | classic, identifiers reused | 5 + 12·4 = 53 | 21 + 4·4 = 37 | 30 % |
//! | ours, identifiers reused | 5 + 12·4 = 53 | 13 + 4·4 = 29 | 45 % |
//! | ours, identifiers linear | 1 + 12·4 = 49 | 9 + 4·4 = 25 | 49 % |
//!
//! The smaller of the two is what `Hybrid` takes, with a value for each variable: 29 and 25.

#[path = "bytes/closures.rs"]
mod closures;
#[path = "bytes/figures.rs"]
mod figures;
#[path = "bytes/operations.rs"]
mod operations;
#[path = "bytes/slices.rs"]
mod slices;
#[path = "bytes/streams.rs"]
mod streams;
#[path = "bytes/texts.rs"]
mod texts;
#[path = "bytes/types.rs"]
mod types;

use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright::{Number, Scope};

/// Contents of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Partials,
    Values,
    Smaller,
}

/// Strategies of this library, and the sizes that their records are made of.
trait Layout: Reverse {
    const KEEPS: Keeps;
    /// Bytes of an identifier.
    const I: usize;
    const REUSES: bool = core::mem::needs_drop::<Self::Id>();
    /// Bytes of a value.
    const V: usize = size_of::<<Self as Taping>::Value>();
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
    ($($strategy:ident $v:ty, $manager:ty: $keeps:ident, $i:literal;)*) => { $(
        impl Layout for $strategy<$v, $manager> {
            const KEEPS: Keeps = Keeps::$keeps;
            const I: usize = $i;
        }
    )* };
}
layouts! {
    Jacobian f64, Linear: Partials, 4;
    Jacobian f64, Reuse: Partials, 4;
    Jacobian f32, Linear<u64>: Partials, 8;
    PrimalValue f64, Linear: Values, 4;
    PrimalValue f64, Reuse: Values, 4;
    PrimalValue f32, Linear<u64>: Values, 8;
    Hybrid f64, Linear: Smaller, 4;
    Hybrid f64, Reuse: Smaller, 4;
    Hybrid f32, Reuse: Smaller, 4;
}

/// Runs `$function::<S>()` for every content of a record, kind of identifier and size of a number.
macro_rules! every_layout {
    ($function:ident) => {
        $function::<Jacobian>();
        $function::<PrimalValue<f64, Reuse>>();
        $function::<Hybrid>();
        #[cfg(feature = "wide")]
        {
            $function::<Jacobian<f64, Reuse>>();
            $function::<Jacobian<f32, Linear<u64>>>();
            $function::<PrimalValue>();
            $function::<PrimalValue<f32, Linear<u64>>>();
            $function::<Hybrid<f64, Reuse>>();
            $function::<Hybrid<f32, Reuse>>();
        }
    };
}
use every_layout;

/// Bytes in all streams that grow with the recording, adjoints aside.
fn recorded(report: &MemoryReport) -> usize {
    report.total().used - report.usage("adjoints").used - report.usage("tables").used
}

/// As [`recorded`], but without values that grow with the variables that are alive and not with the statements.
fn of_records<S: Reverse>(report: &MemoryReport) -> usize {
    recorded(report) - if core::mem::needs_drop::<S::Id>() { report.usage("values").used } else { 0 }
}

/// A statement of four variables.
type OfFour<S> = fn(&[Real<S>; 4]) -> Real<S>;

/// Four variables, of which those in `active` are inputs.
fn variables<S: Reverse>(scope: &mut Scope<'_, S>, active: [bool; 4]) -> [Real<S>; 4] {
    let mut k = 0.0;
    active.map(|active| {
        k += 0.25;
        let value = Number::from_f64(k);
        if active { scope.input(value) } else { Real::constant(value) }
    })
}

/// Bytes and statements of a statement of four variables, done so many times.
fn cost<S: Reverse>(tape: &mut Tape<S>, active: [bool; 4], times: usize, statement: OfFour<S>) -> (usize, usize) {
    let mut record = |times: usize| {
        tape.record(|scope| {
            let x = variables(scope, active);
            for _ in 0..times {
                drop(statement(&x));
            }
        });
        of_records::<S>(&tape.memory())
    };
    let inputs = record(0);
    assert!(!core::mem::needs_drop::<S::Id>() || inputs == 0, "{inputs} bytes for inputs");
    (record(times) - inputs, tape.memory().statements)
}

/// `y = x₀; y op= …` as an expression.
macro_rules! in_place {
    ($y:expr, $op:tt $right:expr) => {{
        let mut y = Clone::clone(&$y);
        y $op $right;
        y
    }};
}

/// Lists statements of four variables: `"x·y" 2 2 0 |x| (&x[0] * &x[1]).into();`, with the numbers of arguments, of
/// distinct partials other than ±1, and of literals.
macro_rules! cases {
    ($($name:literal $a:literal $d:literal $c:literal |$x:ident| $statement:expr;)*) => {
        fn cases<S: Layout>() -> Vec<(&'static str, [usize; 3], OfFour<S>)> {
            vec![$( ($name, [$a, $d, $c], |$x| $statement), )*]
        }
    };
}

cases! {
    "x + y" 2 0 0 |x| (&x[0] + &x[1]).into();
    "-x" 1 0 0 |x| (-&x[0]).into();
    "x - (y - (z - w))" 4 0 0 |x| (&x[0] - (&x[1] - (&x[2] - &x[3]))).into();
    "y -= x" 2 0 0 |x| in_place!(x[0], -= &x[1]);
    "x + 1" 1 0 1 |x| (&x[0] + 1.0).into();
    "2 - x" 1 0 1 |x| (2.0 - &x[0]).into();
    "y += 1" 1 0 1 |x| in_place!(x[0], += 1.0);
    "x·x" 2 2 0 |x| (&x[0] * &x[0]).into();
    "x/y" 2 2 0 |x| (&x[0] / &x[1]).into();
    "x mod y" 2 1 0 |x| (&x[0] % &x[1]).into();
    "y *= x" 2 2 0 |x| in_place!(x[0], *= &x[1]);
    "y /= 2" 1 1 1 |x| in_place!(x[0], /= 2.0);
    "2·x" 1 1 1 |x| (2.0 * &x[0]).into();
    "a·(b + c − d)" 4 2 0 |x| (&x[0] * (&x[1] + &x[2] - &x[3])).into();
    "2·(x + y + z − w)" 4 1 1 |x| (2.0 * (&x[0] + &x[1] + &x[2] - &x[3])).into();
    "2·x + 3·y + 4·z" 3 3 3 |x| (2.0 * &x[0] + 3.0 * &x[1] + 4.0 * &x[2]).into();
    "2·3·4·x" 1 1 3 |x| (2.0 * (3.0 * (4.0 * &x[0]))).into();
    "(x − y)·(z + w)" 4 2 0 |x| ((&x[0] - &x[1]) * (&x[2] + &x[3])).into();
    "sin x" 1 1 0 |x| x[0].sin().into();
    "ln(x + y)" 2 1 0 |x| (&x[0] + &x[1]).ln().into();
    "exp(x)·y·y" 3 3 0 |x| (x[0].exp() * &x[1] * &x[1]).into();
    "max(x, y)" 2 2 0 |x| x[0].max(&x[1]).into();
    "x³" 1 1 1 |x| x[0].powi(3).into();
    "x·y + z" 3 2 0 |x| x[0].mul_add(&x[1], &x[2]).into();
    "sin x·y + z·w" 4 4 0 |x| (x[0].sin() * &x[1] + &x[2] * &x[3]).into();
    "y += a·(x + z)" 4 2 0 |x| in_place!(x[0], += &x[1] * (&x[2] + &x[3]));
}

/// Once, often, and so often that the records fill several segments.
fn assert_cases<S: Layout>() {
    let mut tape = Tape::<S>::new();
    for (name, counts, statement) in cases::<S>() {
        for n in [1, 1_000, 100_000] {
            let found = cost(&mut tape, [true; 4], n, statement);
            assert_eq!(found, (n * S::documented(counts, 0), n), "{name}");
            assert!(found.0 <= n * S::ceiling(counts, 0), "{name}");
            let report = tape.memory();
            assert_eq!(report.arguments, n * counts[0], "{name}");
            assert!(report.streams().iter().all(|(_, usage)| usage.used <= usage.reserved), "{name}");
            if S::REUSES {
                // Slot 0, four inputs and one variable at a time.
                let alive = if S::KEEPS == Keeps::Partials { 0 } else { 6 * S::V };
                assert_eq!(report.usage("values").used, alive, "{name}");
            }
        }
    }
}

#[test]
fn statements_take_the_documented_bytes() {
    every_layout!(assert_cases);
}

#[test]
fn default_figures_are_those_of_the_documentation() {
    fn figures(counts: [usize; 3]) -> [usize; 6] {
        [
            <Jacobian as Layout>::documented(counts, 0),
            <PrimalValue as Layout>::documented(counts, 0),
            <Hybrid as Layout>::documented(counts, 0),
            <Jacobian<f64, Reuse> as Layout>::documented(counts, 0),
            <PrimalValue<f64, Reuse> as Layout>::documented(counts, 0),
            <Hybrid<f64, Reuse> as Layout>::documented(counts, 0),
        ]
    }
    // 1 + 8d + 4a, 9 + 4a + 8c, 9 + 4a + 8·min(d, c), and with reused identifiers 4 more.
    assert_eq!(figures([2, 0, 0]), [9, 17, 17, 13, 21, 21], "x + y");
    assert_eq!(figures([3, 2, 0]), [29, 21, 21, 33, 25, 25], "a·(b + c)");
    assert_eq!(figures([1, 1, 1]), [13, 21, 21, 17, 25, 25], "2·x");
    assert_eq!(figures([4, 4, 0]), [49, 25, 25, 53, 29, 29], "four arguments");
    // The classic figures: 5 + 12a for partials, and 21 + 4a for values.
    assert_eq!(<Jacobian<f64, Reuse> as Layout>::ceiling([4, 4, 0], 0), 53);
    assert_eq!(<PrimalValue<f64, Reuse> as Layout>::ceiling([4, 4, 0], 0), 37);
    assert_eq!(<PrimalValue<f64, Reuse> as Layout>::ceiling([4, 0, 1], 1), 21 + 4 * 3 + 8 + 12);
}

#[test]
fn hybrid_records_take_no_more_than_values_and_at_most_a_value_more_than_partials() {
    fn compare<S: Layout, P: Layout, J: Layout>() {
        for k in 0..6 * 6 * 4 * 6_usize {
            let [a, d, c, p] = [1 + k % 6, k / 6 % 6, k / 36 % 4, k / 144];
            if d <= a && p <= a {
                let bytes = S::documented([a, d, c], p);
                assert!(bytes <= P::documented([a, d, c], p), "{a} {d} {c} {p}");
                assert!(bytes <= J::documented([a, d, c], p) + S::V, "{a} {d} {c} {p}");
            }
        }
    }
    compare::<Hybrid, PrimalValue, Jacobian>();
    compare::<Hybrid<f64, Reuse>, PrimalValue<f64, Reuse>, Jacobian<f64, Reuse>>();
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
                let found = cost(&mut tape, active, n, statement);
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
