//! Runs programs with numbers of the oracle, beside the values that the library found.

use super::number::{Num, round};
use super::slices;
use super::tape::{Rule, Tape};
use super::tree::{Kind, Node, guard};
use crate::program::{CONSTANTS, Function, Op, Question, REGISTERS, Slice, Step};
use crate::shapes::{assign_tree, tree};
use crate::subject::InPlace;

/// A variable: what it is on the tape, unless it is passive, and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reg {
    pub(crate) var: Option<usize>,
    pub(crate) value: Num,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On a tape, directly.
    Tape,
    /// In a driver: there are no late inputs, places or callbacks.
    Driver,
    /// Inside another one; the library does not tell its values.
    Body,
}

/// An interpreter of programs.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they have nothing to do with one another")]
pub(crate) struct Run {
    pub(crate) registers: Vec<Reg>,
    pub(crate) tape: Tape,
    pub(crate) inputs: Vec<usize>,
    pub(crate) late: Vec<f64>,
    pub(crate) held: Vec<Reg>,
    /// Numbers of entries, outputs and inputs.
    pub(crate) marks: Vec<(usize, usize, usize)>,
    pub(crate) leaks: Vec<bool>,
    /// The values that the library found, the next one last.
    pub(crate) trace: Vec<f64>,
    /// Whether constants are those of an earlier run.
    pub(crate) thawed: bool,
    /// The first value of the library that is wrong.
    pub(crate) complaint: Option<String>,
    /// Whether a branch depends on digits that are not known; nothing is known from then on.
    pub(crate) lost: bool,
    /// Whether there is a statement of which a replay may not know enough.
    pub(crate) partials_only: bool,
    /// What is recorded in place.
    pub(crate) in_place: InPlace,
    mode: Mode,
    paused: bool,
}

pub(super) const fn passive(value: Num) -> Reg {
    Reg { var: None, value }
}

impl Run {
    /// Begins with these inputs.
    pub(crate) fn new(mode: Mode, inputs: &[f64], late: &[f64], mut trace: Vec<f64>) -> Self {
        trace.reverse();
        let values: Vec<Num> = inputs.iter().map(|x| Num::exact(round(*x))).collect();
        let mut run = Self::within(Tape::default(), &[], mode);
        run.registers = values.into_iter().map(|value| Reg { var: Some(run.tape.variable()), value }).collect();
        run.inputs = (0..inputs.len()).collect();
        run.fill_up();
        (run.trace, run.late) = (trace, late.iter().rev().copied().collect());
        run
    }

    /// Runs behind what is on a tape.
    pub(super) fn within(tape: Tape, inputs: &[Reg], mode: Mode) -> Self {
        let mut run = Self {
            registers: inputs.to_vec(),
            tape,
            inputs: Vec::new(),
            late: Vec::new(),
            held: Vec::new(),
            marks: Vec::new(),
            leaks: Vec::new(),
            trace: Vec::new(),
            thawed: false,
            complaint: None,
            lost: false,
            partials_only: false,
            in_place: InPlace::Nothing,
            mode,
            paused: false,
        };
        run.fill_up();
        run
    }

    fn fill_up(&mut self) {
        let rest = CONSTANTS[self.registers.len().min(REGISTERS)..].iter();
        self.registers.extend(rest.map(|c| passive(Num::exact(*c))));
        self.registers.truncate(REGISTERS);
    }

    fn set(&mut self, target: usize, mut result: Reg, what: &dyn Fn() -> String) {
        if self.paused && self.thawed && result.var.is_none() {
            result.value = Num::UNKNOWN;
        }
        if self.mode != Mode::Body {
            match self.trace.pop() {
                Some(found) => {
                    if !self.lost && !result.value.agrees(found) {
                        let own = result.value;
                        self.complaint.get_or_insert_with(|| format!("{}: value {found:e}, expected {own:?}", what()));
                    }
                    result.value = Num::exact(found);
                }
                None => _ = self.complaint.get_or_insert_with(|| "the library computed fewer values".into()),
            }
        }
        self.registers[target % REGISTERS] = result;
    }

    pub(crate) fn hold_all(&mut self) {
        self.held.extend_from_slice(&self.registers);
    }

    pub(crate) fn run(&mut self, steps: &[Step]) {
        for step in steps {
            if self.complaint.is_some() || self.lost {
                return;
            }
            self.step(step);
        }
    }

    fn args(&self, step: &Step, count: usize) -> Vec<Reg> {
        step.args[..count].iter().map(|k| self.registers[*k]).collect()
    }

    fn step(&mut self, step: &Step) {
        let top = self.mode == Mode::Tape && !self.paused;
        match &step.op {
            Op::Pause(steps) => self.pause(step, steps),
            Op::Repeat(times, steps) => (0..*times).for_each(|_| self.run(steps)),
            Op::Branch(question, yes, no) => {
                let taken = if self.ask(*question, step) { yes } else { no };
                self.run(taken);
            }
            Op::Input if top => {
                if let Some(value) = self.late.pop() {
                    let var = self.tape.variable();
                    self.inputs.push(var);
                    self.set(step.target, Reg { var: Some(var), value: Num::exact(round(value)) }, &|| "input".into());
                }
            }
            Op::Hold => self.held.push(self.registers[step.args[0]]),
            Op::Mark if top => self.marks.push((self.tape.entries.len(), self.held.len(), self.inputs.len())),
            Op::Leak if self.mode != Mode::Body && !self.paused => {
                self.leaks.push(self.registers[step.args[0]].var.is_some());
            }
            Op::Input | Op::Mark | Op::Leak => {}
            _ => {
                let results = self.results(step);
                let what = || format!("{step:?}");
                results.into_iter().enumerate().for_each(|(k, result)| self.set(step.target + k, result, &what));
            }
        }
    }

    fn results(&mut self, step: &Step) -> Vec<Reg> {
        match &step.op {
            Op::Shape(k) => {
                let [x, y, z] = self.leaves(step);
                vec![self.open(&tree::shape(*k, &x, &y, &z, step.c))]
            }
            Op::Table(k) => {
                let [x, y, z] = self.leaves(step);
                vec![self.open(&tree::function(*k, &x, &y, &z, step.c))]
            }
            Op::Closed(k) => {
                let [x, y, z] = self.leaves(step);
                let result = tree::closed(*k, &x, &y, &z, step.c);
                vec![self.closed(&result)]
            }
            Op::Update(k) => {
                let [x, y, _] = self.leaves(step);
                let mut target = leaf(self.registers[step.target % REGISTERS]);
                assign_tree::update(*k, &mut target, &x, &y, step.c);
                vec![self.open(&target)]
            }
            Op::Slice(slice) => vec![self.slice(slice, step.c)],
            Op::External(function) | Op::Callback(function) => self.function(*function, step),
            Op::Stage(_, body) | Op::Block(_, body) if self.has_in_place(&step.op) => {
                self.run_in_place(body, &self.args(step, body.inputs))
            }
            Op::Loop(plan, body) if self.has_in_place(&step.op) => {
                self.loop_in_place(plan.steps, body, &self.args(step, body.inputs))
            }
            Op::Stage(_, body) => self.stage(body, &self.args(step, body.inputs)),
            Op::Loop(plan, body) => self.time_loop(plan.steps, body, &self.args(step, body.inputs)),
            Op::Block(kind, body) => self.block(*kind, body, &self.args(step, body.inputs)),
            Op::Nested(kind, body) => self.nested(*kind, body, &self.args(step, body.inputs)),
            Op::Given(count) => vec![self.given(&self.args(step, *count), step.c)],
            Op::Fold { sum, length } => vec![self.fold(*sum, *length, step)],
            Op::Copy => vec![self.registers[step.args[0]]],
            Op::Constant => vec![passive(Num::exact(round(step.c)))],
            op => unreachable!("{op:?} has no results"),
        }
    }

    /// Whether the recording has this operation in place: not in a pause, in which nothing is recorded.
    fn has_in_place(&self, op: &Op) -> bool {
        !self.paused && self.in_place.has(op)
    }

    fn leaves(&self, step: &Step) -> [Node; 3] {
        step.args.map(|k| leaf(self.registers[k]))
    }

    /// A statement with these terms, unless all are passive.
    fn statement(&mut self, value: Num, terms: Vec<(usize, Num)>, active: bool) -> Reg {
        Reg { var: (active && !self.paused).then(|| self.tape.statement(terms)), value }
    }

    /// An expression as one statement.
    fn open(&mut self, node: &Node) -> Reg {
        if let Kind::Leaf(number) = node.kind() {
            return Reg { var: node.is_active().then_some(*number), value: node.value() };
        }
        self.statement(node.value(), node.partials(&mut |_| None), node.is_active())
    }

    /// Closed arithmetic: a statement for each operation.
    fn closed(&mut self, node: &Node) -> Reg {
        self.closed_part(node, &mut Vec::new())
    }

    fn closed_part(&mut self, node: &Node, done: &mut Vec<(Node, Reg)>) -> Reg {
        if matches!(node.kind(), Kind::Leaf(_)) || !node.is_active() {
            return self.open(node);
        }
        if let Some((_, reg)) = done.iter().find(|(other, _)| other.is(node)) {
            return *reg;
        }
        let mut below = Vec::new();
        children_of_statement(node, &mut below);
        let below: Vec<(Node, Reg)> = below.into_iter().map(|x| (x.clone(), self.closed_part(&x, done))).collect();
        let terms = node.partials(&mut |x| below.iter().find(|(other, _)| other.is(x)).map(|(_, reg)| reg.var));
        let reg = self.statement(node.value(), terms, true);
        done.push((node.clone(), reg));
        reg
    }

    fn slice(&mut self, slice: &Slice, c: f64) -> Reg {
        let take = |slice: Slice| -> Vec<Reg> { slice.registers().map(|k| self.registers[k]).collect() };
        let mut terms = take(*slice);
        if slice.function == crate::program::SliceFunction::Dot {
            terms.extend(take(Slice { start: slice.start + 1, ..*slice }));
        }
        let values: Vec<Num> = terms.iter().map(|x| x.value).collect();
        let (value, partials) = slices::slice(slice.function, &values, c);
        self.partials_only |= terms.iter().any(|x| x.var.is_none());
        self.with_partials(value, &terms, &partials)
    }

    pub(super) fn with_partials(&mut self, value: Num, arguments: &[Reg], partials: &[Num]) -> Reg {
        let terms: Vec<(usize, Num)> =
            arguments.iter().zip(partials).filter_map(|(x, partial)| Some((x.var?, *partial))).collect();
        let active = !terms.is_empty();
        self.statement(value, terms, active)
    }

    fn given(&mut self, arguments: &[Reg], c: f64) -> Reg {
        let partials: Vec<Num> =
            crate::host::given_partials(arguments.len(), c).map(|p| Num::exact(round(p))).collect();
        let value = slices::inner(&arguments.iter().map(|x| x.value).collect::<Vec<_>>(), &partials);
        self.partials_only = true;
        self.with_partials(value, arguments, &partials)
    }

    fn fold(&mut self, is_sum: bool, length: usize, step: &Step) -> Reg {
        let mut whole: Option<Node> = None;
        for k in 0..length {
            let x = leaf(self.registers[(step.args[0] + k) % REGISTERS]);
            let item = match (is_sum, step.args[1].is_multiple_of(2)) {
                (_, true) => x,
                (true, false) => x * step.c,
                (false, false) => x.cos() * step.c,
            };
            // The first item begins it, and is a statement unless it is a variable.
            let next = match whole {
                None => item,
                Some(whole) if is_sum => whole + item,
                Some(whole) => whole * item,
            };
            whole = Some(leaf(self.open(&next)));
        }
        let whole = whole.unwrap_or_else(|| Node::from(if is_sum { 0.0 } else { 1.0 }));
        self.open(&whole)
    }

    fn function(&mut self, function: Function, step: &Step) -> Vec<Reg> {
        let inputs = self.args(step, function.counts().0);
        let (values, rows) = slices::function(function.kind, &inputs.iter().map(|x| x.value).collect::<Vec<_>>());
        let called = matches!(step.op, Op::Callback(_));
        // Callbacks have no other rules; where there is no tape they are external functions.
        let forward = match self.mode {
            Mode::Body => true,
            _ if called => self.mode == Mode::Driver,
            _ => function.forward,
        };
        let rule = Rule::Matrix { rows, forward };
        if called && self.mode == Mode::Tape && !self.paused {
            // It is on the tape whatever its inputs are.
            return self.put(&inputs, &values, rule);
        }
        self.record(&inputs, &values, rule)
    }

    pub(super) fn record(&mut self, inputs: &[Reg], values: &[Num], rule: Rule) -> Vec<Reg> {
        if self.paused || inputs.iter().all(|x| x.var.is_none()) {
            return values.iter().map(|value| passive(*value)).collect();
        }
        self.put(inputs, values, rule)
    }

    fn put(&mut self, inputs: &[Reg], values: &[Num], rule: Rule) -> Vec<Reg> {
        let outputs = self.tape.function(inputs.iter().map(|x| x.var).collect(), values.len(), rule);
        outputs.into_iter().zip(values).map(|(var, value)| Reg { var: Some(var), value: *value }).collect()
    }

    fn pause(&mut self, step: &Step, steps: &[Step]) {
        let registers = self.registers.clone();
        let was = core::mem::replace(&mut self.paused, true);
        self.run(steps);
        let result = self.registers[step.args[0]].value;
        (self.paused, self.registers) = (was, registers);
        if self.complaint.is_none() && !self.lost {
            let result = if self.thawed { Num::UNKNOWN } else { result };
            self.set(step.target, passive(result), &|| format!("{step:?}"));
        }
    }

    fn ask(&mut self, question: Question, step: &Step) -> bool {
        let [x, y, _] = step.args.map(|k| self.registers[k]);
        let (a, b, c) = (x.value.v, y.value.v, round(step.c));
        let two = x.var.is_some() || y.var.is_some();
        let (answer, active, near) = match question {
            Question::Less => (a < b, two, a - b),
            Question::ScaledAtLeast => (round(a * c) >= b, two, round(a * c) - b),
            Question::AtMostLiteral => (a <= c, x.var.is_some(), a - c),
            Question::LiteralAbove => (c > a, x.var.is_some(), a - c),
            Question::Equal => (a == b, two, a - b),
            Question::NotLiteral => (a != c, x.var.is_some(), a - c),
            Question::Ordered => (a.partial_cmp(&b).is_some(), two, 1.0),
            Question::ValueAbove => (a > c, x.var.is_some(), a - c),
            Question::NotZero => (a != 0.0, x.var.is_some(), a),
            Question::NotOne => (a != 1.0, x.var.is_some(), a - 1.0),
        };
        let exact = x.value.is_exact() && y.value.is_exact();
        self.lost |= !exact && near.is_nan() | (near.abs() <= 4.0 * (x.value.e * (1.0 + c.abs()) + y.value.e));
        // A replay has to find a value that was read, which is uncertain where its last bits are.
        self.lost |= question == Question::ValueAbove && active && !x.value.is_exact();
        // The comparison answers more than the question.
        let order = a.partial_cmp(&b).map_or(7, |order| order as i8);
        let answered = match question {
            Question::Ordered => u64::from((order + 1).unsigned_abs()),
            Question::ValueAbove if a.is_nan() => u64::MAX,
            Question::ValueAbove => a.to_bits(),
            _ => u64::from(answer),
        };
        guard(active, answered);
        answer
    }
}

fn leaf(reg: Reg) -> Node {
    Node::variable(reg.var.unwrap_or(usize::MAX), reg.value, reg.var.is_some())
}

/// The operands of the statement that an operation of closed arithmetic is.
fn children_of_statement(node: &Node, found: &mut Vec<Node>) {
    let mut child = |x: &Node| if x.is_part() { children_of_statement(x, found) } else { found.push(x.clone()) };
    match node.kind() {
        Kind::Leaf(_) | Kind::Literal => {}
        Kind::Un(_, x) => child(x),
        Kind::Bin(_, x, y) => {
            child(x);
            child(y);
        }
        Kind::Rule(_, arguments) => arguments.iter().for_each(child),
    }
}
