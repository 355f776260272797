//! A strategy whose variables are not `Copy`: what needs no copies runs on it.

use super::differentiated;
use num_complex::Complex;
use tapewright::strategies::num_traits::{FloatConst, Inv, NumAssignRef, NumRef, Pow, RefNum, Signed, pow};
use tapewright::strategies::{LinearId, Strict, TapeNumber, Taped, active};
use tapewright::{Capacity, Closed, Jacobian, MemoryReport, MemoryUsage, Nary, Reverse, Statement, Taping};

/// An identifier that is moved, or cloned where that is said.
#[derive(Clone)]
pub(crate) struct Token(LinearId);

/// Partials and arguments of each statement, `None` for inputs.
#[derive(Default)]
pub(crate) struct Rows {
    number: TapeNumber,
    rows: Vec<Option<Vec<(f64, usize)>>>,
}

impl Rows {
    fn push(&mut self, row: Option<Vec<(f64, usize)>>) -> Token {
        self.rows.push(row);
        Token(LinearId::new(self.number, self.rows.len() as u64).expect("fewer than 2³² statements"))
    }
}

pub(crate) struct Owned;

#[track_caller]
fn push(partials: &[(f64, LinearId)]) -> Token {
    let Some(number) = active::common_number(partials.iter().map(|(_, id)| *id)) else { return Owned::passive() };
    active::with::<Owned, _>(number, |tape| {
        let active = partials.iter().filter(|(_, id)| id.is_active());
        tape.push(Some(active.map(|(p, id)| (*p, usize::try_from(id.index()).expect("in memory"))).collect()))
    })
}

impl Taping for Owned {
    type Value = f64;
    type Id = Token;
    type Raw = LinearId;
    type Variable = Taped<f64, Token>;
    type Policy = Strict;
    fn passive() -> Token {
        Token(LinearId::PASSIVE)
    }
    fn raw(id: &Token) -> LinearId {
        id.0
    }
    fn record<N: Statement<Self>>(statement: &N) -> Token {
        let mut partials = Vec::new();
        statement.partials(1.0, &mut |p, id| partials.push((p, id)));
        push(&partials)
    }
    fn record_nary<R: Nary<f64>>(arguments: &[&[Self::Variable]], constants: &[f64], _: f64) -> Token {
        let values: Vec<f64> = arguments.iter().copied().flatten().map(|x| x.value).collect();
        let mut partials = vec![0.0; values.len()];
        R::partials(&values, constants, &mut partials);
        let ids = arguments.iter().copied().flatten().map(|x| x.id.0);
        push(&partials.into_iter().zip(ids).collect::<Vec<_>>())
    }
}

impl Reverse for Owned {
    type Tape = Rows;
    fn begin(tape: &mut Rows, number: TapeNumber) {
        tape.number = number;
        tape.rows.clear();
    }
    fn input(tape: &mut Rows, _: f64) -> Token {
        tape.push(None)
    }
    fn locate(id: &Token) -> Option<(TapeNumber, usize)> {
        let slot = usize::try_from(id.0.index()).expect("in memory");
        id.0.is_active().then(|| (id.0.number(), slot))
    }
    fn identifiers(tape: &Rows) -> usize {
        tape.rows.len() + 1
    }
    fn reverse(tape: &Rows, adjoints: &mut [f64]) {
        for (i, row) in tape.rows.iter().enumerate().rev() {
            let Some(row) = row else { continue };
            let seed = std::mem::take(&mut adjoints[i + 1]);
            if seed != 0.0 {
                row.iter().for_each(|(partial, argument)| adjoints[*argument] += seed * partial);
            }
        }
    }
    fn reserve(tape: &mut Rows, capacity: Capacity) {
        tape.rows.reserve(capacity.statements);
    }
    fn memory(tape: &Rows) -> MemoryReport {
        let arguments = tape.rows.iter().flatten().map(Vec::len).sum();
        MemoryReport::new(tape.rows.iter().flatten().count(), arguments).stream("rows", MemoryUsage::of_vec(&tape.rows))
    }
}

/// (Σxᵢ)·Πxᵢ − |x₀ − x₁|³/π, with clones and references only.
fn with_clones<T>(x: &[T]) -> T
where
    T: NumRef + NumAssignRef + Signed + FloatConst + Clone + Inv<Output = T> + Pow<i32, Output = T> + PartialOrd,
    T: for<'a> std::iter::Sum<&'a T> + for<'a> std::iter::Product<&'a T>,
    for<'a> &'a T: RefNum<T>,
{
    let sum: T = x.iter().sum();
    let product: T = x.iter().product();
    let mut result = &sum * &product;
    let distance = if x[0] > x[1] { &x[0] - &x[1] } else { &x[1] - &x[0] };
    result -= &(Pow::pow(distance.abs(), 3) * T::PI().inv());
    result
}

/// Σ(re·im) of powers of a complex number.
fn complex<T: tapewright::strategies::num_traits::Num + Clone>(x: &[T]) -> T {
    let z = Complex::new(x[0].clone(), x[1].clone());
    let w = pow(z.clone(), 5) / (z + Complex::i());
    w.re * w.im
}

#[test]
fn code_that_clones_runs_under_a_strategy_without_copies() {
    let x = [3.0, 2.0, 5.0];
    let pi = std::f64::consts::PI;
    let (value, gradient) = differentiated::<Owned>(with_clones, &x);
    assert_eq!((value, &gradient), (with_clones(&x), &differentiated::<Jacobian>(with_clones, &x).1));
    approx::assert_relative_eq!(
        gradient[..],
        [30.0 + 100.0 - 3.0 / pi, 30.0 + 150.0 + 3.0 / pi, 30.0 + 60.0][..],
        max_relative = 1e-14
    );
    let z = [0.7, -0.4];
    assert_eq!(differentiated::<Owned>(complex, &z), differentiated::<Jacobian>(complex, &z));
}

#[test]
fn functions_borrow_their_variables() {
    let f = |x: &[Closed<Owned>]| {
        let root = (x[0].sin() + x[0].exp() * 2.0).sqrt();
        root.max(&x[1]) + root.clamp(&x[1], &Closed::from(10.0)) + x[1].floor() + x[0].mul_add(&x[1], &root)
    };
    let (value, gradient) = differentiated(f, &[0.5, 1.5]);
    let root: f64 = (0.5_f64.sin() + 2.0 * 0.5_f64.exp()).sqrt();
    let slope = (0.5_f64.cos() + 2.0 * 0.5_f64.exp()) / (2.0 * root);
    approx::assert_relative_eq!(value, 3.0 * root + 1.0 + 0.75, max_relative = 1e-15);
    approx::assert_relative_eq!(gradient[..], [3.0 * slope + 1.5, 0.5][..], max_relative = 1e-15);
}
