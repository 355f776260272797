//! A float cannot become a variable.

use tapewright::prelude::*;

fn squares<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let mut sum = 0.0;
    for v in x {
        sum += *v * *v;
    }
    sum.into()
}

fn main() {
    let _ = gradient::<Jacobian>(squares, &[1.0]);
}
