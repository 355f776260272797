//! The largest and the smallest value over a range, and where its adjoint goes.

use super::at_every_level;
use tapewright::kernels::{View, parallel_max, parallel_min};
#[cfg(feature = "threads")]
use tapewright::kernels::{parallel_max_at, parallel_min_at};
use tapewright::prelude::*;
use tapewright_test_support::Random;

#[test]
fn the_adjoint_of_an_extremum_goes_to_the_first_point() {
    let x = [1.0, 3.0, f64::NAN, 3.0, -2.0, -2.0];
    let mut tape = Tape::<PrimalValue>::new();
    let (x, most, least) = tape.record(|scope| {
        let x = scope.view([6], &x);
        let most = parallel_max(x.all(), &x, |x| 2.0 * x.at::<0>());
        let least = parallel_min(x.all(), &x, |x| x.at::<0>().square() * x.at::<0>());
        (x, most, least)
    });
    assert_eq!((most.value(), least.value()), (6.0, -8.0));
    assert_eq!(*tape.sweep(&[(&most, 1.0)]).expect("swept").of_view(&x).expect("x"), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(*tape.sweep(&[(&least, 1.0)]).expect("swept").of_view(&x).expect("x"), [0.0, 0.0, 0.0, 0.0, 12.0, 0.0]);
}

#[test]
fn an_extremum_of_zeros_of_both_signs_is_the_first_of_them() {
    let mut random = Random::new(1);
    for n in 5..60 {
        let one = |_| *random.pick(&[0.0, -0.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
        let mut at: Vec<f64> = (0..n).map(one).collect();
        at[n - 1] = 0.0;
        let first = at.iter().copied().find(|x| *x == 0.0).expect("the last one is");
        let [most, least] = at_every_level(|| {
            let x = View::<Passive, 1>::new([n], &at);
            let most = parallel_max(x.all(), &x, |x| x.at::<0>());
            let least = parallel_min(x.all(), &x, |x| -x.at::<0>());
            [most.value().to_bits(), least.value().to_bits()]
        });
        assert_eq!((most, least), (first.to_bits(), (-first).to_bits()), "{at:?}");
    }
}

#[cfg(feature = "threads")]
#[test]
fn the_place_of_an_extremum_does_not_depend_on_threads() {
    let mut random = Random::new(2);
    let shape = [3, 70, 700];
    for _ in 0..6 {
        let one = |_| *random.pick(&[0.0, -0.0, -1.0, 2.0, f64::NAN, -2.0]);
        let at: Vec<f64> = (0..147_000).map(one).collect();
        let x = View::<Passive, 3>::new(shape, &at);
        let range = [0..3, 1..69, 2..698];
        let found = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let (most, place) = parallel_max_at(range.clone(), &x, |x| x.at::<0, 0, 0>());
                let (least, low) = parallel_min_at(range.clone(), &x, |x| x.at::<0, 0, 0>() * x.at::<0, 0, 1>());
                (most.value().to_bits(), place, least.value().to_bits(), low)
            })
        };
        assert_eq!(found(1), found(2));
        assert_eq!(found(1), found(3));
    }
}
