//! The comparison of a recorded run with the plain one notices whatever differs: exchanges, rotations, pairs of
//! changes, signs of zeros, lengths.

use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::Revolve;
use tapewright::{Error, SweepError};

const LENGTH: usize = 4096;

type State = Vec<Real<Jacobian>>;

/// Different numbers, many bits of which are 0, as in states of real programs.
fn numbers(length: usize) -> Vec<f64> {
    (0..length).map(|k| 0.25 * f64::from(u32::try_from(k).expect("few"))).collect()
}

/// Whether a loop notices that the recorded step changes its result like this. The step is the identity.
fn loop_notices(start: &[f64], change: impl Fn(&mut State) + Send + Sync + 'static) -> bool {
    let mut tape = Tape::<Jacobian>::new();
    let end = tape.record(|scope| {
        let u = scope.inputs(start);
        let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(2, 1));
        let taped = move |step: usize, (): &(), u: &State| {
            let mut u = u.clone();
            if step == 0 {
                change(&mut u);
            }
            u
        };
        time_loop.run(&(), &u, |_, (), u| u.clone(), taped).expect("no disk")
    });
    is_noticed(tape.sweep(&[(&end[0], 1.0)]).map(drop))
}

/// Whether a stage does.
fn stage_notices(start: &[f64], change: impl Fn(&mut State) + Send + Sync + 'static) -> bool {
    let mut tape = Tape::<Jacobian>::new();
    let end = tape.record(|scope| {
        let u = scope.inputs(start);
        let taped = move |u: &State| {
            let mut u = u.clone();
            change(&mut u);
            u
        };
        Stage::<Jacobian>::new().run(&u, |u: &Vec<Real<Passive>>| u.clone(), taped)
    });
    is_noticed(tape.sweep(&[(&end[0], 1.0)]).map(drop))
}

fn is_noticed(swept: Result<(), Error>) -> bool {
    match swept {
        Ok(()) => false,
        Err(Error::Sweep(SweepError::NotReproducible { .. })) => true,
        Err(error) => panic!("{error}"),
    }
}

fn assert_noticed(what: &str, start: &[f64], change: impl Fn(&mut State) + Clone + Send + Sync + 'static) {
    assert!(loop_notices(start, change.clone()), "{what}, in a loop");
    assert!(stage_notices(start, change), "{what}, in a stage");
}

/// Replaces a number by another one, as a constant.
fn replace(u: &mut State, at: usize, by: impl Fn(f64) -> f64) {
    u[at] = Real::constant(by(u[at].value()));
}

#[test]
fn equal_runs_are_equal() {
    for length in [1, 7, 64, 65, LENGTH] {
        assert!(!loop_notices(&numbers(length), |_| ()), "{length}");
        assert!(!stage_notices(&numbers(length), |_| ()), "{length}");
    }
}

#[test]
fn exchanges_at_every_distance_are_noticed() {
    let start = numbers(LENGTH);
    for distance in 1..=LENGTH / 2 {
        let first = 7 * distance % (LENGTH - distance);
        assert_noticed(&format!("distance {distance}"), &start, move |u| u.swap(first, first + distance));
    }
}

#[test]
fn rotations_by_every_amount_are_noticed() {
    let start = numbers(LENGTH / 2);
    for amount in 1..LENGTH / 2 {
        assert_noticed(&format!("rotation by {amount}"), &start, move |u| u.rotate_left(amount));
    }
}

/// In a state of equal numbers, where the only difference between two places is their places.
#[test]
fn pairs_of_equal_and_of_opposite_changes_at_every_distance_are_noticed() {
    let start = vec![1.5; LENGTH];
    for distance in 1..=LENGTH / 2 {
        let (first, second) = (LENGTH / 2 - distance, LENGTH / 2);
        assert_noticed(&format!("signs at distance {distance}"), &start, move |u| {
            replace(u, first, |x| -x);
            replace(u, second, |x| -x);
        });
        assert_noticed(&format!("opposite changes at distance {distance}"), &start, move |u| {
            replace(u, first, f64::next_up);
            replace(u, second, f64::next_down);
        });
    }
}

/// What a difference of fluxes leaves: one number more and its neighbor less, and elsewhere the other way round.
#[test]
fn two_pairs_of_opposite_changes_are_noticed() {
    let start = vec![1.5; LENGTH];
    for distance in (2..LENGTH - 1).step_by(5) {
        assert_noticed(&format!("pairs at distance {distance}"), &start, move |u| {
            replace(u, 0, f64::next_up);
            replace(u, 1, f64::next_down);
            replace(u, distance, f64::next_down);
            let next = distance + 1;
            replace(u, next, f64::next_up);
        });
    }
}

#[test]
fn signs_of_zeros_are_noticed_and_those_of_nans_are_not() {
    for length in [1, 64, 65, LENGTH] {
        for at in [0, length / 2, length - 1] {
            assert_noticed("a sign of zero", &vec![0.0; length], move |u| replace(u, at, |x| -x));
        }
        let nans = vec![f64::NAN; length];
        assert!(!loop_notices(&nans, |u| replace(u, 0, |x| -x)) && !stage_notices(&nans, |u| replace(u, 0, |x| -x)));
    }
}

/// A list that is longer than before by zeros at its end, in a state with as many numbers; and a number that moves to
/// the next list.
#[test]
fn lists_that_end_elsewhere_are_noticed() {
    type Lists<S> = (Vec<Real<S>>, Vec<Real<S>>);
    fn cut<S: Strategy<Value = f64>>((a, b): &Lists<S>, at: usize) -> Lists<S> {
        let all = [&a[..], &b[..]].concat();
        (all[..at].to_vec(), all[at..].to_vec())
    }
    for (length, at) in [(1, 0), (64, 64), (128, 64), (200, 199), (200, 1)] {
        for moved in (0..=length).filter(|moved| *moved != at) {
            let mut tape = Tape::<Jacobian>::new();
            let (a, b) = tape.record(|scope| {
                let u = (scope.inputs(&vec![0.0; at]), scope.inputs(&vec![0.0; length - at]));
                let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(2, 1));
                let plain = move |_: usize, (): &(), u: &Lists<Passive>| cut(u, at);
                let taped = move |step: usize, (): &(), u: &Lists<Jacobian>| cut(u, if step == 0 { moved } else { at });
                time_loop.run(&(), &u, plain, taped).expect("no disk")
            });
            let seeds: Vec<_> = a.iter().chain(&b).map(|x| (x, 1.0)).collect();
            assert!(is_noticed(tape.sweep(&seeds).map(drop)), "{moved} for {at} of {length}");
        }
    }
    // A stage with zeros more or less at its end has another number of outputs.
    assert!(stage_notices(&[0.0; 64], |u| u.push(Real::constant(0.0))));
    assert!(stage_notices(&[0.0; 65], |u| u.truncate(64)));
}
