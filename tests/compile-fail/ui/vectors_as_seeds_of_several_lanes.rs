//! Seeds of several lanes are arrays.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let (_x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        (x, (x * x).eval())
    });
    let seeds = vec![(&y, vec![1.0, 0.0])];
    let _ = tape.sweep_lanes(&seeds);
}
