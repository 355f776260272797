//! What cannot run says why.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{
    Dialect, Indices, View, deep_copy, dot, fill, gather, parallel_fold, parallel_for, parallel_for_text, parallel_max,
    parallel_min, parallel_scan, parallel_sum,
};
use tapewright::prelude::*;
use tapewright_test_support::panic_message;

/// Asserts that this panics with a message that has all of these words.
#[track_caller]
pub(super) fn refused<R>(f: impl FnOnce() -> R, words: &[&str]) {
    let message = panic_message(f);
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

/// A token that is kept, and used in another launch, whose operands are others.
#[test]
fn tokens_of_other_launches() {
    let (x, k) = (view([2, 3]), Real::<Jacobian>::constant(1.0));
    let (row, column) = (view([3]), view([2]));
    let (number, along) = (Cell::new(None), Cell::new(None));
    _ = parallel_sum(x.all(), (&x, &k, row.along::<1>()), |(x, k, row)| {
        number.set(Some(k));
        along.set(Some(row.at()));
        x.at::<0, 0>() * row.at()
    });
    refused(
        || parallel_sum(x.all(), (&x, &x), |(x, _)| x.at::<0, 0>() * number.get().expect("it was kept")),
        &["reads operand 1 as a variable", "has a view there", "use the tokens that its closure gets"],
    );
    refused(
        || parallel_sum(x.all(), &x, |x| x.at::<0, 0>() * number.get().expect("it was kept")),
        &["reads operand 1 as a variable", "has nothing there"],
    );
    refused(
        || parallel_sum(x.all(), (&x, &k, &x), |(x, ..)| x.at::<0, 0>() * along.get().expect("it was kept")),
        &["reads operand 2 as a view of lower rank", "has a view there"],
    );
    refused(
        || {
            parallel_sum(x.all(), (&x, &k, column.along::<0>()), |(x, ..)| {
                x.at::<0, 0>() * along.get().expect("it was kept")
            })
        },
        &["operand 2 lies along the dimensions [0]", "reads it along [1]", "use the tokens"],
    );
    let temporary = Cell::new(None);
    refused(
        || {
            parallel_sum(x.all(), &x, |x| {
                let bound = x.at::<0, 0>().bind::<0, _>(|e| {
                    temporary.set(Some(e));
                    e
                });
                bound + temporary.get().expect("it was kept")
            })
        },
        &["outside of the closure that `bind` passes it to", "bind it again"],
    );
}

/// A launch with its name.
type Case<'c> = (&'c str, &'c dyn Fn());

/// The place that a panic names.
fn place_of(f: impl FnOnce()) -> String {
    static HOOK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = HOOK.lock();
    let (found, thread) = (std::sync::Arc::new(std::sync::Mutex::new(None)), std::thread::current().id());
    let (to, before) = (std::sync::Arc::clone(&found), std::sync::Arc::new(std::panic::take_hook()));
    let other = std::sync::Arc::clone(&before);
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == thread {
            *to.lock().expect("not poisoned") = info.location().map(|at| at.file().to_owned());
        } else {
            other(info);
        }
    }));
    let panic = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(Box::new(move |info| before(info)));
    assert!(panic.is_err(), "it went through");
    let place = found.lock().expect("not poisoned").take();
    place.expect("a panic has a place")
}

#[test]
fn panics_of_launches_name_a_line_of_the_caller() {
    let mut tape = Tape::<Jacobian>::new();
    let (view, variable) = tape.record(|scope| (scope.view([3], &[1.0, 2.0, 3.0]), scope.input(2.0)));
    let zeros = || View::<Jacobian, 1>::zeros([3]);
    // The recording is over, so nothing of it can be used.
    let cases: [Case<'_>; 21] = [
        ("written", &|| {
            let mut view = view.clone();
            parallel_for(view.all(), &mut view, |v| (v.at::<0>() * 2.0,));
        }),
        ("read", &|| parallel_for(view.all(), (&mut zeros(), &view), |(_, v)| (v.at::<0>() * 2.0,))),
        ("variable", &|| parallel_for(0..3, (&mut zeros(), &variable), |(z, k)| (z.at::<0>() * k,))),
        ("sum", &|| _ = parallel_sum(view.all(), &view, |v| v.at::<0>() * 2.0)),
        ("max", &|| _ = parallel_max(view.all(), &view, |v| v.at::<0>() * 2.0)),
        ("fill", &|| fill(&variable, &mut zeros())),
        ("copy", &|| deep_copy(&view, &mut zeros())),
        ("row", &|| _ = view.reshape([1, 3]).row(0)),
        ("fold", &|| _ = parallel_fold(&view, |a, b| a + b)),
        ("scan", &|| _ = parallel_scan(&view, |a, b| a + b)),
        ("range", &|| _ = parallel_sum(0..4, &zeros(), |z| z.at::<0>())),
        ("neighbor", &|| _ = parallel_sum(0..3, &zeros(), |z| z.at::<1>())),
        ("nothing", &|| _ = parallel_max(2..2, &zeros(), |z| z.at::<0>())),
        ("shape", &|| _ = View::<Passive, 2>::zeros([usize::MAX, 2])),
        ("part", &|| zeros().with_part(2..4, |_| ())),
        ("empty part", &|| zeros().with_part(2..2, |_| ())),
        ("index", &|| _ = gather(&zeros(), &Indices::new(&[3]))),
        ("large index", &|| _ = Indices::new(&[1 << 32])),
        ("position", &|| _ = Indices::new(&[0]).get(1)),
        ("name", &|| _ = parallel_for_text(Dialect::C, "a kernel", &mut zeros(), |z| (z.at::<0>(),))),
        ("token", &|| {
            let other = Cell::new(None);
            _ = parallel_sum(0..3, (&zeros(), &Real::constant(1.0)), |(z, k)| {
                other.set(Some(k));
                z.at::<0>()
            });
            _ = parallel_sum(0..3, (&zeros(), &zeros()), |(z, _)| z.at::<0>() * other.get().expect("a token"));
        }),
    ];
    for (name, case) in cases {
        assert_eq!(place_of(case), file!(), "{name}");
    }
}

#[test]
fn adjoints_of_a_view_that_is_no_input_are_an_error() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, kept, made, sum) = tape.record(|scope| {
        let mut x = scope.view([3], &[1.0, 2.0, 3.0]);
        let kept = x.clone();
        let mut made = View::zeros([3]);
        parallel_for(x.all(), (&x, &mut made), |(x, _)| (3.0 * x.at::<0>(),));
        parallel_for(x.all(), &mut x, |x| (2.0 * x.at::<0>(),));
        let sum = parallel_sum(x.all(), (&x, &made), |(x, m)| x.at::<0>() + m.at::<0>());
        (x, kept, made, sum)
    });
    let beginning = {
        let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
        assert_eq!(adjoints.of_view(&kept).expect("an input").to_vec(), [5.0; 3]);
        for view in [&x, &made] {
            let error = adjoints.of_view(view).expect_err("no input");
            assert!(matches!(error, tapewright::Error::NotAnInput { .. }), "{error:?}");
            assert!(error.to_string().contains("not an input of recording"), "{error}");
        }
        adjoints.of_view(&View::<Jacobian, 1>::zeros([3])).expect("a constant").to_vec()
    };
    assert_eq!(beginning, [0.0; 3]);
    let lanes = tape.sweep_lanes::<2>(&[(&sum, [1.0, 2.0])]).expect("swept");
    assert_eq!(lanes.of_view(&kept, 1).expect("an input").to_vec(), [10.0; 3]);
    assert!(lanes.of_view(&x, 1).is_err());
}

#[test]
fn reads_beyond_a_view_are_told_in_its_own_dimensions() {
    let mut x = View::<Passive, 1>::zeros([4]);
    let message = panic_message(|| parallel_for(0..4, &mut x, |x| (x.at::<1>(),)));
    assert!(message.contains("shift [1] of the points [0..4] of shape [4]"), "{message}");
}

#[test]
fn a_constant_of_another_strategy_shares_the_elements_until_one_is_written() {
    let data = View::<Passive, 1>::new([3], &[1.0, 2.0, 3.0]);
    let mut other = data.constant::<Jacobian>();
    assert!(std::ptr::eq(data.values(), other.values()));
    parallel_for(0..3, &mut other, |x| (2.0 * x.at::<0>(),));
    assert_eq!((data.values(), other.values()), (&[1.0, 2.0, 3.0][..], &[2.0, 4.0, 6.0][..]));
}
