//! Tests of positions of records and of external functions, which the interface of a tape does not show.

use super::read::cursor::Cursor;
use super::store::recording::{Partials, Records, Values};
use super::usize_of;
use crate::contract::lane_by_lane;
use crate::identifier::{LinearId, RecordingId};
use crate::storage::Layer;
use crate::tape::Content;
use crate::{Continuation, InMemory, Jacobian, Linear, PrimalValue, Reverse, Shared, SweepError};

/// Records this many statements, and notes after each the end of its record; then reads all records, and compares their
/// ends.
fn records_never_move<L: Layer, K: Content>(statements: usize) {
    let mut tape = Records::<f64, Linear, L, K>::default();
    tape.begin(RecordingId::of(7));
    let x = tape.inputs(&[1.0]).expect("room").next().expect("one");
    let mut ends = Vec::with_capacity(statements);
    let mut last = x;
    for k in 0..statements {
        // As many arguments as make records of different lengths.
        let n = 1 + k % 3;
        last = tape.push_partials((&[last, x, x][..n], &[0.5, 2.0, 4.0][..n]), None, (1.0, None)).expect("room");
        ends.push(tape.data.cast_const());
    }
    assert!(tape.spans.len() > 2, "it reaches into several segments");
    let mut cursor = Cursor::new(&tape);
    let mut k = statements;
    cursor
        .down(2, |record, _| {
            k -= 1;
            assert_eq!(record.end, ends[k], "statement {k} ends where it did when it was recorded");
            assert_eq!(record.arguments(), 1 + k % 3, "statement {k}");
            let first = record.ids().next();
            assert_eq!(first, Some(usize_of(x.index()) + k), "statement {k}");
            let before = k > 0 && record.start == ends[k - 1];
            assert!(before || tape.spans.iter().any(|span| span.start.cast_const() == record.start), "statement {k}");
        })
        .expect("in memory");
    assert_eq!(k, 0, "all statements were read");
}

#[test]
fn c2_records_stay_where_they_were_written() {
    let statements = if cfg!(miri) { 10_000 } else { 1_000_000 };
    records_never_move::<InMemory, Partials>(statements);
    records_never_move::<InMemory, Values>(statements);
    records_never_move::<Shared, Partials>(statements);
    // Slabs so short that some records need one of their own.
    records_never_move::<InMemory<100, 40>, Partials>(statements / 10);
    records_never_move::<Shared<0, 1000>, Partials>(statements / 10);
}

/// The state after a segment that could not be allocated: the recording is intact, and nothing is written any more.
#[test]
fn a_recording_whose_only_segment_is_closed_is_swept() {
    let mut tape = Records::<f64, Linear, InMemory, Partials>::default();
    tape.begin(RecordingId::of(7));
    let x = tape.inputs(&[1.0]).expect("room").next().expect("one");
    let y = tape.push_partials((&[x], &[3.0]), None, (1.0, None)).expect("room");
    let z = tape.push_partials((&[x, y], &[5.0, 7.0]), None, (1.0, None)).expect("room");
    let swept = |tape: &Records<_, _, _, _>| {
        let mut adjoints = vec![0.0; tape.len()];
        adjoints[usize_of(z.index())] = 1.0;
        tape.reverse(&mut adjoints).expect("in memory");
        adjoints[usize_of(x.index())]
    };
    assert_eq!(swept(&tape), 26.0);
    tape.spans[0].data = tape.data_of(0);
    tape.close();
    assert_eq!(swept(&tape), 26.0);
}

/// Records y = 2·f(x) and z = 3·f(y), where f is an external function with slope 10, between functions without results.
/// Returns the slots of x, f(x), y, f(y) and z.
fn among_externals<S, K: Content>(tape: &mut S::Tape) -> [usize; 5]
where
    S: Reverse<Value = f64, Id = LinearId, Tape = Records<f64, Linear, InMemory, K>>,
{
    tape.begin(RecordingId::of(7));
    let mut ids = vec![tape.inputs(&[1.0]).expect("room").next().expect("one")];
    for k in 0..2_u32 {
        let bytes = |tape: &S::Tape| tape.memory().total().used;
        let (before, values) = (bytes(tape), if K::VALUES { 8 * (tape.len() + 3) } else { 0 });
        let known = if K::VALUES && tape.len() > 1 { 8 * tape.len() } else { 0 };
        S::external(tape, 3 * k, &[], &mut |_| unreachable!("it has no results"));
        S::external(tape, 3 * k + 1, &[1.0], &mut |id| ids.push(id));
        S::external(tape, 3 * k + 2, &[], &mut |_| unreachable!("it has no results"));
        let code = Records::<f64, Linear, InMemory, K>::CODE;
        assert_eq!(bytes(tape) - before, 3 * (2 * size_of::<u32>() + code) + values - known);
        let y = tape.push_partials((&ids[ids.len() - 1..], &[f64::from(k) + 2.0]), None, (1.0, None));
        ids.push(y.expect("room"));
    }
    core::array::from_fn(|k| usize_of(ids[k].index()))
}

#[test]
fn external_functions_are_records_that_every_sweep_meets_in_order() {
    fn holds<S, K: Content>()
    where
        S: Reverse<Value = f64, Id = LinearId, Tape = Records<f64, Linear, InMemory, K>>,
    {
        let mut tape = S::Tape::default();
        let [x, fx, y, fy, z] = among_externals::<S, K>(&mut tape);
        let length = S::identifiers(&tape);
        let meet = |external: usize, lanes: usize, adjoints: &mut [f64]| {
            let (from, to) = if external == 1 { (x, fx) } else { (y, fy) };
            for lane in (0..lanes).filter(|_| external % 3 == 1) {
                adjoints[from * lanes + lane] += 10.0 * core::mem::take(&mut adjoints[to * lanes + lane]);
            }
            Ok(())
        };
        for width in [1, 2, 5] {
            let mut together = vec![0.0; length * width];
            (0..width).for_each(|lane| together[z * width + lane] = [1.0, 0.0, -0.5][lane % 3]);
            let (mut alone, mut met) = (together.clone(), Vec::new());
            S::reverse_lanes_through(&tape, width, &mut together, (None, None), &mut |external, lanes, adjoints| {
                assert_eq!((lanes.clone(), adjoints.len()), (0..width, length * width));
                met.push(external);
                meet(external, width, adjoints)
            })
            .expect("in memory");
            assert_eq!((met, together[x * width]), (vec![5, 4, 3, 2, 1, 0], 600.0));
            let mut next = 0;
            lane_by_lane::<S>(&tape, width, &mut alone, (None, None), &mut |external, lanes, adjoints| {
                assert_eq!((lanes.clone(), adjoints.len()), (next / 6..next / 6 + 1, length));
                next += 1;
                meet(external, 1, adjoints)
            })
            .expect("in memory");
            assert_eq!((together, next), (alone, 6 * width));
        }
    }
    holds::<Jacobian, _>();
    holds::<PrimalValue, _>();
    holds::<Continuation, _>();
}

#[test]
fn a_sweep_ends_where_an_external_function_fails_and_leaves_none_out() {
    let mut tape = <Jacobian as Reverse>::Tape::default();
    let slots = among_externals::<Jacobian, _>(&mut tape);
    let mut vector = vec![1.0; slots[4] + 1];
    let mut met = Vec::new();
    let failed = <Jacobian as Reverse>::reverse_through(&tape, &mut vector, (None, None), &mut |external, _, _| {
        met.push(external);
        if external == 3 { Err(SweepError::rule("the third", "fails")) } else { Ok(()) }
    });
    assert_eq!((failed, met), (Err(SweepError::rule("the third", "fails")), vec![5, 4, 3]));
    let left_out = <Jacobian as Reverse>::reverse(&tape, &mut vector);
    assert!(matches!(left_out, Err(SweepError::Unsupported { what }) if what.contains("external function 5")));
    let mut met = Vec::new();
    let forward = <Jacobian as Reverse>::forward_through(&tape, 1, &mut vector, &mut |external, _, _| {
        met.push(external);
        Ok(())
    });
    assert_eq!((forward, met), (Ok(()), vec![0, 1, 2, 3, 4, 5]));
}
