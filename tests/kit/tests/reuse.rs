//! Reused identifiers: as many as variables that are alive at once, and never one for two of them.

use tapewright::prelude::*;

#[path = "reuse/in_place.rs"]
mod in_place;
#[path = "reuse/length.rs"]
mod length;
#[path = "reuse/lifetimes.rs"]
mod lifetimes;
#[path = "reuse/like_linear.rs"]
mod like_linear;
#[path = "reuse/sweeps.rs"]
mod sweeps;

/// Strategies of `f64` variables that can be sent to other threads.
trait Reusing: Reverse<Value = f64, Variable: Send + Sync, Id: Send + Sync> {}
impl<S: Reverse<Value = f64, Variable: Send + Sync, Id: Send + Sync>> Reusing for S {}

/// The strategy of tests of identifiers themselves: the list of free ones is the same for all strategies.
type One = Hybrid<f64, Reuse>;

/// Runs `$f::<S>()` for the strategies whose records write a result in place, each in its own way.
macro_rules! each {
    ($f:ident) => {
        $f::<Jacobian<f64, Reuse>>();
        $f::<PrimalValue<f64, Reuse>>();
        $f::<Hybrid<f64, Reuse>>();
    };
}
pub(crate) use each;

/// The identifier of an active variable.
fn slot<S: Reverse>(variable: &Real<S>) -> usize {
    S::locate(variable.id()).expect("an active variable").1
}

/// ∂output/∂inputs.
fn swept<S: Reverse<Value = f64>>(tape: &mut Tape<S>, output: &Real<S>, inputs: &[Real<S>]) -> Vec<f64> {
    let adjoints = tape.sweep(&[(output, 1.0)]).and_then(|adjoints| adjoints.of_all(inputs));
    adjoints.expect("the variables are the tape's")
}

/// Slots of the adjoint vector, after a sweep.
fn slots<S: Reverse<Value = f64>>(tape: &Tape<S>) -> usize {
    tape.memory().usage("adjoints").used / size_of::<f64>()
}

/// Makes and drops `n` variables, so that identifiers that are free are used again, with other values.
fn churn<S: Reverse<Value = f64>>(x: &Real<S>, n: usize) {
    let mut last = (x * 1.5).eval();
    for k in 0..n {
        let other = (&last * 0.5 + x * 100.0).eval();
        last = if k % 3 == 0 { (&other * &last).sin().eval() } else { other };
    }
}

#[test]
fn a_variable_takes_16_bytes_and_can_be_sent_and_shared() {
    fn sendable<T: Send + Sync + Clone>() {}
    sendable::<Real<Jacobian<f64, Reuse>>>();
    sendable::<Real<PrimalValue<f64, Reuse>>>();
    sendable::<Real<Hybrid<f64, Reuse>>>();
    assert_eq!(size_of::<Real<Jacobian<f64, Reuse>>>(), 16);
    assert_eq!(size_of::<Real<PrimalValue<f64, Reuse>>>(), 16);
    assert_eq!(size_of::<Real<Hybrid<f64, Reuse>>>(), 16);
    assert_eq!(size_of::<Real<Jacobian<f32, Reuse>>>(), 16);
}
