//! `variables!` takes the bound of a struct, whatever its parameter is called.

use tapewright::kernels::View;
use tapewright::{Float, prelude::*, variables, variables::Variables};

struct Wave<S: Taping<Value = f64>> {
    height: View<S, 2>,
    time: Real<S>,
}
variables!(Wave<S: Taping<Value = f64>> { height, time });

struct Counted<T: Taping<Value: Float>> {
    x: Vec<Real<T>>,
    n: usize,
}
variables!(Counted<T: Taping<Value: Float>> { x; n });

struct Plain<S: Taping> {
    x: Real<S>,
}
variables!(Plain { x });

fn count<S: Taping<Value = f64>>(x: &Real<S>, height: &View<S, 2>) -> usize {
    let wave = Wave { height: height.clone(), time: x.clone() };
    let counted = Counted { x: vec![x.clone(); 2], n: 2 };
    wave.count() + counted.n + counted.count() + Plain { x: x.clone() }.count()
}

fn main() {
    let height = View::<Passive, 2>::zeros([2, 2]);
    assert_eq!(count(&Real::constant(1.0), &height), 6);
}
