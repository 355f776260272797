//! Names of C++ libraries: see the tables of the chapter on them.

use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let x = Real::<Jacobian>::from(4.0);
    tape.register_input(&x);
    let _ = x.gradient();
}
