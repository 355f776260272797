//! Runs programs with variables of the library.

use crate::functions::Given;
use crate::launches::Parts;
use crate::program::{
    ARRAYS, Body, CONSTANTS, NestedKind, Op, Question, REGISTERS, Slice, SliceFunction, StageKind, Step,
};
use crate::shapes::{self, MeanSquare};
use crate::subject::{Subject, leaks};
use crate::{functions, loops, stages};
use std::sync::Arc;
use tapewright::kernels::View;
use tapewright::tape::Position;
use tapewright::{
    Closed, Number, Real, Reverse, Scope, Taping, dot, linear_combination, logsumexp, nary, pause, sum, with_partials,
};

/// What a recording can do beyond statements.
pub(crate) trait Places<S: Taping> {
    /// Registers an input.
    fn input(&mut self, value: S::Value) -> Real<S>;
    /// The place.
    fn position(&self) -> Position;
    /// Puts a callback on the tape.
    fn callback(&mut self, inputs: &[Real<S>], outputs: &[S::Value], given: Given<S::Value>) -> Vec<Real<S>>;
}

impl<S: Reverse> Places<S> for Scope<'_, S> {
    fn input(&mut self, value: S::Value) -> Real<S> {
        Self::input(self, value)
    }
    fn position(&self) -> Position {
        Self::position(self)
    }
    fn callback(&mut self, inputs: &[Real<S>], outputs: &[S::Value], given: Given<S::Value>) -> Vec<Real<S>> {
        self.insert_callback(inputs, outputs, given.callback())
    }
}

/// A position, and the outputs and inputs that there were then.
pub(crate) type Mark = (Position, usize, usize);

/// What a run leaves.
pub(crate) struct Host<S: Taping> {
    /// The variables.
    pub(crate) registers: Vec<Real<S>>,
    /// The values of all variables that were assigned.
    pub(crate) trace: Vec<S::Value>,
    /// The inputs that are registered, and the values of those that are not yet.
    pub(crate) inputs: Vec<Real<S>>,
    pub(crate) late: Vec<S::Value>,
    /// Outputs.
    pub(crate) held: Vec<Real<S>>,
    pub(crate) marks: Vec<Mark>,
    /// Whether each attempt to use a variable inside panicked.
    pub(crate) leaks: Vec<bool>,
    /// Constants that were computed in a pause or inside; those of an earlier run, if there was one.
    pub(crate) frozen: Vec<S::Value>,
    pub(crate) thaw: Option<Vec<S::Value>>,
    /// Arrays: their elements, one array behind the other, or views.
    pub(crate) elements: Vec<Real<S>>,
    pub(crate) views: Vec<View<S, 1>>,
    /// Whether bodies are run where they stand, and roots taken, without what the library has for that.
    pub(crate) inline: bool,
    /// The largest number that was assigned.
    pub(crate) largest: f64,
    /// Whether this is a body, or paused.
    inside: bool,
    paused: bool,
}

impl<S: Subject> Host<S> {
    /// Variables, the first of which are inputs. Further inputs have these values.
    pub(crate) fn new(inputs: &[Real<S>], late: &[S::Value]) -> Self {
        let mut registers = inputs.to_vec();
        registers.extend(CONSTANTS[inputs.len().min(REGISTERS)..].iter().map(|c| Real::from(*c)));
        registers.truncate(REGISTERS);
        Self {
            registers,
            trace: Vec::new(),
            inputs: inputs.to_vec(),
            late: late.iter().rev().copied().collect(),
            held: Vec::new(),
            marks: Vec::new(),
            leaks: Vec::new(),
            frozen: Vec::new(),
            thaw: None,
            elements: Vec::new(),
            views: Vec::new(),
            inline: false,
            largest: 0.0,
            inside: false,
            paused: false,
        }
    }

    fn set(&mut self, target: usize, mut result: Real<S>) {
        // Replays keep what was computed in a pause, and guards there compare it.
        if self.paused && !self.inside && S::is_constant(&result) {
            result = self.constant(result.peek());
        }
        self.note(&result);
        if !self.inside {
            self.trace.push(result.peek());
        }
        self.registers[target % REGISTERS] = result;
    }

    /// Notes how large a number is.
    fn note(&mut self, x: &Real<S>) {
        self.largest = self.largest.max(x.peek().as_f64().abs());
    }

    /// The same for elements of arrays.
    pub(crate) fn note_elements(&mut self) {
        self.largest = self.elements.iter().fold(self.largest, |most, x| most.max(x.peek().as_f64().abs()));
    }

    fn set_all(&mut self, target: usize, results: Vec<Real<S>>) {
        results.into_iter().enumerate().for_each(|(k, result)| self.set(target + k, result));
    }

    /// A constant of this value, or of the value in the earlier run.
    fn constant(&mut self, value: S::Value) -> Real<S> {
        let value = self.thaw.as_ref().and_then(|thaw| thaw.get(self.frozen.len()).copied()).unwrap_or(value);
        self.frozen.push(value);
        Real::constant(value)
    }

    pub(crate) fn arguments(&self, step: &Step, count: usize) -> Vec<Real<S>> {
        step.args[..count].iter().map(|k| self.registers[*k].clone()).collect()
    }

    /// The values that were assigned since the last time.
    pub(crate) fn take_trace(&mut self) -> Vec<f64> {
        core::mem::take(&mut self.trace).into_iter().map(Number::as_f64).collect()
    }

    /// Makes all variables outputs.
    pub(crate) fn hold_all(&mut self) {
        self.held.extend_from_slice(&self.registers);
    }

    /// Runs steps. `places` is there if they are recorded by a tape, directly.
    pub(crate) fn run(&mut self, steps: &[Step], places: &mut Option<&mut dyn Places<S>>) {
        steps.iter().for_each(|step| self.step(step, places));
    }

    fn step(&mut self, step: &Step, places: &mut Option<&mut dyn Places<S>>) {
        match &step.op {
            Op::Pause(steps) => self.pause(step, steps),
            Op::Repeat(times, steps) => (0..*times).for_each(|_| self.run(steps, places)),
            Op::Branch(question, yes, no) => {
                let taken = if ask(*question, step, &self.registers) { yes } else { no };
                self.run(taken, places);
            }
            Op::Input => self.input(step, places),
            Op::Callback(function) => {
                let function = *function;
                let inputs = self.arguments(step, function.counts().0);
                let places = places.as_deref_mut().filter(|_| !self.paused);
                self.set_all(step.target, functions::callback(function, &inputs, places));
            }
            Op::Hold => self.held.push(self.registers[step.args[0]].clone()),
            Op::Mark => {
                if let Some(places) = places.as_deref().filter(|_| !self.paused) {
                    self.marks.push((places.position(), self.held.len(), self.inputs.len()));
                }
            }
            Op::Leak if !self.inside && !self.paused => self.leaks.push(leaks(&self.registers[step.args[0]])),
            Op::Leak => {}
            _ => self.plain_step(step),
        }
    }

    /// Steps that are the same wherever they are.
    fn plain_step(&mut self, step: &Step) {
        let results = match &step.op {
            Op::Update(k) => vec![self.update(*k, step)],
            Op::Slice(slice) => vec![self.slice(slice, step.c)],
            Op::External(function) => {
                functions::external_function(*function, &self.arguments(step, function.counts().0), self.inside)
            }
            Op::Stage(_, body) | Op::Loop(_, body) | Op::Block(_, body) if const { S::INLINE } && self.inline => {
                self.inline(body, step)
            }
            Op::Stage(..) | Op::Loop(..) if !self.views.is_empty() => S::apart(self, step),
            Op::Stage(_, body) => stages::stage(self.inside(body, step), &self.arguments(step, body.inputs)),
            Op::Loop(plan, body) => loops::time_loop(*plan, body, &self.arguments(step, body.inputs)),
            Op::Block(kind, body) => stages::block(*kind, body, &self.arguments(step, body.inputs)),
            // Blocks have no arrays.
            Op::Launch(_) if self.elements.is_empty() && self.views.is_empty() => Vec::new(),
            Op::Launch(_) | Op::Root => S::launch(self, step),
            Op::Nested(kind, body) if const { S::NESTS } => {
                let slopes = self.nested(*kind, body, step);
                slopes.into_iter().map(|slope| self.constant(slope)).collect()
            }
            Op::Given(count) => vec![self.given(*count, step)],
            Op::Fold { sum, length } => vec![self.fold(*sum, *length, step)],
            Op::Copy => vec![self.registers[step.args[0]].clone()],
            Op::Constant => vec![Real::from(step.c)],
            op => vec![self.statement(op, step)],
        };
        self.set_all(step.target, results);
    }

    fn statement(&self, op: &Op, step: &Step) -> Real<S> {
        let [x, y, z] = step.args.map(|k| &self.registers[k]);
        match op {
            Op::Closed(k) => {
                let [x, y, z] = [x, y, z].map(|x| Closed::from(x.clone()));
                shapes::real::closed::<S>(*k, &x, &y, &z, step.c).open()
            }
            Op::Shape(k) => shapes::real::shape::<S>(*k, x, y, z, step.c),
            Op::Table(k) => S::function(*k, [x, y, z], step.c),
            op => unreachable!("{op:?} is no statement"),
        }
    }

    fn update(&mut self, k: usize, step: &Step) -> Real<S> {
        let at = step.target % REGISTERS;
        let [x, y] = [step.args[0], step.args[1]].map(|k| self.registers[k].clone());
        // No other copy of it is left, unless there is one on the right.
        let mut target = core::mem::replace(&mut self.registers[at], Real::undefined());
        shapes::assign::update::<S>(k, &mut target, &x, &y, step.c);
        target
    }

    fn slice(&self, slice: &Slice, c: f64) -> Real<S> {
        let take = |slice: Slice| -> Vec<Real<S>> { slice.registers().map(|k| self.registers[k].clone()).collect() };
        let terms = take(*slice);
        match slice.function {
            SliceFunction::Sum => sum(&terms),
            SliceFunction::Dot => dot(&terms, &take(Slice { start: slice.start + 1, ..*slice })),
            SliceFunction::Combination => {
                let coefficients: Vec<f64> = (0..terms.len()).map(|k| Slice::coefficient(k, c)).collect();
                linear_combination(&coefficients, &terms)
            }
            SliceFunction::LogSumExp => logsumexp(&terms),
            SliceFunction::MeanSquare => mean_square(&terms),
        }
    }

    /// Σ (k + 1)·c·x, with its partials.
    fn given(&self, count: usize, step: &Step) -> Real<S> {
        let inputs = self.arguments(step, count);
        let partials: Vec<S::Value> = given_partials(count, step.c).map(S::Value::from_f64).collect();
        let value = inputs.iter().zip(&partials).fold(S::Value::from_f64(0.0), |sum, (x, p)| sum + x.peek() * *p);
        with_partials(&inputs, value, &partials)
    }

    fn fold(&self, is_sum: bool, length: usize, step: &Step) -> Real<S> {
        let items = (0..length).map(|k| &self.registers[(step.args[0] + k) % REGISTERS]);
        match (is_sum, step.args[1].is_multiple_of(2)) {
            (true, true) => items.sum(),
            (true, false) => items.map(|x| x * step.c).sum(),
            (false, true) => items.product(),
            (false, false) => items.map(|x| x.cos() * step.c).product(),
        }
    }

    /// A stage, and what it sees of the outside.
    pub(crate) fn inside(&self, body: &Arc<Body>, step: &Step) -> Inside<S> {
        let Op::Stage(kind, _) = step.op else { unreachable!("{step:?} is a stage") };
        Inside { kind, body: Arc::clone(body), outside: self.registers[step.args[2]].clone(), c: step.c }
    }

    /// The variables and arrays that go into a body.
    fn parts(&self, body: &Body, step: &Step) -> Parts<S> {
        (self.arguments(step, body.inputs), self.elements.clone(), self.views.clone())
    }

    /// Takes one of the arrays that come out of a body in place of one that went in, if there are any. The variables.
    pub(crate) fn take(&mut self, step: &Step, (results, elements, views): Parts<S>) -> Vec<Real<S>> {
        let [from, to] = [step.args[1], step.target].map(|k| k % ARRAYS);
        let length = elements.len() / ARRAYS;
        let new = &elements[from * length..][..length];
        self.elements[to * length..][..length].clone_from_slice(new);
        if let Some(view) = views.into_iter().nth(from) {
            self.views[to] = view;
        }
        results
    }

    /// Runs a body where it stands.
    fn inline(&mut self, body: &Arc<Body>, step: &Step) -> Vec<Real<S>> {
        let parts = self.parts(body, step);
        let mut largest = self.largest;
        let mut run = |parts: &Parts<S>, times: usize| {
            let (results, new) = run_body_with(body, parts, times, true);
            largest = largest.max(new);
            results
        };
        let results = match &step.op {
            Op::Stage(..) => {
                let inside = self.inside(body, step);
                inside.results(run(&parts, inside.times()))
            }
            Op::Loop(plan, _) => loops::steps(plan.steps, body, parts, |parts| run(parts, 1)),
            _ => (run(&(parts.0, Vec::new(), Vec::new()), 1).0, Vec::new(), Vec::new()),
        };
        self.largest = largest;
        self.take(step, results)
    }

    fn nested(&self, kind: NestedKind, body: &Body, step: &Step) -> Vec<S::Value> {
        let at: Vec<S::Value> = step.args[..body.inputs].iter().map(|k| self.registers[*k].peek()).collect();
        stages::nested::<S>(kind, body, &at)
    }

    /// Runs steps in a pause, on copies; the target's copy becomes a constant.
    fn pause(&mut self, step: &Step, steps: &[Step]) {
        let registers = self.registers.clone();
        let was = core::mem::replace(&mut self.paused, true);
        let result = pause(|| {
            self.run(steps, &mut None);
            self.registers[step.args[0]].clone()
        });
        self.paused = was;
        self.registers = registers;
        let constant = self.constant(result.peek());
        self.set(step.target, constant);
    }

    fn input(&mut self, step: &Step, places: &mut Option<&mut dyn Places<S>>) {
        if self.inside || self.paused {
            return;
        }
        let (Some(value), Some(places)) = (self.late.last().copied(), places.as_deref_mut()) else { return };
        self.late.pop();
        let input = places.input(value);
        self.inputs.push(input.clone());
        self.set(step.target, input);
    }
}

/// Answers the question of a branch.
pub(crate) fn ask<S: Taping>(question: Question, step: &Step, registers: &[Real<S>]) -> bool {
    let [x, y, _] = step.args.map(|k| &registers[k]);
    let c = step.c;
    match question {
        Question::Less => x < y,
        Question::ScaledAtLeast => x * c >= *y,
        Question::AtMostLiteral => *x <= c,
        Question::LiteralAbove => c > *x,
        Question::Equal => x == y,
        Question::NotLiteral => *x != c,
        Question::Ordered => x.partial_cmp(y).is_some(),
        Question::ValueAbove => x.value().as_f64() > S::Value::from_f64(c).as_f64(),
        Question::NotZero | Question::NotOne => stages::closed_question(question, x),
    }
}

/// The partials of a statement that is given them.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
pub(crate) fn given_partials(count: usize, c: f64) -> impl Iterator<Item = f64> {
    (0..count).map(move |k| (k as f64 + 1.0) * c)
}

fn mean_square<S: Taping>(terms: &[Real<S>]) -> Real<S> {
    let half = terms.len() / 2;
    nary::<S, MeanSquare>(&[&terms[..half], &terms[half..]], &[])
}

/// A stage, and what it sees of the outside.
pub(crate) struct Inside<S: Taping> {
    pub(crate) kind: StageKind,
    pub(crate) body: Arc<Body>,
    outside: Real<S>,
    c: f64,
}

impl<S: Subject> Inside<S> {
    /// Runs the body, from its inputs to its outputs.
    pub(crate) fn run(&self, inputs: &[Real<S>]) -> Vec<Real<S>> {
        let results = body_of(inputs, (Vec::new(), Vec::new()), self.times(), &self.body, false).registers;
        if self.is_missing(&results) { Vec::new() } else { results }
    }

    /// The same with arrays.
    pub(crate) fn run_with(&self, inputs: &Parts<S>) -> Parts<S> {
        self.results(run_body_with(&self.body, inputs, self.times(), false).0)
    }

    fn times(&self) -> usize {
        if self.kind == StageKind::Outside && self.outside > self.c { 2 } else { 1 }
    }

    fn is_missing(&self, results: &[Real<S>]) -> bool {
        self.kind == StageKind::Missing && !results.first().is_some_and(|y| *y > self.c)
    }

    fn results(&self, results: Parts<S>) -> Parts<S> {
        if self.is_missing(&results.0) { (Vec::new(), Vec::new(), Vec::new()) } else { results }
    }
}

/// Runs a body so often, with these arrays, from its inputs to its outputs: the first variables.
fn body_of<S: Subject>(
    inputs: &[Real<S>],
    (elements, views): (Vec<Real<S>>, Vec<View<S, 1>>),
    times: usize,
    body: &Body,
    inline: bool,
) -> Host<S> {
    let mut host = Host::<S>::new(inputs, &[]);
    host.inside = true;
    (host.elements, host.views, host.inline) = (elements, views, inline);
    (0..times).for_each(|_| host.run(&body.steps, &mut None));
    host.registers.truncate(body.outputs);
    host
}

/// Runs a body so often: from its inputs to its outputs. Also the largest number on the way.
pub(crate) fn run_body_with<S: Subject>(
    body: &Body,
    (inputs, elements, views): &Parts<S>,
    times: usize,
    inline: bool,
) -> (Parts<S>, f64) {
    let host = body_of(inputs, (elements.clone(), views.clone()), times, body, inline);
    ((host.registers, host.elements, host.views), host.largest)
}

/// Runs a body without arrays.
pub(crate) fn run_body<S: Subject>(body: &Body, inputs: &[Real<S>]) -> Vec<Real<S>> {
    body_of(inputs, (Vec::new(), Vec::new()), 1, body, false).registers
}
