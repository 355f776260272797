//! Functions of slices some of whose arguments are passive: linear ones have no entries of their own.

use super::record;
use tapewright::prelude::*;
use tapewright::sparse::{Pattern, sparse_hessian};
use tapewright::strategies::rules::Curvature;
use tapewright::tape::LaneVector;
use tapewright::{
    Continuation, Dual, Hybrid, Nary, Number, PrimalValue, Reuse, Spilled, dot, hessian, jacobian_forward,
    linear_combination, nary,
};
use tapewright_kit_tests::FewPages;

/// A number that is a whole one, other than 0.
fn whole(k: usize) -> f64 {
    f64::from(u32::try_from(k % 13).unwrap_or(0)) + 2.0
}

fn constant<S: Taping>(k: usize) -> Real<S> {
    Real::constant(Number::from_f64(whole(k)))
}

/// A passive number in front of the variables, behind them, and between them if they are several.
fn with_passive<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut terms = vec![constant(5)];
    terms.extend_from_slice(&x[..x.len() / 2]);
    terms.push(constant(6));
    terms.extend_from_slice(&x[x.len() / 2..]);
    terms.push(constant(7));
    terms
}

fn constants<S: Taping>(n: usize) -> Vec<Real<S>> {
    (0..n).map(constant).collect()
}

/// The variables with an even or an odd index, and the second one; passive numbers in the place of others.
fn every_second<S: Taping>(x: &[Real<S>], odd: usize, second: bool) -> Vec<Real<S>> {
    let is_in = |k: usize| k % 2 == odd || second && k == 1;
    x.iter().enumerate().map(|(k, x)| if is_in(k) { x.clone() } else { constant(k) }).collect()
}

/// A function over every strategy.
trait Function {
    fn of<S: Taping>(x: &[Real<S>]) -> Real<S>;
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: |$x:ident| $body:expr;)*) => { $(
        $(#[$doc])*
        struct $name;
        impl Function for $name {
            fn of<S: Taping>($x: &[Real<S>]) -> Real<S> { $body }
        }
    )* };
}

functions! {
    Combination: |x| {
        let terms = with_passive(x);
        let coefficients: Vec<f64> = (0..terms.len()).map(whole).collect();
        linear_combination(&coefficients, &terms)
    };
    FirstHalfPassive: |x| dot(&constants(x.len()), x);
    /// With passive numbers among the variables, too.
    SecondHalfPassive: |x| {
        let terms = with_passive(x);
        dot(&terms, &constants(terms.len()))
    };
    /// Variables in both halves, and no product of two of them.
    EitherSidePassive: |x| dot(&every_second(x, 0, false), &every_second(x, 1, false));
    /// The same with a product of two variables: not linear.
    Mixed: |x| dot(&every_second(x, 0, true), &every_second(x, 1, true));
    Own: |x| nary::<S, Curved>(&[&[constant(3)], x], &[]);
    /// All numbers of arguments in one recording, again and again.
    Many: |x| {
        let terms: Vec<_> = (1..=x.len()).chain(1..=x.len()).map(|n| Combination::of(&x[..n])).collect();
        tapewright::sum(&terms)
    };
}

/// x₀·x₁ + 3x₂ + …
struct Curved;
impl<V: Number> Nary<V> for Curved {
    const CURVATURE: Curvature = Curvature::LINEAR.and((0, 1), (1, 2));
    fn value(x: &[V], _: &[V]) -> V {
        x[2..].iter().fold(x[0] * x[1], |sum, x| sum + V::from_f64(3.0) * *x)
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        partials.fill(V::from_f64(3.0));
        (partials[0], partials[1]) = (x[1], x[0]);
    }
}

/// x₀·F(x): where F is linear, the first row and the first column are other than 0.
fn times_the_first<F: Function, S: Taping>(x: &[Real<S>]) -> Real<S> {
    (&x[0] * &F::of(x)).into()
}

/// Runs `$check::<F, $strategy>($n)` for each linear function and each strategy.
macro_rules! linear_ones {
    ($check:ident($n:expr): $($s:ty),*) => { $(
        $check::<Combination, $s>($n);
        $check::<FirstHalfPassive, $s>($n);
        $check::<SecondHalfPassive, $s>($n);
        $check::<EitherSidePassive, $s>($n);
        $check::<Own, $s>($n);
    )* };
}

const LENGTHS: [usize; 6] = [1, 2, 26, 27, 28, 300];

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|k| whole(k + 3)).collect()
}

/// What is other than 0 in a dense matrix.
fn others(dense: &[Vec<f64>]) -> Pattern {
    let entries = |row: &Vec<f64>| (0..dense.len()).filter(|k| row[*k] != 0.0).collect::<Vec<_>>();
    Pattern::from_rows(dense.len(), dense.iter().map(entries))
}

fn pattern_of<S: Reverse>(n: usize, f: impl Fn(&[Real<S>]) -> Real<S>) -> Pattern {
    let mut tape = Tape::<S>::new();
    let at: Vec<S::Value> = point(n).into_iter().map(Number::from_f64).collect();
    let (x, y) = record(&mut tape, f, &at);
    tape.hessian_pattern(&x, &y).expect("there is a pattern")
}

fn matrix<F: Function, S: Reverse<Value = Dual<f64, 4>>>(n: usize) {
    let f = times_the_first::<F, S>;
    let (value, gradient, dense) = hessian::<S>(f, &point(n));
    let (found, slopes, sparse) = sparse_hessian::<S>(f, &point(n)).expect("there is a pattern");
    assert_eq!((found, slopes), (value, gradient), "{n}");
    assert_eq!(sparse.pattern(), &others(&dense), "{n}");
    assert_eq!((sparse.pattern().entries(), sparse.to_dense()), (2 * n - 1, dense), "{n}");
}

fn row_and_column<F: Function, S: Reverse>(n: usize) {
    let entries = |k: usize| if k == 0 { 0..n } else { 0..1 };
    assert_eq!(pattern_of(n, times_the_first::<F, S>), Pattern::from_rows(n, (0..n).map(entries)), "{n}");
}

#[test]
fn patterns_are_what_is_other_than_0_in_dense_matrices() {
    for n in LENGTHS {
        linear_ones!(matrix(n): PrimalValue<Dual<f64, 4>>);
    }
    linear_ones!(matrix(27): PrimalValue<Dual<f64, 4>, Reuse>, Hybrid<Dual<f64, 4>>);
}

#[test]
fn patterns_are_the_same_wherever_operators_are_known() {
    for n in LENGTHS {
        linear_ones!(row_and_column(n): PrimalValue, PrimalValue<f64, Reuse>, Hybrid);
        linear_ones!(row_and_column(n): PrimalValue<f32, Linear<u64>>, PrimalValue<f64, Linear, Spilled<FewPages>>);
    }
    row_and_column::<Many, PrimalValue>(60);
    row_and_column::<Many, PrimalValue<f64, Reuse>>(60);
}

#[test]
fn products_of_two_variables_and_strategies_that_keep_partials_take_all_pairs() {
    for n in [2, 3, 27, 28, 40] {
        let (_, _, dense) = hessian::<PrimalValue<Dual<f64, 4>>>(Mixed::of, &point(n));
        let pattern = pattern_of::<PrimalValue>(n, Mixed::of);
        assert!(others(&dense).entries() == 1 && dense[1][1] == 2.0 && pattern.row(1).contains(&1));
        assert_eq!(pattern.entries(), n * n, "as far as is known");
        assert_eq!(pattern_of::<Jacobian>(n, Combination::of).entries(), n * n);
        assert_eq!(pattern_of::<Continuation>(n, Combination::of).entries(), n * n);
    }
}

/// Sweeps one by one, in lanes and forward find what forward mode finds, bit for bit: slopes are whole numbers.
fn gradients<F: Function, S: Reverse<Value = f64>>(n: usize) {
    const SEEDS: [f64; 5] = [1.0, 0.0, -2.5, f64::INFINITY, 3.0];
    let (_, rows) = jacobian_forward::<Tangent>(|x| vec![F::of(x)], &point(n));
    let expected = &rows[0];
    let mut tape = Tape::<S>::new();
    // As many as do not fit into memory if records are spilled.
    let (x, y) = record(&mut tape, |x| (0..100).map(|_| F::of(x)).last().expect("some"), &point(n));
    let times = |seed: f64| expected.iter().map(|slope| slope * seed).collect::<Vec<f64>>();
    for seed in SEEDS {
        assert_eq!(tape.sweep(&[(&y, seed)]).and_then(|adjoints| adjoints.of_all(&x)), Ok(times(seed)), "{n}");
    }
    for width in [2, SEEDS.len()] {
        let mut lanes = LaneVector::new(width);
        let found = tape.sweep_lanes_with(&mut lanes, &[(&y, &SEEDS[..width])]).expect("of this recording");
        for (x, expected) in x.iter().zip(expected) {
            let seeded: Vec<f64> = SEEDS[..width].iter().map(|seed| seed * expected).collect();
            assert_eq!(found.of(x).expect("of this recording"), seeded, "{n}");
        }
    }
    for k in [0, n / 2, n - 1] {
        assert_eq!(tape.jvp(&[(&x[k], 1.0)], &[&y]), Ok(vec![expected[k]]), "{n}");
    }
}

#[test]
fn gradients_are_what_they_are_in_forward_mode() {
    for n in LENGTHS {
        linear_ones!(gradients(n): PrimalValue, PrimalValue<f64, Reuse>, Hybrid, Jacobian, Continuation);
        linear_ones!(gradients(n): PrimalValue<f64, Linear, Spilled<FewPages>>);
        gradients::<Mixed, PrimalValue>(n);
    }
    gradients::<Many, PrimalValue>(60);
    gradients::<Many, PrimalValue<f64, Reuse, Spilled<FewPages>>>(60);
}
