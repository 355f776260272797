//! Shifts are constants, so that the adjoints can be gathered without atomic operations.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn shifted(x: &mut View<Passive, 1>, by: isize) {
    parallel_for(x.all(), x, |x| (x.periodic::<by>(),));
}

fn main() {
    shifted(&mut View::zeros([3]), 1);
}
