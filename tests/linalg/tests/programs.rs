//! Linear algebra and solutions of equations in programs and replays, beside a tape for each scenario.
#![allow(clippy::cast_precision_loss, reason = "scenarios are few")]

#[path = "../../kit/tests/programs/beside_tapes.rs"]
mod beside_tapes;

use beside_tapes::BesideTapes;
use nalgebra::{DMatrix, DVector};
use tapewright::implicit::{self, Equations, Solver};
use tapewright::linalg::{self, Cholesky, Lu};
use tapewright::prelude::*;
use tapewright::programs::Program;
use tapewright::{Closed, Error};

/// More than one block of 64.
const COUNT: usize = 100;

fn datum(k: usize) -> [f64; 2] {
    [0.25 * (k as f64 * 1.7).sin(), 1.0 + (k % 3) as f64]
}

/// Regular and definite for all data and parameters of the tests.
fn matrix<S: Taping>(x: &Real<S>, y: &Real<S>) -> DMatrix<Closed<S>> {
    let [x, y] = [x, y].map(|x| Closed::from(x.clone()));
    DMatrix::from_row_slice(2, 2, &[x.clone() * x.clone() + y.clone() + 2.0, x.clone(), x, y + 2.0])
}

fn column<S: Taping>(x: &Real<S>, y: &Real<S>) -> DVector<Closed<S>> {
    DVector::from_vec(vec![Closed::from(x.clone()), Closed::from(y.clone())])
}

fn open<S: Taping>(all: impl IntoIterator<Item = Closed<S>>) -> Vec<Real<S>> {
    all.into_iter().map(Closed::open).collect()
}

fn constant<S: Taping<Value = f64>>(x: f64) -> Real<S> {
    Real::from(x)
}

/// A circle of radius p₀ and a line of slope p₁ through the origin.
struct Meeting;
impl Equations for Meeting {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0].square() + x[1].square() - p[0].square()).into(), (x[1] - p[1] * x[0]).into()]
    }
}
impl Solver for Meeting {
    fn solve(&self, start: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        let x = (p[0] / p[1].hypot(1.0)).copysign(start[0]);
        (p[0] != 0.0).then(|| vec![x, p[1] * x])
    }
}

/// x³ = p.
struct CubeRoot;
impl Equations for CubeRoot {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0].powi(3) - p[0]).into()]
    }
}
impl Solver for CubeRoot {
    fn solve(&self, _: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        Some(vec![p[0].cbrt()])
    }
}

/// The functions of the tests are rows: their name, parameters and data, and values.
macro_rules! functions {
    ($($name:ident($p:ident, $d:ident) $body:block)*) => {
        $( fn $name<S: Reverse<Value = f64>>($p: &[Real<S>], $d: &[Real<S>]) -> Vec<Real<S>> $body )*
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        fn all<S: Reverse<Value = f64>>(index: usize, p: &[Real<S>], d: &[Real<S>]) -> Vec<Real<S>> {
            [$($name::<S>),*][index](p, d)
        }
    };
}

functions! {
    solutions(p, d) { open(linalg::solve(&matrix(&d[0], &d[1]), &column(&p[0], &d[1])).unwrap().iter().cloned()) }
    solutions_with_a_passive_side(p, d) {
        let x = linalg::solve(&matrix(&d[0], &p[1]), &column(&constant(1.5), &constant(-0.5))).unwrap();
        open(x.iter().cloned())
    }
    solutions_with_a_passive_matrix(p, d) {
        let x = linalg::solve(&matrix(&constant(0.5), &constant(1.0)), &column(&p[0], &d[0])).unwrap();
        open(x.iter().cloned())
    }
    several_functions_of_one_matrix(p, d) {
        let a = matrix(&d[0], &d[1]);
        let lu = Lu::new(&a).unwrap();
        let x = lu.solve(&column(&p[0], &p[1])).unwrap();
        vec![(x[0].as_real() * lu.ln_det().0.as_real()).into(), lu.inverse()[(0, 1)].as_real().clone()]
    }
    a_factor_of_parameters(p, d) {
        let a = matrix(&p[0], &p[1]);
        let l = Cholesky::new(&a).unwrap().l();
        let correlated = linalg::product(&l, &column(&d[0], &d[1])).unwrap();
        open(correlated.iter().cloned())
    }
    a_factor_of_data(p, d) {
        let a = matrix(&d[0], &p[1]);
        let cholesky = Cholesky::new(&a).unwrap();
        let l = cholesky.l();
        vec![(l[(0, 0)].as_real() * l[(1, 0)].as_real() + l[(1, 1)].as_real()).into(), cholesky.ln_det().open()]
    }
    products(p, d) {
        let (a, b) = (matrix(&d[0], &d[1]), matrix(&p[0], &p[1]));
        let constants = matrix(&constant(0.5), &constant(2.0));
        let all = [linalg::product(&a, &b), linalg::product(&constants, &a), linalg::product(&b, &constants)];
        open(all.map(|c| c.unwrap()[(1, 0)].clone()))
    }
    determinants(p, d) { vec![linalg::determinant(&matrix(&d[0], &p[0])).unwrap().open()] }
    eigenvalues(p, d) {
        let a = matrix(&(&d[0] + 1.0).eval(), &p[1]);
        let (values, vectors) = linalg::symmetric_eigen(&a).unwrap();
        vec![values[0].as_real().clone(), (values[1].as_real() * vectors[(0, 0)].as_real()).into()]
    }
    square_roots(p, d) {
        let root = linalg::symmetric_sqrt(&matrix(&d[0], &p[1])).unwrap();
        vec![root[(0, 0)].as_real().clone(), root[(0, 1)].as_real().clone()]
    }
    roots(p, d) {
        let x = implicit::find_root(CubeRoot, 1.0, &[(&d[1] + &p[0] * &d[0]).eval()]).unwrap();
        vec![(x * &d[0]).into()]
    }
    roots_of_parameters(p, d) { vec![(implicit::find_root(CubeRoot, 1.0, &p[..1]).unwrap() * &d[0]).into()] }
    systems(p, d) { implicit::find_solution(Meeting, &[1.0, 0.0], &[d[1].clone(), (&p[0] * &d[0]).eval()]).unwrap() }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * (1.0 + expected.abs())
}

#[test]
fn each_scenario_gives_what_a_tape_gives_that_records_it() {
    for (index, name) in NAMES.iter().enumerate() {
        for width in [1, 64] {
            let beside = BesideTapes { name, width, count: COUNT, datum, tolerance: 1e-12 };
            let (on_program, on_tape) = (|p: &[_], d: &[_]| all(index, p, d), |x: &[_]| all(index, &x[..2], &x[2..]));
            beside.check(on_program, on_tape, [[0.5, 1.25], [0.75, 0.5]], |_, _, found| {
                assert_eq!((found.branches().recordings, found.branches().alone), (1, 0), "{name}");
            });
        }
    }
}

#[test]
fn replays_have_the_bits_of_recordings() {
    for (index, name) in NAMES.iter().enumerate() {
        let at = |k: usize| [0.5 + k as f64 / 8.0, 1.25, datum(k)[0], datum(k)[1]];
        let record = |tape: &mut Tape<PrimalValue>, k: usize| {
            tape.set_guards(true);
            tape.record(|scope| {
                let x = scope.inputs(&at(k));
                let y = all(index, &x[..2], &x[2..]);
                (x, y)
            })
        };
        let mut tape = Tape::<PrimalValue>::new();
        let (x, y) = record(&mut tape, 0);
        for k in [1, 5, 2] {
            let inputs: Vec<_> = x.iter().zip(at(k)).collect();
            tape.replay(&inputs).unwrap();
            let mut other = Tape::<PrimalValue>::new();
            let (other_x, other_y) = record(&mut other, k);
            for (y, other_y) in y.iter().zip(&other_y) {
                assert_eq!(tape.value_of(y).unwrap(), other_y.peek(), "{name}");
                let [slopes, expected] = [(&mut tape, &x, y), (&mut other, &other_x, other_y)]
                    .map(|(tape, x, y)| tape.sweep(&[(y, 1.0)]).unwrap().of_all(x).unwrap());
                assert_eq!(slopes, expected, "{name}");
            }
        }
    }
}

#[test]
fn what_fails_in_some_scenarios_is_left_to_the_function() {
    // −1 in place of the logarithm where the matrix is not definite, and the sign of the determinant elsewhere.
    let f = |_: &[_], d: &[Real<tapewright::strategies::Instructions>]| {
        let d = Closed::wrap_slice(d);
        let a = DMatrix::from_row_slice(2, 2, &[d[0], d[1], d[1], d[0]]);
        let definite = Cholesky::new(&a).map_or(Closed::from(Real::from(-1.0)), |cholesky| cholesky.ln_det());
        let (ln_det, sign) = Lu::new(&a).unwrap().ln_det();
        [definite.open(), (ln_det * Closed::from(Real::from(sign))).open()]
    };
    let data: Vec<_> = (0..COUNT).map(|k| [1.0, if k % 3 == 0 { 2.0 } else { 0.5 / (1.0 + k as f64) }]).collect();
    for width in [1, 64] {
        let found = Program::new(f).in_blocks_of(width).gradients(&[], &data[..]).unwrap();
        for (k, [x, y]) in data.iter().enumerate() {
            let det = x * x - y * y;
            let definite = if det > 0.0 { (det.ln(), 2.0 * x / det) } else { (-1.0, 0.0) };
            assert!(close(found.values[2 * k], definite.0) && close(found.gradients[2 * k][0], definite.1), "{k}");
            let signed = det.signum();
            let slope = signed * 2.0 * x / det;
            assert!(close(found.values[2 * k + 1], signed * det.abs().ln()), "{k}");
            assert!(close(found.gradients[2 * k + 1][0], slope), "{k}");
        }
        assert_eq!((found.branches().recordings, found.branches().alone), (2, 0));
    }
}

#[test]
fn solutions_that_are_not_found_are_errors() {
    let mut tape = Tape::<PrimalValue>::new();
    let found = |scope: &mut tapewright::tape::Scope<'_, PrimalValue>, x: [f64; 2]| {
        let x = scope.inputs(&x);
        implicit::find_solution(Meeting, &[1.0, 0.0], &x).map(|y| (x, y))
    };
    let error = tape.record(|scope| found(scope, [0.0, 1.0])).unwrap_err();
    assert_eq!(error.to_string(), "the solver has found no solution of the equations");
    let (x, y) = tape.record(|scope| found(scope, [2.0, 0.0])).unwrap();
    let failed = tape.replay(&[(&x[0], 0.0)]);
    assert!(matches!(&failed, Err(Error::Sweep(error)) if error.to_string().contains("no solution")), "{failed:?}");
    // The recording is as it was.
    assert_eq!(tape.sweep(&[(&y[1], 1.0)]).unwrap().of_all(&x).unwrap(), [0.0, 2.0]);
    assert_eq!(implicit::find_root::<Passive>(CubeRoot, 1.0, &[Real::from(8.0)]).unwrap().value(), 2.0);
}

/// A root of the first datum, or −1 where there is none.
struct SquareRoot;
impl Equations for SquareRoot {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0].square() - p[0]).into()]
    }
}
impl Solver for SquareRoot {
    fn solve(&self, _: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        (p[0] > 0.0).then(|| vec![p[0].sqrt()])
    }
}

type Variable = Real<tapewright::strategies::Instructions>;

/// Compares values, in the order given and reversed, and for one program that is called again.
fn expect(name: &str, f: fn(&[Variable], &[Variable]) -> Variable, rows: &[([f64; 2], f64)]) {
    for width in [1, 64] {
        let program = Program::new(move |p, d| [f(p, d)]).in_blocks_of(width);
        for call in 0..4 {
            let mut rows = rows.to_vec();
            if call % 2 == 1 {
                rows.reverse();
            }
            let (data, expected): (Vec<[f64; 2]>, Vec<f64>) = rows.into_iter().unzip();
            let found = program.gradients(&[], &data[..]).unwrap();
            assert_eq!(found.values, expected, "{name}, blocks of {width}, call {call}: {}", found.branches());
        }
    }
}

fn symmetric(d: &[Variable]) -> DMatrix<Closed<tapewright::strategies::Instructions>> {
    let d = Closed::wrap_slice(d);
    DMatrix::from_row_slice(2, 2, &[d[0], d[1], d[1], d[0]])
}

#[test]
fn a_recording_in_which_a_function_failed_does_not_serve_where_it_succeeds() {
    let roots = [([-1.0, 0.0], -1.0), ([4.0, 0.0], 2.0), ([9.0, 0.0], 3.0), ([-4.0, 0.0], -1.0)];
    expect("root", |_, d| implicit::find_root(SquareRoot, 1.0, &d[..1]).unwrap_or(Real::from(-1.0)), &roots);
    let definite = [([1.0, 2.0], -1.0), ([1.0, 0.0], 0.0), ([1.0, 3.0], -1.0), ([1.0, 0.0], 0.0)];
    let cholesky =
        |_: &[_], d: &[_]| Cholesky::new(&symmetric(d)).map_or(Real::from(-1.0), |factor| factor.ln_det().open());
    expect("definite", cholesky, &definite);
    let regular = [([1.0, 1.0], -1.0), ([1.0, 0.0], 1.0), ([3.0, 3.0], -1.0), ([0.5, 0.0], 2.0)];
    let inverse = |_: &[_], d: &[_]| Lu::new(&symmetric(d)).map_or(Real::from(-1.0), |lu| lu.inverse()[(0, 0)].open());
    expect("regular", inverse, &regular);
}

#[test]
fn a_function_whose_results_nobody_uses_may_decide() {
    let found =
        |_: &[_], d: &[Variable]| implicit::find_root(SquareRoot, 1.0, &d[..1]).map_or(Real::from(-1.0), |_| d[1]);
    expect("found", found, &[([4.0, 5.0], 5.0), ([-1.0, 5.0], -1.0), ([9.0, 6.0], 6.0)]);
    let sign = |_: &[_], d: &[Variable]| (d[0] * Lu::new(&symmetric(d)).unwrap().ln_det().1).eval();
    expect("sign", sign, &[([1.0, 0.5], 1.0), ([1.0, 2.0], -1.0), ([2.0, 0.5], 2.0)]);
    let definite = |_: &[_], d: &[Variable]| if Cholesky::new(&symmetric(d)).is_ok() { d[0] } else { Real::from(-1.0) };
    expect("definite", definite, &[([1.0, 0.5], 1.0), ([1.0, 2.0], -1.0), ([2.0, 0.5], 2.0)]);
}

#[test]
fn a_replay_where_a_function_failed_is_no_silent_one() {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[-1.0]);
        let y = implicit::find_root(SquareRoot, 1.0, &x).unwrap_or_else(|_| (x[0] * 10.0).eval());
        (x, y)
    });
    let outcome = tape.replay(&[(&x[0], 4.0)]);
    assert!(outcome.is_err() || tape.value_of(&y).unwrap() == 2.0, "{:?}", tape.value_of(&y));
}
