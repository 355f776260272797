//! Recordings that know their lines.

#[path = "traced/same.rs"]
mod same;

use tapewright::prelude::*;
use tapewright::{Traced, TraceWeight};

#[test]
fn try_it() {
    let mut tape = Tape::<Traced<Jacobian>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let product = (x[0] * x[1]).eval();
        let mut y = product;
        for _ in 0..3 {
            y = (y * product + 1.0).eval();
        }
        (x, y)
    });
    let g = tape.sweep(&[(&y, 1.0)]).unwrap().of_all(&x).unwrap();
    println!("{g:?}");
    let trace = tape.trace().unwrap();
    println!("{trace}{}{}", trace.folded(TraceWeight::Bytes), trace.dot().unwrap());
    println!("{}", tape.memory());
}
