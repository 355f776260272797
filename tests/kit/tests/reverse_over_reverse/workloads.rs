//! Hessians times vectors of the workloads, by reverse mode over reverse mode and by duals, and what they take.

use super::assert_close;
use tapewright::prelude::*;
use tapewright::{Dual, Nested, hvp};
use tapewright_problems::{Gmm, Libor, Lstm, Problem};

type Base = Jacobian;

/// The Hessian times `v`, as the gradient of ∇f·v, and the bytes of both recordings.
fn by_reverse<S: Reverse<Value = Nested<Base>>>(problem: &impl Problem, x: &[f64], v: &[f64]) -> (Vec<f64>, usize) {
    let mut base = Tape::<Base>::new();
    let mut bytes = 0;
    let (inputs, y) = base.record(|scope| {
        let inputs = scope.inputs(x);
        let mut tape = Tape::<S>::new();
        let mut slopes = vec![Nested::default(); x.len()];
        tape.gradient(|x| problem.eval(0, x), Real::numbers(&inputs), &mut slopes).expect("lengths agree");
        bytes = tape.memory().total().used;
        let y: Real<Base> = slopes.iter().zip(v).map(|(slope, v)| Real::from(*slope) * *v).sum();
        (inputs, y)
    });
    let product = base.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs)).expect("its own");
    (product, bytes + base.memory().total().used)
}

fn compare(problem: &impl Problem, least: usize) {
    let x = problem.inputs(0);
    let v: Vec<f64> = (0_u8..).map(|k| f64::from(k % 7) - 2.5).take(x.len()).collect();
    let (_, _, expected) = hvp::<Jacobian<Dual<f64, 1>>, f64>(|x| problem.eval(0, x), &x, &v);
    let (found, bytes) = by_reverse::<Jacobian<Nested<Base>>>(problem, &x, &v);
    assert_close(&found, &expected);
    let (found, _) = by_reverse::<PrimalValue<Nested<Base>>>(problem, &x, &v);
    assert_close(&found, &expected);

    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let (mut gradient, mut product) = (vec![0.0; x.len()], vec![[0.0]; x.len()]);
    let v: Vec<[f64; 1]> = v.iter().map(|v| [*v]).collect();
    tape.hessian_times(|x| problem.eval(0, x), &x, &v, &mut gradient, &mut product).expect("lengths agree");
    let by_duals = tape.memory().total().used;
    println!("{}, {}: {bytes} bytes, by duals {by_duals}", problem.name(), problem.size());
    assert!(bytes >= least * by_duals, "{}: {bytes} bytes, by duals {by_duals}", problem.name());
}

#[test]
fn gmm() {
    compare(&Gmm::synthetic(2, 3, 5).expect("a size that is possible"), 2);
}

#[test]
fn libor() {
    compare(&Libor::new(20, 4, 1).expect("a size that is possible"), 2);
}

#[test]
fn lstm() {
    compare(&Lstm::synthetic(1, 3, 2).expect("a size that is possible"), 2);
}
