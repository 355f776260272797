//! A kernel writes at most six views.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g] = [0; 7].map(|_| View::<Passive, 1>::zeros([3]));
    parallel_for(a.all(), (&mut a, &mut b, &mut c, &mut d, &mut e, &mut f, &mut g), |(x, ..)| {
        let x = x.at::<0>();
        (x, x, x, x, x, x, x)
    });
}
