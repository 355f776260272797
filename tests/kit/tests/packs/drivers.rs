//! Many evaluations in one call.

use tapewright::Error;
use tapewright::packs::{Lanes, Pack, in_packs};
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
