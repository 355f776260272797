//! The views of a launch have one rank.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let (x, mut y) = (View::<Passive, 1>::zeros([3]), View::<Passive, 2>::zeros([3, 1]));
    parallel_for(y.all(), (&x, &mut y), |(x, _)| (x.at::<0>(),));
}
