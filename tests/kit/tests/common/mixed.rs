//! A statement of which each argument may be passive.

use tapewright::prelude::*;
use tapewright::tape::MemoryReport;

/// A recording of one statement of four arguments, whose activity is given by the bits of `pattern`, and its gradient.
pub(crate) fn mixed<S: Reverse<Value = f64>>(pattern: u32) -> (MemoryReport, [f64; 4]) {
    let mut tape = Tape::<S>::new();
    let values = [0.5, 1.5, 2.5, 3.5];
    let (x, y) = tape.record(|scope| {
        let mut bit = 0;
        let x = values.map(|v| {
            bit += 1;
            if pattern >> (bit - 1) & 1 == 1 { scope.input(v) } else { Real::from(v) }
        });
        let y: Real<S> = (&x[0] * &x[1] + x[2].exp() * &x[3]).into();
        (x, y)
    });
    let report = tape.memory();
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("the variables are the tape's");
    (report, x.map(|x| adjoints.of(&x).expect("the tape's, or passive")))
}

/// The entries of the gradient that `pattern` selects; those of passive arguments are 0.
pub(crate) fn gradient(pattern: u32) -> [f64; 4] {
    let e = 2.5_f64.exp();
    let full = [1.5, 0.5, e * 3.5, e];
    [0, 1, 2, 3].map(|k| if pattern >> k & 1 == 1 { full[k] } else { 0.0 })
}
