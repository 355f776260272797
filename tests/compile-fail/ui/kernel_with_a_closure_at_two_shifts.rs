//! A closure has one type for its argument: helpers for several shifts are functions of `Term<impl Node>`.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut x = View::<Passive, 1>::zeros([3]);
    parallel_for(1..2, &mut x, |x| {
        let twice = |x| 2.0 * x;
        (twice(x.at::<1>()) - twice(x.at::<-1>()),)
    });
}
