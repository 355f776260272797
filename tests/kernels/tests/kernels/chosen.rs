//! Where something is not chosen, whatever is made of the choice afterwards: against the same expression as one scalar
//! statement.

use super::at_every_level;
use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;

/// Numbers around the bounds of the choices below.
const AT: [f64; 11] = [-1.0, 4.0, 0.0, -0.0, 2.0, -3.0, 9.0, 1.0, -2.0, 0.25, 16.0];

fn same(found: f64, expected: f64) -> bool {
    found == expected || found.is_nan() && expected.is_nan()
}

/// Adjoints and tangents of a kernel of one view, and those of the same function as a statement.
macro_rules! as_statements {
    ($name:ident: $(|$x:ident, $y:ident| $kernel:expr => $statement:expr;)*) => {
        #[test]
        fn $name() {
            $( {
                let mirrored: Vec<f64> = AT.iter().rev().copied().collect();
                let adjoints = at_every_level(|| {
                    let mut tape = Tape::<Jacobian>::new();
                    let (x, y, z) = tape.record(|scope| {
                        let (x, y) = (scope.view([AT.len()], &AT), scope.view([AT.len()], &mirrored));
                        let mut z = View::zeros(x.shape());
                        parallel_for(x.all(), (&x, &y, &mut z), |(x, y, _)| {
                            let ($x, $y) = (x.at::<0>(), y.at::<0>());
                            _ = ($x, $y);
                            ($kernel,)
                        });
                        (x, y, z)
                    });
                    let found = tape.sweep_view(&[], (&z, &[1.0; AT.len()])).expect("swept");
                    let found = [&x, &y].map(|x| found.of_view(x).expect("an input").into_owned());
                    found.map(|found| found.into_iter().map(|x| if x.is_nan() { None } else { Some(x) }).collect::<Vec<_>>())
                });
                let x = View::<Tangent<1>, 1>::moving([AT.len()], &AT, |_| vec![1.0; AT.len()]);
                let (y, mut z) = (View::new([AT.len()], &mirrored), View::zeros([AT.len()]));
                parallel_for(x.all(), (&x, &y, &mut z), |(x, y, _)| {
                    let ($x, $y) = (x.at::<0>(), y.at::<0>());
                    _ = ($x, $y);
                    ($kernel,)
                });
                let moved = z.tangents(0);
                for k in 0..AT.len() {
                    let expected = gradient::<Jacobian>(
                        |x| {
                            let ($x, $y) = (x[0], x[1]);
                            _ = ($x, $y);
                            $statement.into()
                        },
                        &[AT[k], mirrored[k]],
                    );
                    let text = stringify!($kernel);
                    for d in 0..2 {
                        let found = adjoints[d][k].unwrap_or(f64::NAN);
                        assert!(same(found, expected[d]), "∂{d}({text}) at ({}, {}): {found}, not {}", AT[k], mirrored[k], expected[d]);
                    }
                    assert!(same(moved[k], expected[0]), "({text})′ at {}: {}, not {}", AT[k], moved[k], expected[0]);
                }
            } )*
        }
    };
}

as_statements! { what_is_not_the_larger_or_smaller_contributes_nothing_through_an_infinite_slope:
    |x, y| x.max(0.0).sqrt() => x.max(0.0).sqrt();
    |x, y| -(0.0 - x.min(0.0)).sqrt() => -(0.0 - x.min(0.0)).sqrt();
    |x, y| (x.max(0.0) + y.max(0.0)).sqrt() * y => (x.max(0.0) + y.max(0.0)).sqrt() * y;
    |x, y| (2.0 * x.max(0.0).min(y.max(0.0))).sqrt() => (2.0 * x.max(0.0).min(y.max(0.0))).sqrt();
    |x, y| (0.0 * y - x.clamp(0.0, 1.0)).abs().sqrt() => (0.0 * y - x.clamp(0.0, 1.0)).abs().sqrt();
}

as_statements! { what_is_not_selected_contributes_nothing_through_an_infinite_slope:
    |x, y| x.ge(0.0).select(x, 0.0).sqrt() => x.max(0.0).sqrt();
    |x, y| x.lt(0.0).select(0.0, x).sqrt() => x.max(0.0).sqrt();
    |x, y| x.ge(0.0).select(y.ge(0.0).select(x + y, x), y.ge(0.0).select(y, 0.0)).sqrt()
        => (x.max(0.0) + y.max(0.0)).sqrt();
    |x, y| x.lt(0.0).select(y.lt(0.0).select(0.0, y), y.lt(0.0).select(x, x + y)).sqrt()
        => (x.max(0.0) + y.max(0.0)).sqrt();
    |x, y| (x.ge(0.0).select(x, 0.0) - y.lt(0.0).select(0.0, -y)).sqrt() => (x.max(0.0) + y.max(0.0)).sqrt();
}
