//! Many evaluations in one call.

use tapewright::Error;
use tapewright::packs::{Lanes, Pack, datum, in_packs};
use tapewright::prelude::*;

fn path<S: Strategy>(x: &[Real<S>], normal: impl Fn(usize) -> Real<S>) -> Real<S> {
    let mut price = Real::from(1.0);
    for step in 0..6 {
        price *= x[0] * normal(step) * 0.3 + x[1] + 1.0;
    }
    (price - 1.0).max(0.0).into()
}

fn normal(evaluation: usize, step: usize) -> f64 {
    f64::from(u32::try_from((evaluation * 31 + step * 17) % 23).expect("below 23")) / 11.0 - 1.0
}

#[test]
fn every_number_of_evaluations_gives_what_each_gives_alone() {
    let parameters: Vec<[f64; 2]> = (0..21).map(|k| [0.2 + 0.01 * f64::from(k), 0.05]).collect();
    for count in [0, 1, 7, 8, 9, 16, 21] {
        let found = in_packs::<Jacobian<Pack<8>>, _, 8>(
            count,
            |k| &parameters[k],
            |x, lanes| path(x, |step| Real::constant(lanes.pack(|k| normal(k, step)))),
        )
        .expect("in memory");
        assert_eq!((found.values.len(), found.gradients.len()), (count, count));
        for (k, set) in parameters.iter().enumerate().take(count) {
            let alone = |x: &[Real<Jacobian>]| path(x, |step| Real::constant(normal(k, step)));
            let (value, slopes) = value_and_gradient::<Jacobian>(alone, set);
            assert_eq!((found.values[k], &found.gradients[k]), (value, &slopes), "{k} of {count}");
        }
        let (sum, slopes) = found.sum();
        assert_eq!(sum, found.values.iter().sum::<f64>());
        assert_eq!(slopes.len(), if count == 0 { 0 } else { 2 });
    }
}

#[test]
fn lanes_left_over_repeat_the_last_evaluation() {
    let mut seen = std::cell::RefCell::new(Vec::new());
    let inputs = [1.0];
    let _ = in_packs::<Jacobian<Pack<4>>, _, 4>(
        6,
        |_| &inputs,
        |x, lanes: Lanes<4>| {
            seen.borrow_mut().push([0, 1, 2, 3].map(|lane| lanes.evaluation(lane)));
            x[0]
        },
    );
    assert_eq!(*seen.get_mut(), [[0, 1, 2, 3], [4, 5, 5, 5]]);
}

#[test]
#[should_panic(expected = "evaluation 1 has 1 inputs, and 0 has 2")]
fn evaluations_have_as_many_inputs() {
    let sets: [&[f64]; 2] = [&[1.0, 2.0], &[3.0]];
    let _ = in_packs::<Jacobian<Pack<2>>, _, 2>(2, |k| sets[k], |x, _| x[0]);
}

#[test]
fn a_variable_of_another_recording_is_an_error() {
    let inputs = [1.0];
    let mut other = None;
    let _ = gradient::<Jacobian<Pack<2>>>(
        |x| {
            other = Some(x[0]);
            x[0]
        },
        &[Pack([1.0; 2])],
    );
    let other = other.expect("it has run");
    let found = in_packs::<Jacobian<Pack<2>>, _, 2>(2, |_| &inputs, |_, _| other);
    assert!(matches!(found, Err(Error::ForeignVariable { .. })), "{found:?}");
}

fn outputs<S: Strategy>(x: &[Real<S>]) -> [Real<S>; 3] {
    [(x[0] * x[1]).into(), x[1], (x[0] / x[1]).into()]
}

#[test]
fn several_outputs_give_what_each_gives_alone() {
    let sets: Vec<[f64; 2]> = (0..11).map(|k| [0.5 + f64::from(k), 2.0 - 0.1 * f64::from(k)]).collect();
    let found = in_packs::<Jacobian<Pack<4>>, _, 4>(11, |k| &sets[k], |x, _| outputs(x)).expect("in memory");
    assert_eq!((found.count(), found.values.len(), found.gradients.len()), (11, 33, 33));
    for output in 0..3 {
        let one = in_packs::<Jacobian<Pack<4>>, _, 4>(11, |k| &sets[k], |x, _| outputs(x)[output]).expect("in memory");
        assert_eq!(found.of(output).collect::<Vec<_>>(), one.values);
        let gradients: Vec<_> = found.gradients.iter().skip(output).step_by(3).cloned().collect();
        assert_eq!(gradients, one.gradients);
        assert_eq!(found.mean_gradient(output), one.mean_gradient(0));
    }
}

#[test]
#[should_panic(expected = "pack 1 has 2 outputs, and pack 0 has 1")]
fn packs_have_as_many_outputs() {
    let _ = in_packs::<Jacobian<Pack<2>>, _, 2>(3, |_| &[1.0], |x, lanes| vec![x[0]; 1 + lanes.number()]);
}

#[test]
fn lanes_know_the_number_of_their_pack() {
    let seen = std::cell::RefCell::new(Vec::new());
    let note = |x: &[Real<Jacobian<Pack<4>>>], lanes: Lanes<4>| {
        seen.borrow_mut().push(lanes.number());
        x[0]
    };
    in_packs::<Jacobian<Pack<4>>, _, 4>(9, |_| &[1.0], note).expect("in memory");
    assert_eq!(*seen.borrow(), [0, 1, 2]);
}

#[test]
fn data_in_lanes_take_no_record_and_give_what_passive_variables_give() {
    fn bytes<S: Strategy + Reverse<Value = Pack<4>>>(f: impl Fn(&Real<S>) -> Real<S>) -> (Pack<4>, usize) {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(Pack([1.0, 2.0, 3.0, 4.0]));
            (x, f(&x))
        });
        let slopes = tape.sweep(&[(&y, Pack([1.0; 4]))]).and_then(|adjoints| adjoints.of(&x)).expect("its own");
        let report = tape.memory();
        let records = ["codes", "arguments", "constants", "partials"].map(|name| report.usage(name).used);
        (slopes, records.iter().sum())
    }
    fn compare<S: Strategy + Reverse<Value = Pack<4>>>() {
        let lanes = Pack([0.5, -1.0, 0.0, 2.0]);
        let literal = bytes::<S>(|x| (*x * datum(lanes) * *x).into());
        let passive = bytes::<S>(|x| (*x * Real::constant(lanes) * *x).into());
        let plain = bytes::<S>(|x| (*x * 0.5 * *x).into());
        assert_eq!(literal.0, passive.0);
        assert_eq!(literal.1, plain.1);
        assert!(literal.1 <= passive.1, "{} and {} bytes", literal.1, passive.1);
    }
    compare::<Jacobian<Pack<4>>>();
    compare::<PrimalValue<Pack<4>>>();
}
