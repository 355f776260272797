//! Each element of an array of variables is a statement.

use tapewright::prelude::*;

fn twice<S: Strategy>(x: [Real<S>; 2]) -> [Real<S>; 2] {
    x.map(|x| x.sin() * 2.0)
}

fn list<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    x.iter().map(|x| x * 2.0).collect()
}

fn main() {}
