//! Launches on several threads.

use crate::{bits, numbers};
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread::ThreadId;
use tapewright::kernels::{View, parallel_for, parallel_row_sums, parallel_sum};
use tapewright::prelude::*;
use tapewright::{Float, Unary};

/// Runs `f` on a pool of its own with this number of threads.
fn on<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// Values, sums and gradients of kernels in one dimension: in place, stencils with and without borders, an active
/// number.
fn in_a_row() -> Vec<u64> {
    let n = 150_001;
    let mut tape = Tape::<Jacobian>::new();
    let (x, a, y, sum) = tape.record(|scope| {
        let (x, a) = (scope.view([n], &numbers(n, 1)), scope.input(0.7));
        let mut y = x.clone();
        parallel_for(y.interior(1), (&mut y, &x, &a), |(y, x, a)| {
            (y.at::<0>() * a + x.at::<1>() * x.at::<-1>() - (x.at::<0>() * 0.5).square(),)
        });
        parallel_for(3..n - 7, &mut y, |y| (y.at::<0>() * y.at::<0>(),));
        parallel_for(y.all(), &mut y, |y| (y.periodic::<3>() * 0.5 + y.at::<0>(),));
        let sum = parallel_sum(y.all(), (&y, &a), |(y, a)| y.nearest::<2>() * y.at::<0>() * a);
        (x, a, y, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
    let mut found = bits(y.values());
    found.extend(bits(&adjoints.of_view(&x).expect("an input")));
    found.extend(bits(&[sum.value(), adjoints.of(&a).expect("an input")]));
    found
}

/// The same in two dimensions: rows that are shorter and longer than a part.
fn in_a_field(shape: [usize; 2]) -> Vec<u64> {
    let n = shape.iter().product();
    let mut tape = Tape::<PrimalValue>::new();
    let (x, y, sum) = tape.record(|scope| {
        let x = scope.view(shape, &numbers(n, 2));
        let mut y = x.clone();
        parallel_for(y.interior(1), (&mut y, &x), |(y, x)| {
            (y.at::<0, 0>() * x.at::<1, -1>() + x.at::<-1, 0>().square(),)
        });
        let sum = parallel_sum(y.all(), &y, |y| y.or_zero::<0, 1>() * y.at::<0, 0>());
        (x, y, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
    let mut found = bits(y.values());
    found.extend(bits(&adjoints.of_view(&x).expect("an input")));
    found.extend(bits(&[sum.value()]));
    found
}

/// Sums of rows, with their adjoints.
fn in_rows(shape: [usize; 2]) -> Vec<u64> {
    let n = shape.iter().product();
    let mut tape = Tape::<Jacobian>::new();
    let (x, a, sums) = tape.record(|scope| {
        let (x, a) = (scope.view(shape, &numbers(n, 4)), scope.input(0.3));
        let sums: View<_, 1> = parallel_row_sums(x.all(), (&x, &a), |(x, a)| x.or_zero::<0, 1>() * x.at::<0, 0>() * a);
        (x, a, sums)
    });
    let adjoints = tape.sweep_view(&[], (&sums, &numbers(shape[0], 5))).expect("it is swept");
    let mut found = bits(sums.values());
    found.extend(bits(&adjoints.of_view(&x).expect("an input")));
    found.extend(bits(&[adjoints.of(&a).expect("an input")]));
    found
}

/// A quadratic form as one sum, whose vectors are operands of lower rank.
fn in_a_form(shape: [usize; 2]) -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (a, y, x, sum) = tape.record(|scope| {
        let a = scope.view(shape, &numbers(shape[0] * shape[1], 6));
        let (y, x) = (scope.view([shape[0]], &numbers(shape[0], 7)), scope.view([shape[1]], &numbers(shape[1], 8)));
        let sum = parallel_sum(a.all(), (y.along::<0>(), &a, x.along::<1>()), |(y, a, x)| {
            y.at() * a.at::<0, 0>() * x.at().square()
        });
        (a, y, x, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
    let mut found = bits(&[sum.value()]);
    found.extend(bits(&adjoints.of_view(&a).expect("an input")));
    found.extend([&y, &x].iter().flat_map(|view| bits(&adjoints.of_view(*view).expect("an input"))));
    found
}

#[test]
fn k11_k16_any_number_of_threads_gives_the_same_bits() {
    let all = || {
        let fields = [in_a_row(), in_a_field([3, 40_000]), in_a_field([700, 150])];
        let forms = [[3, 40_000], [700, 150], [40_000, 3]].map(in_a_form);
        [fields.concat(), forms.concat(), in_rows([3, 40_000]), in_rows([700, 150])]
    };
    let expected = on(1, all);
    for threads in [2, 3, 7] {
        assert!(on(threads, all) == expected, "{threads} threads and one differ");
    }
}

static SEEN: Mutex<Option<HashSet<ThreadId>>> = Mutex::new(None);

/// The identity, which notes where it is computed.
#[derive(Clone, Copy, Debug)]
struct Noted;
impl Unary for Noted {
    fn value<V: Float>(x: V) -> V {
        SEEN.lock().expect("nobody panics").get_or_insert_default().insert(std::thread::current().id());
        x
    }
    fn derivative<V: Float>(_: V, _: V) -> V {
        V::ONE
    }
}

#[test]
fn short_launches_run_on_the_caller_and_long_ones_on_the_pool() {
    let threads = |n: usize| {
        *SEEN.lock().expect("nobody panics") = None;
        let mut x = View::<Passive, 1>::zeros([n]);
        parallel_for(x.all(), &mut x, |x| (x.at::<0>().unary::<Noted>(),));
        SEEN.lock().expect("nobody panics").take().expect("it was computed")
    };
    assert_eq!(threads(20_000), HashSet::from([std::thread::current().id()]));
    let long = on(2, || threads(3_000_000));
    assert!(long.len() == 2 && !long.contains(&std::thread::current().id()), "{long:?}");
}
