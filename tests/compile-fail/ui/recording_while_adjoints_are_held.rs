//! The adjoints of a sweep are gone when the tape records anew.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|scope| scope.input(1.0));
    let adjoints = tape.sweep(&[(&x, 1.0)]).unwrap();
    tape.record(|_| ());
    let _ = adjoints.of(&x);
}
