//! Launches some of whose operands are passive: these keep nothing and get no adjoints, and those of the others are what
//! they are when all operands are active.

use super::{bits, numbers};
use tapewright::Scope;
use tapewright::kernels::{View, fill, parallel_for, parallel_sum};
use tapewright::prelude::*;

const LENGTH: usize = 37;

/// Σ of all products of two of a, x, k and h, some of them at offsets; a and x are overwritten afterwards.
fn products<S: Taping<Value = f64>>(a: &View<S, 1>, x: &View<S, 1>, k: &Real<S>, h: &Real<S>) -> Real<S> {
    let (mut a, mut x, mut y) = (a.clone(), x.clone(), View::zeros(x.shape()));
    parallel_for(1..LENGTH - 1, (&mut y, &a, &x, k, h), |(_, a, x, k, h)| {
        (a.at::<1>() * x.at::<-1>() * k + a.at::<0>() * x.at::<0>() * h + k * h * x.at::<1>() * a.at::<-1>(),)
    });
    parallel_for(a.all(), (&mut a, &mut x, k), |(a, x, k)| (0.5 * a.at::<0>() / k, x.at::<0>() * x.at::<0>() * k));
    let rest = parallel_sum(a.all(), (&a, &x, h), |(a, x, h)| a.at::<0>() * x.at::<0>() * h);
    (parallel_sum(y.all(), &y, |y| y.at::<0>().square()) + rest).into()
}

/// Adjoints of a, x, k and h, those that are active according to the bits; and the bytes of arrays that are kept.
fn adjoints(active: u32, start: [f64; 2]) -> ([Option<Vec<u64>>; 4], usize) {
    let has = |k: u32| active >> k & 1 == 1;
    let mut tape = Tape::<Jacobian>::new();
    let (a, x, k, h, sum) = tape.record(|scope| {
        let mut view = |is_active: bool, seed: usize| {
            let elements = numbers(LENGTH, seed);
            if is_active { scope.view([LENGTH], &elements) } else { View::new([LENGTH], &elements) }
        };
        let (a, x) = (view(has(0), 1), view(has(1), 2));
        let mut variable =
            |is_active: bool, value: f64| if is_active { scope.input(value) } else { Real::constant(value) };
        let (k, h) = (variable(has(2), start[0]), variable(has(3), start[1]));
        let sum = products(&a, &x, &k, &h);
        (a, x, k, h, sum)
    });
    let bytes = tape.memory().usage("arrays").used;
    let found = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    let view = |k: u32, view: &View<Jacobian, 1>| has(k).then(|| bits(&found.of_view(view).expect("an input")));
    let variable = |k: u32, x: &Real<Jacobian>| has(k).then(|| vec![found.of(x).expect("an input").to_bits()]);
    ([view(0, &a), view(1, &x), variable(2, &k), variable(3, &h)], bytes)
}

#[test]
fn adjoints_of_active_operands_do_not_depend_on_what_else_is_active() {
    for start in [[1.5, -0.75], [0.0, 2.0], [-0.0, f64::INFINITY], [f64::NAN, 1.0]] {
        let (all, most) = adjoints(0b1111, start);
        for active in 1..0b1111 {
            let (some, bytes) = adjoints(active, start);
            for (k, (some, all)) in some.iter().zip(&all).enumerate() {
                assert!(some.is_none() || some == all, "operand {k} of {active:b} from {start:?}");
            }
            assert!(bytes <= most, "{bytes} bytes of {active:b}, {most} of all");
        }
    }
}

/// Steps of the heat equation, and the bytes of arrays that they keep.
fn heat(k: impl Fn(&mut Scope<'_, Jacobian>) -> Real<Jacobian>) -> (Vec<u64>, usize) {
    let mut tape = Tape::<Jacobian>::new();
    let (x, sum) = tape.record(|scope| {
        let (x, k) = (scope.view([LENGTH], &numbers(LENGTH, 3)), k(scope));
        let mut u = x.clone();
        for _ in 0..10 {
            parallel_for(u.interior(1), (&mut u, &k), |(u, k)| {
                (u.at::<0>() + k * (u.at::<-1>() - 2.0 * u.at::<0>() + u.at::<1>()),)
            });
        }
        let sum = parallel_sum(u.all(), (&u, &x), |(u, x)| u.at::<0>() + x.at::<0>());
        (x, sum)
    });
    let bytes = tape.memory().usage("arrays").used;
    let found = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    (bits(&found.of_view(&x).expect("x")), bytes)
}

#[test]
fn a_passive_number_keeps_nothing_and_an_active_one_keeps_what_its_slope_needs() {
    let (passive, nothing) = heat(|_| Real::constant(0.1));
    let (active, kept) = heat(|scope| scope.input(0.1));
    assert_eq!(passive, active);
    assert_eq!(nothing, 0);
    assert_eq!(kept, 10 * (LENGTH * 8).next_multiple_of(64) + 10 * 512);
}

#[test]
fn tangents_of_active_operands_need_no_values_of_passive_ones() {
    let mut tape = Tape::<Jacobian>::new();
    let (k, h, sum) = tape.record(|scope| {
        let (k, h) = (scope.input(1.5), Real::constant(0.5));
        let (mut x, y) = (View::new([LENGTH], &numbers(LENGTH, 4)), View::new([LENGTH], &numbers(LENGTH, 5)));
        fill(&k, &mut x);
        parallel_for(x.all(), (&mut x, &y, &h), |(x, y, h)| (x.at::<0>() * h + y.at::<0>() * h,));
        let sum = parallel_sum(x.all(), &x, |x| x.at::<0>());
        (k, h, sum)
    });
    assert_eq!(tape.jvp(&[(&k, 1.0)], &[&sum]).expect("carried"), [0.5 * LENGTH as f64]);
    assert_eq!(tape.memory().usage("arrays").used, 0);
    assert!(tape.sweep(&[(&sum, 1.0)]).expect("swept").of(&h).is_ok_and(|slope| slope == 0.0));
}
