//! Functions are methods that borrow their variable, so their expression cannot outlive it.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let twice_the_sine = |a: Real<S>| a.sin() * 2.0;
    twice_the_sine(x[0]).eval()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0]);
}
