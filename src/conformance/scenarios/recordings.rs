//! Recordings inside, during and after one another, on one thread and on several.

use crate::conformance::Outcome;
use crate::conformance::check::{
    Recorded, close, ensure, floats, on_another_thread, outcome_of_thread, recorded, recorded_on, start_thread,
    still_works, unless_it_panics,
};
use crate::{Number, PrimalValue, Reverse, Tape};
use core::mem;
use std::sync::mpsc;

/// Three recordings inside one another, each of which is written from the innermost scope: all are right, swept while
/// the others run and when they are over.
pub fn nested_recordings<S: Reverse>() -> Outcome {
    let (mut swept, mut over) = (Ok(()), Vec::new());
    let mut outer = recorded::<S>(&[2.0], |x| {
        let mut y = x[0].clone();
        let mut middle = recorded::<S>(&[3.0], |u| {
            let mut v = u[0].clone();
            let mut inner = recorded::<S>(&[4.0], |r| {
                let mut s = r[0].clone();
                for _ in 0..2 {
                    for (product, factor) in [(&mut y, &x[0]), (&mut v, &u[0]), (&mut s, &r[0])] {
                        *product *= factor;
                    }
                }
                vec![s]
            });
            swept = inner.sweep_gives("the innermost gradient", &[1.0], &[48.0]);
            over.push((inner, 48.0));
            y *= &x[0];
            vec![v]
        });
        swept = swept.clone().and(middle.sweep_gives("the middle gradient", &[1.0], &[27.0]));
        over.push((middle, 27.0));
        vec![y]
    });
    swept?;
    outer.sweep_gives("the outermost gradient", &[1.0], &[32.0])?;
    over.push((outer, 32.0));
    let again = |(recorded, slope): &mut (Recorded<S>, f64)| {
        recorded.sweep_gives("the gradient after the others", &[1.0], &[*slope])
    };
    over.iter_mut().try_for_each(again)
}

/// A recording of another strategy inside one of this, and one of this inside that.
#[allow(clippy::op_ref, reason = "variables of most strategies are computed with by reference")]
pub fn another_strategy_inside<S: Reverse>() -> Outcome {
    type Other = PrimalValue<f32, crate::Linear<u64>>;
    let mut inside = Ok(());
    let mut outer = recorded::<S>(&[2.0, 3.0], |x| {
        let mut y = (&x[0] * &x[1]).eval();
        let mut other = recorded::<Other>(&[1.5], |u| {
            y *= &x[0];
            let w = (&u[0] * &u[0]).eval();
            let mut innermost = recorded::<S>(&[0.5], |r| {
                y += &x[1];
                vec![(&r[0] * 3.0).eval()]
            });
            inside = innermost.sweep_gives("the innermost gradient", &[1.0], &[3.0]);
            vec![(&w * &u[0]).eval()]
        });
        inside = inside.clone().and(other.sweep_gives("the other strategy's gradient", &[1.0], &[6.75]));
        vec![y]
    });
    inside?;
    outer.sweep_gives("the outer gradient", &[1.0], &[12.0, 5.0])
}

/// Of two recordings the outer one is finished first; the inner one goes on.
pub fn guards_end_in_any_order<S: Reverse>() -> Outcome {
    let (mut first, mut second) = (Tape::<S>::new().start(), Tape::<S>::new().start());
    let x = first.scope().inputs(&floats(&[2.0]));
    let u = second.scope().inputs(&floats(&[3.0]));
    let y = (&x[0] * &x[0]).eval();
    let mut first = Recorded { tape: first.finish(), x, y: vec![y] };
    first.sweep_gives("the gradient of the recording that ended first", &[1.0], &[4.0])?;
    let w = (&u[0] * &u[0]).eval();
    let mut second = Recorded { tape: second.finish(), x: u, y: vec![w] };
    second.sweep_gives("the gradient of the recording that ended last", &[1.0], &[6.0])?;
    still_works(first.tape)?;
    still_works(second.tape)
}

/// A guard that is dropped before it is finished ends its recording, outside of other recordings and inside.
pub fn guard_dropped_early<S: Reverse>() -> Outcome {
    let start = || {
        let mut recording = Tape::<S>::new().start();
        let x = recording.scope().input(S::Value::from_f64(2.0));
        let _ = (&x * &x).eval();
        recording
    };
    drop(start());
    let mut outer = recorded::<S>(&[2.0], |x| {
        drop(start());
        vec![(&x[0] * &x[0]).eval()]
    });
    outer.sweep_gives("the gradient around a dropped guard", &[1.0], &[4.0])?;
    still_works(Tape::<S>::new())
}

/// A guard that is leaked leaves its recording active; others, inside and later, work, and so does the leaked one.
pub fn leaked_guard<S: Reverse>() -> Outcome {
    on_another_thread(Box::new(|| {
        let mut leaked = Tape::<S>::new().start();
        let u = leaked.scope().input(S::Value::from_f64(3.0));
        mem::forget(leaked);
        still_works(Tape::<S>::new())?;
        let mut inside = recorded::<S>(&[2.0], |x| {
            let _ = (&u * &u).eval();
            vec![(&x[0] * &x[0]).eval()]
        });
        inside.sweep_gives("the gradient inside a leaked recording", &[1.0], &[4.0])?;
        close("a statement of the leaked recording", (&u * 2.0).eval().value(), 6.0)?;
        still_works(inside.tape)
    }))?;
    still_works(Tape::<S>::new())
}

/// A panic ends the recording it happens in, and no other; the tape can be used again.
#[allow(clippy::missing_panics_doc, reason = "the scenario catches what it throws")]
pub fn panic_inside_a_recording<S: Reverse>() -> Outcome {
    let mut inner = Tape::<S>::new();
    let mut survived = true;
    let mut outer = recorded::<S>(&[2.0], |x| {
        let panicked = unless_it_panics(|| {
            inner.record(|scope| {
                let u = scope.inputs(&floats(&[3.0]));
                let _ = (&u[0] * &u[0]).eval();
                panic!("for the scenario's sake");
            })
        });
        survived = panicked.is_some();
        vec![(&x[0] * &x[0]).eval()]
    });
    ensure(!survived, "a recording swallows a panic")?;
    outer.sweep_gives("the gradient around a panic", &[1.0], &[4.0])?;
    still_works(inner)?;
    let mut tape = outer.tape;
    let _ = unless_it_panics(|| tape.record(|_| panic!("for the scenario's sake")));
    still_works(tape)
}

/// A recording is swept on another thread than recorded it, where its tape then records again.
pub fn tape_moves_to_another_thread<S: Reverse<Variable: Send>>() -> Outcome {
    let mut moved = recorded::<S>(&[2.0, 3.0], |x| {
        let t = (&x[0] * &x[1]).eval();
        vec![(&t * &t + x[1].exp()).eval()]
    });
    on_another_thread(Box::new(move || {
        moved.sweep_gives("the gradient on another thread", &[1.0], &[36.0, 24.0 + 3.0_f64.exp()])?;
        still_works(moved.tape)
    }))
}

/// A thread that waits, in each of its recordings, until the other thread is in one of its own, or is gone.
struct Partner(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Partner {
    fn wait(&self) {
        let _ = self.0.send(());
        let _ = self.1.recv();
    }
}

/// Recordings of each of two threads at once; an interpreter takes its time for each.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 100 };

/// Records and sweeps while the other thread records.
fn record_beside<S: Reverse>(other: &Partner) -> Outcome {
    let mut tape = Tape::<S>::new();
    for _ in 0..ROUNDS {
        let mut recorded = recorded_on(tape, &[1.5], |x| {
            other.wait();
            let mut y = x[0].clone();
            (0..50).for_each(|_| y = (&y * 0.5 + &x[0] * 1.0).into());
            vec![y]
        });
        recorded.sweep_gives("the gradient beside another thread", &[1.0], &[2.0])?;
        tape = recorded.tape;
    }
    Ok(())
}

/// Two threads record at the same time, each on a tape of its own.
pub fn two_threads_record_at_once<S: Reverse>() -> Outcome {
    let ((to_there, from_here), (to_here, from_there)) = (mpsc::channel(), mpsc::channel());
    // A partner that panics drops its ends of the channels, so that the other one goes on.
    let there = start_thread(Box::new(move || record_beside::<S>(&Partner(to_here, from_here))));
    let here = start_thread(Box::new(move || record_beside::<S>(&Partner(to_there, from_there))));
    outcome_of_thread(here).and(outcome_of_thread(there))
}

/// 10⁴ recordings on one tape, short and long ones after one another: every one is right, and as long as it should be.
pub fn many_recordings_on_one_tape<S: Reverse>() -> Outcome {
    let mut tape = Tape::<S>::new();
    for round in 0..10_000 {
        let length = match round {
            20 => 1000,
            40 | 80 => 5000,
            _ => round % 7,
        };
        let mut recorded = recorded_on(tape, &[1.0, 0.5], |x| {
            let mut y = x[1].clone();
            (0..length).for_each(|_| y = (&y + &x[0]).into());
            vec![(&y * 2.0).into()]
        });
        recorded.sweep_gives("the gradient of 2·(n·x + y)", &[1.0], &[2.0 * f64::from(length), 2.0])?;
        let (found, expected) = (recorded.tape.memory().statements, usize::try_from(length + 1));
        ensure(Ok(found) == expected, format_args!("{found} statements after {length} additions and a product"))?;
        tape = recorded.tape;
    }
    Ok(())
}

/// Two tapes record by turns; the recording of each stays valid until its own next one.
pub fn two_tapes_alternate<S: Reverse>() -> Outcome {
    let mut kept = recorded::<S>(&[3.0], |x| vec![(&x[0] * &x[0]).eval()]);
    let mut other = Tape::<S>::new();
    for _ in 0..3 {
        let mut recorded = recorded_on(other, &[2.0], |x| vec![(&x[0] * &x[0] * &x[0]).eval()]);
        recorded.sweep_gives("the gradient of the later recording", &[1.0], &[12.0])?;
        kept.sweep_gives("the gradient of the earlier recording", &[1.0], &[6.0])?;
        other = recorded.tape;
    }
    ensure(kept.tape.memory().statements == 1, "a recording changed while another tape was recording")
}
