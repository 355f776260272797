//! One expression for each view that is written, not more.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let x = View::<Passive, 1>::zeros([3]);
    let mut y = x.clone();
    parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>(), 2.0 * x.at::<0>()));
}
