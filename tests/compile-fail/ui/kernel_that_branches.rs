//! Expressions of a kernel have no value yet, so there is no `if`: see `select`.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut x = View::<Passive, 1>::zeros([3]);
    parallel_for(x.all(), &mut x, |x| {
        let c = x.at::<0>();
        (if c > 0.0 { c } else { -c },)
    });
}
