//! Random cases: what a seed stands for.

use crate::program::{
    Action, BlockKind, Body, Case, Function, NestedKind, Op, Plan, Question, REGISTERS, Recording, Seeds, Slice,
    SliceFunction, StageKind, Step,
};
use crate::shapes::{CLOSED, FUNCTIONS, TEXTS, UPDATES};
use std::sync::Arc;
use tapewright_test_support::Random;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const SMALL: [f64; 9] = [0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 1.5, 3.0];
/// Where something overflows, underflows, or has a convention; also in single precision.
const WILD: [f64; 14] =
    [-0.0, INF, -INF, NAN, 0.0, 1e300, -1e300, 1e-300, -1e-310, 5e-324, 1e155, 1e-160, 709.0, -745.0];
const WILD_SINGLE: [f64; 14] =
    [-0.0, INF, -INF, NAN, 0.0, 1e37, -1e37, 1e-37, -1e-40, 1.5e-45, 1e19, 1e-20, 88.0, -103.0];

/// What numbers are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    /// Between −2 and 2.
    Plain,
    /// A few small ones, so that some are equal.
    Ties,
    /// Zeros, infinities, NaN, and numbers of extreme size among them.
    Wild,
}

/// Makes cases.
struct Maker {
    random: Random,
    numbers: Numbers,
    single: bool,
    functions: bool,
    /// Whether the recording is one to be replayed: with branches, and without what cannot be computed again.
    replays: bool,
}

/// Where steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Inside a body.
    inside: bool,
    /// How deep.
    depth: usize,
}

/// The case of this seed.
#[must_use]
pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let single = random.chance(25) && cfg!(feature = "wide");
    let functions = !single && random.chance(50);
    let numbers = match random.below(10) {
        0..5 => Numbers::Plain,
        5..7 => Numbers::Ties,
        _ => Numbers::Wild,
    };
    let mut maker = Maker { random, numbers, single, functions, replays: false };
    let count = 1 + maker.random.below(3);
    Case { single, functions, recordings: (0..count).map(|_| maker.recording()).collect() }
}

impl Maker {
    fn number(&mut self) -> f64 {
        match self.numbers {
            Numbers::Ties => *self.random.pick(&SMALL),
            Numbers::Wild if self.random.chance(35) => {
                *self.random.pick(if self.single { &WILD_SINGLE } else { &WILD })
            }
            Numbers::Wild if self.random.chance(40) => *self.random.pick(&SMALL),
            _ => {
                let x = self.random.float(-2.0, 2.0);
                // Literals and inputs are the same in both precisions.
                #[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
                if self.single { f64::from(x as f32) } else { x }
            }
        }
    }

    /// A literal: never NaN, which bounds of `clamp` may not be.
    fn literal(&mut self) -> f64 {
        let x = self.number();
        if x.is_nan() { 0.25 } else { x }
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn recording(&mut self) -> Recording {
        self.replays = self.random.chance(20);
        let early = self.random.within(1, 4);
        let late = if self.random.chance(20) { self.random.within(1, 3) } else { 0 };
        let inputs = self.numbers(early + late);
        let length = if self.random.chance(5) { 60 } else { 14 };
        let length = self.random.within(1, length);
        let steps = self.steps(length, Place { inside: false, depth: 0 });
        let (guards, aborts, drivers) = (self.random.chance(60), self.random.chance(5), self.random.chance(10));
        let mut recording = Recording { inputs, early, steps, guards, aborts, drivers, actions: Vec::new() };
        let (mut parts, mut replayed) = (1, false);
        for _ in 0..self.random.within(1, 5) {
            let action = self.action(&mut parts, &mut replayed);
            recording.actions.push(action);
        }
        // A new recording is not told what constants bodies have in the one that is replayed.
        recording.guards &= !in_any_part(&recording, |steps| freezes(steps, false));
        // Drivers have recordings without guards, too, in which bodies are not in place.
        recording.drivers &= !(recording.guards && in_any_part(&recording, run_apart));
        recording
    }

    fn steps(&mut self, count: usize, place: Place) -> Vec<Step> {
        (0..count).map(|_| self.step(place)).collect()
    }

    fn step(&mut self, place: Place) -> Step {
        let args = core::array::from_fn(|_| self.random.below(REGISTERS));
        // Inputs are the first variables; near ones are used more often.
        let args = if self.random.chance(60) { args.map(|k| k % 4) } else { args };
        let target = self.random.below(REGISTERS);
        let c = self.literal();
        Step { op: self.op(place), args, c, target }
    }

    /// An operation that can be computed again.
    fn op_to_replay(&mut self, place: Place) -> Op {
        match self.random.below(100) {
            0..60 => self.statement(),
            60..72 => Op::Update(self.random.below(UPDATES.len())),
            72..78 => Op::Closed(self.random.below(CLOSED.len())),
            78..89 if place.depth < 2 => Op::Branch(self.question(), self.few(place, 3), self.few(place, 3)),
            89..94 if place.depth < 2 => loop {
                let op = self.whole(place);
                if !matches!(op, Op::Nested(..)) {
                    return op;
                }
            },
            94..96 if !place.inside => Op::Hold,
            96..98 => Op::External(self.function()),
            _ => Op::Copy,
        }
    }

    fn statement(&mut self) -> Op {
        if self.functions && self.random.chance(60) {
            return Op::Table(self.random.below(FUNCTIONS.len()));
        }
        Op::Shape(self.random.below(TEXTS.len()))
    }

    fn op(&mut self, place: Place) -> Op {
        if self.replays {
            return self.op_to_replay(place);
        }
        let deep = place.depth >= 2;
        match self.random.below(100) {
            0..44 => self.statement(),
            44..55 => Op::Update(self.random.below(UPDATES.len())),
            55..60 => Op::Closed(self.random.below(CLOSED.len())),
            60..66 => Op::Slice(self.slice()),
            66..68 => Op::Given(self.random.within(1, 3)),
            68..70 => Op::Fold { sum: self.random.chance(50), length: self.random.within(1, 4) },
            70..74 => Op::Copy,
            74..76 => Op::Constant,
            76..79 => Op::External(self.function()),
            _ if deep => Op::Copy,
            79..83 => self.compound(place),
            83..93 => self.whole(place),
            _ if place.inside => Op::Update(self.random.below(UPDATES.len())),
            93..95 => Op::Hold,
            95..97 => Op::Mark,
            97 => Op::Callback(self.function()),
            98 => Op::Input,
            _ => Op::Leak,
        }
    }

    /// An operation with other steps in it.
    fn whole(&mut self, place: Place) -> Op {
        match self.random.below(10) {
            0..3 => Op::Branch(self.question(), self.few(place, 3), self.few(place, 3)),
            3..5 => Op::Block(
                *self.random.pick(&[BlockKind::Forward, BlockKind::Reverse, BlockKind::Tangents]),
                self.body(place),
            ),
            5..8 => {
                let kind = *self.random.pick(&[StageKind::Checkpoint, StageKind::Tuple, StageKind::Closure]);
                Op::Stage(kind, self.body(place))
            }
            8 => {
                let (schedule, steps, budget) =
                    (self.random.below(6), self.random.within(1, 6), self.random.within(1, 3));
                let known = self.random.chance(60);
                Op::Loop(Plan { schedule, known, steps, budget }, self.body(place))
            }
            _ => Op::Nested(
                *self.random.pick(&[NestedKind::Tape, NestedKind::Pool, NestedKind::Forward]),
                self.body(place),
            ),
        }
    }

    fn compound(&mut self, place: Place) -> Op {
        let inner = Place { depth: place.depth + 1, ..place };
        if self.random.chance(50) {
            let count = self.random.within(1, 3);
            Op::Pause(self.steps(count, inner))
        } else {
            let (times, count) = (self.random.within(1, 5), self.random.within(1, 4));
            Op::Repeat(times, self.steps(count, inner))
        }
    }

    fn few(&mut self, place: Place, most: usize) -> Vec<Step> {
        let count = self.random.within(0, most);
        self.steps(count, Place { depth: place.depth + 1, ..place })
    }

    fn body(&mut self, place: Place) -> Arc<Body> {
        let inputs = self.random.within(1, 3);
        let count = self.random.within(1, 5);
        let steps = self.steps(count, Place { inside: true, depth: place.depth + 1 });
        Arc::new(Body { inputs, steps, outputs: self.random.within(1, 3) })
    }

    fn slice(&mut self) -> Slice {
        let functions = [
            SliceFunction::Sum,
            SliceFunction::Dot,
            SliceFunction::Combination,
            SliceFunction::LogSumExp,
            SliceFunction::MeanSquare,
        ];
        let length = if self.random.chance(10) { 300 } else { 6 };
        Slice {
            function: *self.random.pick(&functions),
            length: self.random.within(1, length),
            start: self.random.below(REGISTERS),
            stride: self.random.within(0, 3),
        }
    }

    const fn function(&mut self) -> Function {
        Function { kind: self.random.below(3), forward: self.random.chance(70), replay: self.random.chance(70) }
    }

    fn question(&mut self) -> Question {
        *self.random.pick(&[
            Question::Less,
            Question::ScaledAtLeast,
            Question::AtMostLiteral,
            Question::LiteralAbove,
            Question::Equal,
            Question::NotLiteral,
            Question::Ordered,
            Question::ValueAbove,
            Question::NotZero,
            Question::NotOne,
        ])
    }

    fn seeds(&mut self) -> Seeds {
        let count = self.random.within(1, 3);
        (0..count).map(|_| (self.random.below(64), self.number())).collect()
    }

    fn action(&mut self, parts: &mut usize, replayed: &mut bool) -> Action {
        if self.replays && self.random.chance(50) {
            *replayed = true;
            let count = self.random.within(1, 4);
            return Action::Replay(self.numbers(count));
        }
        match self.random.below(100) {
            22..42 => self.lanes(),
            42..55 => Action::Forward { own: self.random.chance(50), tangents: self.numbers(4) },
            55..68 => self.between(),
            68..77 if !*replayed => {
                *parts += 1;
                let (count, more) = (self.random.within(1, 6), self.random.below(3));
                let steps = self.steps(count, Place { inside: false, depth: 0 });
                Action::Resume { inputs: self.numbers(more), steps }
            }
            77..82 => {
                let part = self.random.below(*parts);
                *parts = part + 1;
                Action::ResetTo(part)
            }
            82..94 => {
                *replayed = true;
                let count = self.random.within(1, 4);
                Action::Replay(self.numbers(count))
            }
            94 => Action::Foreign,
            95..99 => {
                Action::Fault { panics: self.random.chance(50), width: self.random.within(1, 3), seeds: self.seeds() }
            }
            99 => Action::Memory,
            _ => Action::Sweep { how: self.random.below(3), seeds: self.seeds() },
        }
    }

    fn lanes(&mut self) -> Action {
        let own = self.random.chance(50);
        let widths: &[usize] = if own { &[1, 2, 3, 4, 8] } else { &[1, 2, 3, 4, 5, 7, 8, 9, 16, 17] };
        let width = *self.random.pick(widths);
        let count = self.random.within(1, 3);
        let seeds = (0..count).map(|_| (self.random.below(64), self.numbers(width))).collect();
        Action::Lanes { own, seeds, width }
    }

    fn between(&mut self) -> Action {
        let stops = self.random.within(0, 3);
        let stops = (0..stops).map(|_| (self.random.below(16), self.seeds())).collect();
        Action::Between { reset: self.random.chance(40), seeds: self.seeds(), stops, finish: self.random.chance(70) }
    }
}

/// Whether this holds for the steps that a recording begins with, or for those with which it goes on.
fn in_any_part(recording: &Recording, holds: impl Fn(&[Step]) -> bool) -> bool {
    let later = |action: &Action| matches!(action, Action::Resume { steps, .. } if holds(steps));
    holds(&recording.steps) || recording.actions.iter().any(later)
}

/// Whether a stage, a time loop or a preaccumulated block is among these steps.
fn run_apart(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.op {
        Op::Stage(..) | Op::Loop(..) | Op::Block(..) => true,
        Op::Pause(steps) | Op::Repeat(_, steps) => run_apart(steps),
        Op::Branch(_, then, otherwise) => run_apart(then) || run_apart(otherwise),
        _ => false,
    })
}

/// Whether there are steps in a body, where these are if `inside`, that make constants of variables.
fn freezes(steps: &[Step], inside: bool) -> bool {
    steps.iter().any(|step| match &step.op {
        Op::Stage(_, body) | Op::Loop(_, body) | Op::Block(_, body) => freezes(&body.steps, true),
        Op::Pause(steps) => inside || freezes(steps, inside),
        Op::Repeat(_, steps) => freezes(steps, inside),
        Op::Branch(_, then, otherwise) => freezes(then, inside) || freezes(otherwise, inside),
        Op::Nested(..) => inside,
        _ => false,
    })
}
