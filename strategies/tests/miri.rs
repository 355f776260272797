//! All unsafe code of this crate, run on small recordings so that an interpreter that checks memory accesses can
//! follow.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::{Linear, Lit, Plus, Times, Var, adjoints, eval, input};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::storage::Layer;
use tapewright_strategies::tape::{Content, Records};
use tapewright_strategies::{Capacity, IndexManager, Jacobian, MemoryReport, Nary, PrimalValue};

/// Runs each scenario under every strategy.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod jacobian { $( #[test] fn $name() { super::$name::<tapewright_strategies::Jacobian>(); } )* }
        mod primal_value { $( #[test] fn $name() { super::$name::<tapewright_strategies::PrimalValue>(); } )* }
        mod continuation { $( #[test] fn $name() { super::$name::<tapewright_strategies::Continuation>(); } )* }
    };
}
scenarios! {
    repeated_statements_take_the_fast_path
    mixed_activity_gives_the_gradient_of_the_active_ones
    wide_records_reach_into_new_segments
    a_segment_too_small_for_a_record_is_kept_for_later
    statements_of_many_types_outlive_the_table
    sums_and_functions_of_slices
    reserved_memory_is_used
    nested_recordings_of_the_same_strategy
    nested_recordings_of_another_strategy
    leaked_guards_leave_nothing_dangling
    guards_may_end_in_any_order
    panics_end_recordings
    tapes_move_between_threads
    every_thread_has_its_own_recordings
    out_of_identifiers_loses_nothing
    tapes_can_be_swept_by_many_threads_at_once
}

fn tape<S: Linear>() -> OwnedTape<S> {
    OwnedTape::new(S::Tape::default())
}

fn report<S: Linear>(tape: &OwnedTape<S>) -> MemoryReport {
    S::memory(tape.tape())
}

/// x·y + y, twice: the gradient of the second is (y, x + 1).
fn small<S: Linear>(number: RecordingId) -> (Vec<Var>, Var) {
    let (x, y) = (input::<S>(number, 3.0), input::<S>(number, 5.0));
    let _ = eval::<S, _>(&Plus(Times(x, y), y));
    (vec![x, y], eval::<S, _>(&Plus(Times(x, y), y)))
}

fn assert_small<S: Linear>(tape: &OwnedTape<S>, (x, z): &(Vec<Var>, Var)) {
    assert_eq!(adjoints(tape, *z, x), [5.0, 4.0]);
}

fn repeated_statements_take_the_fast_path<S: Linear>() {
    let mut tape = tape::<S>();
    for _ in 0..2 {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 0.5);
            let y = (0..40).fold(x, |y, _| eval::<S, _>(&Plus(Times(x, y), Times(Lit(0.25), y))));
            (x, y)
        });
        // y = x·(x + ¼)⁴⁰, so dy/dx = (x + ¼)⁴⁰ + 40·x·(x + ¼)³⁹.
        let expected = 0.75_f64.powi(40) + 20.0 * 0.75_f64.powi(39);
        assert!((adjoints(&tape, y, &[x])[0] / expected - 1.0).abs() < 1e-13);
        assert_eq!(report(&tape).statements, 40);
    }
    tape.reset();
    assert_eq!((report(&tape).statements, S::identifiers(tape.tape())), (0, 1));
}

fn mixed_activity_gives_the_gradient_of_the_active_ones<S: Linear>() {
    let mut tape = tape::<S>();
    for pattern in 0..8 {
        let (x, y) = tape.record(|number| {
            let variable = |k: i32| {
                let value = f64::from(k) + 2.0;
                if pattern >> k & 1 == 1 { input::<S>(number, value) } else { Var::passive(value) }
            };
            let x = [variable(0), variable(1), variable(2)];
            let y =
                (0..3).fold(x[0], |_, _| eval::<S, _>(&Plus(Times(x[0], Times(x[1], Lit(0.5))), Times(x[2], x[0]))));
            (x, y)
        });
        let expected =
            [1.5 + 4.0, 1.0, 2.0].iter().enumerate().map(|(k, g)| if pattern >> k & 1 == 1 { *g } else { 0.0 });
        let found = adjoints(&tape, y, &x);
        for (k, expected) in expected.enumerate().filter(|(k, _)| pattern >> k & 1 == 1) {
            assert_eq!(found[k], expected, "activity pattern {pattern:03b}, argument {k}");
        }
        assert_eq!(report(&tape).statements, if pattern == 0 { 0 } else { 3 });
    }
}

struct Total;
impl Nary<f64> for Total {
    const UNIT: bool = true;
    fn value(x: &[f64], _: &[f64]) -> f64 {
        x.iter().sum()
    }
    fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
        partials.fill(1.0);
    }
}

/// Σ cᵢ·xᵢ².
struct Squares;
impl Nary<f64> for Squares {
    const CONSTANTS: usize = 1;
    fn value(x: &[f64], c: &[f64]) -> f64 {
        x.iter().zip(c).map(|(x, c)| c * x * x).sum()
    }
    fn partials(x: &[f64], c: &[f64], partials: &mut [f64]) {
        partials.iter_mut().zip(x).zip(c).for_each(|((p, x), c)| *p = 2.0 * c * x);
    }
}

fn nary<S: Linear, R: Nary<f64>>(x: &[Var], constants: &[f64]) -> Var {
    let variables: Vec<_> = x.iter().map(|x| x.0).collect();
    let values: Vec<f64> = x.iter().map(|x| x.0.value).collect();
    let value = R::value(&values, constants);
    let (left, right) = variables.split_at(x.len() / 2);
    Var::new(value, S::record_nary::<R>(&[left, right], constants, value))
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
macro_rules! all_types {
    ($s:ty, $x:expr, $out:expr, $e:expr,) => { $out.push(eval::<$s, _>(&$e)) };
    ($s:ty, $x:expr, $out:expr, $e:expr, $level:tt $($rest:tt)*) => {
        all_types!($s, $x, $out, Plus($e, $x), $($rest)*);
        all_types!($s, $x, $out, Times($e, $x), $($rest)*);
    };
}

#[inline(never)]
fn many_types<S: Linear>(x: Var, out: &mut Vec<Var>) {
    all_types!(S, x, out, x, 1 2 3 4 5 6 7 8);
}

fn statements_of_many_types_outlive_the_table<S: Linear>() {
    let mut tape = tape::<S>();
    let (x, z) = tape.record(|number| {
        let x = input::<S>(number, 1.0);
        let mut y = Vec::new();
        many_types::<S>(x, &mut y);
        many_types::<S>(Var::passive(7.0), &mut Vec::new());
        let late = eval::<S, _>(&Times(Plus(x, Var::passive(2.0)), Plus(Lit(3.0), Plus(x, x))));
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
        let slot = |x: Var| S::locate(&x.0.id).map_or(0, |(_, slot)| slot);
        let mut spoiled = vec![0.0; S::identifiers(tape.tape())];
        spoiled[slot(y)] = f64::INFINITY;
        S::reverse(tape.tape(), &mut spoiled).expect("records in memory");
        assert!(x.iter().all(|x| !x.0.id.is_active() || spoiled[slot(*x)].is_infinite()));
    }
}

fn reserved_memory_is_used<S: Linear>() {
    let mut tape = tape::<S>();
    let capacity = Capacity { inputs: 2, statements: 6_000, arguments: 6_000 };
    S::reserve(tape.tape_mut(), capacity);
    let before = report(&tape).total().reserved;
    for _ in 0..2 {
        let made = tape.record(small::<S>);
        assert_small(&tape, &made);
        S::reserve(tape.tape_mut(), Capacity::default());
        assert_small(&tape, &made);
        assert_eq!(report(&tape).total().reserved, before);
    }
    S::reserve(tape.tape_mut(), Capacity { inputs: 9_000, ..capacity });
    let made = tape.record(small::<S>);
    assert_small(&tape, &made);
}

fn nested_recordings_of_the_same_strategy<S: Linear>() {
    nested::<S, S>();
}

fn nested_recordings_of_another_strategy<S: Linear>() {
    nested::<S, Jacobian>();
    nested::<S, PrimalValue>();
}

fn nested<S: Linear, T: Linear>() {
    let (mut outer, mut inner) = (tape::<S>(), tape::<T>());
    let (x, made, y) = outer.record(|number| {
        let x = input::<S>(number, 2.0);
        let made = inner.record(|inner_number| {
            let made = small::<T>(inner_number);
            let outside = eval::<S, _>(&Times(x, x));
            (made, outside)
        });
        let y = eval::<S, _>(&Times(made.1, x));
        (x, made.0, y)
    });
    assert_small(&inner, &made);
    assert_eq!(adjoints(&outer, y, &[x]), [12.0]);
}

fn leaked_guards_leave_nothing_dangling<S: Linear>() {
    std::thread::spawn(|| {
        let leaked = tape::<S>().start();
        let number = leaked.number();
        let made = small::<S>(number);
        std::mem::forget(leaked);
        let mut other = tape::<S>();
        let inside = other.record(small::<S>);
        assert_small(&other, &inside);
        let still_active = eval::<S, _>(&Times(made.1, made.1));
        assert_eq!(still_active.0.id.number(), number);
    })
    .join()
    .expect("the thread ends well");
}

fn guards_may_end_in_any_order<S: Linear>() {
    let (first, second, third) = (tape::<S>().start(), tape::<Jacobian>().start(), tape::<PrimalValue>().start());
    let made = (small::<S>(first.number()), small::<Jacobian>(second.number()), small::<PrimalValue>(third.number()));
    drop(second);
    let first = first.finish();
    let late = small::<PrimalValue>(third.number());
    assert_small(&first, &made.0);
    let third = third.finish();
    assert_small(&third, &made.2);
    assert_small(&third, &late);
    let gone = catch_unwind(AssertUnwindSafe(|| eval::<Jacobian, _>(&Times(made.1.1, made.1.1))));
    assert!(gone.is_err(), "the second recording has ended");
}

fn panics_end_recordings<S: Linear>() {
    let (mut outer, mut inner) = (tape::<S>(), tape::<S>());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        outer.record(|_| {
            let inside = catch_unwind(AssertUnwindSafe(|| inner.record(|_| panic!("inside"))));
            assert!(inside.is_err());
            panic!("outside")
        });
    }));
    assert!(caught.is_err());
    for tape in [&mut outer, &mut inner] {
        let made = tape.record(small::<S>);
        assert_small(tape, &made);
    }
}

fn tapes_move_between_threads<S: Linear>() {
    let mut tape = tape::<S>();
    let first = tape.record(small::<S>);
    let (mut tape, second) = std::thread::spawn(move || {
        assert_small(&tape, &first);
        let second = tape.record(small::<S>);
        (tape, second)
    })
    .join()
    .expect("the thread ends well");
    assert_small(&tape, &second);
    let third = tape.record(small::<S>);
    assert_small(&tape, &third);
}

fn every_thread_has_its_own_recordings<S: Linear>() {
    let mut tape = tape::<S>();
    tape.record(|number| {
        let (x, y) = small::<S>(number);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut own = self::tape::<S>();
                    let made = own.record(small::<S>);
                    assert_small(&own, &made);
                    let foreign = catch_unwind(|| eval::<S, _>(&Times(y, x[0])));
                    assert!(foreign.is_err(), "variables of another thread's recording");
                });
            }
        });
    });
}

/// Tapes whose identifiers can be limited.
trait Limited {
    fn limit(&mut self, identifiers: u64);
}
impl<M: IndexManager, L: Layer, K: Content> Limited for Records<f64, M, L, K> {
    fn limit(&mut self, identifiers: u64) {
        self.limit_identifiers(identifiers);
    }
}

fn out_of_identifiers_loses_nothing<S: Linear<Tape: Limited>>() {
    let mut tape = tape::<S>();
    tape.tape_mut().limit(3);
    let (x, y) = tape.record(|number| {
        let (x, y) = (input::<S>(number, 2.0), input::<S>(number, 3.0));
        let z = eval::<S, _>(&Times(x, y));
        let more = catch_unwind(|| eval::<S, _>(&Times(z, y)));
        assert!(more.is_err(), "the fourth identifier");
        ([x, y], z)
    });
    assert_eq!(adjoints(&tape, y, &x), [3.0, 2.0]);
    tape.tape_mut().limit(u64::MAX);
    let made = tape.record(small::<S>);
    assert_small(&tape, &made);
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
