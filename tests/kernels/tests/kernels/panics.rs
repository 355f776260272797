//! After a caught panic: each entry of a recording with a panic at each of its calls of a user's rule, and what the
//! program does then compared with a program that never made that entry.

mod sweeps;
#[cfg(feature = "threads")]
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tapewright::kernels::{
    Indices, View, associative, deep_copy, gather, parallel_exclusive_scan, parallel_fold, parallel_for, parallel_max,
    parallel_min, parallel_row_sums, parallel_scan, parallel_sum, scatter, scatter_add,
};
use tapewright::prelude::*;
use tapewright::{Binary, Float, Forward, Reuse, Unary, binary, unary};

/// Calls of rules that are still to succeed before one panics; 0 if none is to.
static LEFT: AtomicUsize = AtomicUsize::new(0);
/// Whoever counts calls has it.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call of a rule.
fn call() {
    let count = |left: usize| left.checked_sub(1);
    if LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) == Ok(1) {
        // Without a message in the output of the tests.
        resume_unwind(Box::new("a rule"));
    }
}

/// Runs `f` with a panic at call `k`, and says whether it came to that.
fn panics_at(k: usize, f: impl FnOnce()) -> bool {
    LEFT.store(k, Ordering::Relaxed);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    LEFT.store(0, Ordering::Relaxed);
    if let Err(panic) = &outcome {
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a rule"), "another panic at call {k}");
    }
    outcome.is_err()
}

/// Whether `f` panics because a view is half written.
fn refuses(f: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else { return false };
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("is half written") && message.contains("deep_copy"), "{message}");
    true
}

/// x³ − x.
#[derive(Clone, Copy, Debug)]
struct Cubic;
impl Unary for Cubic {
    fn value<V: Float>(x: V) -> V {
        call();
        x * x * x - x
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        call();
        let three = V::ONE + V::ONE + V::ONE;
        three * x * x - V::ONE
    }
}

/// x²·y.
#[derive(Clone, Copy, Debug)]
struct Product;
impl Binary for Product {
    fn value<V: Float>(x: V, y: V) -> V {
        call();
        x * x * y
    }
    fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
        call();
        (V::ONE + V::ONE) * x * y
    }
    fn partial_right<V: Float>(x: V, _: V, _: V) -> V {
        call();
        x * x
    }
}

/// What the entries work on.
struct World<S: Taping> {
    /// Made of the inputs, and never written again.
    safe: View<S, 1>,
    a: View<S, 1>,
    b: View<S, 1>,
    /// A constant at first.
    p: View<S, 1>,
    k: Real<S>,
    s: Real<S>,
}

type Entry<S> = (&'static str, fn(&mut World<S>));
/// How many there are.
const ENTRIES: usize = 21;

/// The entries that call rules.
fn entries<S: Taping<Value = f64>>() -> [Entry<S>; ENTRIES] {
    [
        ("in place", |w| parallel_for(w.a.all(), &mut w.a, |a| (a.at::<0>().unary::<Cubic>(),))),
        ("in place, a part", |w| {
            parallel_for(1..4, (&mut w.b, &w.k), |(b, k)| (b.at::<0>().unary::<Cubic>() * k,));
        }),
        ("a copy is there", |w| {
            let copy = w.a.clone();
            parallel_for(w.a.all(), &mut w.a, |a| (a.at::<0>().unary::<Cubic>(),));
            w.b = copy;
        }),
        ("reads beside", |w| {
            parallel_for(1..4, &mut w.b, |b| (b.at::<-1>().unary::<Cubic>() + b.at::<1>(),));
        }),
        ("two outputs", |w| {
            parallel_for(w.a.all(), (&mut w.a, &mut w.b, &w.k), |(a, b, k)| {
                (b.at::<0>().unary::<Cubic>(), a.at::<0>().binary::<Product, _>(k))
            });
        }),
        ("replaced", |w| parallel_for(w.b.all(), (&w.a, &mut w.b), |(a, _)| (a.at::<0>().unary::<Cubic>(),))),
        ("a constant becomes active", |w| {
            parallel_for(2..5, (&w.a, &mut w.p), |(a, p)| (a.at::<0>().binary::<Product, _>(p.at::<0>()),));
        }),
        ("constants", |w| parallel_for(w.p.all(), &mut w.p, |p| (p.at::<0>().unary::<Cubic>(),))),
        ("a sum", |w| w.s = parallel_sum(w.a.all(), (&w.a, &w.k), |(a, k)| a.at::<0>().unary::<Cubic>() * k)),
        ("sums of rows", |w| {
            let x = w.a.reshape([3, 2]);
            let y: View<S, 1> = parallel_row_sums(x.all(), &x, |x| x.at::<0, 0>().unary::<Cubic>());
            w.s = parallel_sum(y.all(), &y, |y| y.at::<0>().square());
        }),
        ("a maximum", |w| w.s = parallel_max(w.a.all(), &w.a, |a| a.at::<0>().unary::<Cubic>())),
        ("a minimum", |w| w.s = parallel_min(w.a.all(), (&w.a, &w.k), |(a, k)| a.at::<0>().binary::<Product, _>(k))),
        ("a fold", |w| w.s = parallel_fold(&w.b, |x, y| x + y.unary::<Cubic>())),
        ("a scan", |w| w.b = parallel_scan(&w.a, |x, y| 0.5 * x + y.unary::<Cubic>())),
        ("a fold in groups", |w| w.s = parallel_fold(&w.b, associative(|x, y| x + y.unary::<Cubic>()))),
        ("an exclusive scan", |w| {
            w.b = parallel_exclusive_scan(&w.a, w.k.clone(), |x, y| 0.5 * x + y.unary::<Cubic>());
        }),
        ("a statement", |w| w.s = unary::<S, Cubic, _>(&w.k).into()),
        ("an update", |w| w.s += binary::<S, Product, _, _>(&w.k, 1.5)),
        ("variables of a view", |w| {
            let sum = w.a.to_variables().iter().fold(w.k.clone(), |sum, x| (sum + unary::<S, Cubic, _>(x)).into());
            w.p = View::of_variables([6], &[&w.k, &sum, &w.s, &sum, &w.k, &w.s].map(Clone::clone));
        }),
        ("a transfer between launches", |w| {
            let places = Indices::new(&[1, 1, 5]);
            let mut x = gather(&w.a, &places);
            parallel_for(x.all(), &mut x, |x| (x.at::<0>().unary::<Cubic>(),));
            scatter_add(&x, &places, &mut w.b);
        }),
        ("replaced by a variable's", |w| {
            let k: Real<S> = (&w.k * 0.5).into();
            parallel_for(w.b.all(), (&k, &mut w.b), |(k, _)| (k.unary::<Cubic>(),));
        }),
    ]
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It panics at this call, or not at all if there are fewer.
    PanicsAt(usize),
    /// Nobody makes it; these of the views a, b, p are written anew.
    LeftOut([bool; 3]),
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    panicked: bool,
    /// Which of the views a, b, p were half written.
    torn: [bool; 3],
    /// Of the value, and of the derivatives.
    bits: Vec<u64>,
}

const N: usize = 6;

/// The entries that leave a view half written under one strategy at least.
const WRITE_IN_PLACE: [&str; 7] = [
    "in place",
    "in place, a part",
    "two outputs",
    "replaced",
    "a constant becomes active",
    "constants",
    "replaced by a variable's",
];

/// Entry `e` between others, and a value that depends on all that there is.
fn program<S: Taping<Value = f64>>(v: &View<S, 1>, k: &Real<S>, e: usize, fate: Fate) -> (Real<S>, bool, [bool; 3]) {
    let n = v.len();
    let mut w = World {
        safe: View::zeros([n]),
        a: View::zeros([n]),
        b: View::zeros([n]),
        p: View::filled([n], 0.75),
        k: k.clone(),
        s: (k * 3.0).into(),
    };
    parallel_for(v.all(), (v, &mut w.safe), |(v, _)| (v.at::<0>() + 0.125,));
    parallel_for(v.all(), (v, k, &mut w.a), |(v, k, _)| (v.at::<0>() * k,));
    parallel_for(v.all(), (v, &mut w.b), |(v, _)| (v.at::<0>() * v.nearest::<1>() + 0.5,));
    let (panicked, torn) = match fate {
        Fate::LeftOut(written) => (false, written),
        Fate::PanicsAt(call) => {
            let panicked = panics_at(call, || entries::<S>()[e].1(&mut w));
            (panicked, [&w.a, &w.b, &w.p].map(|view| refuses(|| _ = view.values())))
        }
    };
    assert!(panicked || torn == [false; 3] || fate == Fate::LeftOut(torn), "half written without a panic");
    for (view, torn) in [&mut w.a, &mut w.b, &mut w.p].into_iter().zip(torn) {
        if torn {
            repair(&w.safe, view, matches!(fate, Fate::PanicsAt(_)));
        }
    }
    parallel_for(1..n, (&mut w.b, &w.p), |(b, p)| (b.at::<0>() * p.at::<-1>() + b.at::<-1>(),));
    let sum = parallel_sum(v.all(), (&w.a, &w.b, &w.p, &w.k), |(a, b, p, k)| {
        a.at::<0>().square() * k + b.at::<0>() * p.at::<0>().bind::<0, _>(|p| p * p) + a.nearest::<1>()
    });
    ((sum + &w.s * &w.k).into(), panicked, torn)
}

/// Writes a half-written view anew. All that does less is refused.
fn repair<S: Taping<Value = f64>>(safe: &View<S, 1>, view: &mut View<S, 1>, is_torn: bool) {
    if is_torn {
        assert!(format!("{view:?}").contains("half written"), "{view:?}");
        let mut other = safe.clone();
        let one = View::filled([1], 1.0);
        assert!(refuses(|| _ = parallel_sum(view.all(), &*view, |x| x.at::<0>())));
        assert!(refuses(|| parallel_for(view.all(), (&*view, &mut other), |(x, _)| (x.at::<0>(),))));
        assert!(refuses(|| parallel_for(view.all(), &mut *view, |x| (x.at::<0>() + 1.0,))));
        assert!(refuses(|| parallel_for(1..3, (safe, &mut *view), |(x, _)| (x.at::<0>(),))));
        assert!(refuses(|| _ = parallel_fold(view, |x, y| x + y)));
        assert!(refuses(|| _ = parallel_scan(view, |x, y| x + y)));
        assert!(refuses(|| _ = gather(view, &Indices::new(&[0]))));
        assert!(refuses(|| scatter(&one, &Indices::new(&[0]), view)));
        assert!(refuses(|| view.set(0..1, &one)));
        assert!(refuses(|| _ = view.slice(0..1)));
        assert!(refuses(|| _ = view.variable([0])));
        assert!(refuses(|| _ = view.clone().to_vec()));
        assert!(refuses(|| _ = view.constant::<Passive>()));
        assert!(refuses(|| _ = view.reshape([view.len(), 1])));
        assert!(refuses(|| _ = tapewright::variables::Variables::views(view)));
        assert_eq!(&*other.to_vec(), safe.values());
    }
    deep_copy(safe, view);
    assert_eq!(view.values(), safe.values());
}

/// Numbers between which and their images no two are equal.
const AT: [f64; N] = [0.3, -0.8, 1.1, 0.65, -0.2, 0.95];

fn of(slopes: impl IntoIterator<Item = f64>, (value, panicked, torn): (f64, bool, [bool; 3])) -> Found {
    let bits = [value].into_iter().chain(slopes).map(f64::to_bits).collect();
    Found { panicked, torn, bits }
}

/// In reverse.
fn reverse<S: Reverse<Value = f64>>(e: usize, fate: Fate) -> Found {
    let mut tape = Tape::<S>::new();
    let (v, k, y, panicked, torn) = tape.record(|scope| {
        let (v, k) = (scope.view([N], &AT), scope.input(0.9));
        let (y, panicked, torn) = program(&v, &k, e, fate);
        (v, k, y, panicked, torn)
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
    let slopes: Vec<f64> = adjoints.of_view(&v).expect("an input").to_vec();
    of(slopes.into_iter().chain([adjoints.of(&k).expect("an input")]), (y.value(), panicked, torn))
}

/// Forward.
fn forward(e: usize, fate: Fate) -> Found {
    type S = Tangent<2>;
    S::evaluate(|| {
        let v = View::<S, 1>::moving([N], &AT, |k| (0..N).map(|j| [1.0, 0.25][(j + k) % 2]).collect());
        let (y, panicked, torn) = program(&v, &Real::with_tangent(0.9, [0.0, 1.0]), e, fate);
        of(y.tangent(), (y.value(), panicked, torn))
    })
}

/// Values alone.
fn plain(e: usize, fate: Fate) -> Found {
    let (y, panicked, torn) = program(&View::<Passive, 1>::new([N], &AT), &Real::constant(0.9), e, fate);
    of([], (y.value(), panicked, torn))
}

type Way = fn(usize, Fate) -> Found;

/// The ways in which derivatives are found.
const WAYS: [(&str, Way); 5] = [
    ("Jacobian", reverse::<Jacobian>),
    ("PrimalValue", reverse::<PrimalValue>),
    ("Jacobian with Reuse", reverse::<Jacobian<f64, Reuse>>),
    ("Tangent", forward),
    ("Passive", plain),
];

#[test]
fn an_entry_that_panics_was_never_made_or_has_marked_what_it_has_left() {
    let _alone = alone();
    for (e, (name, _)) in entries::<Passive>().iter().enumerate() {
        let mut ever = false;
        for (way, run) in WAYS {
            let mut calls = 0;
            let whole = loop {
                let found = run(e, Fate::PanicsAt(calls + 1));
                if !found.panicked {
                    break found;
                }
                calls += 1;
                let Found { torn, bits, .. } = run(e, Fate::LeftOut(found.torn));
                assert_eq!((found.torn, &found.bits), (torn, &bits), "{name}, {way}, call {calls}");
                assert_ne!(found.bits, whole_of(run, e), "{name}: the entry makes a difference");
                ever |= found.torn != [false; 3];
            };
            assert!(calls > 0, "{name} calls no rule under {way}");
            assert_eq!(whole.bits, whole_of(run, e), "{name}, {way}: a fuse that does not blow");
        }
        assert_eq!(ever, WRITE_IN_PLACE.contains(name), "{name} has left a view half written: {ever}");
    }
}

/// Without a panic.
fn whole_of(run: fn(usize, Fate) -> Found, e: usize) -> Vec<u64> {
    run(e, Fate::PanicsAt(0)).bits
}
