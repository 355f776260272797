//! Checkpoints inside checkpoints, row X19, and two sweeps of two outputs, row X21.

use crate::everywhere::{close, everywhere, float, holds_results_only};
use crate::repeated_sin::repeated_sin;
use std::cell::Cell;
use std::sync::Arc;
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TapePool, TimeLoop};
use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;
use tapewright::schedule::Revolve;

thread_local! {
    /// The most checkpoints that were alive at once, as the innermost stages saw it.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// n sines as `width` stages of n/`width` each, these again, and so on. Each checkpoint keeps a copy of the token.
fn level<S: Reverse>(width: usize, depth: usize, n: usize, x: &Real<S>, token: &Arc<()>) -> Real<S> {
    if depth == 0 {
        MOST.set(MOST.get().max(Arc::strong_count(token) - 1));
        return repeated_sin(n, x);
    }
    (0..width).fold(x.clone(), |x, _| {
        let (n, kept) = (n / width, Arc::clone(token));
        Stage::<S>::new().run(&x, |x| repeated_sin(n, x), move |x| level(width, depth - 1, n, x, &kept))
    })
}

fn x19_three_levels<S: Reverse>() {
    const N: usize = 4096;
    let full = gradient::<S>(|x| repeated_sin(N, &x[0]), &[float(0.7)])[0];
    // 16 stages of 16 stages of 16 sines; 8 stages of 8 stages of 8 stages of 8 sines.
    for (width, depth) in [(16_usize, 2_u32), (8, 3)] {
        assert_eq!(width.pow(depth + 1), N);
        let token = Arc::new(());
        MOST.set(0);
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.7));
            let y = level(width, depth as usize, N, &x, &token);
            (x, y)
        });
        assert_eq!(Arc::strong_count(&token) - 1, width);
        holds_results_only(&tape, width);
        assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(full));
        assert_eq!(MOST.get(), depth as usize * width, "states at once, of {N}");
        // A tape for each level, as large as it has to be; the allocator's view is in `nested_allocations.rs`.
        let report = tape.memory();
        let nested = report.usage("nested").reserved;
        let mut one = Tape::<S>::new();
        one.record(|scope| repeated_sin(width, &scope.input(float(0.7))));
        let (one, states) = (one.memory().total().reserved, report.usage("externals").reserved);
        assert!(nested <= depth as usize * (one + 8 * states + 4096), "{nested} bytes, {one} for one");
    }
}

/// Two outputs that share stages, callbacks and a loop: every sweep is right, in any order.
fn x21_two_outputs_two_sweeps<S: Reverse>() {
    let pool = TapePool::<S>::new();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[float(0.7), float(0.2)]);
        // One stage of two inputs and two outputs.
        let [a, b] = Stage::<S>::new().run(
            &[x[0].clone(), x[1].clone()],
            |[p, q]| [(p * q).sin().eval(), (p + q).eval()],
            |[p, q]| [(p * q).sin().eval(), (p + q).eval()],
        );
        // A callback of one input and one output.
        let (at, pool) = (a.value(), pool.clone());
        let c = scope.insert_callback(&[a], &[at.sin()], move |adjoints: &mut CallbackAdjoints<S::Value>| {
            let seed = adjoints.get_and_reset_output(0);
            let mut nested = pool.nested();
            let x = nested.input(at);
            let y = x.sin().eval();
            nested.compute_adjoints(&[(&y, seed)]).expect("its own");
            adjoints.increment_input(0, nested.adjoint(&x).expect("its own"));
            Ok(())
        });
        // A loop with a parameter.
        let d = TimeLoop::<S>::new(Revolve::new(20, 3))
            .run(&b, &c[0], |_, k, u| (u * k).sin().eval(), |_, k, u| (u * k).sin().eval())
            .expect("no disk");
        (x, [d, b])
    });
    let (expected, slopes) = slopes::<S>();
    close(y[0].value(), expected, 64);
    for output in [0, 1, 0, 1, 1, 0] {
        let adjoints = tape.sweep(&[(&y[output], S::Value::ONE)]).expect("its own");
        for (x, slope) in x.iter().zip(slopes[output]) {
            close(adjoints.of(x).expect("its own"), slope, 2048);
        }
    }
    let both = tape.sweep(&[(&y[0], float(2.0)), (&y[1], float(-3.0))]).expect("its own");
    for (j, x) in x.iter().enumerate() {
        let expected = float::<S::Value>(2.0) * slopes[0][j] - float::<S::Value>(3.0) * slopes[1][j];
        close(both.of(x).expect("its own"), expected, 2048);
    }
}

/// The same by hand, in forward mode.
fn slopes<S: Reverse>() -> (S::Value, [[S::Value; 2]; 2]) {
    let f = |x: &[Real<Tangent<2, S::Value>>]| {
        let (a, b) = ((x[0] * x[1]).sin().eval(), (x[0] + x[1]).eval());
        let d = (0..20).fold(a.sin().eval(), |u, _| (u * b).sin().eval());
        vec![d, b]
    };
    let (values, jacobian) = jacobian_forward::<Tangent<2, S::Value>>(f, &[float(0.7), float(0.2)]);
    (values[0], [[jacobian[0][0], jacobian[0][1]], [jacobian[1][0], jacobian[1][1]]])
}

everywhere!(x19_three_levels, x21_two_outputs_two_sweeps);
