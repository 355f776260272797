//! Programs: functions that are recorded once and computed for many scenarios, beside a tape for each scenario.

use crate::fuzz::{legend, quietly};
use crate::host::Host;
use crate::launches::{EXACT_MAPS, MAPS, REDUCTIONS, make_arrays};
use crate::program::{
    ARRAYS, BlockKind, Body, Function, Kernel, Launch, Op, Plan, Question, REGISTERS, Slice, SliceFunction, StageKind,
    Step,
};
use crate::shapes::{CLOSED, FUNCTIONS, TEXTS, UPDATES};
use crate::shrink::{lists, numbers, shrink, steps};
use crate::subject::{Single, Width};
use std::sync::Arc;
use std::time::Duration;
use tapewright::programs::{Evaluations, Program, scenarios};
use tapewright::strategies::{InRegisters, Instructions};
use tapewright::{Linear, Number, PrimalValue, Tape};
use tapewright_test_support::Random;

/// Functions that registers compute by formulas of their own, within some units in the last place, and one that may ask
/// for the sign of NaN, which nobody promises; tests of their own compare them.
const INEXACT: [&str; 25] = [
    "copysign(",
    "exp()",
    "exp_m1()",
    "ln()",
    "sin()",
    "cos()",
    "tanh()",
    "exp2()",
    "log2()",
    "log10()",
    "ln_1p()",
    "sinh()",
    "cosh()",
    "tan()",
    "asin()",
    "acos()",
    "atan()",
    "atan2(",
    "powf(",
    "erf",
    "normal_cdf",
    "normal_pdf",
    "sigmoid",
    "softplus",
    "sin_cos",
];
const QUESTIONS: [Question; 8] = {
    use Question::{AtMostLiteral, Equal, Less, LiteralAbove, NotLiteral, Ordered, ScaledAtLeast, ValueAbove};
    [Less, ScaledAtLeast, AtMostLiteral, LiteralAbove, Equal, NotLiteral, Ordered, ValueAbove]
};
const SPECIAL: [f64; 12] =
    [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0, 0.25];

/// A function of parameters and data, and scenarios.
#[derive(Clone, Debug)]
struct Case {
    parameters: Vec<f64>,
    data: Vec<Vec<f64>>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    width: usize,
    most_patterns: usize,
    /// The length of arrays; 0 where there are none.
    length: usize,
    /// All arithmetic is exact.
    exact: bool,
    /// Parameters of an earlier run, so that recordings are used again.
    before: Option<Vec<f64>>,
}

/// Makes cases.
struct Maker {
    random: Random,
    /// How many numbers in 100 are special.
    special: usize,
    /// All arithmetic is exact.
    exact: bool,
    single: bool,
    /// How many steps in 100 have steps inside, and how many have to do with arrays.
    whole: usize,
    launches: usize,
    /// What the latest step wrote to, which is used often where there are launches: results come back into others.
    latest: usize,
}

/// Where steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    depth: usize,
    /// In a block.
    in_block: bool,
}

impl Place {
    const fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl Maker {
    fn number(&mut self) -> f64 {
        if self.random.chance(self.special) {
            *self.random.pick(&SPECIAL)
        } else if self.exact {
            [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0][self.random.below(6)]
        } else {
            // The same number in both precisions.
            #[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
            f64::from(self.random.float(-2.0, 2.0) as f32)
        }
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn case(&mut self) -> Case {
        let (parameters, columns) = (self.random.below(4), self.random.below(4));
        let columns = if parameters + columns == 0 { 1 } else { columns };
        // What has steps inside takes longer.
        let is_plain = self.whole + self.launches == 0;
        let count = match self.random.below(20) {
            0 if is_plain => 1030 + self.random.below(40),
            0 => 60 + self.random.below(20),
            1..5 if is_plain => 1 + self.random.below(150),
            _ => 1 + self.random.below(12),
        };
        let length = 1 + self.random.below(if self.exact { 6 } else { 16 } + self.launches / 5);
        let mut steps = self.steps(length, Place { depth: 0, in_block: false });
        let mut outputs: Vec<usize> = (0..=self.random.below(4)).map(|_| self.random.below(REGISTERS)).collect();
        if self.launches > 0 {
            // Something of each array counts.
            let (kernel, target) = (Kernel::Reduction(0), self.random.below(REGISTERS));
            let sum = |k: usize| Op::Launch(Launch { kernel, arrays: [k, (k + 1) % ARRAYS] });
            let ends = (0..2).map(|k| Step { op: sum(k), args: [0; 3], c: 1.0, target: (target + k) % REGISTERS });
            steps.extend(ends);
            outputs.extend([target, (target + 1) % REGISTERS]);
        }
        Case {
            data: (0..count).map(|_| self.numbers(columns)).collect(),
            length: if self.launches > 0 { [1, 2, 3, 5, 17][self.random.below(5)] } else { 0 },
            steps,
            outputs,
            width: [1, 16, 64, 128][self.random.below(4)],
            exact: self.exact,
            most_patterns: [1, 2, 16][self.random.below(3)],
            before: self.random.chance(30).then(|| self.numbers(parameters)),
            parameters: self.numbers(parameters),
        }
    }

    fn steps(&mut self, count: usize, place: Place) -> Vec<Step> {
        (0..count).map(|_| self.step(place)).collect()
    }

    /// A statement whose bits are the same in registers.
    fn pick(&mut self, texts: &[&str]) -> usize {
        loop {
            let k = self.random.below(texts.len());
            let text: String = texts[k].split_whitespace().collect();
            if INEXACT.iter().all(|name| !text.contains(name)) {
                return k;
            }
        }
    }

    fn step(&mut self, place: Place) -> Step {
        let args = core::array::from_fn(|_| self.random.below(REGISTERS));
        let mut args = if self.random.chance(70) { args.map(|k| k % 5) } else { args };
        let c = self.number();
        let c = if c.is_nan() { 0.25 } else { c };
        let launches = if place.in_block { 0 } else { self.launches };
        let op = if self.random.chance(launches) {
            self.launch()
        } else if place.depth < 2 && self.random.chance(self.whole) {
            self.whole(place)
        } else {
            self.op(place)
        };
        if matches!(op, Op::Fold { .. }) {
            // Others have cosines among them.
            args[1] &= !1;
        }
        if self.launches > 0 && self.random.chance(40) {
            args[0] = self.latest;
        }
        self.latest = self.random.below(REGISTERS);
        Step { op, args, c, target: self.latest }
    }

    fn op(&mut self, place: Place) -> Op {
        let op = match self.random.below(100) {
            0..50 => Op::Shape(self.pick(TEXTS)),
            50..60 if !self.single => Op::Table(self.pick(FUNCTIONS)),
            50..65 => Op::Closed(self.pick(CLOSED)),
            65..75 => Op::Update(self.pick(UPDATES)),
            75..82 => Op::Slice(self.slice()),
            82..85 => Op::Copy,
            85..88 => Op::Constant,
            88..94 if place.depth < 2 => {
                let question = *self.random.pick(&QUESTIONS);
                let (yes, no) = (self.random.below(3), self.random.below(3));
                Op::Branch(question, self.steps(yes, place.inner()), self.steps(no, place.inner()))
            }
            // Without a rule for replays scenarios are recorded alone.
            94..97 => {
                Op::External(Function { kind: self.random.below(3), forward: false, replay: self.random.chance(90) })
            }
            97 if !self.single && !place.in_block => Op::Root,
            _ => Op::Fold { sum: self.random.chance(50), length: self.random.below(5) },
        };
        if self.exact && !matches!(op, Op::Branch(..)) { self.exact_op() } else { op }
    }

    /// An operation with steps inside.
    fn whole(&mut self, place: Place) -> Op {
        match self.random.below(10) {
            0..5 => {
                use StageKind::{Checkpoint, Closure, Missing, Outside, Tuple};
                let kinds: &[StageKind] = if place.in_block {
                    &[Checkpoint, Closure]
                } else {
                    &[Checkpoint, Closure, Missing, Missing, Outside, Tuple]
                };
                let (kind, least) = (*self.random.pick(kinds), usize::from(self.random.chance(90)));
                Op::Stage(kind, self.body(place.inner(), least))
            }
            5..8 => {
                let (schedule, steps, budget) = (self.random.below(6), self.random.below(4), self.random.within(1, 3));
                let known = self.random.chance(80);
                // A schedule that is not told the number of steps does not run for none.
                let steps = if known && schedule < 5 { steps } else { steps.max(1) };
                Op::Loop(Plan { schedule, known, steps, budget }, self.body(place.inner(), 1))
            }
            _ => {
                let reverse = self.exact || self.random.chance(70);
                let kind = if reverse {
                    BlockKind::Reverse
                } else {
                    *self.random.pick(&[BlockKind::Forward, BlockKind::Tangents])
                };
                Op::Block(kind, self.body(Place { in_block: true, ..place.inner() }, 1))
            }
        }
    }

    fn body(&mut self, place: Place, least: usize) -> Arc<Body> {
        let count = self.random.within(1, 4);
        let outputs = if least == 0 { 0 } else { self.random.within(1, 3) };
        Arc::new(Body { inputs: self.random.within(1, 3), steps: self.steps(count, place), outputs })
    }

    /// Something with arrays.
    fn launch(&mut self) -> Op {
        let maps = if self.exact { EXACT_MAPS } else { MAPS.len() };
        let kernel = match self.random.below(100) {
            0..20 => Kernel::Variables,
            20..23 => Kernel::Constants,
            23..33 => Kernel::Copy,
            33..38 => Kernel::Sums,
            38..70 => Kernel::Map(self.random.below(maps)),
            70..85 => Kernel::Reduction(self.random.below(REDUCTIONS.len())),
            85..92 => Kernel::Element,
            92..98 => Kernel::Elements,
            98 => Kernel::Number,
            _ => Kernel::Place,
        };
        Op::Launch(Launch { kernel, arrays: core::array::from_fn(|_| self.random.below(ARRAYS)) })
    }

    /// A statement that is exact on small whole numbers and halves: a sum or a product.
    fn exact_op(&mut self) -> Op {
        loop {
            let k = self.random.below(TEXTS.len());
            let text = TEXTS[k].replace("clone", "").replace("abs", "");
            // Few products, so that numbers stay short.
            let products = text.matches('*').count();
            if products < 2 && !text.contains(|c: char| "/%.".contains(c) || c.is_alphabetic() && !"xyzc".contains(c)) {
                return Op::Shape(k);
            }
        }
    }

    fn slice(&mut self) -> Slice {
        use SliceFunction::{Combination, Dot, LogSumExp, MeanSquare, Sum};
        let function = [Sum, Dot, Combination, LogSumExp, MeanSquare][self.random.below(5)];
        let length = self.random.within(1, 9);
        Slice { function, length, start: self.random.below(REGISTERS), stride: self.random.within(1, 2) }
    }
}

/// What a tape finds of one output in one scenario.
struct OnTape {
    value: f64,
    gradient: Vec<f64>,
    /// How far each derivative moves by rounding: large where large terms cancel, infinite where it becomes infinite or NaN.
    rounding: Vec<f64>,
}

/// Seeds of sweeps whose derivatives, divided by the seed, would be equal without rounding.
const SEEDS: [f64; 6] = [3.0, 5.0, 7.0, 9.0, 11.0, 13.0];

/// Each output in one scenario, from a tape on which bodies stand where they are called, and launches too if they are
/// written out. Also the largest number on the way.
fn by_tape<V: Width>(case: &Case, parameters: &[f64], data: &[f64], written_out: bool) -> (Vec<OnTape>, f64) {
    let mut tape = Tape::<PrimalValue<V, Linear>>::new();
    let inputs: Vec<V> = parameters.iter().chain(data).map(|x| V::from_f64(*x)).collect();
    let (inputs, host) = tape.record(|scope| {
        let inputs = scope.inputs(&inputs);
        let mut host = Host::new(&inputs, &[]);
        host.inline = true;
        make_arrays(&mut host, case.length, written_out);
        host.run(&case.steps, &mut None);
        (inputs, host)
    });
    let (mut largest, moves) = (host.largest, rounds(&case.steps) || !parameters.is_empty());
    let mut of = |k: &usize| {
        let y = &host.registers[*k];
        let mut slopes = |seed: f64| -> Vec<f64> {
            let adjoints = tape.sweep(&[(y, V::from_f64(seed))]).expect("its own output");
            inputs.iter().map(|x| adjoints.of(x).expect("its own input").as_f64() / seed).collect()
        };
        let gradient = slopes(1.0);
        largest = gradient.iter().fold(largest, |most, x| most.max(x.abs()));
        // What is exact does not move, and what is rounded as on a tape is not asked.
        let seeds = if case.length > 0 { &SEEDS[..2] } else { &SEEDS };
        let others: Vec<_> = seeds.iter().filter(|_| moves && !case.exact).map(|seed| slopes(*seed)).collect();
        // What cancels to zero meets no slope; what is left of it by rounding may meet NaN.
        let moved = |a: f64, b: f64| if same(a, b) { 0.0 } else { finite((a - b).abs()).unwrap_or(f64::INFINITY) };
        let most = |(k, x): (usize, &f64)| others.iter().map(|other| moved(other[k], *x)).fold(0.0, f64::max);
        let rounding = gradient.iter().enumerate().map(most).collect();
        OnTape { value: y.value().as_f64(), gradient, rounding }
    };
    (case.outputs.iter().map(&mut of).collect(), largest)
}

/// What tapes find of a scenario: from statements alone, where that is exact.
fn tapes<V: Width>(case: &Case, parameters: &[f64], data: &[f64]) -> Vec<OnTape> {
    if case.exact && case.length > 0 {
        let (found, largest) = by_tape::<V>(case, parameters, data, true);
        if largest < 1e6 {
            return found;
        }
    }
    by_tape::<V>(case, parameters, data, false).0
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn are_same<V: Number>(a: &[V], b: &[V]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a.as_f64(), b.as_f64()))
}

/// How many times the rounding seen on tapes a program's derivative may be off.
const MARGIN: f64 = 64.0;

/// What programs and tapes of one case are compared with.
struct Check<'a> {
    case: &'a Case,
    parameters: &'a [f64],
    /// What tapes find: scenario by scenario, output by output.
    tapes: Vec<Vec<OnTape>>,
    /// How far sums of derivatives may be apart, as a part of what is added up, beside what rounding moves.
    tolerance: f64,
}

impl Check<'_> {
    fn fault<V: Width + InRegisters>(&self, found: &Evaluations<V>) -> Option<String> {
        let outputs = self.case.outputs.len();
        let places = (0..self.tapes.len()).flat_map(|k| (0..outputs).map(move |output| (k, output)));
        let scenario = |(k, output): (usize, usize)| {
            let at = k * outputs + output;
            let slopes: Vec<f64> = found.gradients[at].iter().map(|x: &V| x.as_f64()).collect();
            let what =
                self.fault_of(&self.tapes[k][output], found.values[at].as_f64(), &slopes, || self.growth::<V>(k))?;
            Some(format!("scenario {k}, output {output}: {what}"))
        };
        places
            .into_iter()
            .find_map(scenario)
            .or_else(|| (0..outputs).find_map(|output| self.fault_of_sum(found, output)))
    }

    /// How far the rounding of a step may grow until the end of a scenario: the square of the largest slope of a
    /// register behind any step, relative to its value where that is small.
    fn growth<V: Width>(&self, scenario: usize) -> f64 {
        let behind = |steps: usize| {
            let steps = self.case.steps[..steps].to_vec();
            let case = Case { steps, outputs: (0..REGISTERS).collect(), ..self.case.clone() };
            by_tape::<V>(&case, self.parameters, &self.case.data[scenario], false).0
        };
        let slopes = (0..=self.case.steps.len()).flat_map(behind).flat_map(|OnTape { value, gradient, .. }| {
            let small = value.abs().min(1.0);
            gradient.into_iter().map(move |slope| slope.abs() / small)
        });
        slopes.filter(|slope| slope.is_finite()).fold(1.0, f64::max).powi(2)
    }

    fn fault_of(&self, tape: &OnTape, found: f64, slopes: &[f64], growth: impl FnOnce() -> f64) -> Option<String> {
        let OnTape { value, gradient, rounding } = tape;
        let [expected, rounding] = [gradient, rounding].map(|all| &all[self.parameters.len()..]);
        // Registers multiply by the reciprocal of a divisor; what cancels on one side may meet infinity on the other.
        let rounds = rounds(&self.case.steps);
        let tolerance = if rounds { 100.0 * self.tolerance } else { 0.0 };
        let most = tolerance * gradient.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let close = |((a, b), rounding): ((&f64, &f64), &f64)| {
            let most = if rounds { most + MARGIN * rounding } else { most };
            same(*a, *b) || (a - b).abs() <= most || rounds && !(a - b).is_finite()
        };
        let is_close = slopes.iter().zip(expected).zip(rounding).all(close);
        let is_rounded = || {
            let off = slopes.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            rounds && off <= tolerance * growth()
        };
        let holds = same(found, *value) && (is_close || is_rounded());
        (!holds).then(|| format!("{found} and {slopes:?} instead of {value} and {expected:?}"))
    }

    /// Compares derivatives of a sum, where the tapes' are finite.
    fn fault_of_sum<V: Width + InRegisters>(&self, found: &Evaluations<V>, output: usize) -> Option<String> {
        let gradients = || self.tapes.iter().map(|tape| &tape[output].gradient);
        let scale = gradients().flatten().fold(1.0, |sum, x| sum + x.abs());
        #[allow(clippy::cast_precision_loss, reason = "a small number")]
        let count = self.tapes.len() as f64;
        let mut means = found.mean_gradient(output).into_iter().map(Number::as_f64).enumerate();
        means.find_map(|(k, mean)| {
            let sum: f64 = gradients().map(|gradient| gradient[k]).sum();
            let rounding: f64 = self.tapes.iter().map(|tape| tape[output].rounding[k]).sum();
            // A mean is rounded once more.
            let most = scale * (self.tolerance + f64::EPSILON) + MARGIN * rounding;
            // What is larger was not exact.
            let counts = if self.case.exact { scale < 1e9 } else { scale.is_finite() };
            let off = (mean * count - sum).abs();
            let is_rounded = || {
                let growth: f64 = (0..self.tapes.len()).map(|k| self.growth::<V>(k)).sum();
                rounds(&self.case.steps) && off <= 100.0 * self.tolerance * growth
            };
            let holds = !counts || most == f64::INFINITY || off <= most || is_rounded();
            (!holds).then(|| format!("output {output}, parameter {k}: the mean {mean}, but the sum {sum}"))
        })
    }
}

/// Whether derivatives, or values, are rounded otherwise than on a tape.
fn rounds(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.op {
        Op::Shape(k) => TEXTS[*k].contains('/'),
        Op::Closed(k) => CLOSED[*k].contains('/'),
        Op::Update(k) => UPDATES[*k].contains('/'),
        Op::Branch(_, yes, no) => rounds(yes) || rounds(no),
        // A scenario that is recorded alone has stages and loops apart, whose adjoints are sums of their own.
        Op::Stage(..) | Op::Loop(..) | Op::Launch(_) | Op::Root | Op::Block(..) => true,
        _ => false,
    })
}

/// What is wrong with a case, if anything is.
fn fault<V: Width + InRegisters>(case: &Case) -> Option<String> {
    quietly(|| fault_or_panic::<V>(case)).unwrap_or_else(Some)
}

fn fault_or_panic<V: Width + InRegisters>(case: &Case) -> Option<String> {
    let program = Program::<V>::new(|p, d| {
        let mut host = Host::<Instructions<V>>::new(&[p, d].concat(), &[]);
        make_arrays(&mut host, case.length, false);
        host.run(&case.steps, &mut None);
        case.outputs.iter().map(|k| host.registers[*k]).collect::<Vec<_>>()
    });
    let program = program.in_blocks_of(case.width).most_patterns(case.most_patterns);
    let row = |k: usize, to: &mut [V]| to.iter_mut().zip(&case.data[k]).for_each(|(to, x)| *to = V::from_f64(*x));
    let source = || scenarios(case.data.len(), case.data[0].len(), row);
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    case.before.iter().chain([&case.parameters]).find_map(|parameters| {
        let tapes = case.data.iter().map(|data| tapes::<V>(case, parameters, data)).collect();
        let check = Check { case, parameters, tapes, tolerance: if case.exact { epsilon } else { 1e4 * epsilon } };
        let parameters: Vec<V> = parameters.iter().map(|x| V::from_f64(*x)).collect();
        let [values, some, all] = [
            program.values(&parameters, source()),
            program.gradient(&parameters, source()),
            program.gradients(&parameters, source()),
        ]
        .map(|found| found.expect("it can be computed again"));
        let agree = are_same(&values.values, &all.values)
            && are_same(&some.values, &all.values)
            && (0..case.outputs.len()).all(|k| are_same(&some.mean_gradient(k), &all.mean_gradient(k)));
        if agree { check.fault(&all) } else { Some("results differ with what is asked for".into()) }
    })
}

/// What is tried in place of a case.
fn smaller(old: &Case) -> Vec<Case> {
    let mut found: Vec<Case> = Vec::new();
    found.extend(
        lists(&old.data, 1, |row| numbers(row).into_iter().map(|row| vec![row]).collect())
            .into_iter()
            .map(|data| Case { data, ..old.clone() }),
    );
    found.extend(lists(&old.steps, 0, steps).into_iter().map(|steps| Case { steps, ..old.clone() }));
    found.extend(lists(&old.outputs, 1, |_| Vec::new()).into_iter().map(|outputs| Case { outputs, ..old.clone() }));
    found.extend(numbers(&old.parameters).into_iter().map(|parameters| Case { parameters, ..old.clone() }));
    found.extend(old.before.iter().map(|_| Case { before: None, ..old.clone() }));
    found.extend((old.length > 1).then(|| Case { length: old.length - 1, ..old.clone() }));
    found
}

/// What is wrong with the case of this seed, if anything is, with the smallest case.
#[must_use]
pub fn fault_of_program(seed: u64) -> Option<String> {
    let mut random = Random::new(seed);
    let exact = random.chance(30);
    let single = cfg!(feature = "wide") && !exact && random.chance(40);
    let special = if exact { 0 } else { [0, 5, 40][random.below(3)] };
    let (whole, launches) = [(0, 0), (0, 0), (15, 0), (0, 40), (20, 40)][random.below(5)];
    let launches = if single { 0 } else { launches };
    let case = Maker { random, special, exact, single, whole, launches, latest: 0 }.case();
    let fault = if single { fault::<Single> } else { fault::<f64> };
    let first = fault(&case)?;
    // Another fault may be the smaller one's; so only those of the same kind count.
    let kind = |fault: &str| fault.contains("panicked at");
    let same = |case: &Case| fault(case).is_some_and(|found| kind(&found) == kind(&first));
    let case = shrink(&case, Duration::from_secs(20), smaller, &same);
    let legend = legend(&format!("{case:?}"));
    Some(format!("seed {seed}: {first}\nthe smallest: {}\n{case:?}\n{legend}", fault(&case).unwrap_or_default()))
}
