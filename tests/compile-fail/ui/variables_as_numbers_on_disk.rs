//! Numbers that are variables of a recording mean nothing in a file.

use tapewright::prelude::*;
use tapewright::{Nested, Spilled};

fn main() {
    let _ = Tape::<Jacobian<Nested<Jacobian>, Linear, Spilled>>::new();
}
