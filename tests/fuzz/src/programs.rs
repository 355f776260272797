//! Programs: functions that are recorded once and computed for many scenarios, beside a tape for each scenario.

use crate::functions::by_rules;
use crate::fuzz::legend;
use crate::host::ask;
use crate::program::{CONSTANTS, Function, Op, Question, REGISTERS, Slice, SliceFunction, Step};
use crate::shapes::{self, CLOSED, FUNCTIONS, MeanSquare, TEXTS, UPDATES};
use crate::subject::Width;
use tapewright::policy::Strict;
use tapewright::programs::{Evaluations, Program, scenarios};
use tapewright::strategies::{InRegisters, Instructions};
use tapewright::{
    Closed, Linear, Number, PrimalValue, Real, Tape, Taping, dot, linear_combination, logsumexp, nary, sum,
};
use tapewright_test_support::Random;

/// Functions that registers compute by formulas of their own, within some units in the last place; tests of their own
/// compare them.
const ESTIMATED: [&str; 24] = [
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
        let count = match self.random.below(20) {
            0 => 1030 + self.random.below(40),
            1..5 => 1 + self.random.below(150),
            _ => 1 + self.random.below(12),
        };
        let length = 1 + self.random.below(if self.exact { 6 } else { 16 });
        let steps = self.steps(length, 0);
        let outputs = (0..=self.random.below(4)).map(|_| self.random.below(REGISTERS)).collect();
        Case {
            data: (0..count).map(|_| self.numbers(columns)).collect(),
            steps,
            outputs,
            width: [1, 16, 64, 128][self.random.below(4)],
            exact: self.exact,
            most_patterns: [1, 2, 16][self.random.below(3)],
            before: self.random.chance(30).then(|| self.numbers(parameters)),
            parameters: self.numbers(parameters),
        }
    }

    fn steps(&mut self, count: usize, depth: usize) -> Vec<Step> {
        (0..count).map(|_| self.step(depth)).collect()
    }

    /// A statement whose bits are the same in registers.
    fn pick(&mut self, texts: &[&str]) -> usize {
        loop {
            let k = self.random.below(texts.len());
            let text: String = texts[k].split_whitespace().collect();
            if ESTIMATED.iter().all(|name| !text.contains(name)) {
                return k;
            }
        }
    }

    fn step(&mut self, depth: usize) -> Step {
        let args = core::array::from_fn(|_| self.random.below(REGISTERS));
        let args = if self.random.chance(70) { args.map(|k| k % 5) } else { args };
        let c = self.number();
        let c = if c.is_nan() { 0.25 } else { c };
        let op = match self.random.below(100) {
            0..50 => Op::Shape(self.pick(TEXTS)),
            50..60 if !self.single => Op::Table(self.pick(FUNCTIONS)),
            50..65 => Op::Closed(self.pick(CLOSED)),
            65..75 => Op::Update(self.pick(UPDATES)),
            75..82 => Op::Slice(self.slice()),
            82..85 => Op::Copy,
            85..88 => Op::Constant,
            88..94 if depth < 2 => {
                let question = *self.random.pick(&QUESTIONS);
                let (yes, no) = (self.random.below(3), self.random.below(3));
                Op::Branch(question, self.steps(yes, depth + 1), self.steps(no, depth + 1))
            }
            94..97 => {
                // Without a rule for replays scenarios are recorded alone.
                Op::External(Function { kind: self.random.below(3), forward: false, replay: self.random.chance(90) })
            }
            _ => Op::Fold { sum: self.random.chance(50), length: self.random.below(5) },
        };
        let op = if self.exact && !matches!(op, Op::Branch(..)) { self.exact_op() } else { op };
        Step { op, args, c, target: self.random.below(REGISTERS) }
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

/// Runs steps; the registers afterwards.
fn run<S: Taping<Policy = Strict, Value: Width>>(inputs: &[Real<S>], steps: &[Step]) -> Vec<Real<S>> {
    let mut registers = inputs.to_vec();
    registers.extend(CONSTANTS[inputs.len().min(REGISTERS)..].iter().map(|c| Real::from(*c)));
    run_steps(&mut registers, steps);
    registers
}

fn run_steps<S: Taping<Policy = Strict, Value: Width>>(registers: &mut [Real<S>], steps: &[Step]) {
    for step in steps {
        if let Op::Branch(question, yes, no) = &step.op {
            let taken = if ask(*question, step, registers) { yes } else { no };
            run_steps(registers, taken);
            continue;
        }
        if let Op::External(function) = step.op {
            let arguments: Vec<_> = step.args[..function.counts().0].iter().map(|k| registers[*k].clone()).collect();
            for (k, result) in by_rules(function, &arguments, false).into_iter().enumerate() {
                registers[(step.target + k) % REGISTERS] = result;
            }
            continue;
        }
        let result = result_of(step, registers);
        registers[step.target] = result;
    }
}

fn result_of<S: Taping<Policy = Strict, Value: Width>>(step: &Step, registers: &mut [Real<S>]) -> Real<S> {
    let [x, y, z] = step.args.map(|k| registers[k].clone());
    match &step.op {
        Op::Shape(k) => shapes::real::shape::<S>(*k, &x, &y, &z, step.c),
        Op::Table(k) => S::Value::function::<S>(*k, [&x, &y, &z], step.c),
        Op::Closed(k) => {
            let [x, y, z] = [x, y, z].map(Closed::from);
            shapes::real::closed::<S>(*k, &x, &y, &z, step.c).open()
        }
        Op::Update(k) => {
            let mut target = core::mem::replace(&mut registers[step.target], Real::undefined());
            shapes::assign::update::<S>(*k, &mut target, &x, &y, step.c);
            target
        }
        Op::Slice(slice) => {
            let of = |slice: Slice| -> Vec<Real<S>> { slice.registers().map(|k| registers[k].clone()).collect() };
            function_of_slices(slice, step.c, &of)
        }
        Op::Fold { sum, length } => {
            let items = (0..*length).map(|k| &registers[(step.args[0] + k) % REGISTERS]);
            if *sum { items.sum() } else { items.product() }
        }
        Op::Copy => x,
        Op::Constant => Real::from(step.c),
        op => unreachable!("{op:?} is not drawn"),
    }
}

fn function_of_slices<S: Taping<Value: Width>>(slice: &Slice, c: f64, of: &dyn Fn(Slice) -> Vec<Real<S>>) -> Real<S> {
    let terms = of(*slice);
    match slice.function {
        SliceFunction::Sum => sum(&terms),
        SliceFunction::Dot => dot(&terms, &of(Slice { start: slice.start + 1, ..*slice })),
        SliceFunction::Combination => {
            let coefficients: Vec<f64> = (0..terms.len()).map(|k| Slice::coefficient(k, c)).collect();
            linear_combination(&coefficients, &terms)
        }
        SliceFunction::LogSumExp => logsumexp(&terms),
        SliceFunction::MeanSquare => nary::<S, MeanSquare>(&[&terms], &[]),
    }
}

/// What a tape finds of one output in one scenario.
struct OnTape {
    value: f64,
    gradient: Vec<f64>,
    /// How far each derivative moves by rounding: large where large terms cancel.
    rounding: Vec<f64>,
}

/// Seeds of sweeps whose derivatives, divided by the seed, would be equal without rounding.
const SEEDS: [f64; 6] = [3.0, 5.0, 7.0, 9.0, 11.0, 13.0];

/// Each output in one scenario, from a tape.
fn by_tape<V: Width>(case: &Case, parameters: &[f64], data: &[f64]) -> Vec<OnTape> {
    let mut tape = Tape::<PrimalValue<V, Linear>>::new();
    let inputs: Vec<V> = parameters.iter().chain(data).map(|x| V::from_f64(*x)).collect();
    let (inputs, registers) = tape.record(|scope| {
        let inputs = scope.inputs(&inputs);
        let registers = run(&inputs, &case.steps);
        (inputs, registers)
    });
    let mut of = |k: &usize| {
        let y = &registers[*k];
        let mut slopes = |seed: f64| -> Vec<f64> {
            let adjoints = tape.sweep(&[(y, V::from_f64(seed))]).expect("its own output");
            inputs.iter().map(|x| adjoints.of(x).expect("its own input").as_f64() / seed).collect()
        };
        let gradient = slopes(1.0);
        // What is exact does not move.
        let others: Vec<_> = SEEDS.iter().filter(|_| !case.exact).map(|seed| slopes(*seed)).collect();
        let moves = |(k, x): (usize, &f64)| others.iter().map(|other| (other[k] - x).abs()).fold(0.0, f64::max);
        let rounding = gradient.iter().enumerate().map(moves).collect();
        OnTape { value: y.value().as_f64(), gradient, rounding }
    };
    case.outputs.iter().map(&mut of).collect()
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
            let what = self.fault_of(&self.tapes[k][output], found.values[at].as_f64(), &slopes)?;
            Some(format!("scenario {k}, output {output}: {what}"))
        };
        places
            .into_iter()
            .find_map(scenario)
            .or_else(|| (0..outputs).find_map(|output| self.fault_of_sum(found, output)))
    }

    fn fault_of(&self, tape: &OnTape, found: f64, slopes: &[f64]) -> Option<String> {
        let OnTape { value, gradient, rounding } = tape;
        let [expected, rounding] = [gradient, rounding].map(|all| &all[self.parameters.len()..]);
        // Registers multiply by the reciprocal of a divisor; what cancels on one side may meet infinity on the other.
        let divides = divides(&self.case.steps);
        let tolerance = if divides { 100.0 * self.tolerance } else { 0.0 };
        let most = tolerance * gradient.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let close = |((a, b), rounding): ((&f64, &f64), &f64)| {
            let most = if divides { most + MARGIN * rounding } else { most };
            same(*a, *b) || (a - b).abs() <= most || divides && !(a - b).is_finite()
        };
        let holds = same(found, *value) && slopes.iter().zip(expected).zip(rounding).all(close);
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
            let holds = !counts || (mean * count - sum).abs() <= most;
            (!holds).then(|| format!("output {output}, parameter {k}: the mean {mean}, but the sum {sum}"))
        })
    }
}

fn divides(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.op {
        Op::Shape(k) => TEXTS[*k].contains('/'),
        Op::Closed(k) => CLOSED[*k].contains('/'),
        Op::Update(k) => UPDATES[*k].contains('/'),
        Op::Branch(_, yes, no) => divides(yes) || divides(no),
        _ => false,
    })
}

/// What is wrong with a case, if anything is.
fn fault<V: Width + InRegisters>(case: &Case) -> Option<String> {
    let program = Program::<V>::new(|p, d| {
        let registers = run::<Instructions<V>>(&[p, d].concat(), &case.steps);
        case.outputs.iter().map(|k| registers[*k]).collect::<Vec<_>>()
    });
    let program = program.in_blocks_of(case.width).most_patterns(case.most_patterns);
    let row = |k: usize, to: &mut [V]| to.iter_mut().zip(&case.data[k]).for_each(|(to, x)| *to = V::from_f64(*x));
    let source = || scenarios(case.data.len(), case.data[0].len(), row);
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    case.before.iter().chain([&case.parameters]).find_map(|parameters| {
        let tapes = case.data.iter().map(|data| by_tape::<V>(case, parameters, data)).collect();
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

/// The case without parts that a fault does not need.
fn smallest(mut case: Case, is_faulty: &dyn Fn(&Case) -> bool) -> Case {
    for part in 0..3 {
        let mut k = 0;
        loop {
            let mut less = case.clone();
            match part {
                0 if k < less.steps.len() => drop(less.steps.remove(k)),
                1 if k < less.data.len() && less.data.len() > 1 => drop(less.data.remove(k)),
                2 if k < less.outputs.len() && less.outputs.len() > 1 => _ = less.outputs.remove(k),
                _ => break,
            }
            if is_faulty(&less) { case = less } else { k += 1 }
        }
    }
    case
}

/// What is wrong with the case of this seed, if anything is, with the smallest case.
#[must_use]
pub fn fault_of_program(seed: u64) -> Option<String> {
    let mut random = Random::new(seed);
    let exact = random.chance(30);
    let single = cfg!(feature = "wide") && !exact && random.chance(40);
    let special = if exact { 0 } else { [0, 5, 40][random.below(3)] };
    let case = Maker { random, special, exact, single }.case();
    let fault = if single { fault::<f32> } else { fault::<f64> };
    let first = fault(&case)?;
    let case = smallest(case, &|case| fault(case).is_some());
    let legend = legend(&format!("{case:?}"));
    Some(format!("seed {seed}: {first}\nthe smallest: {}\n{case:?}\n{legend}", fault(&case).unwrap_or_default()))
}
