//! A tape records under a strategy, which has no default.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::new();
    let x = tape.record(|scope| scope.input(2.0));
}
