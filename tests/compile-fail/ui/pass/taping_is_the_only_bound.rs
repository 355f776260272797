//! `S: Taping` is all that code needs which computes with references.

use tapewright::prelude::*;

fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut t: Real<S> = (&x[0] * &x[1] + x[0].sin() * 2.0).into();
    t *= &x[1];
    t += x[0].exp() / &x[1];
    let sum: Real<S> = x.iter().map(|v| v * &t).sum();
    (sum - t).into()
}

fn main() {
    assert_eq!(gradient::<Jacobian>(f, &[1.0, 2.0]).len(), 2);
    assert_eq!(jvp::<Tangent>(|x| vec![f(x)], &[1.0, 2.0], &[0.0, 1.0]).unwrap().1.len(), 1);
}
