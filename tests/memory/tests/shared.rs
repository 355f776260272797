//! Tapes that share the memory of their records. One test: the pool is the process's.

use std::sync::Barrier;
use tapewright::prelude::*;

/// Records and sweeps a chain of `n` products, and keeps the tape.
fn large<S: Reverse<Value = f64>>(n: i32) -> Tape<S> {
    let mut tape = Tape::<S>::new();
    let mut gradient = [0.0; 2];
    let chain = |x: &[Real<S>]| (0..n).fold(x[0].clone(), |y, _| (&y * &x[1] + y.sin() * 0.0).into());
    tape.gradient(chain, &[1.0, 1.0], &mut gradient).expect("lengths agree");
    assert_eq!(gradient, [1.0, f64::from(n)]);
    tape
}

/// Forgets a large recording for a small one.
fn forget<S: Reverse<Value = f64>>(tape: &mut Tape<S>) {
    let mut gradient = [0.0];
    tape.gradient(|x| (&x[0] * &x[0]).into(), &[3.0], &mut gradient).expect("lengths agree");
    assert_eq!(gradient, [6.0]);
}

fn in_turn<S: Reverse<Value = f64>>() {
    Shared::release_idle();
    assert_eq!(Shared::idle_bytes(), 0);
    drop(large::<S>(1000));
    assert_eq!(Shared::idle_bytes(), 0, "a small tape has no part in the pool");

    let mut most = 0;
    for round in 0..8 {
        std::thread::spawn(move || {
            let mut tape = large::<S>(200_000);
            assert_eq!(Shared::idle_bytes(), 0, "what was idle is in use, in round {round}");
            if round % 2 == 0 {
                forget(&mut tape);
                assert!(Shared::idle_bytes() > 0, "the memory of a forgotten recording is idle");
            }
        })
        .join()
        .expect("the thread found everything as it should be");
        if round == 0 {
            most = Shared::idle_bytes();
            assert!(most >= 4 << 20, "{most} bytes are idle");
        }
        assert_eq!(Shared::idle_bytes(), most, "eight threads in turn take the memory of one");
    }
    Shared::release_idle();
    assert_eq!(Shared::idle_bytes(), 0);

    let (recorded, checked) = (Barrier::new(8), Barrier::new(8));
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                let tape = large::<S>(200_000);
                recorded.wait();
                assert_eq!(Shared::idle_bytes(), 0, "eight threads at once take the memory of eight");
                checked.wait();
                drop(tape);
            });
        }
    });
    assert_eq!(Shared::idle_bytes(), 8 * most);
    let tape = large::<S>(200_000);
    assert_eq!(Shared::idle_bytes(), 7 * most);
    Shared::release_idle();
    drop(tape);
    assert_eq!(Shared::idle_bytes(), most, "memory in use is not released");
}

#[test]
fn memory_of_large_tapes_returns_to_the_pool() {
    in_turn::<Jacobian<f64, Linear, Shared>>();
    #[cfg(feature = "wide")]
    in_turn::<Jacobian<f64, Reuse, Shared>>();
    #[cfg(feature = "wide")]
    in_turn::<PrimalValue<f64, Linear, Shared>>();
    in_turn::<PrimalValue<f64, Reuse, Shared>>();
    #[cfg(feature = "wide")]
    in_turn::<Hybrid<f64, Linear, Shared>>();
    #[cfg(feature = "wide")]
    in_turn::<Hybrid<f64, Reuse, Shared>>();
}
