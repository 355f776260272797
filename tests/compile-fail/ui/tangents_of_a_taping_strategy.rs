use tapewright::prelude::*;

fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    vec![(x[0] * x[1]).into()]
}

fn main() {
    let _ = jvp::<Jacobian>(f, &[1.0, 2.0], &[1.0, 0.0]);
}
