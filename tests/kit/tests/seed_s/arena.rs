//! An arena that grows and is kept: rows S3, S5 and S14.

use super::everywhere::everywhere;
use super::{cost, example};
use tapewright::prelude::*;
use tapewright::{Spilled, strategies::InMemory};
use tapewright_kit_tests::Tight;

/// x after 400,000 statements.
fn long<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    (0..400_000).fold(x[0].clone(), |y, _| (&y + &x[0] * 0.5).into())
}

fn s3_the_arena_grows_and_serves_again<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut gradient = [0.0];
    let mut used = 0;
    for _ in 0..3 {
        tape.gradient(long, &[1.0], &mut gradient).expect("lengths agree");
        assert_eq!(gradient, [200_001.0], "a recording of several segments");
        let recorded = tape.memory().total().used;
        assert!(recorded > 4 << 20 && (used == 0 || recorded == used), "{recorded} bytes, before {used}");
        used = recorded;
        tape.reset();
        assert!(tape.memory().total().used - tape.memory().usage("tables").used <= 16, "nothing is left");
    }
}

everywhere!(s3_the_arena_grows_and_serves_again);

#[test]
fn s3_a_reset_keeps_the_arena() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        tape.gradient(long, &[1.0], &mut [0.0]).expect("lengths agree");
        let reserved = tape.memory().total().reserved;
        assert!(reserved > 4 << 20);
        for _ in 0..3 {
            tape.reset();
            assert_eq!(tape.memory().total().reserved, reserved);
            tape.gradient(long, &[1.0], &mut [0.0]).expect("lengths agree");
            assert_eq!(tape.memory().total().reserved, reserved);
        }
    }
    // `Shared` gives memory to other tapes, `Spilled` keeps as much as its budget allows.
    holds::<Jacobian<f64, Linear, InMemory>>();
    holds::<Jacobian<f64, Reuse, InMemory>>();
    holds::<PrimalValue<f64, Linear, InMemory>>();
    holds::<PrimalValue<f64, Reuse, InMemory>>();
    holds::<Hybrid<f64, Linear, InMemory>>();
    holds::<Hybrid<f64, Reuse, InMemory>>();
    holds::<Continuation>();
    holds::<Continuation<f64, Reuse>>();
}

/// Bytes of x + y, x + 1, x·y, x·2 and exp x.
fn operations<S: Reverse<Value = f64>>() -> [usize; 5] {
    [
        cost::<S>(|x| (&x[0] + &x[1]).into()),
        cost::<S>(|x| (&x[0] + 1.0).into()),
        cost::<S>(|x| (&x[0] * &x[1]).into()),
        cost::<S>(|x| (&x[0] * 2.0).into()),
        cost::<S>(|x| x[0].exp().into()),
    ]
}

/// In C++ the closures take 24, 16, 40, 24 and 24 bytes, and 8 each on the stack of pointers.
const VIRTUAL_CLOSURES: [usize; 5] = [24 + 8, 16 + 8, 40 + 8, 24 + 8, 24 + 8];

/// Whether each operation takes no more than the virtual closure, and as many more as allowed.
fn at_most<S: Reverse<Value = f64>>(more: usize) {
    for (ours, theirs) in operations::<S>().into_iter().zip(VIRTUAL_CLOSURES) {
        assert!(ours <= theirs + more, "{:?} under {}", operations::<S>(), core::any::type_name::<S>());
    }
}

#[test]
fn s5_each_operation_records_fewer_bytes_than_a_virtual_closure() {
    at_most::<Jacobian>(0);
    at_most::<Jacobian<f64, Linear, Shared>>(0);
    at_most::<Jacobian<f64, Linear, Spilled<Tight>>>(0);
    at_most::<Jacobian<f64, Reuse>>(0);
    at_most::<PrimalValue>(0);
    at_most::<PrimalValue<f64, Linear, Shared>>(0);
    at_most::<PrimalValue<f64, Linear, Spilled<Tight>>>(0);
    at_most::<Hybrid>(0);
    at_most::<Hybrid<f64, Linear, Shared>>(0);
    at_most::<Hybrid<f64, Linear, Spilled<Tight>>>(0);
    at_most::<Continuation>(0);
    at_most::<Continuation<f64, Reuse>>(0);
    // Reused identifiers need the value that was overwritten: where all variables stay alive that saves nothing.
    at_most::<PrimalValue<f64, Reuse>>(9);
    at_most::<Hybrid<f64, Reuse>>(9);
}

fn s14_the_example_takes_fewer_bytes_than_objects_on_a_heap<S: Reverse<Value = f64>>() {
    let one = cost::<S>(example);
    let four = cost::<S>(|x| {
        let e: Real<S> = x[0].exp().into();
        let p: Real<S> = (&e * &x[1]).into();
        let q: Real<S> = (&p * &x[1]).into();
        (&q + 0.0).into()
    });
    assert!(one <= 184 && four <= 184, "{one} and {four} bytes");
}

everywhere!(s14_the_example_takes_fewer_bytes_than_objects_on_a_heap);
