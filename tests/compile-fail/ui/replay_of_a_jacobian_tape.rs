//! A recording of partials cannot be computed again.
use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|scope| scope.input(1.0));
    let _ = tape.replay(&[(&x, 2.0)]);
}
