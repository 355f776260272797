//! A closure has one type, and a function can be generic.

use tapewright::prelude::*;

fn main() {
    let f = |x: &[Real<_>]| (x[0] * x[1]).eval();
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
    let _ = f(Real::<Passive>::wrap_slice(&[1.0, 2.0]));
}
