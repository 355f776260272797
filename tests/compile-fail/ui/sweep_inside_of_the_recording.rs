//! A tape is swept after its recording.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let y = scope.input(2.0);
        let _ = tape.sweep(&[(&y, 1.0)]);
    });
}
