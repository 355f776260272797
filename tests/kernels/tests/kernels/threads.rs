//! Launches on several threads.

use crate::{bits, numbers};
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread::ThreadId;
use tapewright::kernels::{
    Indices, Part, View, associative, gather, parallel_exclusive_scan, parallel_fold, parallel_for, parallel_row_sums,
    parallel_scan, parallel_sum, scatter, scatter_add,
};
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

/// Folds and scans by rules that are declared associative, with adjoints and tangents.
fn in_groups() -> Vec<u64> {
    let n = 70_001;
    let elements: Vec<f64> = numbers(n, 6).into_iter().map(|x| 1.0 + 1e-5 * x).collect();
    let mut tape = Tape::<Jacobian>::new();
    let (x, k, y, sum) = tape.record(|scope| {
        let (x, k) = (scope.view([n], &elements), scope.input(0.7));
        let y = parallel_scan(&x, associative(|a, b| a * b));
        let z = parallel_exclusive_scan(&x, k, associative(|a, b| a * b + 1e-6 * a));
        let totals = parallel_scan(&z, associative(|a, b| a + b));
        let sum = parallel_sum(y.all(), (&y, &totals), |(y, z)| y.at::<0>() * z.at::<0>());
        let folds = parallel_fold(&y, associative(|a, b| a.max(b))) + parallel_fold(&x, associative(|a, b| a * b));
        (x, k, totals, (sum + folds).eval())
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("it is swept");
    let mut found = bits(y.values());
    found.extend(bits(&adjoints.of_view(&x).expect("an input")));
    let slope = adjoints.of(&k).expect("an input");
    found.extend(bits(&[sum.value(), slope]));
    let moved = tape.jvp(&[(&k, 1.0)], &[&sum]).expect("it is swept");
    assert!((moved[0] - slope).abs() <= 1e-9 * slope.abs(), "{} and {slope}", moved[0]);
    found.extend(bits(&moved));
    found
}

#[test]
fn k7_k11_k16_any_number_of_threads_gives_the_same_bits() {
    let all = || {
        let fields = [in_a_row(), in_a_field([3, 40_000]), in_a_field([700, 150])];
        let forms = [[3, 40_000], [700, 150], [40_000, 3]].map(in_a_form);
        [fields.concat(), forms.concat(), in_rows([3, 40_000]), in_rows([700, 150]), in_groups()]
    };
    let expected = on(1, all);
    for threads in [2, 3, 7] {
        assert!(on(threads, all) == expected, "{threads} threads and one differ");
    }
}

/// Held by the test that counts threads: there is one list of them.
static COUNTING: Mutex<()> = Mutex::new(());
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
    let _counting = COUNTING.lock().expect("nobody panics");
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

#[test]
fn groups_of_scans_and_folds_are_combined_on_the_pool() {
    let _counting = COUNTING.lock().expect("nobody panics");
    let threads = |fold: bool| {
        let x = View::<Passive, 1>::filled([3_000_000], 0.5);
        *SEEN.lock().expect("nobody panics") = None;
        if fold {
            parallel_fold(&x, associative(|a, b| a + b.unary::<Noted>()));
        } else {
            let _ = parallel_scan(&x, associative(|a, b| a + b.unary::<Noted>()));
        }
        SEEN.lock().expect("nobody panics").take().expect("it was computed")
    };
    for fold in [false, true] {
        assert!(on(2, || threads(fold)).len() == 2, "{fold}");
    }
}

/// Number of elements of the views in which elements are moved: little more than a thread takes, so that ranges inside
/// are shared, too.
const MOVED: usize = 36_000;

trait Moves: Sync {
    fn run<S: Taping<Value = f64>>(&self, x: &View<S, 1>) -> View<S, 1>;
}

/// Gathers by a list, adds what was found by the same list, and puts the result in another order.
struct ByList(Indices);
impl Moves for ByList {
    fn run<S: Taping<Value = f64>>(&self, x: &View<S, 1>) -> View<S, 1> {
        let mut sums = x.clone();
        scatter_add(&gather(x, &self.0), &self.0, &mut sums);
        let mut y = View::zeros([MOVED]);
        let order: Vec<usize> = (0..MOVED).map(|k| k * 37 % MOVED).collect();
        scatter(&sums, &Indices::new(&order), &mut y);
        scatter_add(&sums, &self.of_all(), &mut y);
        y
    }
}
impl ByList {
    /// The list, as often as it takes to have an entry for each element.
    fn of_all(&self) -> Indices {
        let all: Vec<usize> = (0..MOVED).map(|k| self.0.get(k % self.0.len())).collect();
        Indices::new(&all)
    }
}

/// Slices a range, possibly with steps, and puts it in an array that has other elements around it.
struct ByRange<const R: usize>([usize; R], Part<R>);
impl<const R: usize> Moves for ByRange<R> {
    fn run<S: Taping<Value = f64>>(&self, x: &View<S, 1>) -> View<S, 1> {
        let mut y = x.clone();
        parallel_for(y.all(), &mut y, |y| (y.at::<0>() * y.at::<0>(),));
        let mut y = y.reshape(self.0);
        let part = x.reshape(self.0).slice(self.1.clone());
        y.set(self.1.clone(), &part);
        let mut sums = View::zeros(self.0);
        sums.set(self.0.map(|length| 0..length), &y);
        sums.reshape([MOVED])
    }
}

/// Values, adjoints, several vectors of adjoints, tangents in both ways, and a replay.
fn moved(moves: &impl Moves) -> Vec<u64> {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let weights = View::<Passive, 1>::new([MOVED], &numbers(MOVED, 8));
    let (a, x, y, sum) = tape.record(|scope| {
        let (a, x) = (scope.input(0.7), scope.view([MOVED], &numbers(MOVED, 6)));
        let mut z = x.clone();
        parallel_for(z.all(), (&mut z, &a), |(z, a)| (z.at::<0>() * a,));
        let y = moves.run(&z);
        let sum = parallel_sum(y.all(), (&y, &weights.constant()), |(y, w)| y.at::<0>() * w.at::<0>());
        (a, x, y, sum)
    });
    let mut found = bits(y.values());
    found.extend(bits(&tape.sweep_view(&[], (&y, &numbers(MOVED, 7))).expect("swept").of_view(&x).expect("an input")));
    let lanes = tape.sweep_lanes::<2>(&[(&sum, [1.0, 0.3])]).expect("swept");
    (0..2).for_each(|lane| found.extend(bits(&lanes.of_view(&x, lane).expect("an input"))));
    found.extend(bits(&tape.jvp(&[(&a, 1.0)], &[&sum]).expect("swept")));
    tape.new_inputs().view(&x, &numbers(MOVED, 9)).expect("an input").replay().expect("replayed");
    found.extend(bits(&tape.values_of_view(&y).expect("replayed")));
    found.extend(bits(&tape.sweep(&[(&sum, 1.0)]).expect("swept").of_view(&x).expect("an input")));
    let x = View::<Tangent<2>, 1>::moving([MOVED], &numbers(MOVED, 6), |k| numbers(MOVED, k));
    let y = moves.run(&x);
    (0..2).for_each(|k| found.extend(bits(&y.tangents(k))));
    found
}

fn moves_alike(moves: &impl Moves) {
    let expected = on(1, || moved(moves));
    for threads in [2, 3, 7] {
        assert!(on(threads, || moved(moves)) == expected, "{threads} threads and one differ");
    }
}

#[test]
fn lists_move_elements_alike_on_any_number_of_threads() {
    let list = |place: &dyn Fn(usize) -> usize| ByList(Indices::new(&(0..MOVED).map(place).collect::<Vec<_>>()));
    // Places in disorder, of which some come often; one place for all, among few places or many.
    moves_alike(&list(&|k| k * k % 10_007));
    moves_alike(&list(&|_| 7));
    moves_alike(&list(&|_| MOVED - 1));
    moves_alike(&ByList(Indices::new(&[MOVED / 2])));
}

#[test]
fn ranges_move_elements_alike_on_any_number_of_threads() {
    moves_alike(&ByRange([MOVED], (1..MOVED - 2).into()));
    moves_alike(&ByRange([180, 200], [1..180, 3..199].into()));
    moves_alike(&ByRange([9, 20, 200], [0..9, 1..20, 0..200].into()));
    moves_alike(&ByRange([3, 3, 20, 200], [0..3, 0..3, 1..20, 2..200].into()));
    // Rows of one element.
    moves_alike(&ByRange([MOVED, 1], [0..MOVED - 1, 0..1].into()));
    // Steps.
    moves_alike(&ByRange([MOVED], (1..MOVED).step_by(3).into()));
    moves_alike(&ByRange([180, 200], [(1..180).step_by(2), (0..200).step_by(1)].into()));
    moves_alike(&ByRange([9, 20, 200], [(0..9).step_by(1), (1..20).step_by(3), (0..200).step_by(7)].into()));
}

/// What threads made of a list counts with the list, once for all that share it.
#[test]
fn arrays_include_what_threads_made_of_a_list() {
    let bytes = |threads: usize| {
        on(threads, || {
            let list = Indices::new(&(0..MOVED).map(|k| k / 2).collect::<Vec<_>>());
            let mut tape = Tape::<Jacobian>::new();
            let y = tape.record(|scope| {
                let x = scope.view([MOVED], &numbers(MOVED, 1));
                scatter_add(&x, &list, &mut gather(&x, &list));
                gather(&x, &list)
            });
            tape.sweep_view(&[], (&y, &numbers(MOVED, 2))).expect("swept");
            tape.memory().usage("arrays").used
        })
    };
    assert_eq!(bytes(1), 4 * MOVED);
    // Two numbers of 4 bytes for each entry; for each of 18 bins an end in each of two panels, and a total.
    assert_eq!(bytes(2), (4 + 8) * MOVED + 18 * (2 * 4 + size_of::<usize>()));
}
