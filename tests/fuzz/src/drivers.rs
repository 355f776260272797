//! Drivers: functions that make their recordings themselves.

use crate::event::Seen;
use crate::host::Host;
use crate::program::Recording;
use crate::session::{Session, number};
use crate::subject::Engine;
use tapewright::{Number, Real, jacobian, vjp};

impl<E: Engine> Session<E> {
    /// Gradients by functions that make their recordings themselves.
    pub(crate) fn drivers(&mut self, recording: &Recording) -> (Vec<Seen>, Vec<f64>) {
        let x: Vec<E::Value> = recording.inputs.iter().map(|x| E::Value::from_f64(*x)).collect();
        let run = |x: &[Real<E>]| run_alone(x, recording).0;
        let (mut gradient, mut trace) = (vec![E::Value::default(); x.len()], Vec::new());
        let first = |x: &[Real<E>]| {
            let (mut outputs, values) = run_alone(x, recording);
            trace = values;
            outputs.swap_remove(0)
        };
        let value = self.tape.gradient(first, &x, &mut gradient).expect("its own output");
        let mut seen = vec![number(value)];
        seen.extend(gradient.into_iter().map(number));
        let (_, rows) = jacobian::<E>(run, &x);
        let seeds: Vec<E::Value> = (0..rows.len()).map(driver_seed).map(E::Value::from_f64).collect();
        let (_, product) = vjp::<E>(run, &x, &seeds).expect("as many seeds as outputs");
        seen.extend(rows.into_iter().flatten().chain(product).map(number));
        (seen, trace)
    }
}

/// The seed of output `k` in drivers.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
pub(crate) fn driver_seed(k: usize) -> f64 {
    1.5 - 0.25 * ((k % 11) as f64)
}

/// Runs a program as a function of its inputs, without late ones; the variables at its end are the first outputs.
/// Also the values of all variables that were assigned.
fn run_alone<E: Engine>(x: &[Real<E>], recording: &Recording) -> (Vec<Real<E>>, Vec<f64>) {
    let mut host = Host::<E>::new(&x[..recording.early], &[]);
    host.run(&recording.steps, &mut None);
    let trace = host.take_trace();
    let mut outputs = core::mem::take(&mut host.registers);
    outputs.append(&mut host.held);
    (outputs, trace)
}
