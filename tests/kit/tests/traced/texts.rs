//! Lines, columns and bytes: what is shown of a recording, letter for letter.
//!
//! The functions come first: moving them changes what is expected.

use std::time::Duration;
use tapewright::kernels::{View, parallel_for};
use tapewright::policy::{Strict, Traces, Tracing};
use tapewright::prelude::*;
use tapewright::strategies::WithPolicy;
use tapewright::trace::TraceWeight;
use tapewright::{Closed, Rules, Scope, Traced, continuation, external};

fn small<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let product = (x[0] * x[1]).eval();
    let mut y = Real::from(1.0);
    for _ in 0..2 {
        y = ((y * product).eval() + x[0].powi(2).eval()).into();
        y += x[0];
    }
    y
}

fn others<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let rules = Rules::new("\"twice\"", |outputs: &[f64], inputs: &mut [f64]| {
        inputs[0] += 2.0 * outputs[0];
        Ok(())
    });
    let twice = external(&x[..1], &[2.0 * x[0].value()], rules);
    let sum = tapewright::sum(x);
    (&sum * &twice[0]).eval()
}

fn late<S: Reverse<Value = f64>>(scope: &mut Scope<'_, S>) {
    let x = scope.input(1.0);
    let y = Closed::from((&x * &x).eval());
    let z = scope.inputs(&[1.0, 2.0]);
    let view = scope.view([2], &[1.0, 2.0]);
    let mut twice = View::zeros([2]);
    parallel_for(view.all(), (&view, &z[0], &mut twice), |(v, z, _)| (z * v.at::<0>(),));
    let _ = y.clone() * y;
}

fn closure(x: &[Real<Traced<Continuation>>]) -> Real<Traced<Continuation>> {
    continuation(&[&x[0]], 4.0, |adjoint, x| x[0] = 2.0 * adjoint)
}

/// A tape with the function, recorded at 2 and 3.
fn recorded<S: Reverse<Value = f64>>(f: impl FnOnce(&[Real<S>]) -> Real<S>) -> Tape<S> {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| f(&scope.inputs(&[2.0, 3.0])));
    tape
}

/// The text with the path of this file in place of `FILE`.
fn expected(text: &str) -> String {
    text.replace("FILE", file!())
}

/// The lines that recordings of a function have, with statements and bytes.
fn lines<S: Reverse<Policy: Traces>>(tape: &Tape<S>) -> Vec<(u32, u32, usize, usize)> {
    let trace = tape.trace().expect("in memory");
    let lines = trace.lines().iter().map(|line| {
        let location = line.location.expect("all told where they were");
        assert_eq!(location.file(), file!());
        (location.line(), location.column(), line.statements, line.bytes)
    });
    lines.collect()
}

#[test]
fn the_table_has_a_row_for_each_place() {
    let tape = recorded(small::<Traced<Jacobian>>);
    let table = expected(
        "bytes  statements  line
   38           2  FILE:17:28
   26           2  FILE:17:50
   25           1  FILE:14:33
   18           2  FILE:17:58
   18           2  FILE:18:9
  125           9  all
",
    );
    assert_eq!(tape.trace().expect("in memory").to_string(), table);
}

/// Time, if it is taken, goes to the later of two records.
#[test]
fn time_is_taken_if_asked_for() {
    let mut tape = Tape::<Traced<Jacobian>>::new();
    tape.set_timed(true);
    tape.record(|scope| {
        let x = scope.input(2.0);
        std::thread::sleep(Duration::from_millis(2));
        let y = (x * x).eval();
        (x * y).eval()
    });
    let trace = tape.trace().expect("in memory");
    let times: Vec<Duration> = trace.lines().iter().filter_map(|line| line.time).collect();
    assert_eq!(times.len(), 2);
    assert!(times[0] >= Duration::from_millis(2) && times[1] > Duration::ZERO);
    assert!(trace.folded(TraceWeight::Nanoseconds).lines().count() == 2);
    assert!(trace.to_string().starts_with("bytes  statements"));
    assert!(trace.to_string().lines().next().is_some_and(|heads| heads.ends_with("time  line")));
    tape.set_timed(false);
    assert!(tape.trace().expect("in memory").folded(TraceWeight::Nanoseconds).lines().count() == 2);
    tape.record(|scope| (scope.input(2.0) * 2.0).eval());
    let trace = tape.trace().expect("in memory");
    assert_eq!(trace.lines()[0].time, None);
    assert_eq!(trace.to_string().lines().next(), Some("bytes  statements  line"));
}

#[test]
fn folders_files_and_places_are_frames() {
    let tape = recorded(small::<Traced<PrimalValue>>);
    let frames = file!().replace(['/', '\\'], ";");
    let trace = tape.trace().expect("in memory");
    let statements = [("17:28", 2), ("17:50", 2), ("17:58", 2), ("18:9", 2), ("14:33", 1)];
    let text = |rows: &[(&str, u32)]| {
        let row = |(at, weight): &(&str, u32)| format!("{frames};{at} {weight}");
        rows.iter().map(row).collect::<Vec<_>>().join("\n") + "\n"
    };
    assert_eq!(trace.folded(TraceWeight::Statements), text(&statements));
    let bytes = [("17:28", 26), ("17:50", 26), ("17:58", 18), ("18:9", 18), ("14:33", 9)];
    assert_eq!(trace.folded(TraceWeight::Bytes), text(&bytes));
    let silent = std::panic::AssertUnwindSafe(|| trace.folded(TraceWeight::Nanoseconds));
    let text = std::panic::catch_unwind(silent).expect_err("no time was taken");
    let text = text.downcast_ref::<&str>().copied().unwrap_or_default();
    assert_eq!(text, "no time was taken in this recording: call `Tape::set_timed` before it");
}

#[test]
fn the_graph_has_lines_and_partials() {
    let tape = recorded(small::<Traced<Jacobian>>);
    assert_eq!(tape.trace().expect("in memory").dot(), Ok(expected(GRAPH)));
}

#[test]
fn the_graph_of_reused_indices_has_external_functions() {
    let tape = recorded(others::<Traced<Jacobian<f64, Reuse>>>);
    assert_eq!(tape.trace().expect("in memory").dot(), Ok(expected(AROUND_A_CALL)));
}

#[test]
fn the_graph_is_the_same_where_indices_are_not_reused() {
    // There two inputs, which have numbers, are before the call, and no record of its result.
    let graph = AROUND_A_CALL.replace("s4", "s5").replace("s3", "s4").replace("s2", "s3");
    for dot in [
        recorded(others::<Traced<Jacobian>>).trace().and_then(|trace| trace.dot()),
        recorded(others::<Traced<PrimalValue>>).trace().and_then(|trace| trace.dot()),
        recorded(others::<Traced<Continuation>>).trace().and_then(|trace| trace.dot()),
    ] {
        assert_eq!(dot, Ok(expected(&graph)));
    }
}

#[test]
fn inputs_launches_and_closures_have_lines() {
    let mut tape = Tape::<Traced<Jacobian>>::new();
    tape.record(late);
    // The first input takes no bytes, and views are no records.
    assert_eq!(lines(&tape), [(35, 36, 1, 25), (40, 13, 1, 25), (39, 5, 1, 9), (36, 19, 0, 5)]);
    let mut tape = Tape::<Traced<Hybrid<f64, Reuse>>>::new();
    tape.record(late);
    assert_eq!(lines(&tape), [(35, 36, 1, 21), (40, 13, 1, 21), (39, 5, 1, 9)]);
    assert_eq!(lines(&recorded(closure)), [(44, 5, 1, 20)]);
    assert_eq!(lines(&recorded(others::<Traced<Jacobian>>)), [(30, 24, 1, 25), (29, 15, 1, 13), (28, 17, 1, 9)]);
}

/// The bytes of all lines are those of the streams of records.
fn assert_sums<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>() {
    let programs: [fn(&mut Scope<'_, Traced<S>>); 2] = [late, |scope| _ = others(&scope.inputs(&[2.0, 3.0]))];
    let mut tape = Tape::<Traced<S>>::new();
    for program in programs {
        tape.record(program);
        let memory = tape.memory();
        let streams = ["codes", "arguments", "partials", "constants", "counts", "results", "closures", "functions"];
        let records: usize = streams.iter().map(|name| memory.usage(name).used).sum();
        let trace = tape.trace().expect("in memory");
        assert_eq!(trace.lines().iter().map(|line| line.bytes).sum::<usize>(), records);
        assert!(records > 0);
    }
}

#[test]
fn bytes_of_lines_are_those_of_the_records() {
    assert_sums::<Jacobian>();
    assert_sums::<PrimalValue>();
    assert_sums::<Hybrid>();
    assert_sums::<Continuation>();
    assert_sums::<Jacobian<f64, Reuse>>();
    assert_sums::<PrimalValue<f64, Reuse>>();
    assert_sums::<Continuation<f64, Reuse>>();
    assert_sums::<Jacobian<f64, Linear, Shared>>();
}

const GRAPH: &str = r#"digraph tape {
  s3 [shape=box, label="FILE:14:33"];
  x1 [shape=ellipse, label="input\nFILE:50:34"];
  x1 -> s3 [label="3.0"];
  x2 [shape=ellipse, label="input\nFILE:50:34"];
  x2 -> s3 [label="2.0"];
  s4 [shape=box, label="FILE:17:28"];
  s3 -> s4 [label="1.0"];
  s5 [shape=box, label="FILE:17:50"];
  x1 -> s5 [label="4.0"];
  s6 [shape=box, label="FILE:17:58"];
  s4 -> s6 [label="1.0"];
  s5 -> s6 [label="1.0"];
  s7 [shape=box, label="FILE:18:9"];
  s6 -> s7 [label="1.0"];
  x1 -> s7 [label="1.0"];
  s8 [shape=box, label="FILE:17:28"];
  s7 -> s8 [label="6.0"];
  s3 -> s8 [label="12.0"];
  s9 [shape=box, label="FILE:17:50"];
  x1 -> s9 [label="4.0"];
  s10 [shape=box, label="FILE:17:58"];
  s8 -> s10 [label="1.0"];
  s9 -> s10 [label="1.0"];
  s11 [shape=box, label="FILE:18:9"];
  s10 -> s11 [label="1.0"];
  x1 -> s11 [label="1.0"];
}
"#;

const AROUND_A_CALL: &str = r#"digraph tape {
  s2 [shape=box, label="\"twice\"\nFILE:28:17"];
  x1 [shape=ellipse, label="input\nFILE:50:34"];
  x1 -> s2;
  s3 [shape=box, label="FILE:29:15"];
  x1 -> s3 [label="1.0"];
  x2 [shape=ellipse, label="input\nFILE:50:34"];
  x2 -> s3 [label="1.0"];
  s4 [shape=box, label="FILE:30:24"];
  s3 -> s4 [label="4.0"];
  s2 -> s4 [label="5.0"];
}
"#;
