//! The last identifiers that there are: they are used, the next one is refused, and nothing is lost.

use tapewright::prelude::*;
use tapewright::strategies::tape::{Content, Records};
use tapewright::strategies::{InMemory, IndexManager, MemoryReport, recording};
use tapewright::{Number, sum};
use tapewright_kit_tests::panics::panic_of;
use tapewright_test_support::skipped;

/// A tape whose identifiers can begin anywhere.
trait BeginsAnywhere {
    fn begin_at(&mut self, first: u64);
}
impl<V: Number, M: IndexManager, K: Content> BeginsAnywhere for Records<V, M, InMemory, K> {
    fn begin_at(&mut self, first: u64) {
        self.begin_identifiers_at(first);
    }
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
            panic_of(&mut || _ = (&y * &y).eval()),
            panic_of(&mut || _ = sum(&x)),
            panic_of(&mut || _ = scope.input(S::Value::ZERO)),
            panic_of(&mut || _ = scope.inputs(&[S::Value::ZERO; 2])),
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

#[test]
fn the_last_linear_identifier_is_used_and_the_next_one_refused() {
    ends_with_a_panic::<Jacobian>(4_294_967_295); // 2³² − 1
    ends_with_a_panic::<Continuation<f64, Linear<u64>>>(72_057_594_037_927_935); // 2⁵⁶ − 1
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
        panic_of(&mut || _ = (&x * 3.0).eval());
        drop(y);
        assert_eq!(slot(&(&x * 3.0).eval()), last);
    });
    serves_again(&mut tape);
}

#[test]
fn the_last_reused_identifier_is_used_and_the_next_one_refused() {
    if cfg!(not(all(target_os = "linux", target_pointer_width = "64"))) {
        skipped("reserves 12 GB of addresses, which is known to cost nothing on Linux with 64 bits");
        return;
    }
    ends_with_a_panic_until_one_is_dropped::<Jacobian<f32, Reuse>>();
}
