//! The inputs of `preaccumulate` are an array; a struct goes to `preaccumulate_by_reverse`.

use tapewright::{preaccumulate, prelude::*};

struct Gas<S: Taping> {
    pressure: Real<S>,
}

fn main() {
    let _ = gradient::<Jacobian>(
        |x| {
            let gas = Gas { pressure: x[0] };
            preaccumulate(&(gas, x[1]), |(gas, y)| (gas.pressure * *y).eval())
        },
        &[1.0, 2.0],
    );
}
