//! Variables and their identifiers: rows S1, S2, S8 and S12.

use super::everywhere::everywhere;
use super::skipped::skipped;
use super::{AT, GRADIENT, VALUE, close, example};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::prelude::*;
use tapewright::strategies::tape::{Content, Records};
use tapewright::strategies::{InMemory, IndexManager, MemoryReport, recording};
use tapewright::{Number, sum};

#[test]
fn s1_values_and_identifiers_come_in_two_widths_each() {
    fn holds<S: Reverse>(tolerance: f64) {
        let at = AT.map(<S::Value as Number>::from_f64);
        let (value, gradient) = value_and_gradient::<S>(example, &at);
        assert!(close(value.as_f64(), VALUE, tolerance));
        assert!(gradient.iter().zip(GRADIENT).all(|(g, expected)| close(g.as_f64(), expected, tolerance)));
    }
    macro_rules! widths {
        ($($strategy:ident)*) => { $(
            holds::<$strategy<f64, Linear<u32>>>(1e-12);
            holds::<$strategy<f64, Linear<u64>>>(1e-12);
            holds::<$strategy<f64, Reuse>>(1e-12);
            holds::<$strategy<f32, Linear<u32>>>(1e-5);
            holds::<$strategy<f32, Linear<u64>>>(1e-5);
            holds::<$strategy<f32, Reuse>>(1e-5);
        )* };
    }
    widths!(Jacobian PrimalValue Hybrid Continuation);
    assert_eq!(
        [size_of::<<Linear<u32> as IndexManager>::Index>(), size_of::<<Linear<u64> as IndexManager>::Index>()],
        [4, 8]
    );
}

#[test]
fn s8_a_variable_is_a_value_and_an_identifier_in_16_bytes() {
    assert_eq!(size_of::<Real<Jacobian>>(), 16);
    assert_eq!(size_of::<Real<PrimalValue>>(), 16);
    assert_eq!(size_of::<Real<Continuation>>(), 16);
    assert_eq!(size_of::<Real<Passive>>(), 8);
    Tape::<Jacobian>::new().record(|scope| {
        let x = scope.input(1.0);
        let copy = x;
        assert_eq!((copy.id().index(), copy.id().number()), (x.id().index(), x.id().number()), "a copy keeps the id");
        let y: Real<_> = (x + 1.0).into();
        assert_ne!(y.id().index(), x.id().index(), "a new value has a new id");
    });
    let default = Real::<Jacobian>::default();
    assert_eq!((default.value(), default.id().is_active()), (0.0, false));
    let undefined = Real::<Jacobian>::undefined();
    assert!(undefined.value().is_nan() && !undefined.id().is_active());
}

fn s12_add_assign_takes_a_fresh_identifier_and_leaves_the_operand_alone<S: Reverse<Value = f64>>() {
    let slot = |x: &Real<S>| S::locate(x.id()).expect("an active variable").1;
    let mut tape = Tape::<S>::new();
    let (x, before, after) = tape.record(|scope| {
        let x = scope.inputs(&[3.0, 5.0]);
        let mut y = x[0].clone();
        let before = y.clone();
        y += &x[1];
        (x, before, y)
    });
    assert_eq!((slot(&before), slot(&after), after.value()), (1, 3, 8.0));
    let swept = tape.sweep(&[(&after, 1.0)]).and_then(|adjoints| adjoints.of_all(&x));
    assert_eq!(swept, Ok(vec![1.0, 1.0]));
}

everywhere!(s12_add_assign_takes_a_fresh_identifier_and_leaves_the_operand_alone);

/// A tape whose identifiers can begin anywhere.
trait BeginsAnywhere {
    fn begin_at(&mut self, first: u64);
}
impl<V: Number, M: IndexManager, K: Content> BeginsAnywhere for Records<V, M, InMemory, K> {
    fn begin_at(&mut self, first: u64) {
        self.begin_identifiers_at(first);
    }
}
/// The panic with which `f` is refused.
fn refusal<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).map(|_| ()).expect_err("there are no more identifiers");
    payload.downcast_ref::<String>().expect("a text").clone()
}

/// A recording of x·y whose identifiers are the last three that there are, with what its tape reports.
type Last<S> = (Tape<S>, [Real<S>; 2], Real<S>, MemoryReport);

/// Records it, and tries to record more.
fn record_up_to<S: Reverse<Tape: BeginsAnywhere>>(largest: u64, refused: &str) -> Last<S> {
    let mut tape = Tape::<S>::new();
    let (x, y, report) = tape.record(|scope| {
        let number = scope.number();
        let memory = || recording::with::<S, _>(number, |tape| S::memory(tape));
        recording::with::<S, _>(number, |tape| tape.begin_at(largest - 2));
        let x = scope.inputs(&[2.0, 3.0].map(S::Value::from_f64));
        let y: Real<S> = (&x[0] * &x[1]).into();
        let slot = |x: &Real<S>| S::locate(x.id()).map(|(of, slot)| (of, slot as u64));
        assert_eq!([&x[0], &x[1], &y].map(slot), [2, 1, 0].map(|below| Some((number, largest - below))));
        let before = memory();
        for text in [
            refusal(|| (&y * &y).eval()),
            refusal(|| sum(&x)),
            refusal(|| scope.input(S::Value::ZERO)),
            refusal(|| scope.inputs(&[S::Value::ZERO; 2])),
        ] {
            assert!(text.starts_with("out of identifiers: ") && text.contains(refused), "{text}");
        }
        assert_eq!(memory(), before, "the recording is as it was");
        ([x[0].clone(), x[1].clone()], y, before)
    });
    let report = (report.statements == 1 && report.arguments == 2).then_some(report).expect("one product");
    (tape, x, y, report)
}

/// Whether a tape that was full records and sweeps as a new one does.
fn serves_again<S: Reverse>(tape: &mut Tape<S>) {
    let mut gradient = [S::Value::ZERO; 2];
    let at = [2.0, 3.0].map(S::Value::from_f64);
    tape.gradient(|x| (&x[0] * &x[1]).into(), &at, &mut gradient).expect("lengths agree");
    assert_eq!(gradient, [3.0, 2.0].map(S::Value::from_f64));
}

fn ends_with_a_panic<S: Reverse<Tape: BeginsAnywhere>>(largest: u64) {
    let refused = format!(
        "the recording has {largest} inputs and statements, and its identifiers can number no more than {largest} "
    );
    let (mut tape, x, y, report) = record_up_to::<S>(largest, &refused);
    assert_eq!(tape.memory().statements, report.statements);
    // They are variables of this recording like any others; an adjoint vector for them would take too much memory.
    for variable in [&x[0], &x[1], &y] {
        assert_eq!(S::locate(variable.id()).map(|(number, _)| number), S::locate(y.id()).map(|(number, _)| number));
    }
    serves_again(&mut tape);
}

/// 2³² − 1 and 2⁵⁶ − 1.
const LARGEST: [u64; 2] = [4_294_967_295, 72_057_594_037_927_935];

#[test]
fn s2_the_last_linear_identifier_is_used_and_the_next_one_refused() {
    ends_with_a_panic::<Jacobian>(LARGEST[0]);
    ends_with_a_panic::<Jacobian<f32>>(LARGEST[0]);
    ends_with_a_panic::<Continuation>(LARGEST[0]);
    ends_with_a_panic::<Continuation<f32>>(LARGEST[0]);
    ends_with_a_panic::<Jacobian<f64, Linear<u64>>>(LARGEST[1]);
    ends_with_a_panic::<Continuation<f64, Linear<u64>>>(LARGEST[1]);
}

/// 2³⁰ − 1 variables that are alive at once. The lists of identifiers and the adjoints take 4 GB each, of addresses:
/// hardly any of that memory is written to.
fn ends_with_a_panic_until_one_is_dropped<S: Reverse<Value = f32, Tape: BeginsAnywhere>>() {
    const LARGEST: u64 = 1_073_741_823;
    let refused = format!(
        "{LARGEST} variables were alive at once, and the recording's identifiers can number no more than {LARGEST}"
    );
    let (mut tape, x, y, _) = record_up_to::<S>(LARGEST, &refused);
    let slot = |x: &Real<S>| S::locate(x.id()).expect("active").1;
    let mut adjoints = vec![0.0_f32; S::identifiers(tape.tape_mut())];
    adjoints[slot(&y)] = 1.0;
    S::reverse(tape.tape_mut(), &mut adjoints).expect("in memory");
    assert_eq!([&x[0], &x[1], &y].map(|x| adjoints[slot(x)]), [3.0, 2.0, 0.0]);
    drop(adjoints);
    // The identifier of a variable that is gone is the only one that is left.
    tape.record(|scope| {
        recording::with::<S, _>(scope.number(), |tape| tape.begin_at(LARGEST - 1));
        let x = scope.input(2.0);
        let y = (&x * &x).eval();
        let last = slot(&y);
        assert_eq!(last as u64, LARGEST);
        refusal(|| (&x * 3.0).eval());
        drop(y);
        assert_eq!(slot(&(&x * 3.0).eval()), last);
    });
    serves_again(&mut tape);
}

#[test]
fn s2_the_last_reused_identifier_is_used_and_the_next_one_refused() {
    if cfg!(not(all(target_os = "linux", target_pointer_width = "64"))) {
        skipped("reserves 12 GB of addresses, which is known to cost nothing on Linux with 64 bits");
        return;
    }
    ends_with_a_panic_until_one_is_dropped::<Jacobian<f32, Reuse>>();
    ends_with_a_panic_until_one_is_dropped::<Continuation<f32, Reuse>>();
}

#[test]
fn s2_a_lower_limit_is_kept() {
    fn holds<S: Reverse<Value = f64>>(mut tape: Tape<S>) {
        let ((x, y), refused) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0]);
            let y: Real<S> = (&x[0] * &x[1]).into();
            let refused = refusal(|| (&y * &y).eval());
            ((x[0].clone(), y), refused)
        });
        assert!(refused.contains("no more than 3"), "{refused}");
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(3.0));
    }
    macro_rules! limited {
        ($($strategy:ty)*) => { $({
            let mut tape = Tape::<$strategy>::new();
            tape.tape_mut().limit_identifiers(3);
            holds(tape);
        })* };
    }
    limited! {
        Jacobian Jacobian<f64, Reuse> PrimalValue PrimalValue<f64, Reuse> Hybrid Hybrid<f64, Reuse>
        Continuation Continuation<f64, Reuse>
    }
}
