//! A recommendation is for a budget of bytes, and may fail.

use tapewright::{advisor, prelude::*, program};

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0] * x[0]).into()
}

fn main() {
    println!("{}", advisor::recommend(&program!(f), &[2.0]));
}
