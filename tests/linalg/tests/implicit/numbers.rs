//! Solutions over duals and packs.

use super::equilibrium;
use tapewright::implicit::{self, Equations, ImplicitError};
use tapewright::linalg::Element;
use tapewright::prelude::*;
use tapewright::{Dual, Number, hvp};
use tapewright_linalg_tests::{assert_close, scattered};

type D1 = Dual<f64, 1>;
type D2 = Dual<D1, 1>;

/// Kepler's equation E − e·sin E = M, of e and M.
struct Kepler;

impl<V: Number> Equations<V> for Kepler {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] - p[0] * x[0].sin() - p[1]).into()]
    }
}

/// The numbers whose lanes are these functions' of the lanes of the parameters.
fn by_lanes<V: Number>(p: &[V], solve: impl Fn(&[f64]) -> Vec<f64>) -> Vec<V> {
    let lane = |k: usize| solve(&p.iter().map(|p| p.lane(k).as_f64()).collect::<Vec<_>>());
    let lanes: Vec<Vec<f64>> = (0..V::LANES).map(lane).collect();
    (0..lanes[0].len()).map(|i| V::from_lanes(|k| Number::from_f64(lanes[k][i]))).collect()
}

fn values<S: Taping>(p: &[Real<S>]) -> Vec<S::Value> {
    p.iter().map(Real::value).collect()
}

fn anomaly<S: Strategy>(p: &[Real<S>]) -> Vec<Real<S>> {
    let newton = |p: &[f64]| vec![(0..30).fold(p[1], |x, _| x - (x - p[0] * x.sin() - p[1]) / (1.0 - p[0] * x.cos()))];
    vec![implicit::root(Kepler, by_lanes(&values(p), newton)[0], p).expect("a root")]
}

/// The same, with each step recorded.
fn anomaly_by_steps<S: Strategy>(p: &[Real<S>]) -> Vec<Real<S>> {
    let step = |x: Real<S>, _| (x - (x - p[0] * x.sin() - p[1]) / (1.0 - p[0] * x.cos())).eval();
    vec![(0..30).fold(p[1], step)]
}

/// Chemical equilibrium of three species; the Jacobian may be given, and it may be right for values alone.
#[derive(Clone, Copy)]
struct Equilibrium {
    given: bool,
    values_alone: bool,
}

impl<V: Number> Equations<V> for Equilibrium {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![
            (x[1] - p[0] * x[0] * x[0]).into(),
            (x[2] - p[1] * x[0] * x[1]).into(),
            (x[0] + 2.0 * x[1] + 3.0 * x[2] - p[2]).into(),
        ]
    }

    fn jacobian(&self, x: &[V], p: &[V]) -> Option<Vec<V>> {
        let n = |number: f64| V::from_f64(number);
        let slope = -p[1] * x[1];
        let slope = if self.values_alone { n(slope.as_f64()) } else { slope };
        let columns = [-n(2.0) * p[0] * x[0], slope, n(1.0), n(1.0), -p[1] * x[0], n(2.0), n(0.0), n(1.0), n(3.0)];
        self.given.then_some(columns.to_vec())
    }
}

fn species_of<S: Strategy<Value: Element>>(given: bool, p: &[Real<S>]) -> Vec<Real<S>> {
    let equations = Equilibrium { given, values_alone: false };
    implicit::solution(equations, &by_lanes(&values(p), equilibrium), p).expect("a solution")
}

fn species<S: Strategy<Value: Element>>(p: &[Real<S>]) -> Vec<Real<S>> {
    species_of(false, p)
}

fn species_with_jacobian<S: Strategy<Value: Element>>(p: &[Real<S>]) -> Vec<Real<S>> {
    species_of(true, p)
}

/// The same, by steps of Newton's method for x₀.
fn species_by_steps<S: Strategy>(p: &[Real<S>]) -> Vec<Real<S>> {
    let cubic = (3.0 * p[0] * p[1]).eval();
    let step = |x: Real<S>, _| {
        let balance = x + 2.0 * p[0] * x * x + cubic * x * x * x - p[2];
        (x - balance / (1.0 + 4.0 * p[0] * x + 3.0 * cubic * x * x)).eval()
    };
    let x = (0..40).fold(p[2], step);
    vec![x, (p[0] * x * x).eval(), (p[0] * p[1] * x * x * x).eval()]
}

/// x = (x₁² + p₀)/5, (x₀·x₁ + p₁)/4: a contraction near 0.
struct Contraction;

impl<V: Number> Equations<V> for Contraction {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![((x[1] * x[1] + p[0]) * 0.2).into(), ((x[0] * x[1] + p[1]) * 0.25).into()]
    }
}

fn fixed<S: Strategy<Value: Element>>(p: &[Real<S>]) -> Vec<Real<S>> {
    let step = |x: Vec<f64>, p: &[f64]| vec![(x[1] * x[1] + p[0]) * 0.2, (x[0] * x[1] + p[1]) * 0.25];
    let iterated = |p: &[f64]| (0..80).fold(vec![0.0; 2], |x, _| step(x, p));
    implicit::fixed_point(Contraction, &by_lanes(&values(p), iterated), p).expect("it contracts")
}

fn fixed_by_steps<S: Strategy>(p: &[Real<S>]) -> Vec<Real<S>> {
    (0..80).fold(vec![Real::from(0.0); 2], |x, _| Contraction.evaluate(&x, p))
}

fn weighed<S: Strategy>(results: Vec<Real<S>>) -> Real<S> {
    let terms = results.iter().enumerate().map(|(k, y)| (*y * *y * [1.0, 1.5, 2.0][k] + *y).eval());
    tapewright::sum(&terms.collect::<Vec<_>>())
}

/// Gradients are the plain ones, bit for bit; second and third derivatives, and forward mode, agree with the steps.
macro_rules! agrees {
    ($entry:ident, $steps:ident, $p:expr) => {{
        let p = $p;
        let v = &scattered(p.len() + 3)[3..];
        let (value, slopes, product) = hvp::<Jacobian<D1>>(|p| weighed($entry(p)), &p, v);
        assert_eq!((value, slopes), value_and_gradient::<Jacobian>(|p| weighed($entry(p)), &p), "values");
        let (_, expected_slopes, expected) = hvp::<Jacobian<D1>>(|p| weighed($steps(p)), &p, v);
        assert_eq!(hvp::<PrimalValue<D1>>(|p| weighed($entry(p)), &p, v).2, product);
        assert_close("gradient", &slopes_of::<D1>(|p| weighed($entry(p)), &p), &expected_slopes, 1e-11);
        assert_close("product", &product, &expected, 1e-10);
        let at: Vec<D2> = p.iter().zip(v).map(|(p, v)| twice(*p, *v, 1.0 - v)).collect();
        let third = |slopes: Vec<D2>| slopes.iter().map(|slope| slope.tangents[0].tangents[0]).collect::<Vec<_>>();
        let found = third(gradient::<Jacobian<D2>>(|p| weighed($entry(p)), &at));
        let expected = third(gradient::<Jacobian<D2>>(|p| weighed($steps(p)), &at));
        assert!(expected.iter().any(|entry| entry.abs() > 1e-3), "it bends");
        assert_close("third derivatives", &found, &expected, 1e-8);
        let constant: Vec<Real<Passive<D2>>> = at.iter().map(|p| Real::constant(*p)).collect();
        let (found, expected) = (weighed($entry(&constant)).value(), weighed($steps(&constant)).value());
        assert_close("passive", &all(found), &all(expected), 1e-10);
    }};
}

fn slopes_of<V: Number>(f: impl FnOnce(&[Real<Jacobian<V>>]) -> Real<Jacobian<V>>, p: &[f64]) -> Vec<f64> {
    let p: Vec<V> = p.iter().map(|p| V::from_f64(*p)).collect();
    gradient::<Jacobian<V>>(f, &p).iter().map(|slope| slope.as_f64()).collect()
}

fn twice(value: f64, first: f64, second: f64) -> D2 {
    D2 { value: Dual { value, tangents: [first] }, tangents: [Dual { value: second, tangents: [0.0] }] }
}

fn all(number: D2) -> Vec<f64> {
    (0..4).map(|k| number.part(k)).collect()
}

#[test]
fn roots() {
    agrees!(anomaly, anomaly_by_steps, [0.6, 1.4]);
}

#[test]
fn solutions() {
    agrees!(species, species_by_steps, [0.8, 1.7, 2.3]);
    agrees!(species_with_jacobian, species_by_steps, [0.8, 1.7, 2.3]);
}

#[test]
fn fixed_points() {
    agrees!(fixed, fixed_by_steps, [0.9, 0.7]);
}

/// ∂²E/∂M² = −e·sin E/(1 − e·cos E)³.
#[test]
fn the_second_derivative_of_the_anomaly_in_closed_form() {
    let p = [0.6, 1.4];
    let x = value_and_gradient::<Jacobian>(|p| anomaly(p)[0], &p).0;
    let (_, _, product) = hvp::<Jacobian<D1>>(|p| anomaly(p)[0], &p, &[0.0, 1.0]);
    assert_close("second", &product[1..], &[-0.6 * x.sin() / (1.0 - 0.6 * x.cos()).powi(3)], 1e-13);
}

/// What tangents the solution has is not asked: they are found.
#[test]
fn tangents_of_the_given_solution_do_not_matter() {
    let p = [0.8, 1.7, 2.3];
    let x: Vec<D2> = equilibrium(&p).into_iter().map(|x| twice(x, 7.0, -3.0)).collect();
    let at: Vec<D2> = p.iter().map(|p| twice(*p, 1.0, *p)).collect();
    let f = |p: &[Real<Jacobian<D2>>]| {
        let equations = Equilibrium { given: false, values_alone: false };
        weighed(implicit::solution(equations, &x, p).expect("a solution"))
    };
    let found: Vec<f64> = gradient::<Jacobian<D2>>(f, &at).into_iter().flat_map(all).collect();
    let expected: Vec<f64> =
        gradient::<Jacobian<D2>>(|p| weighed(species_by_steps(p)), &at).into_iter().flat_map(all).collect();
    assert_close("all parts", &found, &expected, 1e-9);
}

#[test]
fn a_jacobian_without_tangents_is_refused() {
    let p = [0.8, 1.7, 2.3];
    let equations = Equilibrium { given: true, values_alone: true };
    let x = equilibrium(&p);
    let plain = gradient::<Jacobian>(|p| weighed(implicit::solution(equations, &x, p).expect("values are right")), &p);
    assert_eq!(plain, gradient::<Jacobian>(|p| weighed(species_with_jacobian(p)), &p));
    let at: Vec<Real<Passive<D1>>> = p.iter().map(|p| Real::constant(Dual { value: *p, tangents: [1.0] })).collect();
    let x: Vec<D1> = x.into_iter().map(Dual::constant).collect();
    let error = implicit::solution(equations, &x, &at).expect_err("p₁ has a tangent");
    assert_eq!(error, ImplicitError::WrongJacobian { equation: 1 });
}

#[cfg(feature = "packs")]
mod in_lanes {
    use super::*;
    use tapewright::packs::Pack;

    fn lanes(p: &[f64], step: f64) -> Vec<Pack<3>> {
        p.iter().map(|p| Pack([*p, p + step, p - step])).collect()
    }

    fn lane(numbers: &[Pack<3>], k: usize) -> Vec<f64> {
        numbers.iter().map(|number| number.0[k]).collect()
    }

    /// Bit for bit: the equations have multiplications and additions alone.
    #[test]
    fn solutions_in_lanes() {
        let (p, v) = (lanes(&[0.8, 1.7, 2.3], 0.1), lanes(&[1.0, -0.5, 0.25], 0.5));
        let found = gradient::<Jacobian<Pack<3>>>(|p| weighed(species(p)), &p);
        let second = hvp::<Jacobian<Dual<Pack<3>, 1>>>(|p| weighed(species(p)), &p, &v);
        for k in 0..3 {
            assert_eq!(lane(&found, k), gradient::<Jacobian>(|p| weighed(species(p)), &lane(&p, k)));
            let alone = hvp::<Jacobian<D1>>(|p| weighed(species(p)), &lane(&p, k), &lane(&v, k));
            assert_eq!((lane(&second.1, k), lane(&second.2, k)), (alone.1, alone.2));
        }
    }

    #[test]
    fn roots_in_lanes() {
        let p = lanes(&[0.5, 1.1], 0.05);
        let found = gradient::<PrimalValue<Pack<3>>>(|p| weighed(anomaly(p)), &p);
        for k in 0..3 {
            let alone = gradient::<PrimalValue>(|p| weighed(anomaly(p)), &lane(&p, k));
            assert_close("a lane", &lane(&found, k), &alone, 1e-14);
        }
    }

    #[test]
    fn one_lane_that_is_no_solution_or_singular_is_refused() {
        let mut tape = Tape::<Jacobian<Pack<2>>>::new();
        let p = [Pack([0.4, 0.4]), Pack([1.1, 1.1])];
        let right = anomaly(&p.map(Real::<Passive<Pack<2>>>::constant))[0].value().0[0];
        let refused = |x: [f64; 2], p: &[Pack<2>], tape: &mut Tape<Jacobian<Pack<2>>>| {
            tape.record(|scope| implicit::root(Kepler, Pack(x), &scope.inputs(p)).map(|x| x.value().0))
        };
        assert_eq!(refused([right; 2], &p, &mut tape), Ok([right; 2]));
        let error = refused([right, 1.0], &p, &mut tape).expect_err("not in the second lane");
        assert!(matches!(error, ImplicitError::NotASolution { size, .. } if size == 1.0), "{error}");
        let error = refused([right, f64::NAN], &p, &mut tape).expect_err("not in the second lane");
        assert_eq!(error, ImplicitError::NotFinite { equation: 0 });
        // E = 0 solves E − 1·sin E = 0, and ∂F/∂E is 0 there.
        let flat = [Pack([0.4, 1.0]), Pack([0.0, 0.0])];
        assert_eq!(refused([0.0; 2], &flat, &mut tape), Err(ImplicitError::Singular { pivot: 0 }));
        let several = tape.record(|scope| implicit::solution(Kepler, &[Pack([0.0; 2])], &scope.inputs(&flat)).err());
        assert_eq!(several, Some(ImplicitError::Singular { pivot: 0 }));
    }
}
