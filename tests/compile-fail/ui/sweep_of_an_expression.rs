//! The output of a sweep is a variable.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.input(1.0);
        x * 2.0
    });
    let _ = tape.sweep(&[(&y, 1.0)]);
}
