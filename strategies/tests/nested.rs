//! Numbers that are variables of a recording: small recordings of every strategy for the interpreter, and panics in the
//! middle of statements and sweeps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::from_ref;
use tapewright_strategies::contract::{Taped, Variable};
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{
    Continuation, Hybrid, Jacobian, Nary, Nested, Number, PrimalValue, Reuse, Reverse, Taping,
};

type Base = Jacobian;
type Value = Nested<Base>;

/// x·eʸ.
struct Growth;
impl<V: Number> Nary<V> for Growth {
    fn value(x: &[V], _: &[V]) -> V {
        x[0] * x[1].exp()
    }
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        let e = x[1].exp();
        partials.copy_from_slice(&[e, x[0] * e]);
    }
}

fn empty<S: Reverse>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

/// x·eʸ as a statement.
fn growth<S: Taping<Value = Value>>(x: &S::Variable, y: &S::Variable) -> S::Variable {
    let value = <Growth as Nary<Value>>::value(&[x.value(), y.value()], &[]);
    S::Variable::new(value, S::record_nary::<Growth>(&[from_ref(x), from_ref(y)], &[], value))
}

fn input<S: Reverse>(number: RecordingId, value: S::Value) -> S::Variable {
    S::Variable::new(value, recording::with::<S, _>(number, |tape| S::input(tape, value)))
}

fn slot<S: Reverse>(x: &S::Variable) -> usize {
    S::locate(x.id()).map_or(0, |(_, slot)| slot)
}

/// The first derivative of (x·eʸ)·e^(x·eʸ) by x, on a tape of the base that is recording.
fn slope<S: Reverse<Value = Value>>(tape: &mut OwnedTape<S>, [x, y]: [Value; 2]) -> Value {
    let (x, z) = tape.record(|number| {
        let (x, y) = (input::<S>(number, x), input::<S>(number, y));
        let z = growth::<S>(&x, &y);
        let passive = S::Variable::new(Value::from_f64(0.5), S::passive());
        let z = growth::<S>(&z, &z);
        // Adds nothing to the derivative, but sweeps leave something in the slot of passive variables.
        _ = growth::<S>(&passive, &z);
        (x, z)
    });
    let mut adjoints = vec![Value::ZERO; S::identifiers(tape.tape())];
    adjoints[slot::<S>(&z)] = Value::ONE;
    tape.reverse(&mut adjoints, &mut Shadows::default()).expect("no rule fails");
    adjoints[slot::<S>(&x)]
}

/// The slope and its derivatives by x and y, on these tapes.
fn second<S: Reverse<Value = Value>>(base: &mut OwnedTape<Base>, tape: &mut OwnedTape<S>) -> [f64; 3] {
    let ([x, y], slope) = base.record(|number| {
        let inputs = [0.5, -0.25].map(|value| input::<Base>(number, value));
        (inputs, slope(tape, inputs.map(|x| Value::new(x.value, x.id))))
    });
    let mut adjoints = vec![0.0; Base::identifiers(base.tape())];
    adjoints[slot::<Base>(&Taped { value: slope.value(), id: slope.id() })] = 1.0;
    base.reverse(&mut adjoints, &mut Shadows::default()).expect("no rule fails");
    [slope.value(), adjoints[slot::<Base>(&x)], adjoints[slot::<Base>(&y)]]
}

/// With e = eʸ, z = x·e and w = z·eᶻ: ∂w/∂x = (1 + z)·eᶻ·e, ∂²w/∂x² = (2 + z)·eᶻ·e² and ∂²w/∂x∂y = (2 + z)·z·eᶻ·e +
/// ∂w/∂x.
#[track_caller]
fn works<S: Reverse<Value = Value>>(base: &mut OwnedTape<Base>, tape: &mut OwnedTape<S>) {
    let e = (-0.25_f64).exp();
    let z = 0.5 * e;
    let first = (1.0 + z) * z.exp() * e;
    let expected = [first, (2.0 + z) * z.exp() * e * e, (2.0 + z) * z * z.exp() * e + first];
    for (found, expected) in second(base, tape).iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} is not {expected}");
    }
}

#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    *panic.downcast::<String>().expect("a message with a number in it")
}

/// Used again and again, and whatever identifier of the base is the last: a panic in a statement or in a sweep leaves
/// both tapes as they were.
fn survives<S: Reverse<Value = Value>>() {
    let (mut base, mut tape) = (empty::<Base>(), empty::<S>());
    works(&mut base, &mut tape);
    works(&mut base, &mut tape);
    let last = Base::identifiers(base.tape()) as u64 - 1;
    for limit in (2..last).step_by(if cfg!(miri) { 9 } else { 1 }) {
        base.tape_mut().limit_identifiers(limit);
        let message = panic_of(|| second(&mut base, &mut tape));
        assert!(message.starts_with("out of identifiers"), "{message}");
        base.tape_mut().limit_identifiers(u64::MAX);
        works(&mut base, &mut tape);
    }
}

/// Variables of a base that is over, of one on another thread, and of two bases.
fn refuses<S: Reverse<Value = Value>>() {
    let (mut base, mut tape) = (empty::<Base>(), empty::<S>());
    let none = "not active on this thread";
    let stale = base.record(|number| {
        let [x, y] = [0.5, -0.25].map(|value| input::<Base>(number, value)).map(|x| Value::new(x.value, x.id));
        slope(&mut tape, [x, y]);
        x
    });
    // The recording has stale partials, values and constants: a sweep over it is refused from its first product on.
    let mut adjoints = vec![Value::from_f64(2.0); S::identifiers(tape.tape())];
    assert!(panic_of(|| tape.reverse(&mut adjoints, &mut Shadows::default())).contains(none));
    assert!(panic_of(|| stale * stale).contains(none));
    base.record(|number| {
        let x = input::<Base>(number, 0.5);
        let x = Value::new(x.value, x.id);
        assert!(panic_of(|| stale + x).contains("two recordings") || panic_of(|| stale + x).contains(none));
        assert!(panic_of(|| slope(&mut tape, [x, stale])).contains("recording"));
        let elsewhere = std::thread::spawn(move || panic_of(|| x * x)).join().expect("it catches");
        assert!(elsewhere.contains(none));
    });
    works(&mut base, &mut tape);
}

/// An identifier that no recording gave is refused, or is passive.
#[test]
fn forged_identifiers() {
    let mut base = empty::<Base>();
    base.record(|number| {
        let x = input::<Base>(number, 0.5);
        let forged = LinearId::new(number, 1000).expect("it could be one");
        let message = panic_of(|| Value::new(1.0, forged) * Value::new(x.value, x.id));
        assert!(message.contains("never made"), "{message}");
    });
    let bytes = [0xFF_u8; size_of::<Value>()];
    let number: Value = bytemuck::pod_read_unaligned(&bytes);
    assert!(panic_of(|| -number).contains("not active on this thread"));
    let zero: Value = bytemuck::Zeroable::zeroed();
    assert!(zero.is_nought() && zero == Value::ZERO);
    // Of no recording, and of a recording with index 0, which no variable has.
    base.record(|number| {
        let x = input::<Base>(number, 0.5);
        let x = Value::new(x.value, x.id);
        for bits in [2, u64::from(number.get()) << 32] {
            let made: Value = bytemuck::cast([1.5_f64.to_bits(), bits]);
            assert!(!made.id().is_active());
            assert_eq!((x * made).value(), 0.75);
            assert_eq!(made + made, Value::from_f64(3.0));
        }
    });
}

macro_rules! under {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            survives::<$strategy>();
            refuses::<$strategy>();
        }
    )* };
}
under! {
    jacobian Jacobian<Value>;
    jacobian_reuse Jacobian<Value, Reuse>;
    primal_value PrimalValue<Value>;
    primal_value_reuse PrimalValue<Value, Reuse>;
    hybrid Hybrid<Value>;
    continuation Continuation<Value>;
}
