//! The Hessian of a workload times a vector, by reverse mode over reverse mode and by duals.

use super::assert_close;
use tapewright::prelude::*;
use tapewright::{Dual, Nested};
use tapewright_problems::{Libor, Problem};

type Base = Jacobian;

/// As the gradient of ∇f·v. Both recordings together take twice the bytes of one over duals, and more.
#[test]
fn a_hessian_times_a_vector_is_that_by_duals_and_takes_more_bytes() {
    let problem = Libor::new(20, 4, 1).expect("a size that is possible");
    let x = problem.inputs(0);
    let v: Vec<[f64; 1]> = (0_u8..).map(|k| [f64::from(k % 7) - 2.5]).take(x.len()).collect();
    let mut base = Tape::<Base>::new();
    let mut bytes = 0;
    let (inputs, y) = base.record(|scope| {
        let inputs = scope.inputs(&x);
        let mut tape = Tape::<PrimalValue<Nested<Base>>>::new();
        let mut slopes = vec![Nested::default(); x.len()];
        tape.gradient(|x| problem.eval(0, x), Real::numbers(&inputs), &mut slopes).expect("lengths agree");
        bytes = tape.memory().total().used;
        let y: Real<Base> = slopes.iter().zip(&v).map(|(slope, v)| Real::from(*slope) * v[0]).sum();
        (inputs, y)
    });
    let found = base.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs)).expect("its own");
    bytes += base.memory().total().used;

    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let (mut gradient, mut product) = (vec![0.0; x.len()], vec![[0.0]; x.len()]);
    tape.hessian_times(|x| problem.eval(0, x), &x, &v, &mut gradient, &mut product).expect("lengths agree");
    assert_close(&found, product.as_flattened());
    let by_duals = tape.memory().total().used;
    assert!(bytes >= 2 * by_duals, "{bytes} bytes, by duals {by_duals}");
}
