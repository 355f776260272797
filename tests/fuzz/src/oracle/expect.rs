//! What should be seen when a case is done.

use super::number::{Num, Sum, round, set_single};
use super::run::{Mode, Reg, Run};
use super::tree::{take_guards, take_nan_sign};
use crate::drivers::driver_seed;
use crate::event::{Event, Seen, Want};
use crate::program::{Action, Case, Recording, Seeds, Step};
use crate::session::order;
use crate::subject::InPlace;

/// A part of a recording, as it was at its end.
struct Part {
    steps: Vec<Step>,
    given: Vec<f64>,
    /// Numbers of entries, outputs and inputs; of marks, variables and answers.
    end: (usize, usize, usize),
    rest: (usize, usize, usize),
    registers: Vec<Reg>,
    partials_only: bool,
}

/// A recording.
struct Recorded {
    run: Run,
    early: Vec<f64>,
    parts: Vec<Part>,
    guards: Vec<u64>,
    /// The vector of sweeps from position to position, and whether the latest has not got to the start.
    between: Vec<Sum>,
    unfinished: bool,
}

/// What should be seen, event by event; nothing where that is not known. Or the value that is wrong.
/// `in_place` says what recordings with guards have in place.
pub(crate) fn expect(case: &Case, events: &[Event], in_place: InPlace) -> Result<Vec<Option<Vec<Want>>>, String> {
    set_single(case.single);
    take_guards();
    let mut events = events.iter();
    let mut wants = Vec::new();
    for recording in &case.recordings {
        if recording.drivers {
            let event = events.next().ok_or("too few events")?;
            wants.push(drivers(recording, event)?);
        }
        let event = events.next().ok_or("too few events")?;
        let in_place = if recording.guards { in_place } else { InPlace::Nothing };
        let mut recorded = Recorded::new(recording, event, in_place);
        recorded.complain()?;
        wants.push((!recorded.run.lost).then(|| recorded.facts()));
        for action in &recording.actions {
            let event = events.next().ok_or("too few events")?;
            let want = if recorded.run.lost { None } else { recorded.act(action, recording, event) };
            recorded.complain()?;
            wants.push(want.filter(|_| !recorded.run.lost));
        }
    }
    Ok(wants)
}

fn drivers(recording: &Recording, event: &Event) -> Result<Option<Vec<Want>>, String> {
    let (early, late) = recording.inputs.split_at(recording.early);
    let mut run = Run::new(Mode::Driver, early, late, event.trace.clone());
    run.run(&recording.steps);
    take_guards();
    if let Some(complaint) = &run.complaint {
        return Err(format!("{}: {complaint}", event.what));
    }
    let mut outputs = run.registers.clone();
    outputs.append(&mut run.held);
    if run.lost {
        return Ok(None);
    }
    let row = |seeds: &dyn Fn(usize) -> f64| -> Vec<Want> {
        let mut adjoints = vec![Sum::ZERO; run.tape.variables];
        for (k, y) in outputs.iter().enumerate() {
            let var = y.var.map(|var| &mut adjoints[var]);
            var.into_iter().for_each(|sum| sum.add(Num::exact(round(seeds(k)))));
        }
        run.tape.reverse(0..run.tape.entries.len(), &mut adjoints);
        let late = late.iter().map(|_| Num::ZERO);
        run.inputs.iter().map(|x| adjoints[*x].get()).chain(late).map(Want::Number).collect()
    };
    let unit = |k: usize| move |i: usize| if i == k { 1.0 } else { 0.0 };
    let mut wants = vec![Want::Number(outputs[0].value)];
    wants.extend(row(&unit(0)));
    let columns = columns(&run, recording, &outputs);
    for k in 0..outputs.len() {
        let found = row(&unit(k)).into_iter().enumerate();
        wants.extend(found.map(|(j, want)| match (want, columns.as_ref().and_then(|columns| columns.get(j))) {
            // What is not finite in a row is never found by columns.
            (Want::Number(reverse), Some(column)) if reverse.v.is_finite() => Want::Either(reverse, column[k]),
            (want, _) => want,
        }));
    }
    wants.extend(row(&driver_seed));
    Ok(Some(wants))
}

/// The columns of a Jacobian matrix by forward sweeps, where the library may choose these: there are many rows, and
/// all functions that a tangent reaches have forward rules.
fn columns(run: &Run, recording: &Recording, outputs: &[Reg]) -> Option<Vec<Vec<Num>>> {
    if outputs.len() <= recording.inputs.len() + 4 {
        return None;
    }
    let column = |x: &usize| {
        let mut tangents = vec![Num::ZERO; run.tape.variables];
        tangents[*x] = Num::ONE;
        run.tape.forward_past(&mut tangents).ok()?;
        Some(outputs.iter().map(|y| y.var.map_or(Num::ZERO, |y| tangents[y])).collect())
    };
    run.inputs.iter().map(column).collect()
}

impl Recorded {
    fn new(recording: &Recording, event: &Event, in_place: InPlace) -> Self {
        let (early, late) = recording.inputs.split_at(recording.early);
        let mut run = Run::new(Mode::Tape, early, late, event.trace.clone());
        run.in_place = in_place;
        let early = recording.inputs.clone();
        let mut recorded =
            Self { run, early, parts: Vec::new(), guards: Vec::new(), between: Vec::new(), unfinished: false };
        recorded.part(&recording.steps, &recording.inputs);
        recorded
    }

    fn complain(&self) -> Result<(), String> {
        self.run.complaint.clone().map_or(Ok(()), Err)
    }

    /// Runs steps as a part.
    fn part(&mut self, steps: &[Step], given: &[f64]) {
        self.run.run(steps);
        self.guards.extend(take_guards());
        if self.run.complaint.is_some() || self.run.lost {
            return;
        }
        if !self.run.trace.is_empty() {
            self.run.complaint = Some("the library computed more values".into());
        }
        let run = &mut self.run;
        run.hold_all();
        let end = (run.tape.entries.len(), run.held.len(), run.inputs.len());
        run.marks.push(end);
        let rest = (run.marks.len(), run.tape.variables, self.guards.len());
        let (steps, given, registers) = (steps.to_vec(), given.to_vec(), run.registers.clone());
        self.parts.push(Part { steps, given, end, rest, registers, partials_only: run.partials_only });
    }

    fn facts(&self) -> Vec<Want> {
        let active = self.run.held.iter().map(|y| y.var.is_some()).collect();
        vec![Want::Facts(active), Want::Facts(self.run.leaks.clone())]
    }

    fn seed(&self, adjoints: &mut [Sum], seeds: impl Iterator<Item = (usize, f64)>, among: usize) {
        for (k, seed) in seeds {
            if let Some(var) = self.run.held[k % among].var {
                adjoints[var].add(Num::exact(round(seed)));
            }
        }
    }

    /// The adjoints of all variables after a sweep.
    fn swept(&self, seeds: impl Iterator<Item = (usize, f64)>) -> Vec<Sum> {
        let mut adjoints = vec![Sum::ZERO; self.run.tape.variables];
        self.seed(&mut adjoints, seeds, self.run.held.len());
        self.run.tape.reverse(0..self.run.tape.entries.len(), &mut adjoints);
        adjoints
    }

    fn inputs(&self, adjoints: &[Sum]) -> Vec<Num> {
        self.run.inputs.iter().map(|x| adjoints[*x].get()).collect()
    }

    /// The adjoints of inputs and outputs after a sweep; those that are no inputs have been consumed.
    fn asked(&self, adjoints: &[Sum]) -> Vec<Num> {
        let input = |y: &Reg| y.var.filter(|var| self.run.inputs.contains(var));
        let others = self.run.held.iter().map(|y| input(y).map_or(Num::ZERO, |var| adjoints[var].get()));
        self.inputs(adjoints).into_iter().chain(others).collect()
    }

    fn act(&mut self, action: &Action, recording: &Recording, event: &Event) -> Option<Vec<Want>> {
        let ok = || Want::Words(vec!["ok"]);
        Some(match action {
            Action::Sweep { seeds, .. } => {
                let adjoints = self.swept(seeds.iter().copied());
                core::iter::once(ok()).chain(self.asked(&adjoints).into_iter().map(Want::Number)).collect()
            }
            Action::Lanes { seeds, width, .. } => self.lanes(*width, seeds),
            Action::Forward { tangents, .. } => return self.forward(tangents),
            Action::Between { reset, seeds, stops, finish } => self.stops(*reset, seeds, stops, *finish),
            Action::Resume { inputs, steps } => {
                self.run.late = inputs.iter().rev().copied().collect();
                self.run.trace = event.trace.iter().rev().copied().collect();
                self.part(steps, inputs);
                self.facts()
            }
            Action::ResetTo(part) => self.reset_to(*part),
            Action::Replay(inputs) => return self.replay(inputs, recording, event),
            Action::Foreign => {
                let foreign = || Want::Words(vec!["foreign variable"]);
                vec![foreign(), foreign(), foreign(), Want::Words(vec!["length mismatch"])]
            }
            Action::Fault { .. } if self.run.tape.has_functions() => vec![Want::Any],
            Action::Fault { .. } => vec![ok()],
            Action::Memory => vec![Want::Facts(vec![true])],
        })
    }

    fn lanes(&self, width: usize, seeds: &[(usize, Vec<f64>)]) -> Vec<Want> {
        let lane = |lane: usize| self.asked(&self.swept(seeds.iter().map(|(k, seeds)| (*k, seeds[lane]))));
        let lanes: Vec<Vec<Num>> = (0..width).map(lane).collect();
        let mut wants = vec![Want::Facts(vec![true])];
        for x in 0..self.run.inputs.len() + self.run.held.len() {
            wants.extend(lanes.iter().map(|lane| Want::Number(lane[x])));
        }
        wants
    }

    fn forward(&self, along: &[f64]) -> Option<Vec<Want>> {
        let mut tangents = vec![Num::ZERO; self.run.tape.variables];
        self.run.inputs.iter().zip(along).for_each(|(x, tangent)| tangents[*x] = Num::exact(round(*tangent)));
        if let Err(sure) = self.run.tape.forward(&mut tangents) {
            return sure.then(|| vec![Want::Words(vec!["no rule"])]);
        }
        let outputs = self.run.held.iter().map(|y| y.var.map_or(Num::ZERO, |y| tangents[y])).map(Want::Number);
        Some(core::iter::once(Want::Words(vec!["ok"])).chain(outputs).collect())
    }

    fn stops(&mut self, reset: bool, seeds: &Seeds, stops: &[(usize, Seeds)], finish: bool) -> Vec<Want> {
        let mut adjoints = core::mem::take(&mut self.between);
        if reset || self.unfinished {
            adjoints.clear();
        }
        adjoints.resize(self.run.tape.variables, Sum::ZERO);
        let mut wants = Vec::new();
        let mut at = self.run.tape.entries.len();
        self.seed(&mut adjoints, seeds.iter().copied(), self.run.held.len());
        for (to, seeds) in order(stops, self.run.marks.len()) {
            let to = self.run.marks[to];
            self.run.tape.reverse(to.0..at, &mut adjoints);
            let there =
                self.run.held[..to.1].iter().map(|y| y.var).chain(self.run.inputs[..to.2].iter().map(|x| Some(*x)));
            wants.extend(there.map(|y| Want::Number(y.map_or(Num::ZERO, |y| adjoints[y].get()))));
            if to.1 > 0 {
                self.seed(&mut adjoints, seeds.iter().copied(), to.1);
            }
            at = to.0;
        }
        if finish {
            self.run.tape.reverse(0..at, &mut adjoints);
            wants.extend(self.inputs(&adjoints).into_iter().map(Want::Number));
        }
        (self.between, self.unfinished) = (adjoints, !finish);
        wants
    }

    fn reset_to(&mut self, part: usize) -> Vec<Want> {
        let part = part % self.parts.len();
        if part + 1 == self.parts.len() {
            return Vec::new();
        }
        let stale = self.run.held.last().is_some_and(|y| y.var.is_some());
        self.parts.truncate(part + 1);
        let (keep, run) = (&self.parts[part], &mut self.run);
        run.tape.entries.truncate(keep.end.0);
        run.held.truncate(keep.end.1);
        run.inputs.truncate(keep.end.2);
        run.marks.truncate(keep.rest.0);
        run.tape.variables = keep.rest.1;
        self.between.truncate(keep.rest.1);
        self.guards.truncate(keep.rest.2);
        run.registers.clone_from(&keep.registers);
        run.partials_only = keep.partials_only;
        vec![Want::Words(vec![if stale { "foreign variable" } else { "ok" }]), Want::Words(vec!["stale position"])]
    }

    /// A run of all parts with these inputs, whose values are those that the library found.
    fn again(&self, values: &[f64], recording: &Recording, event: &Event) -> (Run, Vec<u64>) {
        let (early, late) = values.split_at(recording.early);
        let mut run = Run::new(Mode::Tape, early, late, event.trace.clone());
        (run.thawed, run.in_place) = (true, self.run.in_place);
        for (k, part) in self.parts.iter().enumerate() {
            if k > 0 {
                run.late = part.given.iter().rev().copied().collect();
            }
            run.run(&part.steps);
            run.hold_all();
            run.marks.push((run.tape.entries.len(), run.held.len(), run.inputs.len()));
        }
        (run, take_guards())
    }

    fn replay(&mut self, inputs: &[f64], recording: &Recording, event: &Event) -> Option<Vec<Want>> {
        let Some([Seen::Word(outcome), ..]) = event.seen.as_deref() else {
            // The strategy cannot do it, and goes no further.
            self.run.lost = true;
            return None;
        };
        let mut values = self.early.clone();
        let count = inputs.len().min(recording.early);
        values[..count].copy_from_slice(&inputs[..count]);
        take_nan_sign();
        let (run, guards) = self.again(&values, recording, event);
        if take_nan_sign() || run.lost || run.complaint.is_some() {
            // A branch that is not guarded may lead to other constants than the ones that are kept; so may the sign of
            // a NaN, because a step function of a NaN is kept as the NaN that it was.
            self.run.lost = true;
            let strange = run.complaint.filter(|_| guards == self.guards);
            self.run.complaint = strange;
            return None;
        }
        let words = self.replay_words(recording.guards && guards != self.guards);
        if *outcome != "ok" {
            return Some(vec![Want::Words(words)]);
        }
        let same = guards == self.guards;
        if same {
            self.early = values;
            self.run = run;
        } else {
            self.run.lost = true;
        }
        Some(vec![Want::Words(words), if same { Want::Facts(vec![true]) } else { Want::Any }])
    }

    /// How a replay may come out.
    fn replay_words(&self, changed: bool) -> Vec<&'static str> {
        let mut words = vec![if changed { "branch changed" } else { "ok" }];
        if self.run.partials_only {
            words.push("unsupported");
        }
        if self.run.tape.has_functions() {
            words.extend(["no rule", "rule"]);
        }
        words
    }
}
