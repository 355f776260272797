//! Under `Taping` variables need not be `Copy`: compute with references, or ask for `Strategy`.

use tapewright::prelude::*;

fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[1]).into()
}

fn main() {
    let _ = gradient::<Jacobian>(f, &[1.0, 2.0]);
}
