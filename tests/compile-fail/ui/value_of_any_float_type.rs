//! The values of a strategy are any float type unless the bound says which.

use tapewright::prelude::*;

fn total<S: Strategy>(x: &[Real<S>]) -> f64 {
    x.iter().map(|v| v.value()).sum()
}

fn main() {
    let _ = total::<Jacobian>(&[]);
}
