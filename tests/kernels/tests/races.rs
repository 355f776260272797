//! What threads must not read or write while others write: for the thread sanitizer, which `.ci/tsan.sh` runs. It does not watch
//! accesses of whole registers, but duals in registers go to memory number by number.

use tapewright::Dual;
use tapewright::kernels::{Indices, View, gather, parallel_for, scatter_add};
use tapewright::prelude::*;

type Pair = Dual<f64, 2>;

/// Runs `f` on a pool of its own with this number of threads.
fn on<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// A view that is written in place beside borders of another one.
fn in_place(shape: [usize; 2]) -> Vec<u64> {
    let n = shape.iter().product();
    let duals: Vec<_> = (0..n).map(|k| f64::from(u8::try_from(k % 251).expect("it is small"))).collect();
    let duals: Vec<_> = duals.into_iter().map(|value| Pair { value, tangents: [value / 7.0, 1.0] }).collect();
    let x = View::<Passive<Pair>, 2>::new(shape, &duals);
    let mut y = View::<Passive<Pair>, 2>::new(shape, &duals);
    for _ in 0..3 {
        parallel_for(y.all(), (&mut y, &x), |(y, x)| {
            (y.at::<0, 0>() * 0.5 + x.or_zero::<0, 1>() + x.or_zero::<-1, -1>(),)
        });
        // Groups around the ends of a row, which may belong to a thread only in part.
        parallel_for(y.all(), (&mut y, &x), |(y, x)| {
            (y.at::<0, 0>() * 0.5 + x.periodic::<0, 1>() + x.periodic::<-1, -1>(),)
        });
    }
    y.values().iter().flat_map(|y| [y.value, y.tangents[0], y.tangents[1]]).map(f64::to_bits).collect()
}

#[test]
fn a_group_of_lanes_does_not_read_what_another_thread_writes() {
    for shape in [[20_000, 13], [40_000, 5], [3, 70_000]] {
        let expected = on(1, || in_place(shape));
        for threads in [2, 3] {
            assert!(on(threads, || in_place(shape)) == expected, "{threads} threads and one differ in {shape:?}");
        }
    }
}

/// Sums at repeated places, and the adjoints of the summands.
fn scattered() -> Vec<u64> {
    let list: Vec<usize> = (0..40_000).map(|k| k * k % 10_007).collect();
    let list = Indices::new(&list);
    let ones = vec![1.0; list.len()];
    let mut tape = Tape::<Jacobian>::new();
    let (x, sums) = tape.record(|scope| {
        let x = scope.view([list.len()], &ones);
        let mut sums = gather(&x, &list);
        scatter_add(&x, &list, &mut sums);
        (x, sums)
    });
    let adjoints = tape.sweep_view(&[], (&sums, &ones)).expect("swept");
    adjoints.of_view(&x).expect("an input").iter().chain(sums.values()).map(|x| x.to_bits()).collect()
}

#[test]
fn threads_that_add_at_repeated_places_write_places_of_their_own() {
    let expected = on(1, scattered);
    for threads in [2, 3] {
        assert!(on(threads, scattered) == expected, "{threads} threads and one differ");
    }
}
