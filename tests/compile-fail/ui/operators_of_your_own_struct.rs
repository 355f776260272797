//! A struct over any number with operators of its own: with `Real` as the number, its products are expressions.

use core::ops::Mul;
use tapewright::prelude::*;

#[derive(Clone, Copy)]
struct Pair<T>(T, T);

impl<T: Copy + Mul<Output = T>> Mul<T> for Pair<T> {
    type Output = Self;
    fn mul(self, factor: T) -> Self {
        Pair(self.0 * factor, self.1 * factor)
    }
}

fn main() {
    let _ = gradient::<Jacobian>(|x| (Pair(x[0], x[1]) * x[1]).0, &[2.0, 3.0]);
}
