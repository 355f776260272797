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
        let (inner, values) = self.inner(inputs, |mut tape, inputs| {
            let mut lost = false;
            let state = all_steps(steps, inputs, |at| {
                if lost {
                    return Vec::new();
                }
                let next;
                (tape, next, lost) = run_body(body, core::mem::take(&mut tape), at);
                next
            });
            (tape, state, lost)
        });
        self.record(inputs, &values, Rule::Inner(inner))
    }

    /// Runs a body whose statements are those of the recording.
    pub(super) fn run_in_place(&mut self, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        if self.lost {
            return Vec::new();
        }
        let mut run = Self::within(core::mem::take(&mut self.tape), inputs, Mode::Body);
        run.in_place = self.in_place;
        run.run(&body.steps);
        run.registers.truncate(body.outputs);
        self.tape = run.tape;
        self.lost |= run.lost;
        self.partials_only |= run.partials_only;
        run.registers
    }

    pub(super) fn loop_in_place(&mut self, steps: usize, body: &Body, inputs: &[Reg]) -> Vec<Reg> {
        all_steps(steps, inputs, |at| self.run_in_place(body, at))
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

/// The state of a loop after all steps, given what makes the first variables of the next one.
fn all_steps(steps: usize, inputs: &[Reg], mut step: impl FnMut(&[Reg]) -> Vec<Reg>) -> Vec<Reg> {
    let (state, parameters) = inputs.split_at((inputs.len() - 1).max(1));
    (0..steps).fold(state.to_vec(), |state, _| {
        let at: Vec<Reg> = state.iter().chain(parameters).copied().collect();
        let mut next = step(&at);
        next.truncate(state.len());
        next.extend_from_slice(&state[next.len()..]);
        next
    })
}

/// Runs a body behind what is on a tape; also whether it got lost.
fn run_body(body: &Body, tape: Tape, inputs: &[Reg]) -> (Tape, Vec<Reg>, bool) {
    let mut run = Run::within(tape, inputs, Mode::Body);
    run.run(&body.steps);
    run.registers.truncate(body.outputs);
    (run.tape, run.registers, run.lost)
}
