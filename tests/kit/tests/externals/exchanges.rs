//! Exchanges: functions that are recorded, and swept, whatever is active.

use std::array::from_ref;
use std::sync::{Arc, Mutex};
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::exchange::{Exchange, schedule_digest};
use tapewright::external::ByTangents;
use tapewright::kernels::View;
use tapewright::schedule::Revolve;
use tapewright::variables::Variables;
use tapewright::{
    External, Jacobian, Number, Passive, Real, Reverse, SweepError, Tangent, Tape, Taping, Traced, external,
    preaccumulate, preaccumulate_by_reverse,
};
use tapewright_kit_tests::panics::panic_of;
use tapewright_kit_tests::{float, for_each_mechanism};

/// What a mirror has been asked: the kind of question, and the numbers.
type Notes = Arc<Mutex<Vec<(&'static str, Vec<f64>)>>>;

/// Gives back twice what it gets, and notes each question.
#[derive(Clone, Default)]
struct Mirror(Notes);

impl Mirror {
    fn note<V: Number>(&self, what: &'static str, from: &[V], to: &mut [V]) {
        self.0.lock().expect("no panic").push((what, from.iter().map(|number| number.as_f64()).collect()));
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from + *from);
    }

    fn notes(&self) -> Vec<(&'static str, Vec<f64>)> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }

    /// Twice these collections.
    fn of<S: Taping, X: Variables<S, With<S> = X>>(&self, x: &[X]) -> Vec<X> {
        let exchange = Exchange::of(x);
        let doubled: Vec<S::Value> = exchange.values().iter().map(|value| *value + *value).collect();
        exchange.finish(x, &doubled, self.clone())
    }
}

impl<V: Number> External<V> for Mirror {
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        self.note("reverse", outputs, inputs);
        Ok(())
    }

    fn reverse_lanes(&self, _: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        self.note("lanes", outputs, inputs);
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        self.note("forward", inputs, outputs);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        self.note("replay", inputs, outputs);
        Ok(())
    }
}

/// Constants are exchanged like variables, and a rule is asked though nothing arrives.
fn nothing_is_left_out<S: Reverse>() {
    let mirror = Mirror::default();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(3.0));
        mirror.of(&[Real::<S>::constant(float(5.0))]);
        mirror.of::<S, Real<S>>(&[]);
        let y = mirror.of(&[x.clone(), Real::constant(float(7.0))]);
        (x, y)
    });
    assert_eq!(tape.sweep(&[(&y[0], float(10.0))]).and_then(|adjoints| adjoints.of(&x)), Ok(float(20.0)));
    let reverse = |numbers: &[f64]| ("reverse", numbers.to_vec());
    assert_eq!(mirror.notes(), [reverse(&[10.0, 0.0]), reverse(&[]), reverse(&[0.0])]);
    assert_eq!(tape.sweep(&[]).and_then(|adjoints| adjoints.of(&x)), Ok(S::Value::ZERO));
    assert_eq!(mirror.notes().len(), 3);
    let lanes = tape.sweep_lanes(&[(&y[0], [float(1.0), float(2.0)]), (&y[1], [float(3.0), float(4.0)])]);
    assert_eq!(lanes.and_then(|lanes| lanes.of(&x)), Ok([float(2.0), float(4.0)]));
    assert_eq!(mirror.notes()[0], ("lanes", vec![1.0, 2.0, 3.0, 4.0]));
    assert_eq!(tape.jvp(&[(&x, S::Value::ONE)], &[&y[0]]), Ok(vec![float(2.0)]));
    let forward = |numbers: &[f64]| ("forward", numbers.to_vec());
    assert_eq!(mirror.notes(), [forward(&[0.0]), forward(&[]), forward(&[1.0, 0.0])]);
}

/// A gradient driver sweeps, too, where what it is asked for depends on nothing.
#[test]
fn a_driver_sweeps_for_a_constant() {
    type S = Jacobian;
    let mirror = Mirror::default();
    let run = |x: &[Real<S>]| {
        mirror.of(x);
        Real::constant(1.0)
    };
    assert_eq!(tapewright::gradient::<S>(run, &[2.0]), [0.0]);
    assert_eq!(mirror.notes(), [("reverse", vec![0.0])]);
}

/// A rule sees, of each collection, its variables and then its views.
fn collections_are_laid_end_to_end<S: Reverse>() {
    let mirror = Mirror::default();
    let mut tape = Tape::<S>::new();
    let ((x, v), y) = tape.record(|scope| {
        let (x, v) = (scope.input(float(1.0)), scope.view([2], &[float(2.0), float(3.0)]));
        let passive = View::<S, 1>::filled([1], float(4.0));
        let y = mirror.of(&[(v.clone(), x.clone()), (passive, Real::constant(float(5.0)))]);
        ((x, v), y)
    });
    let values: Vec<f64> =
        [&y[0], &y[1]].iter().flat_map(|(v, x)| [vec![x.value()], v.to_vec()].concat()).map(Number::as_f64).collect();
    assert_eq!(values, [2.0, 4.0, 6.0, 10.0, 8.0]);
    let seeds: Vec<S::Value> = [10.0, 20.0].map(float).to_vec();
    let adjoints = tape.sweep_view(&[(&y[0].1, float(30.0))], (&y[0].0, &seeds)).expect("a sweep");
    assert_eq!(
        (adjoints.of(&x), adjoints.of_view(&v).map(|v| v.to_vec())),
        (Ok(float(60.0)), Ok([20.0, 40.0].map(float).to_vec()))
    );
    assert_eq!(mirror.notes(), [("reverse", vec![30.0, 10.0, 20.0, 0.0, 0.0])]);
    let sum = tape.sweep_lanes(&[(&y[0].1, [float(1.0), float(0.0)])]).expect("a sweep");
    assert_eq!(sum.of(&x), Ok([float(2.0), float(0.0)]));
    assert_eq!(mirror.notes(), [("lanes", vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
}

/// A stage that exchanges is recorded, and run again, without active inputs.
fn stages_that_exchange_are_recorded<S: Reverse>() {
    let mirror = Mirror::default();
    let mut tape = Tape::<S>::new();
    tape.record(|_| {
        let (plain, taped) = (mirror.clone(), mirror.clone());
        let x = vec![Real::<S>::constant(float(3.0))];
        let y = Stage::<S>::new().run(&x, move |x: &Vec<_>| plain.of(x), move |x: &Vec<_>| taped.of(x));
        assert_eq!(y[0].value(), float(6.0));
        let silent = Stage::<S>::new().run(&x, Clone::clone, Clone::clone);
        assert_eq!(silent[0].value(), float(3.0));
    });
    assert!(mirror.notes().is_empty());
    tape.sweep(&[]).expect("a sweep");
    assert_eq!(mirror.notes(), [("reverse", vec![0.0])]);
}

/// So is a time loop; a rule finds out by which schedule it runs.
#[test]
fn loops_that_exchange_are_recorded() {
    type S = Jacobian;
    let digests: Arc<Mutex<Vec<u64>>> = Arc::default();
    let run = |snapshots: usize, x: f64| {
        let mirror = Mirror::default();
        let (plain, taped, noted) = (mirror.clone(), mirror.clone(), Arc::clone(&digests));
        let mut tape = Tape::<S>::new();
        tape.record(|_| {
            let start = vec![Real::<S>::constant(x)];
            let plain = move |_: usize, (): &(), x: &Vec<Real<Passive<f64>>>| {
                noted.lock().expect("no panic").push(schedule_digest());
                plain.of(x)
            };
            let time_loop = TimeLoop::<S>::new(Revolve::new(6, snapshots));
            let end = time_loop.run(&(), &start, plain, move |_, (), x: &Vec<_>| taped.of(x)).expect("no file");
            assert_eq!(end[0].value(), 64.0 * x);
        });
        tape.sweep(&[]).expect("a sweep");
        assert_eq!(mirror.notes(), vec![("reverse", vec![0.0]); 6]);
        assert_eq!(schedule_digest(), 0);
        std::mem::take(&mut *digests.lock().expect("no panic"))
    };
    let (two, again, three) = (run(2, 1.0), run(2, 0.5), run(3, 1.0));
    assert_eq!(two, again);
    assert_ne!(two[0], three[0]);
}

/// While a recording is paused nothing is recorded.
#[test]
fn pauses_leave_exchanges_out() {
    type S = Jacobian;
    let mirror = Mirror::default();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(3.0);
        let y = tapewright::pause(|| mirror.of(from_ref(&x)));
        (x, y)
    });
    assert_eq!(tape.sweep(&[(&y[0], 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.0));
    assert!(mirror.notes().is_empty());
}

/// Inputs of an outer recording, and blocks whose derivatives are wanted at once.
#[test]
fn what_would_be_lost_is_refused() {
    type S = Jacobian;
    let mirror = Mirror::default();
    let mut outer = Tape::<S>::new();
    outer.record(|scope| {
        let x = scope.input(3.0);
        let words = panic_of(&mut || Tape::<S>::new().record(|_| drop(mirror.of(from_ref(&x)))));
        assert!(words.contains("innermost recording"), "{words}");
        let words = panic_of(&mut || _ = preaccumulate(from_ref(&x), |x| mirror.of(x).remove(0)));
        assert!(words.contains("a preaccumulated block has exchanged something"), "{words}");
        let words =
            panic_of(&mut || drop(preaccumulate_by_reverse::<S, _, _, _>(&x, |x: &Real<S>| mirror.of(from_ref(x)))));
        assert!(words.contains("a preaccumulated block has exchanged something"), "{words}");
    });
    let at = [1.0];
    let mut tape = Tape::<S>::new();
    let y = tape.record(|scope| {
        let function = move |x: &[Real<Tangent<8, f64>>]| mirror.of(x);
        external(&scope.inputs(&at), &at, ByTangents::new(function, &at)).remove(0)
    });
    let words = tape.sweep(&[(&y, 1.0)]).expect_err("it is refused").to_string();
    assert!(words.contains("it has exchanged something"), "{words}");
}

/// There must be as many numbers as places.
#[test]
fn numbers_are_counted() {
    type S = Jacobian;
    let finish = |count: usize| {
        let x = [Real::<S>::constant(1.0), Real::constant(2.0)];
        drop(Exchange::of(&x).finish(&x, &vec![1.0; count], Mirror::default()));
    };
    finish(2);
    assert!(panic_of(&mut || finish(1)).contains("its outputs have more"));
    assert!(panic_of(&mut || finish(3)).contains("1 numbers too many"));
}

for_each_mechanism!(nothing_is_left_out, collections_are_laid_end_to_end, stages_that_exchange_are_recorded);

/// In forward mode the rule is asked for each direction, zeros included; in a pause for none.
#[test]
fn forward_mode_asks_for_each_direction() {
    let mirror = Mirror::default();
    let f = |x: &[Real<Tangent<2>>]| {
        mirror.of(&[Real::<Tangent<2>>::constant(1.0)]);
        let constant = tapewright::pause(|| mirror.of(x));
        let y = mirror.of(x);
        vec![(y[0] * constant[0]).eval()]
    };
    let (values, slopes) = tapewright::jvps::<Tangent<2>>(f, &[3.0], &[[1.0], [0.0]]).expect("two directions");
    assert_eq!((values, slopes), (vec![36.0], vec![vec![12.0], vec![0.0]]));
    let forward = |number: f64| ("forward", vec![number]);
    assert_eq!(mirror.notes(), [forward(0.0), forward(0.0), forward(1.0), forward(0.0)]);
}

/// Views carry tangents through an exchange.
#[test]
fn tangents_of_views_are_exchanged() {
    let mirror = Mirror::default();
    let v = View::<Tangent<1>, 1>::moving([2], &[1.0, 2.0], |_| vec![0.5, 0.25]);
    let doubled = mirror.of(&[v]);
    assert_eq!((doubled[0].to_vec(), doubled[0].tangents(0)), (vec![2.0, 4.0], vec![1.0, 0.5]));
    assert_eq!(mirror.notes(), [("forward", vec![0.5, 0.25])]);
}

/// Without a tape there are values only.
#[test]
fn passive_code_exchanges_values() {
    let mirror = Mirror::default();
    let y = mirror.of(Real::<Passive>::wrap_slice(&[1.0, 2.0]));
    assert_eq!(Real::floats(&y), [2.0, 4.0]);
    assert!(mirror.notes().is_empty());
}

/// Another process would not expect a second question, which is how the first bad adjoint is found elsewhere.
#[test]
fn a_traced_recording_asks_once_whatever_the_adjoint() {
    let mirror = Mirror::default();
    let mut tape = Tape::<Traced<Jacobian>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(3.0);
        (x, mirror.of(&[x]).remove(0))
    });
    assert!(tape.sweep(&[(&y, f64::INFINITY)]).and_then(|adjoints| adjoints.of(&x)).is_ok_and(f64::is_infinite));
    assert_eq!(mirror.notes().len(), 1);
    assert_eq!(tape.trace().map(|trace| trace.first_non_finite().is_none()), Ok(true));
}
