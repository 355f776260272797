//! Duals are literals of a struct.

use tapewright::Dual;
use tapewright::prelude::*;

fn main() {
    let x = Dual::<f64, 1>::new(2.0, [1.0]);
    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let y = tape.record(|scope| scope.input(2.0));
}
