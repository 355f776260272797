//! Functions whose derivatives are given by rules.

use crate::host::Places;
use crate::program::Function;
use crate::subject::Subject;
use core::cell::Cell;
use std::sync::Mutex;
use tapewright::external::CallbackAdjoints;
use tapewright::{Number, Real, Rules, SweepError, Taping, external};

/// What rules do when they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// What they should.
    None,
    /// They fail.
    Error,
    /// They panic.
    Panic,
}

thread_local! {
    /// What rules on this thread do.
    pub(crate) static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
}

fn may_fail() -> Result<(), SweepError> {
    match FAULT.get() {
        Fault::None => Ok(()),
        Fault::Error => Err(SweepError::rule("a function", "as told")),
        Fault::Panic => panic!("a rule panics, as told"),
    }
}

/// A function with the partials of its outputs, output by output.
pub(crate) struct Given<V> {
    inputs: usize,
    partials: Vec<V>,
}

/// The outputs of a function, and its partials.
fn outputs<V: Number>(kind: usize, x: &[V]) -> (Vec<V>, Vec<V>) {
    let (one, zero) = (V::ONE, V::ZERO);
    match kind % 3 {
        0 => (vec![x[0] * x[1], x[0] + x[1]], vec![x[1], x[0], one, one]),
        1 => (vec![x[0].sin(), x[0].cos()], vec![x[0].cos(), -x[0].sin()]),
        _ => (vec![x[0] * x[1] * x[2], x[2] - x[0]], vec![x[1] * x[2], x[0] * x[2], x[0] * x[1], -one, zero, one]),
    }
}

impl<V: Number> Given<V> {
    /// Adds output·partial to the inputs, where zero times anything is zero.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) {
        for (row, output) in self.partials.chunks_exact(self.inputs).zip(outputs) {
            for (input, partial) in inputs.iter_mut().zip(row) {
                if !output.is_nought() && !partial.is_nought() {
                    *input += *output * *partial;
                }
            }
        }
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) {
        for (row, output) in self.partials.chunks_exact(self.inputs).zip(outputs) {
            for (input, partial) in inputs.iter().zip(row) {
                if !input.is_nought() && !partial.is_nought() {
                    *output += *input * *partial;
                }
            }
        }
    }

    /// The same as a callback.
    pub(crate) fn callback(
        self,
    ) -> impl Fn(&mut CallbackAdjoints<'_, V>) -> Result<(), SweepError> + Send + Sync + 'static {
        move |adjoints: &mut CallbackAdjoints<'_, V>| {
            may_fail()?;
            let outputs: Vec<V> = (0..adjoints.outputs()).map(|k| adjoints.get_and_reset_output(k)).collect();
            let mut inputs = vec![V::ZERO; adjoints.inputs()];
            self.reverse(&outputs, &mut inputs);
            inputs.into_iter().enumerate().for_each(|(j, input)| adjoints.increment_input(j, input));
            Ok(())
        }
    }
}

/// The values of outputs, and the function as rules.
fn rules<V: Number>(function: Function, at: &[V], must_have_all: bool) -> (Vec<V>, Rules<V>) {
    let (values, partials) = outputs(function.kind, at);
    let given = std::sync::Arc::new(Mutex::new(Given { inputs: at.len(), partials }));
    let [reverse, forward, replay] = core::array::from_fn(|_| std::sync::Arc::clone(&given));
    let mut rules = Rules::new("a function", move |outputs: &[V], inputs: &mut [V]| {
        may_fail()?;
        reverse.lock().expect("no panic under the lock").reverse(outputs, inputs);
        Ok(())
    });
    if function.forward || must_have_all {
        rules = rules.forward(move |inputs, outputs| {
            may_fail()?;
            forward.lock().expect("no panic under the lock").forward(inputs, outputs);
            Ok(())
        });
    }
    if function.replay {
        rules = rules.replay(move |at, values| {
            let (new, partials) = outputs(function.kind, at);
            values.copy_from_slice(&new);
            replay.lock().expect("no panic under the lock").partials = partials;
            Ok(())
        });
    }
    (values, rules)
}

/// An external function of these inputs. Under forward mode, and in bodies, which may run under forward mode, it has
/// a forward rule.
pub(crate) fn external_function<S: Subject>(function: Function, inputs: &[Real<S>], inside: bool) -> Vec<Real<S>> {
    let at: Vec<S::Value> = inputs.iter().map(Real::peek).collect();
    let (values, rules) = rules(function, &at, inside || !S::TAPED);
    external(inputs, &values, rules)
}

/// The same as a callback, where there is a recording to put it on.
pub(crate) fn callback<S: Subject>(
    function: Function,
    inputs: &[Real<S>],
    places: Option<&mut (dyn Places<S> + '_)>,
) -> Vec<Real<S>> {
    let Some(places) = places else { return external_function(function, inputs, true) };
    let at: Vec<<S as Taping>::Value> = inputs.iter().map(Real::peek).collect();
    let (values, partials) = outputs(function.kind, &at);
    places.callback(inputs, &values, Given { inputs: at.len(), partials })
}
