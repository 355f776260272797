//! One function, three strategies: the value, the gradient, and what each tape kept.

use tapewright::prelude::*;

/// The Rosenbrock function of any number of variables.
fn rosenbrock<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let mut sum = Real::from(0.0);
    for pair in x.windows(2) {
        let valley = (pair[1] - pair[0] * pair[0]).eval();
        let slope = (1.0 - pair[0]).eval();
        sum += 100.0 * valley * valley + slope * slope;
    }
    sum
}

fn show<S: Reverse<Value = f64> + Strategy>(name: &str, x: &[f64]) -> Result<(), tapewright::Error> {
    let mut tape = Tape::<S>::new();
    let mut gradient = vec![0.0; x.len()];
    let value = tape.gradient(rosenbrock::<S>, x, &mut gradient)?;
    println!("{name}: f = {value:.6}, gradient = {gradient:.3?}");
    println!("{}", tape.memory());
    Ok(())
}

fn main() -> Result<(), tapewright::Error> {
    let x = [-1.2, 1.0, 0.8, 0.9];
    let primal = rosenbrock::<Passive>(Real::wrap_slice(&x));
    println!("Passive: f = {primal:.6}\n");
    show::<Jacobian>("Jacobian", &x)?;
    show::<PrimalValue>("PrimalValue", &x)
}
