//! Numbers that are variables of a recording mean nothing in a file.

use tapewright::prelude::*;
use tapewright::{Nested, Spilled};

fn sweep<S: Reverse>() {}

fn main() {
    sweep::<Jacobian<Nested<Jacobian>, Linear, Spilled>>();
}
