//! Parts of programs that have tapes of their own: stages, time loops, blocks, and derivatives that are computed
//! inside.

use super::number::Num;
use super::run::{Mode, Reg, Run, passive};
use super::tape::{Inner, Rule, Tape};
use super::tree::{put_guards, take_guards};
use crate::program::{BlockKind, Body, NestedKind};
use std::rc::Rc;

impl Run {
    pub(super) fn stage(&mut self, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        let (inner, outputs) = self.inner(inputs, |tape, inputs| run_body(body, tape, inputs));
        self.record(inputs, &outputs, Rule::Inner(inner))
    }

    /// Runs something with a tape of its own.
    fn inner(
        &mut self,
        inputs: &[Reg],
        run: impl FnOnce(Tape, &[Reg]) -> (Tape, Vec<Reg>, bool),
    ) -> (Rc<Inner>, Vec<Num>) {
        let mut tape = Tape::default();
        let own: Vec<Reg> = inputs.iter().map(|x| Reg { var: Some(tape.variable()), value: x.value }).collect();
        let outer = take_guards();
        let (tape, outputs, lost) = run(tape, &own);
        take_guards();
        put_guards(outer);
        self.lost |= lost;
        let values = outputs.iter().map(|y| y.value).collect();
        let (inputs, outputs) = ((0..inputs.len()).collect(), outputs.iter().map(|y| y.var).collect());
        (Rc::new(Inner { tape, inputs, outputs }), values)
    }

    pub(super) fn time_loop(&mut self, steps: usize, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        let count = (inputs.len() - 1).max(1);
        let (inner, values) = self.inner(inputs, |mut tape, inputs| {
            let (mut state, parameters) = (inputs[..count].to_vec(), &inputs[count..]);
            for _ in 0..steps {
                let at: Vec<Reg> = state.iter().chain(parameters).copied().collect();
                let (next_tape, mut next, lost) = run_body(body, tape, &at);
                next.truncate(count);
                next.extend_from_slice(&state[next.len()..]);
                (tape, state) = (next_tape, next);
                if lost {
                    return (tape, state, true);
                }
            }
            (tape, state, false)
        });
        self.record(inputs, &values, Rule::Inner(inner))
    }

    pub(super) fn block(&mut self, kind: BlockKind, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        let (inner, values) = self.inner(inputs, |tape, inputs| run_body(body, tape, inputs));
        if self.lost {
            return values.into_iter().map(passive).collect();
        }
        let rows = if kind == BlockKind::Reverse { inner.rows() } else { inner.rows_forward() };
        if kind == BlockKind::Tangents {
            return self.record(inputs, &values, Rule::Tangents(rows, inner));
        }
        self.partials_only = true;
        values.into_iter().zip(&rows).map(|(value, row)| self.with_partials(value, inputs, row)).collect()
    }

    pub(super) fn nested(&mut self, kind: NestedKind, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        let (inner, _) = self.inner(inputs, |tape, inputs| run_body(body, tape, inputs));
        if self.lost {
            return vec![passive(Num::UNKNOWN); inputs.len()];
        }
        let rows = if kind == NestedKind::Forward { inner.rows_forward() } else { inner.rows() };
        let constant = |slope: &Num| Num { v: slope.v + 0.0, ..*slope };
        // In a run with the constants of another one they are what they were there.
        rows[0].iter().map(|slope| passive(if self.thawed { Num::UNKNOWN } else { constant(slope) })).collect()
    }
}

/// Runs a body behind what is on a tape; also whether it got lost.
fn run_body(body: &Body, tape: Tape, inputs: &[Reg]) -> (Tape, Vec<Reg>, bool) {
    let mut run = Run::within(tape, inputs, Mode::Body);
    run.run(&body.steps);
    run.registers.truncate(body.outputs);
    (run.tape, run.registers, run.lost)
}
