//! A callback belongs to the tape, which may be swept when the function that inserted it has returned.

use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.input(1.0);
        let slope = 2.0;
        scope.insert_callback(&[x], &[2.0], |adjoints: &mut CallbackAdjoints<f64>| {
            let seed = adjoints.get_and_reset_output(0);
            adjoints.increment_input(0, slope * seed);
            Ok(())
        })[0]
    });
    tape.sweep(&[(&y, 1.0)]).unwrap();
}
