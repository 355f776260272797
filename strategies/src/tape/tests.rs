//! What the interface of a tape cannot show: where records lie.

use super::records::{Partials, Records, Values};
use super::usize_of;
use crate::{Content, InMemory, Layer, Linear, Shared, TapeNumber};

/// Records so many statements, and asks after each where it ends; then reads them all, where they ended when they were
/// recorded.
fn records_never_move<L: Layer, K: Content>(statements: usize) {
    let mut tape = Records::<f64, Linear, L, K>::default();
    tape.begin(TapeNumber(7));
    let x = tape.input(1.0).expect("room");
    let mut ends = Vec::with_capacity(statements);
    let mut last = x;
    for k in 0..statements {
        // As many arguments as make records of different lengths.
        let arguments = [(last, 0.5), (x, 2.0), (x, 4.0)];
        last = tape.push_partials(arguments.into_iter().take(1 + k % 3), 1.0).expect("room");
        ends.push(tape.data.cast_const());
    }
    assert!(tape.spans.len() > 2, "it reaches into several segments");
    for (k, end) in ends.iter().enumerate() {
        // SAFETY: that is what is tested: a record still ends where it did when it was recorded.
        let record = unsafe { tape.record(*end) };
        assert_eq!(record.arguments, 1 + k % 3, "statement {k}");
        // SAFETY: as above; identifiers have 32 bits.
        let first = unsafe { record.ids::<u32>() }.next();
        assert_eq!(first, Some(usize_of(x.index()) + k), "statement {k}");
        let before = k > 0 && record.start == ends[k - 1];
        assert!(before || tape.spans.iter().any(|span| span.start.cast_const() == record.start), "statement {k}");
    }
}

#[test]
fn c2_records_stay_where_they_were_written() {
    let statements = if cfg!(miri) { 10_000 } else { 1_000_000 };
    records_never_move::<InMemory, Partials>(statements);
    records_never_move::<InMemory, Values>(statements);
    records_never_move::<Shared, Partials>(statements);
}
