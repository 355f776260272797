//! Forward mode, which keeps no tape, and wins where there are few inputs.

use super::entrant::{Entrant, Evaluations, Start, Work};
use super::names;
use crate::advisor::program::Program;
use crate::error::Error;
use crate::forward::jacobian_forward;
use crate::tape::{Scope, Tape};
use core::marker::PhantomData;
use std::hint::black_box;
use tapewright_strategies::{Counting, Forward, MemoryReport, Strategy, Tangent};

/// Largest number of inputs for which forward mode is tried without being asked for: they take four runs of the
/// function.
const FEW: usize = 32;

/// Directions of one run, for functions of this many inputs; `None` if there are too many inputs, or none.
pub(crate) const fn directions(inputs: usize) -> Option<usize> {
    match inputs {
        0 => None,
        1 => Some(1),
        2..=4 => Some(4),
        5..=FEW => Some(8),
        _ => None,
    }
}

/// The usual strategy of forward mode for a program at `x`, by name, if there are few inputs.
pub(crate) fn usual<'p, P: Program>(program: &'p P, x: &'p [f64]) -> Option<(String, Start<'p>)> {
    match directions(x.len())? {
        1 => Some(start::<Tangent<1>, P>(program, x)),
        4 => Some(start::<Tangent<4>, P>(program, x)),
        _ => Some(start::<Tangent<8>, P>(program, x)),
    }
}

/// Name of a strategy, and the function that makes its entrant unless an external function has no forward rule.
pub(crate) fn start<'p, S, P>(program: &'p P, x: &'p [f64]) -> (String, Start<'p>)
where
    S: Strategy<Value = f64> + Forward,
    P: Program,
{
    let start = move |clock| {
        let entrant =
            Forwarded { program, evaluations: Evaluations::new(program, x, clock), strategy: PhantomData::<S> };
        Ok(has_rules(program, x).then(|| Box::new(entrant) as Box<dyn Entrant + 'p>))
    };
    (names::of::<S>(), Box::new(start))
}

/// Returns true if all external functions of a program have a forward rule.
fn has_rules<P: Program>(program: &P, x: &[f64]) -> bool {
    let mut tape = Tape::<Counting>::new();
    tape.record(|scope: &mut Scope<'_, _>| program.run(&scope.inputs(x)));
    tape.owned().has_forward_rules()
}

/// A program in forward mode.
struct Forwarded<'p, S, P> {
    program: &'p P,
    evaluations: Evaluations<'p, P>,
    strategy: PhantomData<S>,
}

/// Value and gradient at `x`.
fn gradient<S: Strategy<Value = f64> + Forward>(program: &impl Program, x: &[f64]) -> (f64, Vec<f64>) {
    let (values, mut rows) = jacobian_forward::<S>(|x| vec![program.run(x)], x);
    (values[0], rows.swap_remove(0))
}

impl<S: Strategy<Value = f64> + Forward, P: Program> Entrant for Forwarded<'_, S, P> {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        self.evaluations.sum(|x| Ok(gradient::<S>(self.program, x)))
    }

    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }

    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        if work == Work::Record {
            return Ok(0.0); // There is nothing to record.
        }
        self.evaluations.run(count, |x| {
            black_box(gradient::<S>(self.program, x));
            Ok(())
        })
    }
}
