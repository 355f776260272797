//! A by-reference expression borrows its variables.

use tapewright::prelude::*;

fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let kept = {
        let t: Real<S> = (&x[0] * &x[0]).into();
        &t * 2.0
    };
    kept.into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0]);
}
