//! Adjoints are asked for, and the question may fail.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        (x, (x * x).eval())
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).unwrap();
    let mut slopes = [0.0];
    slopes[0] = adjoints.of(&x);
}
