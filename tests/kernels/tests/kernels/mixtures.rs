//! Random programs of all launches and transfers, in rank 4 and in both precisions, against scalar statements.

mod plain;
mod stages;
mod steps;
#[cfg(feature = "threads")]
mod threaded;
mod views;
mod ways;

use super::at_every_level;
use plain::Plain;
use steps::{KINDS, ODD_KINDS, Shape, Step, number, odd as odd_number};
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright::strategies::same;
use tapewright::{Float, Number};
use tapewright_test_support::Random;
use views::Views;

const SHAPES: [Shape; 8] =
    [[1, 1, 1, 1], [2, 1, 3, 4], [1, 3, 1, 9], [3, 2, 2, 2], [1, 1, 2, 19], [2, 2, 1, 8], [4, 1, 1, 3], [1, 2, 2, 17]];

/// A program, and where it starts.
struct Program<V> {
    shape: Shape,
    steps: Vec<Step>,
    views: Vec<Vec<V>>,
    numbers: Vec<V>,
    /// For all elements of the views in the end, and then for the numbers; the sum of their absolute values is below
    /// 1.
    seeds: Vec<V>,
}

impl<V: Number> Program<V> {
    fn random(seed: u64) -> Self {
        Self::of(seed, &KINDS)
    }

    fn of(seed: u64, kinds: &[&'static str]) -> Self {
        Self::of_shape(seed, SHAPES[Random::new(seed.wrapping_mul(77)).below(SHAPES.len())], kinds)
    }

    fn of_shape(seed: u64, shape: Shape, kinds: &[&'static str]) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let n: usize = shape.iter().product();
        let steps = (0..4 + random.below(9)).map(|_| Step::random(&mut random, shape, kinds)).collect();
        let mut program = Self { shape, steps, views: Vec::new(), numbers: Vec::new(), seeds: Vec::new() };
        program.start_at(seed);
        let scale = V::from_f64((3 * n + 2) as f64);
        program.seeds = (0..3 * n + 2).map(|_| number::<V>(&mut random) / scale).collect();
        program
    }

    fn start_at(&mut self, seed: u64) {
        let mut random = Random::new(seed.wrapping_mul(77) + 5);
        let n: usize = self.shape.iter().product();
        self.views = (0..3).map(|_| (0..n).map(|_| number(&mut random)).collect()).collect();
        self.numbers = (0..2).map(|_| number(&mut random)).collect();
    }

    /// Values and adjoints by scalar statements.
    fn by_statements(&self) -> (Vec<V>, Vec<V>) {
        let mut tape = Tape::<Jacobian<V>>::new();
        let (inputs, outputs) = tape.record(|scope| {
            let views: Vec<_> = self.views.iter().map(|view| scope.inputs(view)).collect();
            let numbers = scope.inputs(&self.numbers);
            let inputs = [views.concat(), numbers.clone()].concat();
            let mut state = Plain { shape: self.shape, views, numbers };
            self.steps.iter().for_each(|step| state.run(step));
            (inputs, [state.views.concat(), state.numbers].concat())
        });
        let values = outputs.iter().map(|x| x.value()).collect();
        let adjoints = tape.sweep_all(&outputs, &self.seeds).expect("swept");
        (values, adjoints.of_all(&inputs).expect("inputs"))
    }
}

/// A recording of a program.
struct Made<S: Reverse> {
    tape: Tape<S>,
    start: Views<S>,
    outputs: Vec<Real<S>>,
}

fn run<S: Taping>(program: &Program<S::Value>, state: &mut Views<S>) -> Vec<Real<S>> {
    program.steps.iter().for_each(|step| state.run(step));
    let mut outputs: Vec<_> = state.views.iter().flat_map(View::to_variables).collect();
    outputs.extend_from_slice(&state.numbers);
    outputs
}

impl<S: Reverse> Made<S> {
    fn of(program: &Program<S::Value>, mut tape: Tape<S>) -> Self {
        let (start, outputs) = tape.record(|scope| {
            let views = program.views.iter().map(|view| scope.view(program.shape, view)).collect();
            let start = Views { views, numbers: scope.inputs(&program.numbers) };
            let outputs = run(program, &mut start.clone());
            (start, outputs)
        });
        Self { tape, start, outputs }
    }

    fn values(&self) -> Vec<S::Value> {
        self.outputs.iter().map(Real::value).collect()
    }

    fn gradient(&mut self, seeds: &[S::Value]) -> Vec<S::Value> {
        let adjoints = self.tape.sweep_all(&self.outputs, seeds).expect("swept");
        let views = self.start.views.iter().flat_map(|view| adjoints.of_view(view).expect("an input").into_owned());
        let mut all: Vec<_> = views.collect();
        all.extend(adjoints.of_all(&self.start.numbers).expect("inputs"));
        all
    }
}

fn bits<V: Number>(numbers: &[V]) -> Vec<u64> {
    numbers.iter().map(|x| x.as_f64().to_bits()).collect()
}

/// Each of at most 12 steps has less than 80 operations and sums of 80 terms, and adjoints' absolute values add up to
/// less than 1 all the way.
fn tolerance<V: Number>() -> f64 {
    1024.0 * <V::Lane as Float>::epsilon().as_f64()
}

#[track_caller]
fn close<V: Number>(found: &[V], expected: &[V], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found.as_f64() - expected.as_f64()).abs();
        assert!(difference <= tolerance::<V>(), "{what}, number {k}: {found} and not {expected}");
    }
}

fn agrees<S: Reverse>(seed: u64, tape: impl Fn() -> Tape<S>) {
    let program = Program::<S::Value>::random(seed);
    let (values, expected) = program.by_statements();
    let what = format!("program {seed} of shape {:?}: {:?}", program.shape, program.steps);
    let mut made = Made::of(&program, tape());
    assert_eq!(bits(&made.values()), bits(&values), "{what}");
    let gradient = made.gradient(&program.seeds);
    close(&gradient, &expected, &what);
    assert_eq!(bits(&made.gradient(&program.seeds)), bits(&gradient), "a second sweep of {what}");
}

#[test]
fn programs_have_the_values_and_adjoints_of_statements() {
    for seed in 0..150 {
        agrees::<Jacobian>(seed, Tape::new);
        agrees::<Jacobian<f32>>(seed + 1000, Tape::new);
    }
}

/// Whether both are NaN, or infinite with one sign, or close to one another.
#[track_caller]
fn alike<V: Number>(found: &[V], expected: &[V], within: f64, what: &str) {
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found.as_f64() - expected.as_f64()).abs();
        let same = found.as_f64() == expected.as_f64() || same(*found, *expected) || difference <= within;
        assert!(same, "{what}, number {k}: {found} and not {expected}");
    }
}

fn odd<V: Number>(seed: u64, values_too: bool) {
    let (mut program, mut random) = (Program::<V>::of(seed, &ODD_KINDS), Random::new(seed));
    program.seeds.iter_mut().for_each(|x| *x = odd_number(&mut random, *x));
    if values_too {
        program.views.iter_mut().flatten().chain(&mut program.numbers).for_each(|x| *x = odd_number(&mut random, *x));
    }
    let (values, expected) = program.by_statements();
    let what = format!("program {seed} of shape {:?}: {:?}", program.shape, program.steps);
    let found = at_every_level(|| {
        let mut made = Made::<Jacobian<V>>::of(&program, Tape::new());
        alike(&made.values(), &values, 0.0, &format!("values of {what}"));
        let gradient = made.gradient(&program.seeds);
        alike(&gradient, &expected, tolerance::<V>(), &what);
        gradient.iter().map(|x| if x.as_f64().is_nan() { None } else { Some(x.as_f64().to_bits()) }).collect::<Vec<_>>()
    });
    drop(found);
}

/// The same along tangents.
fn odd_tangents<V: Number>(seed: u64) {
    type Moving<V> = Tangent<2, V>;
    let (mut program, mut random) = (Program::<V>::of(seed, &ODD_KINDS), Random::new(seed));
    program.views.iter_mut().flatten().chain(&mut program.numbers).for_each(|x| *x = odd_number(&mut random, *x));
    let mut moving =
        |x: &[V]| x.iter().map(|x| (*x, odd_number(&mut random.clone(), number(&mut random)))).collect::<Vec<_>>();
    let views: Vec<_> = program.views.iter().map(|view| moving(view)).collect();
    let numbers: Vec<Real<Moving<V>>> =
        moving(&program.numbers).into_iter().map(|(x, t)| Real::with_tangent(x, [t, V::ZERO])).collect();
    let variables = |view: &Vec<(V, V)>| view.iter().map(|(x, t)| Real::with_tangent(*x, [*t, V::ZERO])).collect();
    let shape = program.shape;
    let mut plain = Plain { shape, views: views.iter().map(variables).collect(), numbers: numbers.clone() };
    program.steps.iter().for_each(|step| plain.run(step));
    let view = |(x, view): (&Vec<V>, &Vec<(V, V)>)| {
        View::moving(shape, x, |k| view.iter().map(|(_, t)| if k == 0 { *t } else { V::ZERO }).collect())
    };
    let mut start = Views { views: program.views.iter().zip(&views).map(view).collect(), numbers };
    let found = run(&program, &mut start);
    let expected = [plain.views.concat(), plain.numbers].concat();
    let what = format!("program {seed} of shape {shape:?}: {:?}", program.steps);
    let tangents = |all: &[Real<Moving<V>>]| all.iter().map(|x| x.tangent()[0]).collect::<Vec<_>>();
    alike(&tangents(&found), &tangents(&expected), tolerance::<V>(), &what);
}

#[test]
fn infinite_tangents_and_nan_go_where_those_of_statements_go() {
    for seed in 0..100 {
        odd_tangents::<f64>(seed);
        odd_tangents::<f32>(seed + 1000);
    }
}

#[test]
fn infinite_numbers_and_nan_go_where_those_of_statements_go() {
    for seed in 0..50 {
        odd::<f64>(seed, false);
        odd::<f32>(seed + 1000, false);
        odd::<f64>(seed + 2000, true);
        odd::<f32>(seed + 3000, true);
    }
}
