//! A helper of a kernel is a function: each of its arguments has a type of its own, which a closure would have to name.

use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

fn main() {
    let mut u = View::<Passive, 1>::zeros([8]);
    let difference = |t| t.at::<1>() - t.at::<-1>();
    parallel_for(u.interior(1), &mut u, |u| (0.1 * difference(u),));
}
