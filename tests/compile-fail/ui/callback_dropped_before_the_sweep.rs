//! A callback object that is swept after what it refers to is gone.

use tapewright::prelude::*;
use tapewright::external::{Callback, CallbackAdjoints};
use tapewright::SweepError;

struct Slopes<'a>(&'a [f64]);

impl Callback<f64> for Slopes<'static> {
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, f64>) -> Result<(), SweepError> {
        let seed = adjoints.get_and_reset_output(0);
        adjoints.increment_input(0, self.0[0] * seed);
        Ok(())
    }
}

fn main() {
    let mut tape = Tape::<Jacobian>::new();
    let slopes = vec![2.0];
    let y = tape.record(|scope| {
        let x = scope.input(1.0);
        scope.insert_callback(&[x], &[2.0], Slopes(&slopes))[0]
    });
    drop(slopes);
    tape.sweep(&[(&y, 1.0)]).unwrap();
}
