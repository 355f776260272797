//! What closures capture: rows S4, S5 and S7. (Row S6, that they are aligned, is a matter of miri, in
//! `strategies/tests`.)

use super::example;
use tapewright::prelude::*;
use tapewright::strategies::IndexManager;
use tapewright::{Number, linear_combination};

#[test]
fn s4_arrays_lie_in_the_arena() {
    let mut tape = Tape::<Continuation>::new();
    for n in [1, 2, 1000, 100_000] {
        let coefficients = vec![0.5; n];
        let (x, y) = tape.record(|scope| {
            let x = scope.input(3.0);
            (x, linear_combination(&coefficients, &vec![x; n]))
        });
        assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|adjoints| adjoints.of(&x)), Ok(0.5 * n as f64));
        // Partials and identifiers, and how many there are if that is not the closure's type.
        assert_eq!(tape.memory().usage("closures").used, 12 * n + if n > 27 { 4 } else { 0 });
    }
}

/// Bytes of closures and of their pointers on the stack, for one statement of two inputs.
fn closure_and_pointer<V: Number, M: IndexManager>(
    f: impl Fn(&[Real<Continuation<V, M>>]) -> Real<Continuation<V, M>>,
) -> (usize, usize) {
    let mut tape = Tape::<Continuation<V, M>>::new();
    tape.record(|scope| f(&scope.inputs(&[0.5, 0.6].map(V::from_f64))));
    let report = tape.memory();
    assert_eq!(report.statements, 1);
    (report.usage("closures").used + report.usage("results").used, report.usage("functions").used)
}

#[test]
fn s5_closures_capture_what_is_documented() {
    fn holds<V: Number, M: IndexManager>() {
        // With reused identifiers, that of the result, too.
        let result = usize::from(core::mem::needs_drop::<M::Id>());
        let bytes = |a: usize, d: usize| (size_of::<V>() * d + size_of::<M::Index>() * (a + result), 8);
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] + &x[1]).into()), bytes(2, 0), "x + y");
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] + 1.0).into()), bytes(1, 0), "x + 1");
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] * &x[1]).into()), bytes(2, 2), "x·y");
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] * 2.0).into()), bytes(1, 1), "x·2");
        assert_eq!(closure_and_pointer::<V, M>(|x| x[0].exp().into()), bytes(1, 1), "exp x");
        assert_eq!(closure_and_pointer::<V, M>(|x| (x[0].exp() * &x[1] * &x[1]).into()), bytes(3, 3), "exp(x)·y·y");
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] * (&x[1] - &x[0])).into()), bytes(3, 2), "x·(y − x)");
        let half = || Real::constant(V::from_f64(0.5));
        assert_eq!(closure_and_pointer::<V, M>(|x| (&x[0] * half()).into()), bytes(2, 2), "x·y with y passive");
    }
    holds::<f64, Linear>();
    holds::<f64, Linear<u64>>();
    holds::<f32, Linear>();
    holds::<f32, Linear<u64>>();
    holds::<f64, Reuse>();
    holds::<f32, Reuse>();
}

#[test]
fn s5_no_closure_is_larger_than_that_of_the_seed() {
    let closure = |f: fn(&[Real<Continuation>]) -> Real<Continuation>| closure_and_pointer(f);
    assert_eq!(closure(|x| (x[0] + x[1]).into()), (8, 8), "add_vv takes 24 + 8");
    assert_eq!(closure(|x| (x[0] + 1.0).into()), (4, 8), "add_v takes 16 + 8");
    assert_eq!(closure(|x| (x[0] * x[1]).into()), (24, 8), "multiply_vv takes 40 + 8");
    assert_eq!(closure(|x| (x[0] * 2.0).into()), (12, 8), "multiply_v takes 24 + 8");
    assert_eq!(closure(|x| x[0].exp().into()), (12, 8), "exp_v takes 24 + 8");
    assert_eq!(closure(example), (36, 8), "exp_v and two multiply_vv take 104 + 24");
}

#[test]
fn s7_the_stack_keeps_its_capacity() {
    let mut tape = Tape::<Continuation>::new();
    let chain = |x: &[Real<Continuation>]| (0..300_000).fold(x[0], |y, _| (y + x[0]).into());
    let mut reserved = 0;
    for _ in 0..3 {
        tape.gradient(chain, &[1.0], &mut [0.0]).expect("lengths agree");
        assert_eq!(tape.memory().usage("functions").used, 8 * 300_000);
        let recorded = tape.memory().total().reserved;
        assert!(reserved == 0 || reserved == recorded);
        tape.reset();
        let report = tape.memory();
        assert_eq!((report.usage("functions").used, report.usage("closures").used), (0, 0));
        reserved = report.total().reserved;
        assert_eq!(reserved, recorded);
    }
}
