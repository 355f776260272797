//! A point has a coordinate for each dimension, counted from 0.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut x = View::<Passive, 1>::zeros([3]);
    parallel_for(x.all(), &mut x, |x| (x.index::<1>(),));
}
