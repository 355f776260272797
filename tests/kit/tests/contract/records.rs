//! Records that reach from one segment of memory into the next, of many types, of many arguments, and such as find no
//! identifier: small enough for an interpreter that checks memory accesses.

use super::nodes::{
    Limited, Linear, Plus, Squares, Times, Total, Var, adjoints, assert_small, eval, input, nary, panics, refused,
    slot, small, tape, works,
};
use std::sync::Arc;
use tapewright_strategies::recording::{self, OwnedTape};
use tapewright_strategies::{Capacity, External, MemoryReport, SweepError};

under_each! {
    wide_records_reach_into_new_segments
    a_segment_too_small_for_a_record_is_kept_for_later
    #[cfg(miri)]
    statements_of_many_types_outlive_the_table
    sums_and_functions_of_slices
    out_of_identifiers_loses_nothing
    out_of_identifiers_among_outputs
    tapes_can_be_swept_by_many_threads_at_once
}

/// A function of anything, whose derivative is nothing.
struct Nothing(#[allow(dead_code, reason = "only held")] Arc<()>);
impl External<f64> for Nothing {
    fn reverse(&self, _: &[f64], _: &mut [f64]) -> Result<(), SweepError> {
        Ok(())
    }
}

fn report<S: Linear>(tape: &OwnedTape<S>) -> MemoryReport {
    S::memory(tape.tape())
}

/// Segments, and what fills them, are smaller by this in the interpreter.
const SCALE: usize = if cfg!(miri) { 16 } else { 1 };

/// Makes room for `count` segments of 64 KiB, so that few records fill them.
fn reserve_segments<S: Linear>(tape: &mut OwnedTape<S>, count: usize) {
    for k in 1..=count {
        S::reserve(tape.tape_mut(), Capacity { arguments: k * (64 << 10) / SCALE / 12, ..Capacity::default() });
    }
}

/// Records Σ ½x² over `n` arguments that are all the same, at x = 1; 12 bytes each under both strategies.
fn wide<S: Linear>(x: Var, n: usize) -> Var {
    nary::<S, Squares>(&vec![x; n], &vec![0.5; n])
}

fn wide_records_reach_into_new_segments<S: Linear>() {
    let mut tape = tape::<S>();
    reserve_segments(&mut tape, 3);
    let segments = |tape: &OwnedTape<S>| report(tape).total().reserved - report(tape).usage("values").reserved;
    let reserved = segments(&tape);
    let (n, half) = (512 / SCALE, if SCALE == 1 { 256.0 } else { 16.0 });
    for records in [25, 1] {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 1.0);
            (0..records).for_each(|_| assert_eq!(wide::<S>(x, n).0.value, half));
            (x, eval::<S, _>(&Times(wide::<S>(x, n), x)))
        });
        assert_eq!(adjoints(&tape, y, &[x]), [3.0 * half]);
        assert_eq!(S::identifiers(tape.tape()), 4 + records);
    }
    assert_eq!(segments(&tape), reserved, "the records lie in the reserved segments");
}

fn a_segment_too_small_for_a_record_is_kept_for_later<S: Linear>() {
    let mut tape = tape::<S>();
    reserve_segments(&mut tape, 2);
    for n in [if SCALE == 1 { 5_500_u16 } else { 345 }, 100] {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 1.0);
            let (a, b) = (wide::<S>(x, 100 / SCALE), wide::<S>(x, n.into()));
            (x, eval::<S, _>(&Plus(a, Plus(b, b))))
        });
        let expected = if SCALE == 1 { 100.0 } else { 6.0 } + 2.0 * f64::from(n);
        assert_eq!(adjoints(&tape, y, &[x]), [expected]);
    }
}

/// Pushes the 2ⁿ statements made of n choices between `+ x` and `· x`.
#[cfg(miri)]
macro_rules! all_types {
    ($s:ty, $x:expr, $out:expr, $e:expr,) => { $out.push(eval::<$s, _>(&$e)) };
    ($s:ty, $x:expr, $out:expr, $e:expr, $level:tt $($rest:tt)*) => {
        all_types!($s, $x, $out, Plus($e, $x), $($rest)*);
        all_types!($s, $x, $out, Times($e, $x), $($rest)*);
    };
}

#[cfg(miri)]
#[inline(never)]
fn many_types<S: Linear>(x: Var, out: &mut Vec<Var>) {
    all_types!(S, x, out, x, 1 2 3 4 5 6 7 8);
}

/// In full size in `tests/kit/tests/bytes.rs`: each type takes long to compile, and the interpreter compiles nothing.
#[cfg(miri)]
fn statements_of_many_types_outlive_the_table<S: Linear>() {
    let mut tape = tape::<S>();
    let (x, z) = tape.record(|number| {
        let x = input::<S>(number, 1.0);
        let mut y = Vec::new();
        many_types::<S>(x, &mut y);
        many_types::<S>(Var::passive(7.0), &mut Vec::new());
        let late = eval::<S, _>(&Times(Plus(x, Var::passive(2.0)), Plus(super::nodes::Lit(3.0), Plus(x, x))));
        y.push(late);
        (x, nary::<S, Total>(&y, &[]))
    });
    // With e ↦ e + 1 or e at x = 1, e′ ↦ e′ + 1 or e′ + e: after n levels Σ e = 2ⁿ + n·2ⁿ⁻¹.
    let (mut sum, mut slopes) = (1.0, 1.0);
    let mut count = 1.0;
    for _ in 0..8 {
        slopes = slopes + count + slopes + sum;
        sum = 2.0 * sum + count;
        count *= 2.0;
    }
    assert_eq!(z.0.value, sum + 15.0);
    assert_eq!(adjoints(&tape, z, &[x]), [slopes + 5.0 + 6.0]);
}

fn sums_and_functions_of_slices<S: Linear>() {
    let mut tape = tape::<S>();
    for (active, n) in [(true, 3), (true, 27), (true, 28), (true, 60), (true, 70), (false, 3), (false, 40)] {
        let (x, y) = tape.record(|number| {
            let mut x: Vec<Var> = (0..n).map(|k| input::<S>(number, f64::from(k))).collect();
            if !active {
                x[1] = Var::passive(1.0);
            }
            let (a, b) = (nary::<S, Total>(&x, &[]), nary::<S, Squares>(&x, &vec![0.5; x.len()]));
            (x, eval::<S, _>(&Plus(a, b)))
        });
        for (k, adjoint) in adjoints(&tape, y, &x).into_iter().enumerate().filter(|(k, _)| active || *k != 1) {
            #[allow(clippy::cast_precision_loss, reason = "small counts")]
            let expected = 1.0 + k as f64;
            assert_eq!(adjoint, expected);
        }
        assert_eq!(report(&tape).statements, 3);
        // Records with such seeds are asked what they contribute.
        let mut spoiled = vec![0.0; S::identifiers(tape.tape())];
        spoiled[slot::<S>(y)] = f64::INFINITY;
        S::reverse(tape.tape(), &mut spoiled).expect("records in memory");
        assert!(x.iter().all(|x| !x.0.id.is_active() || spoiled[slot::<S>(*x)].is_infinite()));
    }
}

fn out_of_identifiers_loses_nothing<S: Linear<Tape: Limited>>() {
    let mut tape = tape::<S>();
    tape.tape_mut().limit(3);
    let (x, y) = tape.record(|number| {
        let (x, y) = (input::<S>(number, 2.0), input::<S>(number, 3.0));
        let z = eval::<S, _>(&Times(x, y));
        assert!(refused(|| eval::<S, _>(&Times(z, y))), "the fourth identifier");
        ([x, y], z)
    });
    assert_eq!(adjoints(&tape, y, &x), [3.0, 2.0]);
    tape.tape_mut().limit(u64::MAX);
    works(&mut tape);
}

/// A function that finds identifiers for a few of its outputs only is not recorded, and its rule is dropped.
fn out_of_identifiers_among_outputs<S: Linear<Tape: Limited>>() {
    let mut tape = tape::<S>();
    tape.tape_mut().limit(3);
    let made = tape.record(|number| {
        let x = [input::<S>(number, 3.0), input::<S>(number, 5.0)];
        let rule = Arc::new(());
        let inputs = [(3.0, &x[0].0.id), (5.0, &x[1].0.id)];
        let mut given = 0;
        let text = panics(|| {
            let function = Box::new(Nothing(Arc::clone(&rule)));
            recording::record_external::<S>(number, &inputs, &[1.0; 4], function, &mut |_, _| given += 1);
        });
        assert!(text.contains("identifiers"), "{text}");
        assert_eq!((given, Arc::strong_count(&rule)), (0, 1));
        (x.to_vec(), eval::<S, _>(&Plus(Times(x[0], x[1]), x[1])))
    });
    assert_small(&tape, &made);
    tape.tape_mut().limit(u64::MAX);
    works(&mut tape);
}

fn tapes_can_be_swept_by_many_threads_at_once<S: Linear>()
where
    S::Tape: Sync,
{
    let mut tape = tape::<S>();
    let made = tape.record(small::<S>);
    let number = tape.number();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                assert_small(&tape, &made);
                assert_eq!((tape.number(), report(&tape).statements), (number, 2));
            });
        }
    });
}
