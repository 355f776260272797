//! Views that are narrower than the shifts of the reads.

use super::{at_every_level, numbers};
use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

#[test]
fn a_view_that_is_narrower_than_the_shifts_is_written_at_every_point() {
    for n in 1..=18 {
        let x = numbers(n, 3);
        let y = at_every_level(|| {
            let (x, mut y) = (View::<Passive, 1>::new([n], &x), View::filled([n], 7.0));
            parallel_for(x.all(), (&x, &mut y), |(x, _)| (x.at::<0>() + x.or_zero::<-7>() + x.or_zero::<7>(),));
            y.to_vec()
        });
        let at = |k: usize| x.get(k).copied().unwrap_or(0.0);
        for k in 0..n {
            assert_eq!(y[k], x[k] + k.checked_sub(7).map_or(0.0, at) + at(k + 7), "element {k} of {n}");
        }
    }
}
