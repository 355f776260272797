//! Variables that come and go: copied, dropped early or late, on this thread or another. Strategies that give
//! identifiers of dropped variables to later ones have the most to prove here.

use crate::conformance::Outcome;
use crate::conformance::check::{
    Recorded, all_same, close, ensure, floats, gradient_is, on_another_thread, recorded, recorded_on, still_works,
    unless_it_panics,
};
use crate::tape::AdjointVector;
use crate::{Number, Real, Reverse, Tape, sum};
use std::sync::mpsc;

/// Records statements whose variables nobody keeps.
fn come_and_go<S: Reverse>(x: &Real<S>, statements: usize) {
    let mut last = (x * 1.5).eval();
    for k in 0..statements {
        let other = (&last * 0.5 + x * 8.0).eval();
        last = if k % 3 == 0 { (&other * &last).sin().eval() } else { other };
    }
}

/// x, 2x, … 10x. While these variables are kept, a recording cannot reuse their identifiers.
fn multiples<S: Reverse>(x: &Real<S>) -> Vec<Real<S>> {
    (1..=10).map(|k| (x * f64::from(k)).eval()).collect()
}

/// y + 55x, of these multiples.
fn plus_all<S: Reverse>(y: Real<S>, multiples: &[Real<S>]) -> Real<S> {
    multiples.iter().fold(y, |y, multiple| (&y + multiple).into())
}

/// An unfinished expression keeps the values and identifiers that its leaves had: it is folded when the leaves have
/// been assigned over, when they have been dropped, and many statements later.
pub fn expression_folded_long_after_its_leaves<S: Reverse>() -> Outcome {
    let f = |x: &[Real<S>]| {
        let (mut a, mut b): (Real<S>, Real<S>) = ((&x[0] * 2.0).into(), (&x[1] * 3.0).into());
        let kept = a.clone() * b.clone() + a.clone();
        a = (&a * &b).into();
        b = Real::from(100.0);
        a *= &b;
        let first: Real<S> = kept.clone().into();
        drop((a, b));
        come_and_go(&x[1], 20);
        let second: Real<S> = kept.clone().into();
        come_and_go(&x[0], 20);
        let third: Real<S> = kept.into();
        come_and_go(&x[0], 20);
        sum(&[first, second.clone(), second, third])
    };
    gradient_is::<S>("4·(2x·3y + 2x)", f, &[0.5, 1.5], 22.0, &[44.0, 12.0])
}

/// Three copies of a variable, dropped in each order, and used as long as they are there.
pub fn copies_dropped_in_any_order<S: Reverse>() -> Outcome {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let f = |x: &[Real<S>]| {
            let original = (&x[0] * 0.5).eval();
            let copy = original.clone();
            let mut all = [Some(copy.clone()), Some(original), Some(copy)];
            let mut y = x[0].clone();
            for k in order {
                come_and_go(&x[0], 5);
                let next = all[k].take().unwrap_or_default();
                come_and_go(&x[0], 5);
                y *= &next;
            }
            y
        };
        gradient_is::<S>(&format!("x·(x/2)³, dropped as {order:?}"), f, &[2.0], 2.0, &[4.0])?;
    }
    Ok(())
}

/// Inputs are registered between statements, and dropped or assigned over early: the adjoint of an input is that of its
/// copy.
pub fn inputs_registered_late_and_dropped_early<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    let (copies, y) = tape.record(|scope| {
        let mut x = scope.inputs(&floats(&[2.0, 3.0]));
        let mut copies = x.clone();
        let mut y: Real<S> = (&x[0] * &x[1]).into();
        x[0] = (&y * 2.0).into();
        x.truncate(1);
        come_and_go(&x[0], 20);
        for late in floats(&[5.0, 0.5]) {
            let late = scope.input(late);
            copies.push(late.clone());
            y *= &late;
            drop(late);
            come_and_go(&y, 20);
        }
        y *= &copies[0];
        (copies, y)
    });
    let mut recorded = Recorded { tape, x: copies, y: vec![y] };
    recorded.sweep_gives("the gradient of x²·y·z·w", &[1.0], &[30.0, 10.0, 6.0, 60.0])?;
    recorded.sweep_gives("the gradient of x²·y·z·w again", &[1.0], &[30.0, 10.0, 6.0, 60.0])
}

/// Variables of a recording that is over, reset or gone are dropped while the tape records something else.
pub fn variable_dropped_after_its_recording<S: Reverse>() -> Outcome {
    let mut old = recorded::<S>(&[2.0], |x| vec![(&x[0] * &x[0]).eval(), (&x[0] * 3.0).eval()]);
    let copy = old.y[0].clone();
    let (mut x, mut y) = (old.x, old.y);
    let mut again = recorded_on(old.tape, &[3.0], |v| {
        let a = (&v[0] * &v[0]).eval();
        let kept = multiples(&v[0]);
        x.clear();
        y.pop();
        let b = (&a * &v[0]).eval();
        drop(copy.clone());
        come_and_go(&v[0], 10);
        vec![plus_all((&b - &a).eval(), &kept)]
    });
    again.sweep_gives("the gradient of x³ − x² + 55x", &[1.0], &[21.0 + 55.0])?;
    again.tape.reset();
    drop(again.y);
    drop(recorded::<S>(&[2.0], |x| vec![(&x[0] * &x[0]).eval()]).y);
    old.tape = again.tape;
    drop((y, copy, again.x));
    still_works(old.tape)
}

/// Variables of an outer recording are dropped, and later ones made, inside another one.
pub fn variable_dropped_inside_another_recording<S: Reverse>() -> Outcome {
    let mut inner = Ok(());
    let f = |x: &[Real<S>]| {
        let mut y = (&x[0] * 1.0).eval();
        let mut gone = Some((&x[0] * 8.0).eval());
        let nested = gradient_is::<S>(
            "x² + 55x inside",
            |u| {
                let v = (&u[0] * &u[0]).eval();
                let kept = multiples(&u[0]);
                drop(gone.take());
                let again = (&x[0] * 2.0).eval();
                (0..10).for_each(|_| y = (&y * 0.5 + &again * 0.5).into());
                come_and_go(&u[0], 10);
                come_and_go(&x[0], 10);
                plus_all(v, &kept)
            },
            &[4.0],
            16.0 + 220.0,
            &[8.0 + 55.0],
        );
        inner = nested;
        come_and_go(&x[0], 10);
        y
    };
    // y ← y/2 + x, ten times.
    let slope = 2.0 - 0.5_f64.powi(10);
    gradient_is::<S>("the outer function", f, &[1.0], slope, &[slope])?;
    inner
}

/// Variables are dropped by a panic, inside a recording that goes on.
pub fn variables_dropped_by_a_panic<S: Reverse>() -> Outcome {
    let mut panicked = false;
    let f = |x: &[Real<S>]| {
        let kept = (&x[0] * 3.0).eval();
        let result = unless_it_panics(|| {
            let a = (&x[0] * 5.0).eval();
            let expression = a.clone() * (&a * &kept).eval();
            if a.value().as_f64() > 0.0 {
                std::panic::resume_unwind(Box::new(()));
            }
            expression.eval()
        });
        panicked = result.is_none();
        let again = (&x[0] + 1.0).eval();
        come_and_go(&x[0], 10);
        (kept * again).into()
    };
    gradient_is::<S>("3x·(x + 1)", f, &[2.0], 18.0, &[15.0])?;
    ensure(panicked, "there was no panic to drop variables")
}

/// Variables are moved to another thread and dropped there, while it records, too.
pub fn variable_dropped_on_another_thread<S: Reverse<Variable: Send>>() -> Outcome {
    let mut there = Ok(());
    let f = |x: &[Real<S>]| {
        let moved = (&x[0] * 3.0).eval();
        let copied = (&x[0] * 5.0).eval();
        let copy = copied.clone();
        let y = (&moved * &copied).eval();
        let mut gone = Some((moved, copy));
        there = on_another_thread(Box::new(move || {
            gradient_is::<S>(
                "x·y + 55x there",
                |u| {
                    let kept = multiples(&u[0]);
                    drop(gone.take());
                    come_and_go(&u[0], 10);
                    plus_all((&u[0] * &u[1]).eval(), &kept)
                },
                &[2.0, 3.0],
                6.0 + 110.0,
                &[3.0 + 55.0, 2.0],
            )
        }));
        come_and_go(&x[0], 20);
        (y * copied).into()
    };
    gradient_is::<S>("3x·5x·5x", f, &[2.0], 600.0, &[900.0])?;
    there
}

/// A variable is copied on another thread; the original is dropped there or here, and the copy is used much later.
pub fn copy_made_on_another_thread<S: Reverse<Variable: Send>>() -> Outcome {
    for dropped_there in [true, false] {
        let f = |x: &[Real<S>]| {
            let original = (&x[0] * 3.0).eval();
            let (send, receive) = mpsc::channel();
            let copied = on_another_thread(Box::new(move || {
                let copy = original.clone();
                let sent = send.send((copy, (!dropped_there).then_some(original)));
                ensure(sent.is_ok(), "a copy cannot be sent")
            }));
            let (Ok(()), Ok((copy, original))) = (copied, receive.recv()) else { return Real::default() };
            drop(original);
            come_and_go(&x[0], 50);
            let again = copy.clone();
            (copy * again).into()
        };
        let what = if dropped_there { "9x², dropped there" } else { "9x², dropped here" };
        gradient_is::<S>(what, f, &[2.0], 36.0, &[36.0])?;
    }
    Ok(())
}

/// Copies of variables of a finished recording stand for the same variable, whatever is dropped.
pub fn copy_of_a_finished_recording<S: Reverse>() -> Outcome {
    let mut first = recorded::<S>(&[2.0], |x| vec![(&x[0] * &x[0]).eval()]);
    let mut copies = Vec::new();
    recorded::<S>(&[1.0], |u| {
        copies.clone_from(&first.y);
        first.y.clone_from(&copies);
        come_and_go(&u[0], 20);
        Vec::new()
    });
    first.y.clone_from(&copies);
    drop(copies);
    first.sweep_gives("the gradient of x²", &[1.0], &[4.0])
}

/// Sweeps into vectors of the caller give the results of the tape's own vector, bit for bit, also with a vector that
/// has served longer and shorter recordings.
pub fn sweeps_into_vectors_of_the_caller<S: Reverse>() -> Outcome {
    let mut adjoints = AdjointVector::new();
    for length in [40, 3, 200, 1] {
        let mut recorded = recorded::<S>(&[0.5, 0.75], |x| {
            let mut y = x.to_vec();
            (0..length).for_each(|k| {
                let mean: Real<S> = (&y[k % 2] * 0.5 + &x[k % 2] * 0.25).into();
                y[k % 2] = (&mean * &y[1 - k % 2]).sin().into();
            });
            y
        });
        for k in [0, 1, 0] {
            let one = floats(&[1.0])[0];
            let own = recorded.tape.sweep(&[(&recorded.y[k], one)])?.of_all(&recorded.x)?;
            let theirs = recorded.tape.sweep_with(&mut adjoints, &[(&recorded.y[k], one)])?.of_all(&recorded.x)?;
            ensure(all_same(&own, &theirs), format_args!("{own:?} and {theirs:?}, for {length} statements"))?;
        }
    }
    Ok(())
}

/// A variable with its tangents.
struct Tangent<S: Reverse> {
    real: Real<S>,
    by: [f64; 2],
}

/// Pseudo-random numbers below `n`.
fn random(state: &mut u32, n: usize) -> usize {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 8) as usize % n
}

/// Variables are made, copied, assigned over and dropped at random; in the end the gradients of all that are left are
/// equal to tangents that were carried along.
pub fn variables_come_and_go_at_random<S: Reverse>() -> Outcome {
    for seed in 0..20 {
        let mut state = seed;
        let mut kept = Vec::new();
        let mut recorded = recorded::<S>(&[0.25, 0.75], |x| {
            for (k, real) in x.iter().enumerate() {
                kept.push(Tangent { real: real.clone(), by: [[1.0, 0.0], [0.0, 1.0]][k] });
            }
            for _ in 0..100 {
                let (i, j) = (random(&mut state, kept.len()), random(&mut state, kept.len()));
                let (a, b) = (&kept[i], &kept[j]);
                // In each statement the magnitudes of the partials add up to 1 at most.
                let (real, du, dv): (Real<S>, f64, f64) = match random(&mut state, 3) {
                    0 => ((&a.real * 0.5 + &b.real * 0.25).into(), 0.5, 0.25),
                    1 => ((a.real.sin() * 0.5 - &b.real * 0.5).into(), 0.5 * a.real.value().as_f64().cos(), -0.5),
                    _ => (a.real.clone(), 1.0, 0.0),
                };
                let by = [0, 1].map(|k| du * a.by[k] + dv * b.by[k]);
                match random(&mut state, 5) {
                    0 | 1 => kept.push(Tangent { real, by }),
                    2 | 3 => kept[i] = Tangent { real, by },
                    _ if kept.len() > 1 => drop(kept.swap_remove(j)),
                    _ => {}
                }
            }
            kept.iter().map(|tangent| tangent.real.clone()).collect()
        });
        let mut seeds = vec![0.0; kept.len()];
        for (k, tangent) in kept.iter().enumerate() {
            seeds[k] = 1.0;
            recorded.sweep_gives(&format!("the gradient of variable {k}, seed {seed},"), &seeds, &tangent.by)?;
            seeds[k] = 0.0;
        }
        close("the value of the first", recorded.y[0].value(), kept[0].real.value().as_f64())?;
    }
    Ok(())
}
