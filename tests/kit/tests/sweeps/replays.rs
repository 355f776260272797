//! Recordings are computed again at other inputs: as if they had been made there, or not at all.

use crate::{Function, Recorded, all_kinds, record};
use tapewright::Rules;
use tapewright::tape::Replay;
use tapewright::{
    Closed, Error, External, Spilled, SweepError, dot, external, logsumexp, pause, prelude::*, sum, with_partials,
};
use tapewright_kit_tests::Tight;
use tapewright_kit_tests::panics::{panic_of, panics};

/// The strategy of tests of what a replay looks for. Records are read alike on every layer.
type S = PrimalValue;

/// The values of the outputs, and their gradients, bit for bit.
fn bits<S: Replay<Value = f64>>((tape, x, y): &mut Recorded<S>) -> Vec<u64> {
    let mut all = Vec::new();
    for y in y {
        all.push(tape.value_of(y).expect("of it").to_bits());
        let adjoints = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(x)).expect("of it");
        all.extend(adjoints.into_iter().map(f64::to_bits));
    }
    all
}

/// Replays at some points, and compares with recordings there.
fn agrees<S: Replay<Value = f64>>(points: &[&[f64]], f: Function<S>) {
    let mut recorded = record::<S>(points[0], f);
    let before = recorded.0.memory();
    for at in points.iter().chain(&points[..1]) {
        let (tape, x, _) = &mut recorded;
        let inputs: Vec<_> = x.iter().zip(at.iter().copied()).collect();
        tape.replay(&inputs).expect("it can be replayed");
        assert_eq!(bits(&mut recorded), bits(&mut record::<S>(at, f)), "at {at:?}");
    }
    let after = recorded.0.memory();
    assert_eq!((after.statements, after.arguments), (before.statements, before.arguments), "nothing is recorded again");
}

#[test]
fn a_replay_at_new_inputs_gives_the_bits_of_a_new_recording() {
    fn holds<S: Replay<Value = f64>>() {
        agrees::<S>(&[&[0.5, -1.25, 2.0], &[0.25, 3.0, -1.0], &[1.0; 3]], &|x| all_kinds(x, None));
        agrees::<S>(&[&[0.5, 1.5], &[0.75, -0.5]], &|x| {
            let mut y = x[0].clone();
            for _ in 0..20_000 {
                y = ((&y * &x[1]).sin() + 0.25 * &x[0]).into();
            }
            vec![y]
        });
    }
    holds::<PrimalValue<f64, Linear<u64>>>();
    holds::<PrimalValue<f64, Linear, Spilled<Tight>>>();
    #[cfg(feature = "wide")]
    holds::<PrimalValue<f64, Linear, Shared>>();
}

/// Steps that an earlier replay has listed are those of an earlier state of the tape.
#[test]
fn a_replay_finds_what_the_recording_has_become() {
    fn holds<S: Replay<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let replayed = |tape: &mut Tape<S>, x: &Real<S>, y: &Real<S>, at: f64| {
            tape.replay(&[(x, at)]).expect("it can be replayed");
            let value = tape.value_of(y).expect("of it");
            (value, tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of(x)).expect("of it"))
        };
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let y = x.square().eval();
            (x, y)
        });
        assert_eq!(replayed(&mut tape, &x, &y, 3.0), (9.0, 6.0));
        let position = tape.position();
        // Longer.
        let (longer, z) =
            tape.resume(|scope| (scope.renew(&x).expect("of it"), (scope.renew(&y).expect("of it") * 5.0).eval()));
        assert_eq!(replayed(&mut tape, &longer, &z, 4.0), (80.0, 40.0));
        // Cut, and as long as it was, with another statement.
        tape.reset_to(&position).expect("its own position");
        let (x, z) =
            tape.resume(|scope| (scope.renew(&x).expect("of it"), (scope.renew(&y).expect("of it") + 5.0).eval()));
        assert_eq!(replayed(&mut tape, &x, &z, 5.0), (30.0, 10.0));
        // Under another number, with nothing new.
        let (x, z) = tape.resume(|scope| (scope.renew(&x).expect("of it"), scope.renew(&z).expect("of it")));
        assert_eq!(replayed(&mut tape, &x, &z, 6.0), (41.0, 12.0));
        // Another recording, of as many records.
        let (x, y) = tape.record(|scope| {
            let x = scope.input(2.0);
            let y = (x.square().eval() - 5.0).eval();
            (x, y)
        });
        assert_eq!(replayed(&mut tape, &x, &y, 7.0), (44.0, 14.0));
    }
    holds::<PrimalValue>();
    holds::<PrimalValue<f64, Linear, Spilled<Tight>>>();
}

/// (p, x, q) ↦ (p·x², q·x), for passive p and q.
struct Square(std::sync::Mutex<[f64; 3]>);
impl External<f64> for Square {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        let [p, x, q] = *self.0.lock().expect("no panic");
        inputs[1] += 2.0 * p * x * outputs[0] + q * outputs[1];
        Ok(())
    }
    fn replay(&mut self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        let [p, x, q] = [inputs[0], inputs[1], inputs[2]];
        if x > 100.0 {
            return Err(SweepError::rule("square", "too large"));
        }
        *self.0.lock().expect("no panic") = [p, x, q];
        outputs.copy_from_slice(&[p * x * x, q * x]);
        Ok(())
    }
}

fn with_squares(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut y: Real<S> = (&x[0] * 2.0).into();
    for _ in 0..2 {
        let at = y.value();
        let rule = Square(std::sync::Mutex::new([3.0, at, 0.5]));
        let squares = external(&[Real::constant(3.0), y, Real::constant(0.5)], &[3.0 * at * at, 0.5 * at], rule);
        y = (squares[0] + squares[1].sin()).into();
    }
    vec![y]
}

#[test]
fn external_functions() {
    agrees::<S>(&[&[0.5], &[0.75], &[-1.0]], &with_squares);
    // The second of them fails; the first is as it was.
    let mut recorded = record::<S>(&[0.5], &with_squares);
    let before = bits(&mut recorded);
    let (tape, x, _) = &mut recorded;
    let failed = tape.replay(&[(&x[0], 20.0)]);
    assert!(matches!(failed, Err(Error::Sweep(SweepError::Rule { .. }))), "{failed:?}");
    assert_eq!(bits(&mut recorded), before);
    // Without a rule to compute it.
    let mut recorded = record::<S>(&[0.5], &|x| {
        let y: Real<S> = (&x[0] * 3.0).into();
        let rules = Rules::new("mute", |outputs: &[f64], inputs: &mut [f64]| {
            inputs[0] += outputs[0];
            Ok(())
        });
        external(&[y], &[1.5], rules)
    });
    let before = bits(&mut recorded);
    let (tape, x, y) = &mut recorded;
    let failed = tape.replay(&[(&x[0], 20.0)]);
    assert_eq!(failed, Err(Error::Sweep(SweepError::NoRule { function: "mute".into(), rule: "replay" })));
    let failed = tape.replay(&[(&y[0], 20.0)]);
    assert!(matches!(failed, Err(Error::Sweep(SweepError::Unsupported { .. }))), "a result is no input: {failed:?}");
    assert_eq!(bits(&mut recorded), before);
}

#[test]
fn what_cannot_be_replayed_changes_nothing() {
    type OfSlice = fn(&[Real<S>]) -> Real<S>;
    let functions: [OfSlice; 4] = [
        |x| sum(&[x[0], Real::constant(1.0)]),
        |x| dot(&[x[0], x[1]], &[Real::constant(1.0), x[0]]),
        |x| logsumexp(&(0..40).map(|k| if k == 3 { Real::constant(1.0) } else { x[0] }).collect::<Vec<_>>()),
        |x| with_partials(x, 1.0, &[2.0, 3.0]),
    ];
    for function in functions {
        let mut recorded =
            record::<S>(&[0.5, 0.25], &|x| vec![(&x[0] * 2.0).into(), function(x), (&x[0] * 3.0).into()]);
        let before = bits(&mut recorded);
        let (tape, x, _) = &mut recorded;
        let failed = tape.replay(&[(&x[0], 20.0)]);
        assert!(matches!(failed, Err(Error::Sweep(SweepError::Unsupported { .. }))), "{failed:?}");
        assert_eq!(bits(&mut recorded), before);
    }
    let mut recorded = record::<S>(&[0.5, 0.25], &|x| vec![(x[0] * x[1]).into()]);
    let before = bits(&mut recorded);
    let (tape, x, y) = &mut recorded;
    let passive = Real::constant(1.0);
    for wrong in [&y[0], &passive] {
        let failed = tape.replay(&[(&x[0], 20.0), (wrong, 1.0)]);
        assert!(matches!(failed, Err(Error::Sweep(SweepError::Unsupported { .. }))), "{failed:?}");
    }
    let foreign = Tape::<S>::new().record(|scope| scope.input(1.0));
    assert!(matches!(tape.replay(&[(&foreign, 1.0)]), Err(Error::ForeignVariable { .. })));
    assert!(matches!(tape.value_of(&foreign), Err(Error::ForeignVariable { .. })));
    assert_eq!(tape.value_of(&passive), Ok(1.0));
    assert_eq!(bits(&mut recorded), before);
    // What was forgotten does not matter any more.
    let (mut tape, x, y) = record::<S>(&[0.5], &|x| vec![(&x[0] * 3.0).into()]);
    let position = tape.position();
    tape.resume(|scope| sum(&[scope.renew(&x[0]).expect("earlier"), Real::constant(1.0)]));
    assert!(tape.replay(&[(&x[0], 2.0)]).is_err());
    tape.reset_to(&position).expect("its own");
    assert_eq!(tape.replay(&[(&x[0], 2.0)]), Ok(()));
    assert_eq!(tape.value_of(&y[0]), Ok(6.0));
}

/// Records with guards at 2.0, then replays at points that take the same branch, and at one that takes another.
fn guarded(line: u32, same: &[f64], other: f64, branch: &dyn Fn(&Real<S>) -> bool) {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let y = (&x * 2.0).eval();
        branch(&y);
        let z = (y.sin() * x).eval();
        (x, z)
    });
    assert!(tape.memory().usage("guards").used > 0, "line {line}");
    for at in same {
        assert_eq!(tape.replay(&[(&x, *at)]), Ok(()), "line {line}");
    }
    let values = |tape: &Tape<S>| [&x, &y].map(|v| tape.value_of(v).map(f64::to_bits));
    let before = values(&tape);
    let changed = SweepError::BranchChanged { file: file!().into(), line };
    assert_eq!(tape.replay(&[(&x, other)]), Err(Error::Sweep(changed)));
    assert_eq!(values(&tape), before);
}

/// Guards of the branch in this line.
macro_rules! guards {
    ($same:expr, $other:expr, $branch:expr) => {
        guarded(line!(), &$same, $other, &$branch)
    };
}

// y = 4 as recorded, and twice the input.
#[allow(clippy::cmp_owned, reason = "comparisons of closed variables are what is tested")]
#[test]
fn changed_branches_are_found() {
    guards!([2.4, -3.0], 2.5, |y| *y < 5.0);
    guards!([2.5, -3.0], 2.6, |y| *y <= 5.0);
    guards!([2.6, 1.6], 1.5, |y| *y > 3.0);
    guards!([2.6, 1.5], f64::NAN, |y| *y >= 3.0);
    guards!([2.0], 1.5, |y| *y == 4.0);
    guards!([2.0, 3.0, f64::NAN], 2.5, |y| *y != 5.0);
    guards!([2.0, 3.0], f64::NAN, |y| y.partial_cmp(&0.0).is_some());
    guards!([2.0, 3.0], -1.0, |y| 0.5 < *y);
    guards!([2.0, 3.0], 0.75, |y| y.sin() * 2.0 + 1.0 < 0.25 * y);
    guards!([2.0, 3.0], 0.25, |y| *y > Real::constant(1.0));
    guards!([2.0, 3.0], 0.25, |y| Closed::from(*y) > 1.0);
    guards!([2.0, 3.0], 0.25, |y| Closed::from(*y) >= Closed::from(1.0));
    guards!([2.2], 3.0, |y| y.round().value() + y.floor().value() > 0.0 || (y * 2.0).ceil().value() > 0.0);
    guards!([2.2], -0.1, |y| (y * 0.1).signum().value() > 0.0);
    // In a recording inside, of another strategy even, about a variable outside.
    guards!([2.0, 3.0], 0.25, |y| Tape::<Jacobian>::new().record(|_| *y > 1.0));
    guards!([2.0, 3.0], 0.25, |y| Tape::<S>::new().record(|scope| *y > scope.input(1.0)));
}

#[test]
fn no_guards_where_none_are_wanted() {
    let branches = |x: &Real<PrimalValue>| *x > 1.0 && x.value() > 1.0 && Real::<PrimalValue>::constant(2.0) > 1.0;
    let guards = |tape: &Tape<PrimalValue>| tape.memory().usage("guards");
    // Not asked for.
    let mut tape = Tape::<PrimalValue>::new();
    let x = tape.record(|scope| {
        let x = scope.input(2.0);
        assert!(branches(&x));
        x
    });
    assert_eq!(guards(&tape).used, 0);
    assert_eq!(tape.replay(&[(&x, 0.5)]), Ok(()));
    // On a tape around one that keeps guards, which it does not.
    tape.set_guards(true);
    let x = tape.record(|scope| {
        let x = scope.input(2.0);
        assert!(branches(&x));
        x
    });
    let one = guards(&tape).used;
    assert!(one > 0);
    assert!(tape.replay(&[(&x, 0.5)]).is_err());
    let inner = Tape::<PrimalValue>::new().record(|scope| {
        let y = scope.input(2.0);
        tape.record(|scope| assert!(branches(&y) && branches(&scope.input(2.0))));
        y
    });
    assert!(branches(&inner), "of a finished recording");
    assert_eq!(guards(&tape).used, one);
    // Forgotten with the recording, or with its last part.
    let x = tape.record(|scope| scope.input(2.0));
    assert_eq!(guards(&tape).used, 0);
    let position = tape.position();
    tape.resume(|scope| assert!(branches(&scope.renew(&x).expect("earlier"))));
    assert_eq!(guards(&tape).used, one);
    tape.reset_to(&position).expect("its own");
    assert_eq!((guards(&tape).used, tape.replay(&[(&x, 0.5)])), (0, Ok(())));
    tape.set_guards(false);
    tape.record(|scope| assert!(branches(&scope.input(2.0))));
    assert_eq!(guards(&tape).used, 0);
}

#[test]
fn inputs_that_are_not_named_keep_their_value() {
    let (mut tape, x, y) = record::<PrimalValue<f64>>(&[2.0, 3.0], &|x| vec![(x[0] * x[1]).into()]);
    let later = tape.resume(|scope| scope.input(5.0));
    let z = tape.resume(|scope| {
        let (y, later) = (scope.renew(&y[0]).expect("earlier"), scope.renew(&later).expect("earlier"));
        (y * later).eval()
    });
    assert_eq!(tape.replay(&[(&x[1], 4.0)]), Ok(()));
    assert_eq!((tape.value_of(&y[0]), tape.value_of(&z)), (Ok(8.0), Ok(40.0)));
    assert_eq!(tape.replay(&[(&later, 1.0), (&later, 0.5)]), Ok(()));
    assert_eq!((tape.value_of(&y[0]), tape.value_of(&z)), (Ok(8.0), Ok(4.0)));
    let adjoints = tape.sweep(&[(&z, 1.0)]).and_then(|adjoints| adjoints.of_all(&[x[0], x[1], later]));
    assert_eq!(adjoints, Ok(vec![2.0, 1.0, 8.0]));
}

/// Recorded at 2, a program that would take another branch at ½: a guard has to be there, or the attempt to branch is
/// an error.
#[test]
fn comparisons_of_stale_variables_panic() {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let y = (&x * 2.0).eval();
        (x, y)
    });
    for stale in [&x, &y] {
        let text = panic_of(&mut || _ = tape.resume(|_| *stale > 1.0));
        assert!(text.contains("renew") && text.contains(&format!("#{}", number_of(stale))), "{text}");
        assert!(panics(&mut || _ = tape.resume(|_| 1.0 < *stale)));
        assert!(panics(&mut || _ = tape.resume(|_| stale.floor())));
        let closed = Closed::from(*stale);
        assert!(panics(&mut || _ = tape.resume(|_| closed == 2.0)));
    }
    // Of a recording that has finished, too; its value can be compared.
    let foreign = Tape::<S>::new().record(|scope| scope.input(3.0));
    assert!(panics(&mut || _ = tape.resume(|_| foreign > 1.0)));
    assert!(tape.resume(|_| foreign.value() > 1.0));
    // Renewed, it leaves a guard.
    tape.resume(|scope| scope.renew(&x).expect("of this recording") > 1.0);
    assert!(matches!(tape.replay(&[(&x, 0.5)]), Err(Error::Sweep(SweepError::BranchChanged { .. }))));
    // Outside recordings, and in those that keep no guards, comparisons are free.
    assert!(x > 1.0 && foreign > 1.0);
    assert!(Tape::<S>::new().record(|_| x > 1.0));
}

fn number_of(variable: &Real<S>) -> u32 {
    S::locate(variable.id()).map_or(0, |(number, _)| number.get())
}

#[test]
fn comparisons_in_a_pause_leave_guards() {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(2.0);
        let above = pause(|| pause(|| x > 1.0));
        let y: Real<S> = if above { (&x * 10.0).into() } else { (x * x).into() };
        (x, y)
    });
    let here = line!();
    let Err(Error::Sweep(SweepError::BranchChanged { file, line })) = tape.replay(&[(&x, 0.5)]) else { panic!() };
    assert_eq!((file.as_str(), line), (file!(), here - 4));
    assert_eq!(tape.value_of(&y), Ok(20.0));
    tape.replay(&[(&x, 1.5)]).expect("the same branch");
    assert_eq!(tape.value_of(&y), Ok(15.0));
}

/// A question to a variable, its answer as a number, two inputs between which the answer changes, and one where it does
/// not.
type Question = (&'static str, fn(&Closed<S>) -> i64, [f64; 3]);

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "answers are small numbers")]
#[test]
fn questions_of_closed_variables_leave_guards() {
    use num_traits::float::{FloatCore, TotalOrder};
    use num_traits::{AsPrimitive, Euclid, Float, One, Signed, ToPrimitive, Zero};
    use tapewright::strategies::num_traits;
    let (inf, nan, tiny) = (f64::INFINITY, f64::NAN, 1e-310);
    let questions: Vec<Question> = vec![
        ("is_sign_negative", |x| i64::from(Float::is_sign_negative(*x)), [2.0, -2.0, 3.0]),
        ("is_sign_positive", |x| i64::from(Float::is_sign_positive(*x)), [0.0, -0.0, 3.0]),
        ("is_positive", |x| i64::from(Signed::is_positive(x)), [2.0, -2.0, 3.0]),
        ("is_negative", |x| i64::from(Signed::is_negative(x)), [2.0, -2.0, 3.0]),
        ("is_nan", |x| i64::from(Float::is_nan(*x)), [2.0, nan, inf]),
        ("is_infinite", |x| i64::from(Float::is_infinite(*x)), [2.0, inf, nan]),
        ("is_finite", |x| i64::from(Float::is_finite(*x)), [2.0, nan, 0.0]),
        ("is_normal", |x| i64::from(Float::is_normal(*x)), [2.0, 0.0, -5.0]),
        ("is_subnormal", |x| i64::from(Float::is_subnormal(*x)), [2.0, tiny, 0.0]),
        ("FloatCore::is_normal", |x| i64::from(FloatCore::is_normal(*x)), [2.0, tiny, -5.0]),
        ("classify", |x| Float::classify(*x) as i64, [2.0, 0.0, -5.0]),
        ("integer_decode", |x| i64::from(Float::integer_decode(*x).2), [2.0, -2.0, 2.0]),
        ("total_cmp", |x| TotalOrder::total_cmp(x, &Closed::from(0.0)) as i64, [0.0, -0.0, 0.0]),
        ("is_zero", |x| i64::from(x.is_zero()), [0.0, 1.0, -0.0]),
        ("is_one", |x| i64::from(x.is_one()), [1.0, 2.0, 1.0]),
        ("signum", |x| Float::signum(*x).value() as i64, [2.0, -2.0, 3.0]),
        ("floor", |x| Float::floor(*x).value() as i64, [2.5, 3.5, 2.75]),
        ("to_i32", |x| i64::from(x.to_i32().unwrap()), [2.5, 3.5, 2.75]),
        ("to_usize", |x| x.to_usize().unwrap() as i64, [2.5, 3.5, 2.75]),
        ("as_ i64", |x| AsPrimitive::<i64>::as_(*x), [2.5, 3.5, 2.75]),
        ("div_euclid", |x| x.div_euclid(&Closed::from(2.0)).value() as i64, [3.0, 4.5, 3.5]),
        ("div_euclid below", |x| Euclid::div_euclid(x, &Closed::from(2.0)).value() as i64, [1.0, -1.0, 1.5]),
        ("<", |x| i64::from(*x < 1.0), [0.5, 2.0, 0.75]),
        ("==", |x| i64::from(*x == Closed::from(1.0)), [1.0, 2.0, 1.0]),
    ];
    for (name, question, [at, other, same]) in questions {
        let mut tape = Tape::<S>::new();
        tape.set_guards(true);
        let (x, y) = tape.record(|scope| {
            let x = Closed::from(scope.input(at));
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            let y = x * Closed::from(question(&x) as f64);
            (x.open(), y.open())
        });
        let value = tape.value_of(&y);
        let changed = tape.replay(&[(&x, other)]);
        assert!(matches!(changed, Err(Error::Sweep(SweepError::BranchChanged { .. }))), "{name}: {changed:?}");
        assert_eq!(tape.value_of(&y).map(f64::to_bits), value.map(f64::to_bits), "{name}: as before");
        assert_eq!(tape.replay(&[(&x, same)]), Ok(()), "{name}");
    }
}

#[test]
fn comparisons_on_another_thread_panic() {
    let mut tape = Tape::<S>::new();
    tape.set_guards(true);
    let compare = |x: Real<S>| std::thread::scope(|threads| threads.spawn(move || x > 1.0).join());
    let x = tape.record(|scope| {
        let x = scope.input(2.0);
        assert!(compare(x).is_err(), "no guard can be left");
        x
    });
    // A recording that has ended keeps no guards, and one without is of no concern.
    assert!(matches!(compare(x), Ok(true)));
    assert!(matches!(Tape::<S>::new().record(|scope| compare(scope.input(2.0))), Ok(true)));
}
