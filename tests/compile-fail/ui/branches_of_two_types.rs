//! Two expressions have two types: fold each.

use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let t = if x[0] > 0.0 { x[0] * x[1] } else { x[0] + x[1] };
    t.into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
