//! A condition of a kernel has no value yet, so there is no `if`: see `select`.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut x = View::<Passive, 1>::zeros([3]);
    parallel_for(x.all(), &mut x, |x| (if x.at::<0>().ge(0.0) { x.at::<0>() } else { x.at::<0>() },));
}
