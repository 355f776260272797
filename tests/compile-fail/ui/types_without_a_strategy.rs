//! Variables and tapes are of a strategy.

use tapewright::prelude::*;

struct Pricer {
    tape: Tape,
}

fn main() {
    let x: Real = 4.0;
}
