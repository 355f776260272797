//! Operators of variables return expressions, so generic code that wants `Output = T` takes `Closed` variables.

use core::ops::Mul;
use tapewright::prelude::*;

fn area<T: Copy + Mul<Output = T>>(width: T, height: T) -> T {
    width * height
}

fn main() {
    let _ = gradient::<Jacobian>(|x| area(x[0], x[1]), &[2.0, 3.0]);
}
