//! Only recordings of a `Traced` strategy know their lines.

use tapewright::prelude::*;

fn main() {
    let _ = Tape::<Jacobian>::new().trace();
}
