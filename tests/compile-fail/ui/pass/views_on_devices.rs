//! `S: Taping` and `M: Space` are all that code needs which computes with views in any space. `Traced` recordings are
//! allowed in all of them.

use tapewright::kernels::{Host, Space, View, parallel_sum};
use tapewright::{Checked, Traced, policy::AllowedIn, prelude::*};

fn energy<S: Taping<Value = f64>, M: Space<f64>>(x: &View<S, 1, M>) -> Real<S> {
    let on_the_host = x.clone().in_space::<Host>();
    assert_eq!(on_the_host.len(), x.len());
    parallel_sum(x.all(), x, |x| x.at::<0>().square())
}

fn gradient_in<M: Space<f64>>(start: &[f64]) -> Vec<f64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([start.len()], start).in_space::<M>();
        let y = energy(&x);
        (x, y)
    });
    tape.sweep(&[(&y, 1.0)]).unwrap().of_view(&x).unwrap().to_vec()
}

fn value_in<S: Taping<Value = f64, Policy: AllowedIn<M>>, M: Space<f64>>(start: &[f64]) -> f64 {
    energy(&View::<S, 1>::new([start.len()], start).in_space::<M>()).value()
}

fn traced_in<M: Space<f64>>(start: &[f64]) -> f64 {
    value_in::<Traced<Jacobian>, M>(start)
}

fn main() {
    let start = [1.0, 2.0];
    assert_eq!(gradient_in::<Host>(&start), [2.0, 4.0]);
    assert_eq!(traced_in::<Host>(&start), value_in::<Checked<Jacobian>, Host>(&start));
}
