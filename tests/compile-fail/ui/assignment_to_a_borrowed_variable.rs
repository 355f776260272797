//! Functions are methods that borrow their variable, so it cannot be written to at the same time.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let mut t = x[0];
    t += t.sin();
    t
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0]);
}
