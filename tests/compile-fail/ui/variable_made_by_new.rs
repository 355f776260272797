//! A constant is made of a number, and an input by the scope.

use tapewright::prelude::*;

fn main() {
    let x = Real::<Jacobian>::new(4.0);
}
