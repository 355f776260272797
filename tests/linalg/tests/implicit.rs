//! Solutions of equations, whatever found them.

#[path = "implicit/numbers.rs"]
mod numbers;

use tapewright::check::GradientMismatch;
use tapewright::implicit::{self, Equations, ImplicitError};
use tapewright::prelude::*;
use tapewright::{Error, Rules, check_gradient, external};
use tapewright_linalg_tests::assert_close;

/// Kepler's equation E − e·sin E = M, of e and M.
struct Kepler;

impl Equations for Kepler {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] - p[0] * x[0].sin() - p[1]).into()]
    }
}

/// E by bisection, for M between 0 and π.
fn by_bisection(e: f64, m: f64) -> f64 {
    let (mut low, mut high) = (0.0, std::f64::consts::PI);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if middle - e * middle.sin() < m { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// E by Newton's method.
fn by_newton(e: f64, m: f64) -> f64 {
    (0..30).fold(m, |x, _| x - (x - e * x.sin() - m) / (1.0 - e * x.cos()))
}

fn anomaly<S: Taping<Value = f64>>(p: &[Real<S>]) -> Vec<Real<S>> {
    vec![implicit::root(Kepler, by_bisection(p[0].value(), p[1].value()), p).expect("a root")]
}

/// ∂E/∂e and ∂E/∂M in closed form.
fn slopes(e: f64, m: f64) -> [f64; 2] {
    let x = by_newton(e, m);
    let slope = 1.0 / (1.0 - e * x.cos());
    [x.sin() * slope, slope]
}

#[test]
fn kepler_has_its_closed_form_under_every_strategy() -> Result<(), GradientMismatch> {
    for p in [[0.1, 0.3], [0.6, 1.4], [0.95, 2.9]] {
        assert!(check_gradient!(Jacobian, anomaly, &p)?.order > 1.9);
        let expected = slopes(p[0], p[1]);
        let first = |rows: Vec<Vec<f64>>| rows.concat();
        assert_close("jacobian", &first(jacobian::<Jacobian>(anomaly, &p).1), &expected, 1e-13);
        assert_close("primal", &first(jacobian::<PrimalValue>(anomaly, &p).1), &expected, 1e-13);
        assert_close("reused", &first(jacobian::<Jacobian<f64, Reuse>>(anomaly, &p).1), &expected, 1e-13);
        assert_close("hybrid", &first(jacobian::<Hybrid>(anomaly, &p).1), &expected, 1e-13);
        assert_close("continued", &first(jacobian::<Continuation>(anomaly, &p).1), &expected, 1e-13);
        assert_close("forward", &first(jacobian_forward::<Tangent<2>>(anomaly, &p).1), &expected, 1e-13);
    }
    Ok(())
}

#[test]
fn the_solver_does_not_matter() {
    let p = [0.7, 1.1];
    let newton = |p: &[Real<Jacobian>]| implicit::root(Kepler, by_newton(0.7, 1.1), p).expect("a root");
    assert_close("newton", &gradient(newton, &p), &slopes(0.7, 1.1), 1e-14);
}

#[test]
fn one_entry_for_all_iterations_and_many_sweeps() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (p, x) = tape.record(|scope| {
        let p = scope.inputs(&[0.7, 1.1]);
        let x = anomaly(&p).remove(0);
        (p, x)
    });
    assert_eq!(tape.memory().statements, 0);
    let once = tape.sweep(&[(&x, 1.0)])?.of_all(&p)?;
    assert_close("a second sweep", &tape.sweep(&[(&x, 2.0)])?.of_all(&p)?, &[2.0 * once[0], 2.0 * once[1]], 1e-15);
    let lanes = tape.sweep_lanes(&[(&x, [1.0, -3.0, 0.5])])?;
    assert_close("lanes", &lanes.of(&p[1])?, &[once[1], -3.0 * once[1], 0.5 * once[1]], 1e-15);
    assert_close("forward", &tape.jvp(&[(&p[0], 1.0), (&p[1], 2.0)], &[&x])?, &[once[0] + 2.0 * once[1]], 1e-14);
    Ok(())
}

/// Chemical equilibrium of three species: two reactions and a balance, with parameters that meet in all of them.
#[derive(Clone, Copy)]
struct Equilibrium {
    given: bool,
    wrong: bool,
}

impl Equations for Equilibrium {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![
            (x[1] - p[0] * x[0].powi(2)).into(),
            (x[2] - p[1] * x[0] * x[1]).into(),
            (x[0] + 2.0 * x[1] + 3.0 * x[2] - p[2]).into(),
        ]
    }

    fn jacobian(&self, x: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        let columns = vec![-2.0 * p[0] * x[0], -p[1] * x[1], 1.0, 1.0, -p[1] * x[0], 2.0, 0.0, 1.0, 3.0];
        let columns: Vec<f64> =
            columns.into_iter().enumerate().map(|(k, s)| if self.wrong && k == 4 { -s } else { s }).collect();
        self.given.then_some(columns)
    }
}

/// x₀ from the balance, and the others from it.
fn equilibrium(p: &[f64]) -> Vec<f64> {
    let (mut low, mut high) = (0.0, p[2].max(1.0));
    for _ in 0..200 {
        let x = 0.5 * (low + high);
        if x + 2.0 * p[0] * x * x + 3.0 * p[0] * p[1] * x * x * x < p[2] { low = x } else { high = x }
    }
    let x = 0.5 * (low + high);
    vec![x, p[0] * x * x, p[0] * p[1] * x * x * x]
}

fn species<S: Taping<Value = f64>>(equations: Equilibrium, p: &[Real<S>]) -> Vec<Real<S>> {
    let values: Vec<f64> = p.iter().map(Real::value).collect();
    implicit::solution(equations, &equilibrium(&values), p).expect("a solution")
}

const AUTOMATIC: Equilibrium = Equilibrium { given: false, wrong: false };
const GIVEN: Equilibrium = Equilibrium { given: true, wrong: false };

fn automatic<S: Taping<Value = f64>>(p: &[Real<S>]) -> Vec<Real<S>> {
    species(AUTOMATIC, p)
}

fn given<S: Taping<Value = f64>>(p: &[Real<S>]) -> Vec<Real<S>> {
    species(GIVEN, p)
}

#[test]
fn several_unknowns_with_the_jacobian_of_the_library_or_of_the_user() -> Result<(), GradientMismatch> {
    let p = [0.8, 1.7, 2.3];
    assert!(check_gradient!(Jacobian, automatic, &p)?.order > 1.9);
    assert!(check_gradient!(PrimalValue<f64, Reuse>, given, &p)?.order > 1.9);
    let x = equilibrium(&p);
    // The balance alone: (1 + 4·p₀·x + 9·p₀·p₁·x²)·dx₀ = dp₂ − 2·x²·dp₀ − 3·x³·d(p₀·p₁)
    let all = 1.0 + 4.0 * p[0] * x[0] + 9.0 * p[0] * p[1] * x[0] * x[0];
    let (square, cube) = (x[0] * x[0], x[0] * x[0] * x[0]);
    let expected = [-(2.0 * square + 3.0 * cube * p[1]) / all, -3.0 * cube * p[0] / all, 1.0 / all];
    for f in [automatic::<Jacobian>, given] {
        assert_close("x₀", &jacobian(f, &p).1[0], &expected, 1e-13);
    }
    let rows = jacobian::<Jacobian>(automatic, &p).1.concat();
    assert_close("forward", &jacobian_forward::<Tangent<3>>(given, &p).1.concat(), &rows, 1e-13);
    Ok(())
}

/// x = (cos x₁ + p₀)/3, (sin x₀ + p₁)/2: a contraction.
struct Contraction;

impl Equations for Contraction {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![((x[1].cos() + p[0]) / 3.0).into(), ((x[0].sin() + p[1]) / 2.0).into()]
    }
}

fn fixed<S: Taping<Value = f64>>(p: &[Real<S>]) -> Vec<Real<S>> {
    let (p0, p1) = (p[0].value(), p[1].value());
    let step = |(x, y): (f64, f64), _| ((y.cos() + p0) / 3.0, 0.5 * (x.sin() + p1));
    let (x, y) = (0..60).fold((0.0, 0.0), step);
    implicit::fixed_point(Contraction, &[x, y], p).expect("it contracts")
}

/// The same iterations, recorded.
fn iterated<S: Strategy<Value = f64>>(p: &[Real<S>]) -> Vec<Real<S>> {
    (0..60).fold(vec![Real::constant(0.0); 2], |x, _| Contraction.evaluate(&x, p))
}

#[test]
fn fixed_points_agree_with_recorded_iterations() -> Result<(), GradientMismatch> {
    let p = [0.4, -0.9];
    assert!(check_gradient!(Jacobian, fixed, &p)?.order > 1.9);
    let expected = jacobian::<Jacobian>(iterated, &p).1.concat();
    assert_close("fixed point", &jacobian::<Jacobian>(fixed, &p).1.concat(), &expected, 1e-14);
    Ok(())
}

#[test]
fn single_precision() {
    struct Root;
    impl Equations<f32> for Root {
        fn evaluate<S: Strategy<Value = f32>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
            vec![(x[0].powi(2) - p[0]).into()]
        }
    }
    let f = |p: &[Real<Jacobian<f32>>]| implicit::root(Root, p[0].value().sqrt(), p).expect("a root");
    let slope = gradient::<Jacobian<f32>>(f, &[2.0])[0];
    assert!((slope - 0.5 / 2.0_f32.sqrt()).abs() < 1e-7);
}

/// x² = p, to the tolerance that its user asks for.
struct Rough(f64);

impl Equations for Rough {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0].powi(2) - p[0]).into()]
    }
    fn tolerance(&self) -> f64 {
        self.0
    }
}

/// The tolerance is that of a step of Newton's method, relative to 1 + |x|; so is the error of the derivative.
#[test]
fn a_tolerance_of_ones_own_decides_what_is_a_solution() {
    let off = 1e-3;
    let slope = |tolerance: f64| {
        let mut tape = Tape::<Jacobian>::new();
        let (p, x) = tape.record(|scope| {
            let p = scope.input(4.0);
            (p, implicit::root(Rough(tolerance), 2.0 + off, &[p]))
        });
        x.map(|x| tape.sweep(&[(&x, 1.0)]).and_then(|found| found.of(&p)).expect("its own output"))
    };
    // The step is about 1e-3, and 1 + |x| about 3.
    let near = slope(off / 2.9).expect("near enough");
    assert!((near - 0.25).abs() < off && near != 0.25, "{near}");
    assert!(matches!(slope(off / 3.1), Err(ImplicitError::NotASolution { .. })));
    // A map's tolerance is asked, too.
    let fixed = |tolerance: f64| {
        Tape::<Jacobian>::new()
            .record(|scope| implicit::fixed_point(Rough(tolerance), &[1e-3], &[scope.input(0.0)]).map(|x| x[0].value()))
    };
    assert!(matches!(fixed(1e-9), Err(ImplicitError::NotASolution { .. })));
    assert_eq!(fixed(1e-2).expect("near enough"), 1e-3);
}

/// x = g(p) with an external function that has no forward rule.
struct Called;

impl Equations for Called {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        let back = |seeds: &[f64], sums: &mut [f64]| {
            sums[0] += 2.0 * seeds[0];
            Ok(())
        };
        let g = external(p, &[2.0 * p[0].value()], Rules::new("g", back)).remove(0);
        vec![(x[0] - g).into()]
    }
}

/// A forward sweep says that the rule is missing; a Jacobian matrix with many rows is found by rows then.
#[test]
fn equations_without_forward_rules_are_swept_in_reverse() {
    for rows in [1, 6, 7] {
        let f = |p: &[Real<Jacobian>]| {
            let x = implicit::root(Called, 4.0, p).expect("a root");
            vec![x; rows]
        };
        assert_eq!(jacobian::<Jacobian>(f, &[2.0]).1.concat(), vec![2.0; rows]);
    }
    let mut tape = Tape::<Jacobian>::new();
    let (p, x) = tape.record(|scope| {
        let p = scope.input(2.0);
        (p, implicit::root(Called, 4.0, &[p]).expect("a root"))
    });
    let error = tape.jvp(&[(&p, 1.0)], &[&x]).expect_err("no rule");
    assert!(error.to_string().contains('g'), "{error}");
}

/// The error at these unknowns and parameters.
fn refused<E: Equations>(equations: E, x: &[f64], p: &[f64]) -> ImplicitError {
    let mut tape = Tape::<Jacobian>::new();
    let result = tape.record(|scope| implicit::solution(equations, x, &scope.inputs(p)).map(|x| x.len()));
    assert_eq!(tape.memory().usage("externals").used, 0, "nothing is left on the tape");
    result.expect_err("an error")
}

/// x² = p and x·(x − p) = 0, as often as it is asked.
struct Squares(usize);

impl Equations for Squares {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        (0..self.0).map(|k| (x[k % x.len()].powi(2) - p[0]).eval()).collect()
    }
}

#[test]
fn what_is_no_solution_is_refused() {
    let error = refused(Kepler, &[1.0], &[0.4, 1.1]);
    assert!(matches!(error, ImplicitError::NotASolution { .. }), "{error}");
    assert!(error.to_string().contains("values do not solve the equations: the largest unknown is 1e0"), "{error}");
    let near = by_newton(0.4, 1.1) * (1.0 + 1e-6);
    assert!(matches!(refused(Kepler, &[near], &[0.4, 1.1]), ImplicitError::NotASolution { .. }));
    assert!(matches!(refused(Kepler, &[f64::NAN], &[0.4, 1.1]), ImplicitError::NotFinite { equation: 0 }));
    assert!(matches!(refused(Squares(2), &[2.0, 2.0], &[f64::INFINITY]), ImplicitError::NotFinite { equation: 0 }));
}

#[test]
fn singular_jacobians_and_wrong_numbers_are_refused() {
    assert_eq!(refused(Squares(1), &[0.0], &[0.0]), ImplicitError::Singular { pivot: 0 });
    assert_eq!(refused(Squares(2), &[1.0, 0.0], &[0.0]), ImplicitError::Singular { pivot: 1 });
    assert_eq!(refused(Squares(3), &[1.0, 1.0], &[1.0]), ImplicitError::Count { equations: 3, unknowns: 2 });
    assert_eq!(refused(Squares(1), &[1.0, 1.0], &[1.0]), ImplicitError::Count { equations: 1, unknowns: 2 });
    let mut tape = Tape::<Jacobian>::new();
    let flat = tape.record(|scope| implicit::root(Squares(1), 0.0, &scope.inputs(&[0.0])).err());
    assert_eq!(flat, Some(ImplicitError::Singular { pivot: 0 }));
    let many = tape.record(|scope| implicit::root(Squares(2), 1.0, &scope.inputs(&[1.0])).err());
    assert_eq!(many, Some(ImplicitError::Count { equations: 2, unknowns: 1 }));
}

#[test]
fn a_wrong_jacobian_is_refused() {
    let p = [0.8, 1.7, 2.3];
    let error = refused(Equilibrium { given: true, wrong: true }, &equilibrium(&p), &p);
    assert_eq!(error, ImplicitError::WrongJacobian { equation: 1 });
}

#[test]
fn passive_parameters_leave_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|_| anomaly(&[Real::<Jacobian>::constant(0.7), Real::constant(1.1)]).remove(0));
    assert_eq!((x.value(), tape.memory().usage("externals").used), (by_bisection(0.7, 1.1), 0));
}

/// Two levels: the inner root is a parameter of the outer one.
#[test]
fn a_root_of_a_root() {
    let f = |p: &[Real<Jacobian>]| {
        let inner = anomaly(p).remove(0);
        let parameters = [p[0], inner];
        implicit::root(Kepler, by_newton(p[0].value(), inner.value()), &parameters).expect("a root")
    };
    let p = [0.5, 0.6];
    let inner = by_newton(0.5, 0.6);
    let (first, second) = (slopes(0.5, 0.6), slopes(0.5, inner));
    let expected = [second[0] + second[1] * first[0], second[1] * first[1]];
    assert_close("chain", &gradient(f, &p), &expected, 1e-13);
}

/// Rules record and evaluate by themselves: inside of stages, blocks, and evaluations of forward mode, too.
#[test]
fn inside_of_stages_and_blocks() -> Result<(), Error> {
    let p = [0.5, 0.6];
    let expected = slopes(0.5, 0.6);
    let mut tape = Tape::<PrimalValue>::new();
    let (inputs, staged, block) = tape.record(|scope| {
        let inputs = scope.inputs(&p);
        let staged = tapewright::checkpoint!(Jacobian, &inputs, |p| (anomaly(p)[0].sin()).eval());
        let block = tapewright::preaccumulate(&[inputs[0], inputs[1]], |p| anomaly(p).remove(0));
        (inputs, staged, block)
    });
    assert_eq!(tape.memory().statements, 1);
    assert_close("block", &tape.sweep(&[(&block, 1.0)])?.of_all(&inputs)?, &expected, 1e-13);
    let slope = by_newton(0.5, 0.6).cos();
    let found = tape.sweep(&[(&staged, 1.0)])?.of_all(&inputs)?;
    assert_close("stage", &found, &expected.map(|e| slope * e), 1e-13);
    Ok(())
}

/// n unknowns xᵢ = pᵢ.
struct Same;

impl Equations for Same {
    fn evaluate<S: Strategy<Value = f64>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        x.iter().zip(p).map(|(x, p)| (*x - *p).eval()).collect()
    }
}

#[test]
fn an_entry_keeps_the_factors_the_solution_and_the_parameters() {
    let kept = |n: usize| {
        let mut tape = Tape::<Jacobian>::new();
        let x = vec![1.0; n];
        tape.record(|scope| implicit::solution(Same, &x, &scope.inputs(&x)).map(|x| x.len()).expect("a solution"));
        tape.memory().usage("externals").used
    };
    // n² factors and n exchanges of rows, by 16 bytes; x and p. Inputs and outputs are numbered one after another.
    assert_eq!(kept(20) - kept(10), 8 * (400 - 100) + (16 + 2 * 8) * 10);
}
