//! Variables of two strategies in one expression.

use tapewright::prelude::*;

fn product(x: Real<Jacobian>, y: Real<PrimalValue>) -> Real<Jacobian> {
    (x * y).into()
}

fn main() {
    let _ = product;
}
