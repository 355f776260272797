//! What cannot run says why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{View, deep_copy, dot, parallel_for, parallel_max, parallel_min, parallel_sum};
use tapewright::prelude::*;

/// The message with which this panics.
#[track_caller]
fn refusal<R>(f: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else { panic!("it went through") };
    panic.downcast::<String>().map_or_else(|panic| (*panic.downcast::<&str>().expect("a text")).into(), |text| *text)
}

/// Asserts that this panics with a message that has all of these words.
#[track_caller]
pub(super) fn refused<R>(f: impl FnOnce() -> R, words: &[&str]) {
    let message = refusal(f);
    assert!(words.iter().all(|word| message.contains(word)), "{words:?} are not all in: {message}");
}

fn view<const R: usize>(shape: [usize; R]) -> View<Jacobian, R> {
    View::zeros(shape)
}

#[test]
fn shapes_that_differ() {
    let (x, mut y) = (view([3, 4]), view([4, 3]));
    refused(
        || parallel_for([0..1, 0..1], (&x, &mut y), |(x, _)| (x.at::<0, 0>(),)),
        &["operand 1", "[4, 3]", "[3, 4]"],
    );
    refused(|| dot(&x, &y), &["operand 1", "[4, 3]", "[3, 4]"]);
    refused(|| deep_copy(&x, &mut y), &["operand 1", "[4, 3]", "[3, 4]"]);
}

#[test]
fn shapes_that_do_not_fit_the_elements() {
    refused(|| View::<Jacobian, 2>::new([2, 2], &[0.0; 3]), &["[2, 2]", "4", "3"]);
    refused(|| view([2, 0]), &["[2, 0]", "no elements"]);
    refused(|| view([usize::MAX, 2]), &["more elements than there can be"]);
    refused(|| Tape::<Jacobian>::new().record(|scope| scope.view([2], &[1.0])), &["[2]", "2", "1"]);
}

#[test]
fn ranges_beyond_the_view() {
    let mut x = view([3, 4]);
    refused(|| parallel_for([0..3, 0..5], &mut x, |x| (x.at::<0, 0>(),)), &["0..5", "dimension 1", "4"]);
    refused(|| parallel_sum([0..4, 0..4], &x, |x| x.at::<0, 0>()), &["0..4", "dimension 0", "3"]);
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let backwards = [2..1, 0..4];
    refused(|| parallel_sum(backwards, &x, |x| x.at::<0, 0>()), &["2..1", "behind its end"]);
}

#[test]
fn reads_beyond_the_view() {
    let (x, mut y) = (view([5]), view([5]));
    refused(|| parallel_for(x.all(), (&mut y, &x), |(_, x)| (x.at::<1>(),)), &["operand 1", "1]", "or_zero"]);
    refused(|| parallel_sum(0..5, (&x, &y), |(x, y)| x.at::<0>() + y.at::<-1>()), &["operand 1", "-1]"]);
    refused(|| parallel_max(3..5, &x, |x| x.at::<2>()), &["operand 0", "2]"]);
    // Also where the value is not used.
    refused(
        || parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<7>().bind::<0, _>(|_| x.at::<0>()),)),
        &["operand 0"],
    );
    refused(|| parallel_sum(x.all(), &x, |x| x.at::<0>().ge(0.0).select(x.at::<0>(), x.at::<7>())), &["operand 0"]);
}

#[test]
fn extrema_over_nothing() {
    let x = view([5]);
    refused(|| parallel_max(2..2, &x, |x| x.at::<0>()), &["one point"]);
    refused(|| parallel_min(x.interior(3), &x, |x| x.at::<0>()), &["one point"]);
}

#[test]
fn views_of_other_recordings() {
    let (mut one, mut two) = (Tape::<Jacobian>::new(), Tape::<Jacobian>::new());
    let x = one.record(|scope| scope.view([5], &[1.0; 5]));
    refused(|| parallel_sum(x.all(), &x, |x| x.at::<0>()), &["recording"]);
    refused(
        || {
            one.record(|outer| {
                let x = outer.view([5], &[1.0; 5]);
                two.record(|inner| {
                    let y = inner.view([5], &[1.0; 5]);
                    _ = dot(&x, &y);
                });
            });
        },
        &["recording"],
    );
    let (y, sum) = two.record(|scope| {
        let y = scope.view([5], &[1.0; 5]);
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0>());
        (y, sum)
    });
    assert!(two.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).is_err());
    assert!(two.sweep_view(&[], (&x, &[1.0; 5])).is_err());
    assert!(two.sweep_view(&[], (&y, &[1.0; 4])).is_err());
    let clone = y.clone();
    refused(
        || {
            std::thread::scope(|threads| {
                threads.spawn(|| dot(&clone, &clone).value()).join().map_err(std::panic::resume_unwind)
            })
        },
        &["recording"],
    );
}
