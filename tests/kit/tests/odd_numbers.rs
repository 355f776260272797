//! Numbers of several parts where one part, or one lane, is special and the others are not.

use tapewright::external::{ByFiniteDifferences, ByTangents};
use tapewright::kernels::{parallel_for, parallel_sum};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::{Checked, Dual, Error, Number, Subgradient, SweepError, external, hvp, logsumexp};

type Zero<V> = Subgradient<Jacobian<V>>;
type Careful<V> = Checked<Jacobian<V>>;

/// A branch on equality is decided by values, so that the recording over duals is the plain one.
#[test]
fn equality_of_variables_is_that_of_their_values() {
    fn sinc<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        if x[0] == 0.0 { (x[0] * x[0] * (-1.0 / 6.0) + 1.0).into() } else { (x[0].sin() / x[0]).into() }
    }
    fn same<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        if x[0] == x[1] { (x[0] * 2.0).into() } else { x[0] }
    }
    let (value, gradient, product) = hvp::<Jacobian<Dual<f64, 1>>>(sinc, &[0.0], &[1.0]);
    assert_eq!((value, gradient, product), (1.0, vec![0.0], vec![-1.0 / 3.0]));
    let (value, ..) = hvp::<Jacobian<Dual<f64, 1>>>(same, &[1.5, 1.5], &[1.0, 0.0]);
    assert_eq!(value, 3.0);
}

/// A singular lane is silenced, and no other.
#[test]
fn subgradients_lane_by_lane() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0].sqrt() * 3.0 + x[1].hypot(x[0])).into()
    }
    let x = [[4.0, 0.0, 0.0, f64::NAN], [3.0, 0.0, 2.0, 1.0]];
    let packs = x.map(Pack);
    let found = gradient::<Zero<Pack<4>>>(f, &packs);
    for k in 0..4 {
        let alone = gradient::<Zero<f64>>(f, &[x[0][k], x[1][k]]);
        for i in 0..2 {
            let (found, alone) = (found[i][k], alone[i]);
            assert!(found == alone || found.is_nan() && alone.is_nan(), "∂{i} in lane {k}: {found}, not {alone}");
        }
    }
    let found = gradient::<Zero<Pack<2>>>(|x| logsumexp(&[x[0].sqrt().eval(), x[0]]), &[Pack([4.0, 0.0])]);
    let alone = gradient::<Zero<f64>>(|x| logsumexp(&[x[0].sqrt().eval(), x[0]]), &[4.0]);
    assert_eq!(found[0][0], alone[0]);
}

/// Below a maximum a singular function is an offence in lanes that take it, and in no others.
#[test]
fn offences_below_a_maximum_lane_by_lane() {
    let f = |x: &[Real<Careful<Pack<2>>>]| x[0].sqrt().max(x[1]).into();
    let at = |x, y| Tape::<Careful<Pack<2>>>::new().gradient(f, &[Pack(x), Pack(y)], &mut [Pack::ZERO; 2]);
    let taken = at([0.0, 4.0], [-1.0, -1.0]);
    assert!(matches!(taken, Err(Error::Sweep(SweepError::Singular { .. }))), "{taken:?}");
    assert_eq!(at([0.0, 4.0], [1.0, 1.0]), Ok(Pack([1.0, 2.0])));
}

/// The step of a lane is made for its own number.
#[test]
fn differences_lane_by_lane() {
    fn found<S: Reverse>(x: S::Value) -> S::Value {
        let cube = |x: &[S::Value]| vec![x[0] * x[0] * x[0]];
        let f = |x: &[Real<S>]| {
            let rules = ByFiniteDifferences::new(cube, &[x[0].value()], S::Value::from_f64(1e-5));
            external(&[x[0].clone()], &cube(&[x[0].value()]), rules).remove(0)
        };
        gradient::<S>(f, &[x])[0]
    }
    let pack = found::<Jacobian<Pack<2>>>(Pack([1.0, 1e8]));
    assert_eq!(pack.0, [found::<Jacobian>(1.0), found::<Jacobian>(1e8)]);
}

/// A lane, or a value, whose seed is 0 takes nothing from an infinite slope.
#[test]
fn rules_by_tangents_and_differences_where_a_slope_is_infinite() {
    fn slopes<V: Number>(seed: V, x: V, tangents: bool) -> V {
        let mut tape = Tape::<Jacobian<V>>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(x);
            let at = x.value();
            let y = if tangents {
                let root = |x: &[Real<Tangent<8, V>>]| vec![x[0].sqrt().eval()];
                external(&[x], &[at.sqrt()], ByTangents::new(root, &[at]))
            } else {
                let pole = |x: &[V]| vec![V::ONE / (x[0] - V::from_f64(1e-5))];
                external(&[x], &pole(&[at]), ByFiniteDifferences::new(pole, &[at], V::from_f64(1e-5)))
            };
            (x, y)
        });
        tape.sweep(&[(&y[0], seed)]).and_then(|a| a.of(&x)).expect("its own")
    }
    assert_eq!(slopes(Pack([0.0, 1.0]), Pack([0.0, 4.0]), true).0, [0.0, 0.25]);
    let found = slopes(Pack([0.0, 1.0]), Pack([0.0, 4.0]), false);
    assert!(found[0] == 0.0 && found.0[1].abs() < 1.0, "{found}");
    let seed = Dual { value: 0.0, tangents: [1.0] };
    assert_eq!(slopes(seed, Dual { value: 0.0, tangents: [0.0] }, true).value, 0.0);
}

/// Forward sweeps along a direction whose value is 0 and whose tangent is not.
#[test]
fn differences_along_tangents_of_zeros() {
    type S = Jacobian<Dual<f64, 1>>;
    let square = |x: &[Dual<f64, 1>]| vec![x[0] * x[0]];
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(Dual { value: 3.0, tangents: [0.0] });
        let rules = ByFiniteDifferences::new(square, &[x.value()], Dual::from_f64(1e-5));
        let y = external(&[x], &square(&[x.value()]), rules).remove(0);
        (x, y)
    });
    let found = tape.jvp(&[(&x, Dual { value: 0.0, tangents: [1.0] })], &[&y]).expect("its own")[0];
    assert_eq!(found.value, 0.0);
    assert!((found.tangents[0] - 6.0).abs() < 1e-9, "{found}");
}

/// What was chosen lane by lane from constants depends on the inputs of a recording all the same.
#[test]
fn choices_from_constants_are_not_replayed() {
    type S = PrimalValue<Pack<2>>;
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(Pack([0.0, 1.0]));
        let c = x.less(0.5).select(&Real::from(1.0), &Real::from(2.0));
        (x, (x * c).eval())
    });
    tape.replay(&[(&x, Pack([0.25, 2.0]))]).expect("the same choices");
    assert_eq!(tape.value_of(&y).expect("its own").0, [0.25, 4.0]);
    let changed = tape.replay(&[(&x, Pack([1.0, 0.0]))]);
    assert!(matches!(changed, Err(Error::Sweep(SweepError::BranchChanged { .. }))), "{changed:?}");
}

/// A pole under a policy, at an input that has a tangent.
#[test]
fn poles_of_numbers_with_tangents() {
    let at = Dual { value: 0.0, tangents: [1.0] };
    let refused = Tape::<Careful<Dual<f64, 1>>>::new().gradient(|x| (1.0 / x[0]).into(), &[at], &mut [at]);
    assert!(matches!(refused, Err(Error::Sweep(SweepError::Singular { .. }))), "{refused:?}");
    let silent = gradient::<Zero<Dual<f64, 1>>>(|x| (1.0 / x[0]).into(), &[at]);
    assert_eq!(silent[0], Dual::ZERO);
}

/// Sums and scans over packs of which a lane has an infinite slope and the seed 0.
#[test]
fn launches_where_a_lane_has_an_infinite_slope() {
    let mut tape = Tape::<Jacobian<Pack<2>>>::new();
    let values = [Pack([0.0, 4.0]), Pack([1.0, 9.0])];
    let (x, sum, last) = tape.record(|scope| {
        let x = scope.view([2], &values);
        let sum = parallel_sum(x.all(), (&x,), |(x,)| x.at::<0>().sqrt());
        let mut roots = x.clone();
        parallel_for(x.all(), (&x, &mut roots), |(x, y)| {
            let _ = y;
            (x.at::<0>().sqrt(),)
        });
        let last = parallel_sum(roots.all(), (&roots,), |(x,)| x.at::<0>() * x.at::<0>());
        (x, sum, last)
    });
    let seed = Pack([0.0, 1.0]);
    let found = tape.sweep(&[(&sum, seed)]).expect("its own").of_view(&x).expect("an input").to_vec();
    assert_eq!(found, [Pack([0.0, 0.25]), Pack([0.0, 1.0 / 6.0])]);
    let found = tape.sweep(&[(&last, seed)]).expect("its own").of_view(&x).expect("an input").to_vec();
    assert_eq!(found, [Pack([0.0, 1.0]); 2]);
}

/// Below two maxima an offence counts in the lanes that take both.
#[test]
fn offences_below_two_maxima() {
    let f = |x: &[Real<Careful<Pack<2>>>]| x[0].sqrt().max(x[1]).max(x[2]).into();
    let at = |z| {
        Tape::<Careful<Pack<2>>>::new().gradient(f, &[Pack([0.0; 2]), Pack([-1.0; 2]), Pack(z)], &mut [Pack::ZERO; 3])
    };
    assert_eq!(at([1.0, 2.0]), Ok(Pack([1.0, 2.0])));
    assert!(matches!(at([1.0, -2.0]), Err(Error::Sweep(SweepError::Singular { .. }))));
}

#[test]
fn sine_and_cosine_of_a_dual() {
    let (sin, cos) = Dual { value: 0.5, tangents: [2.0] }.sin_cos();
    assert_eq!((sin.tangents[0], cos.tangents[0]), (2.0 * 0.5_f64.cos(), -2.0 * 0.5_f64.sin()));
}

#[test]
#[should_panic(expected = "have different values, so it is no single number")]
fn lanes_that_differ_are_no_single_number() {
    let _ = Pack([1.0, 2.0]).as_f64();
}

/// A lane that is computed alone changes no other.
#[test]
fn functions_of_lanes_do_not_depend_on_other_lanes() {
    for k in 0..200 {
        let x = 0.37 + 0.113 * f64::from(k);
        assert_eq!(Pack([x, 1e300]).sin()[0].to_bits(), Pack([x, 0.3]).sin()[0].to_bits(), "sin {x}");
        assert_eq!(Pack([x, 1e300]).exp()[0].to_bits(), Pack([x, 0.3]).exp()[0].to_bits(), "exp {x}");
        let powers = [1e300, 0.3].map(|other| Pack([x, other]).powf(Pack([1.7, 3.0]))[0].to_bits());
        assert_eq!(powers[0], powers[1], "powf {x}");
    }
}
