//! A stage runs under two strategies; what it captures is of one.

use tapewright::checkpoint;
use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let k = scope.input(2.0);
        let x = scope.input(1.0);
        (k, checkpoint!(Jacobian, &x, move |x| (*x * k).eval()))
    });
}
