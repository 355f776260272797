//! A kernel returns a tuple with an expression for each view that it writes.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut x = View::<Passive, 1>::zeros([3]);
    parallel_for(x.all(), &mut x, |x| 2.0 * x.at::<0>());
}
