//! Views, recordings and sweeps: what belongs together, what is kept, and what can be done twice.

use super::{bits, numbers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{View, deep_copy, fill, parallel_for, parallel_max, parallel_sum};
use tapewright::prelude::*;
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, pause};
use tapewright_problems::kernels::burgers;

/// Σ (xₖ₋₁·xₖ₊₁·k)², over the interior.
fn f<S: Taping<Value = f64>>(x: &View<S, 1>, k: &Real<S>) -> Real<S> {
    let mut y = View::zeros(x.shape());
    parallel_for(1..x.len() - 1, (x, &mut y, k), |(x, _, k)| (x.at::<-1>() * x.at::<1>() * k,));
    parallel_sum(y.all(), &y, |y| y.at::<0>().square())
}

#[test]
fn threads_that_sweep_with_vectors_of_their_own_get_the_same_bits() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let (x, k) = (scope.view([50], &numbers(50, 1)), scope.input(1.5));
        let y = f(&x, &k);
        (x, y)
    });
    let expected = bits(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x"));
    std::thread::scope(|threads| {
        let sweeps = (0..2).map(|_| {
            threads.spawn(|| {
                let mut vector = AdjointVector::new();
                for _ in 0..20 {
                    let adjoints = tape.sweep_with(&mut vector, &[(&y, 1.0)]).expect("swept");
                    assert_eq!(bits(&adjoints.of_view(&x).expect("x")), expected);
                }
            })
        });
        sweeps.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn several_adjoint_vectors_have_the_bits_of_sweeps_of_their_own() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, k, y, z) = tape.record(|scope| {
        let (x, k) = (scope.view([19], &numbers(19, 1)), scope.input(1.5));
        let y = f(&x, &k);
        let z = parallel_max(x.all(), (&x, &k), |(x, k)| x.at::<0>() * k);
        (x, k, y, z)
    });
    let seeds = [[1.0, 0.0, -2.5], [0.0, 1.0, f64::INFINITY]];
    let mut lanes = LaneVector::new(3);
    for _ in 0..2 {
        let found = tape.sweep_lanes_with(&mut lanes, &[(&y, &seeds[0]), (&z, &seeds[1])]).expect("swept");
        for lane in 0..3 {
            let mut vector = AdjointVector::new();
            let single = tape.sweep_with(&mut vector, &[(&y, seeds[0][lane]), (&z, seeds[1][lane])]).expect("swept");
            let (views, view) = (found.of_view(&x, lane).expect("x"), single.of_view(&x).expect("x"));
            assert_eq!(bits(&views), bits(&view), "lane {lane}");
            assert_eq!(found.of(&k).expect("k")[lane].to_bits(), single.of(&k).expect("k").to_bits());
        }
    }
}

#[test]
fn tangents_and_adjoints_agree() {
    let mut tape = Tape::<PrimalValue>::new();
    let (inputs, y, z) = tape.record(|scope| {
        let inputs = [0.3, -0.8, 1.7].map(|x| scope.input(x));
        let (mut a, mut b) = (View::zeros([4, 9]), View::zeros([4, 9]));
        fill(&inputs[0], &mut a);
        parallel_for([1..3, 2..9], (&mut a, &inputs[1]), |(a, k)| (a.at::<-1, 0>() * k + a.at::<1, -2>().sin(),));
        deep_copy(&a, &mut b);
        let old = a.clone();
        parallel_for(a.all(), (&old, &mut a, &mut b, &inputs[2]), |(old, a, b, k)| {
            (old.nearest::<1, 1>() * b.periodic::<0, -1>() + k, a.new() * k - b.at::<0, 0>())
        });
        let y =
            parallel_sum(a.all(), (&a, &b, &old), |(a, b, c)| a.at::<0, 0>() * b.or_zero::<0, 1>() + c.at::<0, 0>());
        let z = parallel_max(b.all(), &b, |b| b.at::<0, 0>().abs());
        (inputs, y, z)
    });
    let (tangents, seeds) = ([0.7, -1.1, 0.4], [1.3, -0.6]);
    let moving: Vec<_> = inputs.iter().zip(tangents).collect();
    let moved = tape.jvp(&moving, &[&y, &z]).expect("swept forward");
    let adjoints = tape.sweep(&[(&y, seeds[0]), (&z, seeds[1])]).expect("swept");
    let left: f64 = moved.iter().zip(seeds).map(|(tangent, seed)| tangent * seed).sum();
    let right: f64 = inputs.iter().zip(tangents).map(|(x, tangent)| tangent * adjoints.of(x).expect("an input")).sum();
    // Both add up a few hundred products of numbers below 10.
    assert!((left - right).abs() <= 1e-12 * left.abs().max(10.0), "{left} and {right}");
    assert!(left.abs() > 0.1);
}

#[test]
fn a_sweep_in_two_parts_has_the_bits_of_one_sweep() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, middle) = tape.record(|scope| {
        let (mut x, k) = (scope.view([20], &numbers(20, 1)), scope.input(1.5));
        parallel_for(x.all(), (&mut x, &k), |(x, k)| (x.at::<0>() * x.at::<0>() + k,));
        let middle = scope.position();
        let y = f(&x, &k);
        (x, y, middle)
    });
    let expected = bits(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x"));
    let mut vector = AdjointVector::new();
    for _ in 0..2 {
        vector.reset();
        tape.seed(&mut vector, &[(&y, 1.0)]).expect("seeded");
        tape.sweep_between(&mut vector, &tape.position(), &middle).expect("swept");
        let adjoints = tape.sweep_from_position(&mut vector, &middle).expect("swept");
        assert_eq!(bits(&adjoints.of_view(&x).expect("x")), expected);
    }
}

#[test]
fn launches_of_a_paused_recording_are_not_recorded() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, z) = tape.record(|scope| {
        let (x, k) = (scope.view([9], &numbers(9, 1)), scope.input(1.5));
        let y = pause(|| f(&x, &k));
        let z = parallel_sum(x.all(), &x, |x| x.at::<0>());
        (x, y, z)
    });
    assert_eq!(tape.launches().len(), 1);
    assert_eq!(*tape.sweep(&[(&z, 1.0), (&y, 5.0)]).expect("swept").of_view(&x).expect("x"), [1.0; 9]);
}

#[test]
fn a_clone_of_an_input_stands_for_it_though_both_are_written() {
    let mut tape = Tape::<Jacobian>::new();
    let at = numbers(9, 1);
    let (kept, left, right, sum) = tape.record(|scope| {
        let mut x = scope.view([9], &at);
        let (kept, mut other) = (x.clone(), x.clone());
        parallel_for(x.all(), &mut x, |x| (x.at::<0>() * x.at::<0>(),));
        parallel_for(2..5, &mut other, |x| (3.0 * x.at::<-1>(),));
        assert_eq!(kept.values(), at);
        let sum = parallel_sum(x.all(), (&x, &other, &kept), |(x, y, z)| x.at::<0>() + y.at::<0>() * z.at::<0>());
        (kept, x, other, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    let found = adjoints.of_view(&kept).expect("the input");
    for k in 0..9 {
        let other = |k: usize| if (2..5).contains(&k) { 3.0 * at[k - 1] } else { at[k] };
        let from_copy =
            if (2..5).contains(&k) { 0.0 } else { at[k] } + if (1..4).contains(&k) { 3.0 * at[k + 1] } else { 0.0 };
        assert!((found[k] - (2.0 * at[k] + other(k) + from_copy)).abs() < 1e-15, "element {k}");
    }
    // These are what was written.
    assert!(adjoints.of_view(&left).is_err() && adjoints.of_view(&right).is_err());
}

#[test]
fn a_view_twice_among_the_operands_gets_both_contributions() {
    let mut tape = Tape::<PrimalValue>::new();
    let at = numbers(17, 2);
    let (x, sum) = tape.record(|scope| {
        let x = scope.view([17], &at);
        let (mut a, mut b, c) = (x.clone(), x.clone(), x.clone());
        // 2x³ and x³, in two clones of what is read.
        parallel_for(x.all(), (&x, &mut a, &c, &mut b), |(x, a, c, _)| {
            (2.0 * x.at::<0>() * a.at::<0>() * c.at::<0>(), a.new() * 0.5)
        });
        let sum = parallel_sum(x.all(), (&a, &b, &x), |(a, b, x)| a.at::<0>() + b.at::<0>() + 0.0 * x.at::<0>());
        (x, sum)
    });
    for _ in 0..2 {
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        for (found, x) in adjoints.of_view(&x).expect("x").iter().zip(&at) {
            assert!((found - 9.0 * x * x).abs() <= 1e-14, "{found} at {x}");
        }
    }
}

#[test]
fn passive_views_take_part_and_have_no_adjoints() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, p, mut y, sum) = tape.record(|scope| {
        let (x, p) = (scope.view([7], &[2.0; 7]), View::new([7], &numbers(7, 3)));
        let mut y = View::filled([7], 4.0);
        // Passive before, active in the middle afterwards.
        parallel_for(2..4, (&x, &p, &mut y), |(x, p, y)| (x.at::<0>() * p.at::<1>() * y.at::<0>(),));
        let sum = parallel_sum(y.all(), (&y, &p), |(y, p)| y.at::<0>() * p.at::<0>());
        (x, p, y, sum)
    });
    assert!(y.is_active() && !p.is_active());
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    let p4 = numbers(7, 3);
    let expected = |k: usize| if (2..4).contains(&k) { p4[k + 1] * 4.0 * p4[k] } else { 0.0 };
    assert_eq!(*adjoints.of_view(&x).expect("x"), core::array::from_fn::<f64, 7, _>(expected));
    assert_eq!(*adjoints.of_view(&p).expect("passive"), [0.0; 7]);
    tape.record(|_| parallel_for(p.all(), &mut View::<Jacobian, 1>::zeros([7]), |y| (y.at::<0>() + 1.0,)));
    assert!(tape.launches().is_empty());
    y = View::zeros([7]);
    assert!(!y.is_active());
}

#[test]
fn empty_ranges_do_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, s, t) = tape.record(|scope| {
        let mut x = scope.view([6], &[2.0; 6]);
        let mut y = x.clone();
        let beyond = x.interior(4);
        parallel_for(beyond.clone(), &mut x, |x| (x.at::<-4>() * x.at::<4>(),));
        parallel_for(6..6, (&x, &mut y), |(x, _)| (x.at::<7>().exp(),));
        let s = parallel_sum(beyond, (&x, &y), |(x, y)| x.at::<-4>() * y.at::<4>());
        let t = parallel_sum(x.all(), (&x, &y), |(x, y)| x.at::<0>() * y.at::<0>());
        (y, s, t)
    });
    assert_eq!((s.value(), t.value(), x.values()), (0.0, 24.0, &[2.0; 6][..]));
    tape.sweep(&[(&t, 1.0), (&s, f64::NAN)]).expect("swept");
}

#[test]
fn the_adjoints_of_what_an_empty_range_reads_are_0_in_every_sweep() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, empty, full) = tape.record(|scope| {
        let x = scope.view([6], &[2.0; 6]);
        let mut y = View::zeros([6]);
        parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().exp(),));
        let full = parallel_sum(x.all(), &y, |y| y.at::<0>() * y.at::<0>());
        let mut z = View::zeros([6]);
        parallel_for(3..3, (&x, &mut z), |(x, _)| (x.at::<-3>() * x.at::<3>(),));
        let empty = parallel_sum(z.all(), &z, |z| z.at::<0>() * 2.0);
        (x, empty, full)
    });
    for _ in 0..2 {
        // Leaves buffers behind that are not 0.
        tape.sweep(&[(&full, 1.0)]).expect("swept");
        assert_eq!(*tape.sweep(&[(&empty, 1.0)]).expect("swept").of_view(&x).expect("x"), [0.0; 6]);
    }
}

#[test]
fn views_have_slots_of_their_own_after_a_reset_to_before_the_first_launch() {
    let mut tape = Tape::<Jacobian>::new();
    let x = tape.record(|scope| scope.view([5], &[1.0; 5]));
    let (start, k) = (tape.position(), 2.0);
    let _ = x;
    for _ in 0..2 {
        let (x, y, sum) = tape.resume(|scope| {
            let x = scope.view([5], &[3.0; 5]);
            let mut y = View::zeros([5]);
            parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>() * x.at::<0>() * k,));
            let sum = parallel_sum(y.all(), (&y, &x), |(y, x)| y.at::<0>() * x.at::<0>());
            (x, y, sum)
        });
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        assert_eq!(*adjoints.of_view(&x).expect("x"), [54.0; 5]);
        assert!(adjoints.of_view(&y).is_err(), "it is no input");
        tape.reset_to(&start).expect("reset");
    }
}

#[test]
fn an_input_keeps_its_slot_when_all_launches_are_forgotten() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, first) = tape.record(|scope| {
        let x = scope.view([3], &[1.0; 3]);
        (x, scope.input(1.0))
    });
    let start = tape.position();
    tape.resume(|scope| {
        let k = scope.renew(&first).expect("earlier");
        let mut y = View::zeros([3]);
        fill(&k, &mut y);
    });
    tape.reset_to(&start).expect("reset");
    let y = tape.resume(|scope| {
        let mut y = View::zeros([3]);
        fill(&scope.renew(&first).expect("earlier"), &mut y);
        y
    });
    // `x` depends on nothing, and `y` on the variable.
    assert_eq!(tape.sweep_view(&[], (&x, &[1.0; 3])).expect("swept").of(&first).expect("an input"), 0.0);
    assert_eq!(tape.sweep_view(&[], (&y, &[7.0; 3])).expect("swept").of(&first).expect("an input"), 21.0);
}

/// Bytes that a recording keeps of arrays.
fn kept(tape: &Tape<Jacobian>) -> usize {
    tape.memory().usage("arrays").used
}

#[test]
fn a_linear_kernel_keeps_no_arrays() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let (mut x, p) = (scope.view([1000], &numbers(1000, 1)), View::new([1000], &numbers(1000, 2)));
        for _ in 0..5 {
            parallel_for(1..999, (&mut x,), |(x,)| (0.5 * x.at::<-1>() - x.at::<1>() + 2.0,));
        }
        _ = parallel_sum(x.all(), (&x, &p), |(x, p)| x.at::<0>() - p.at::<0>());
    });
    assert_eq!(kept(&tape), 0);
}

#[test]
fn burgers_keeps_16_bytes_for_each_cell_and_step() {
    let (n, steps) = (64, 6);
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let (u, v) = (scope.view([n, n], &numbers(n * n, 1)), scope.view([n, n], &numbers(n * n, 2)));
        burgers(&mut u.clone(), &mut v.clone(), steps, (0.1, 0.01))
    });
    // The end values too, for the sum of squares; and 512 bytes beside each array, which lanes may read.
    assert_eq!(kept(&tape), (steps + 1) * 2 * (8 * n * n + 512));
}

#[test]
fn a_part_of_an_active_view_does_not_become_a_constant() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, sum) = tape.record(|scope| {
        let x = scope.view([6], &numbers(6, 1));
        let mut y = x.clone();
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pause(|| parallel_for(0..2, &mut y, |y| (y.at::<0>() * 3.0,)));
        }));
        assert!(panic.is_err(), "the derivative of the other part would be lost");
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
        (x, sum)
    });
    assert_eq!(*tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("x"), [1.0; 6]);
}

/// A step that is not linear, in place.
fn squared<S: Taping<Value = f64>>(x: &mut View<S, 1>) {
    parallel_for(x.all(), x, |x| (x.at::<0>() * x.at::<0>() + x.or_zero::<1>(),));
}

#[test]
fn views_of_an_earlier_part_are_renewed_and_written_in_place_and_that_is_forgotten() {
    let at = [0.5, 0.7, 1.1];
    let mut tape = Tape::<Jacobian>::new();
    let (x, middle) = tape.record(|scope| {
        let x = scope.view([3], &at);
        let mut middle = x.clone();
        squared(&mut middle);
        (x, middle)
    });
    let start = tape.position();
    let values = middle.to_vec();
    let mut stale = None;
    for round in 0..3 {
        let y = tape.resume(|scope| {
            let refused = catch_unwind(AssertUnwindSafe(|| parallel_sum(middle.all(), &middle, |m| m.at::<0>())));
            assert!(refused.is_err(), "a view of an earlier part is renewed first");
            let mut view = scope.renew_view(&middle).expect("of this recording");
            assert_eq!(view.values(), values);
            if let Some(stale) = &stale {
                assert!(matches!(scope.renew_view(stale), Err(Error::ForeignVariable { .. })));
            }
            (0..=round).for_each(|_| squared(&mut view));
            let y = parallel_sum(view.all(), &view, |v| v.at::<0>());
            stale = Some(view);
            y
        });
        let adjoints = tape.sweep(&[(&y, 1.0)]).expect("it is swept");
        let expected = gradient::<Jacobian>(
            |x| {
                let mut x = View::of_variables([3], x);
                (0..=round + 1).for_each(|_| squared(&mut x));
                parallel_sum(x.all(), &x, |x| x.at::<0>())
            },
            &at,
        );
        assert_eq!(*adjoints.of_view(&x).expect("an input"), *expected);
        tape.reset_to(&start).expect("the end of a part");
        assert!(tape.sweep_view(&[], (stale.as_ref().expect("made"), &[1.0; 3])).is_err());
    }
}
