//! There is no global tape.

use tapewright::prelude::*;

static TAPE: Tape<Jacobian> = Tape::new();

fn main() {}
