//! Bytes that the book and the committed results say: what literals cost, and which strategy needs less.

use super::figures::{formula_in_the_book, read};
use super::{of_records, recorded};
use tapewright::prelude::*;
use tapewright::tape::MemoryReport;
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin};

/// A statement of one variable.
type OfOne<S> = fn(&Real<S>) -> Real<S>;

/// Bytes of a statement with no literal, one, two and three.
fn with_literals<S: Reverse<Value = f64>>() -> [usize; 4] {
    let statements: [OfOne<S>; 4] = [
        |x| (x * x).into(),
        |x| (2.0 * x * x).into(),
        |x| (2.0 * x * x + 1.0).into(),
        |x| (2.0 * x * x / 3.0 + 1.0).into(),
    ];
    let bytes = |statement: Option<OfOne<S>>| {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| {
            let x = scope.input(1.5);
            statement.map(|statement| statement(&x))
        });
        of_records::<S>(&tape.memory())
    };
    statements.map(|statement| bytes(Some(statement)) - bytes(None))
}

/// Literals are numbers in the record. They could be part of the statement's type, which would cost nothing; such
/// literals do not exist, so what they would save is what is measured here: all of these bytes.
#[test]
fn each_literal_costs_a_record_of_values_8_bytes_and_the_book_says_so() {
    assert_eq!(with_literals::<PrimalValue<f64, Reuse>>(), [21, 29, 37, 45]);
    assert!(formula_in_the_book("PrimalValue").contains("+ 8c"), "8 bytes for each of c literals");
    // The statement has two partials: with two literals or more, they are the smaller record.
    assert_eq!(with_literals::<Hybrid>(), [17, 25, 33, 33]);
    assert!(formula_in_the_book("Hybrid").contains("8 min(d, c)"));
    // Where partials are kept, literals cost nothing.
    assert_eq!(with_literals::<Jacobian>(), [25; 4]);
    assert_eq!(with_literals::<Continuation>(), [8 + 24; 4]);
    assert!(["Jacobian", "Continuation"].iter().all(|strategy| !formula_in_the_book(strategy).contains('c')));
    assert!(read("book/src/choosing.md").contains("* $c$ literals,"), "and the book says what c is");
}

/// Bytes of a workload on the tape: of its last evaluation if it has several.
fn tape_bytes<S: Reverse<Value = f64>>(problem: &impl Problem) -> usize {
    let last = problem.evaluations() - 1;
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = scope.inputs(&problem.inputs(last));
        problem.eval(last, &x)
    });
    recorded(&tape.memory())
}

/// The column `tape_bytes` of the committed results, in memory and for linear indices.
fn committed(workload: &str, strategy: &str) -> usize {
    let csv = read("benches/results/compare.csv");
    let mut lines = csv.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("there is a header");
    let of = |row: &[&str], column: &str| row[header.iter().position(|c| *c == column).expect("a column")].to_owned();
    let wanted = [("workload", workload), ("strategy", strategy), ("indices", "linear"), ("layer", "in_memory")];
    let row = lines.find(|row| wanted.iter().all(|(column, cell)| of(row, column) == *cell)).expect("a row");
    of(&row, "tape_bytes").parse().expect("a number of bytes")
}

#[test]
fn each_strategy_needs_less_memory_on_one_of_two_workloads() {
    let stencil = Laplacian::default();
    let (partials, values) = (tape_bytes::<Jacobian>(&stencil), tape_bytes::<PrimalValue>(&stencil));
    assert_eq!((partials, values), (8_199_986, 12_999_982), "partials win where they are few: {}", stencil.name());
    assert_eq!((partials, values), (committed("laplacian1d", "jacobian"), committed("laplacian1d", "primal_value")));
    let rates = Libor::default();
    let (partials, values) = (tape_bytes::<Jacobian>(&rates), tape_bytes::<PrimalValue>(&rates));
    assert_eq!((partials, values), (364_265, 232_485), "values win in products and quotients: {}", rates.name());
    assert_eq!((partials, values), (committed("libor", "jacobian"), committed("libor", "primal_value")));
}

/// Records evaluation 0 of a workload and compares its bytes with the ceilings 1 + 12a and 17 + 4a + 8c, given what its
/// streams hold.
fn assert_below_the_ceilings(problem: &impl Problem) {
    let x = problem.inputs(0);
    let report = |report: MemoryReport| (recorded(&report), report.statements, report.arguments, report);
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| problem.eval(0, &scope.inputs(&x)));
    let (bytes, statements, arguments, _) = report(tape.memory());
    // A statement of more than 27 partials may take 4 bytes more; its own number of arguments makes up for that.
    let wide = 4 * (arguments / 28).min(statements);
    assert!(statements > 0 && bytes <= statements + 12 * arguments + wide, "{}: {bytes} bytes", problem.name());

    let mut tape = Tape::<PrimalValue>::new();
    tape.record(|scope| problem.eval(0, &scope.inputs(&x)));
    let (bytes, statements, arguments, streams) = report(tape.memory());
    let ceiling = 17 * statements + 4 * arguments + streams.usage("constants").used;
    assert!(bytes - 8 * x.len() - 8 <= ceiling, "{}: {bytes} bytes", problem.name());
    assert_eq!((streams.usage("codes").used, streams.usage("arguments").used), (statements, 4 * arguments));
}

#[test]
fn every_workload_is_below_the_ceilings() {
    const SIZES: &str = "these sizes are possible";
    assert_below_the_ceilings(&Burgers::new(16, 4).expect(SIZES));
    assert_below_the_ceilings(&ExpSq::new(1).expect(SIZES));
    assert_below_the_ceilings(&Laplacian::new(1_000).expect(SIZES));
    assert_below_the_ceilings(&RepeatedSin::new(1_000).expect(SIZES));
    assert_below_the_ceilings(&Libor::new(10, 5, 1).expect(SIZES));
    assert_below_the_ceilings(&Gmm::synthetic(8, 4, 20).expect(SIZES));
    assert_below_the_ceilings(&Lstm::synthetic(2, 5, 8).expect(SIZES));
}
