//! What the tests of bytes have in common: statements of four variables or of slices, and what each costs. Functions
//! that take `bytes` count with it what a report says.

use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright::{Number, Scope};

pub(crate) const ALL: [bool; 4] = [true; 4];

/// A statement of the four variables.
pub(crate) type OfFour<S> = fn(&[Real<S>; 4]) -> Real<S>;

/// One statement of the four variables: arguments, distinct partials other than ±1, literals, and the statement.
pub(crate) struct Case<S: Taping> {
    pub(crate) name: &'static str,
    pub(crate) counts: [usize; 3],
    pub(crate) statement: OfFour<S>,
}

/// Makes `fn cases<S: Layout>() -> Vec<Case<S>>` of lines such as `"x·y" 2 2 0 |x| (&x[0] * &x[1]).into();`.
macro_rules! cases {
    ($($name:literal $a:literal $d:literal $c:literal |$x:ident| $statement:expr;)*) => {
        fn cases<S: Layout>() -> Vec<Case<S>> {
            vec![$( Case { name: $name, counts: [$a, $d, $c], statement: |$x| $statement }, )*]
        }
    };
}

/// `y = x₀; y op= …` as an expression.
macro_rules! in_place {
    ($y:expr, $op:tt $right:expr) => {{
        let mut y = Clone::clone(&$y);
        y $op $right;
        y
    }};
}

/// Four variables, of which those in `active` are inputs.
fn variables<S: Reverse>(scope: &mut Scope<'_, S>, active: [bool; 4]) -> [Real<S>; 4] {
    let mut k = 0.0;
    active.map(|active| {
        k += 0.25;
        let value = Number::from_f64(k);
        if active { scope.input(value) } else { Real::constant(value) }
    })
}

/// Bytes of the inputs among the four variables.
pub(crate) fn inputs_cost<S: Reverse>(
    tape: &mut Tape<S>,
    active: [bool; 4],
    bytes: fn(&MemoryReport) -> usize,
) -> usize {
    tape.record(|scope| _ = variables(scope, active));
    bytes(&tape.memory())
}

/// Bytes and statements that `f` records, given these variables.
pub(crate) fn cost<S: Reverse>(
    tape: &mut Tape<S>,
    active: [bool; 4],
    bytes: fn(&MemoryReport) -> usize,
    f: impl Fn(&[Real<S>; 4]),
) -> (usize, usize) {
    let inputs = inputs_cost(tape, active, bytes);
    tape.record(|scope| f(&variables(scope, active)));
    let report = tape.memory();
    (bytes(&report) - inputs, report.statements)
}

/// Bytes of one statement over `n` variables of which the first `passive` are passive.
pub(crate) fn nary_cost<S: Reverse>(
    (n, passive): (usize, usize),
    bytes: fn(&MemoryReport) -> usize,
    f: impl Fn(&[Real<S>]) -> Real<S>,
) -> usize {
    let mut tape = Tape::<S>::new();
    let half = Number::from_f64(0.5);
    tape.record(|scope| (passive..n).for_each(|_| _ = scope.input(half)));
    let inputs = bytes(&tape.memory());
    tape.record(|scope| {
        let x: Vec<_> = (0..n).map(|k| if k < passive { Real::constant(half) } else { scope.input(half) }).collect();
        _ = f(&x);
    });
    assert_eq!(tape.memory().statements, usize::from(passive < n));
    if passive < n { bytes(&tape.memory()) - inputs } else { 0 }
}
