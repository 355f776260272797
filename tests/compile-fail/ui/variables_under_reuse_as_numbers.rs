//! Numbers are `Copy`, and variables whose identifiers are reused are not.

use tapewright::Nested;
use tapewright::prelude::*;

fn take(_: &Nested<Jacobian<f64, Reuse>>) {}

fn main() {}
