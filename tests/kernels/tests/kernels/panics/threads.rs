//! Panics of rules on threads of the pool.

use super::{Cubic, alone, panics_at, refuses};
use crate::{bits, numbers};
use tapewright::kernels::{View, deep_copy, parallel_for, parallel_sum};
use tapewright::prelude::*;

/// More than one thread takes.
const LONG: usize = 150_001;

/// A launch on several threads that panics at this call, if at any, or is left out; the gradient of what is there then.
fn gradient(call: Option<usize>) -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([LONG], &numbers(LONG, 3));
        let mut y = View::zeros([LONG]);
        parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>() * 2.0,));
        if let Some(call) = call {
            let panicked = panics_at(call, || {
                parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>().unary::<Cubic>(),));
            });
            assert!(panicked && refuses(|| _ = y.values()));
            assert!(panics_at(call, || _ = parallel_sum(x.all(), &x, |x| x.at::<0>().unary::<Cubic>())));
        }
        deep_copy(&x, &mut y);
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0>().square());
        (x, sum)
    });
    bits(&tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("an input"))
}

#[test]
fn a_panic_on_another_thread_marks_the_view_and_records_nothing() {
    let _alone = alone();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let expected = pool.install(|| gradient(None));
    for call in [1, LONG / 2, LONG] {
        assert_eq!(pool.install(|| gradient(Some(call))), expected, "call {call}");
    }
}
