//! A sample of each table through variables, closed variables, packs and kernels, by the methods of these.

use std::collections::BTreeMap;
use tapewright::kernels::{View, parallel_for};
use tapewright::packs::{Pack, in_packs};
use tapewright::prelude::*;
use tapewright::strategies::for_each_function;
use tapewright::{Closed, Dual};
use tapewright_function_tests::{Row, TOLERANCE, TOLERANCE_OF_SECOND, excess, rows};

type Second = Jacobian<Dual<f64, 3>>;
type Of<S> = fn(&[Real<S>]) -> Real<S>;

/// A function as methods.
#[derive(Clone, Copy)]
struct Methods {
    reverse: Of<Second>,
    forward: Of<Tangent<3>>,
    packs: Of<Jacobian<Pack<4>>>,
    closed: Of<PrimalValue>,
}

/// Makes the methods by name.
macro_rules! methods {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        fn methods() -> BTreeMap<&'static str, Methods> {
            BTreeMap::from([
                $((stringify!($unary), Methods {
                    reverse: |x| x[0].$unary().into(),
                    forward: |x| x[0].$unary().into(),
                    packs: |x| x[0].$unary().into(),
                    closed: |x| Closed::from(x[0]).$unary().into(),
                }),)*
                $((stringify!($binary), Methods {
                    reverse: |x| x[0].$binary(&x[1]).into(),
                    forward: |x| x[0].$binary(&x[1]).into(),
                    packs: |x| x[0].$binary(&x[1]).into(),
                    closed: |x| Closed::from(x[0]).$binary(Closed::from(x[1])).into(),
                }),)*
                $((stringify!($ternary), Methods {
                    reverse: |x| x[0].$ternary(&x[1], &x[2]).into(),
                    forward: |x| x[0].$ternary(&x[1], &x[2]).into(),
                    packs: |x| x[0].$ternary(&x[1], &x[2]).into(),
                    closed: |x| Closed::from(x[0]).$ternary(Closed::from(x[1]), Closed::from(x[2])).into(),
                }),)*
            ])
        }
    };
}
for_each_function!(methods);

/// Every hundredth row of each function, and the last one. The second argument of `polygamma` is no variable, so it is
/// not in the table of methods.
fn sample(rows: &[Row]) -> Vec<&Row> {
    let mut by_name: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    let methods = rows.iter().filter(|row| row.name != "polygamma");
    methods.for_each(|row| by_name.entry(&row.name).or_default().push(row));
    by_name.values().flat_map(|rows| rows.iter().step_by(100).chain(rows.last()).copied()).collect()
}

fn assert_first(row: &Row, way: &str, value: f64, slopes: &[f64]) {
    let of_value = excess(value, row.value, row.conditioning(), TOLERANCE);
    assert!(of_value <= 1.0, "{value} {way} is {of_value} of what is allowed at {}", row.place);
    for (j, slope) in slopes.iter().enumerate() {
        let of_slope = excess(*slope, row.first[j], row.conditioning_of_first(j), TOLERANCE);
        assert!(of_slope <= 1.0, "∂{j} {slope} {way} is {of_slope} of what is allowed at {}", row.place);
    }
}

#[test]
fn methods_find_what_the_tables_say() {
    let (methods, rows) = (methods(), rows());
    let sample = sample(&rows);
    assert!(!sample.is_empty(), "there are no rows");
    for row in sample {
        let Some(methods) = methods.get(&*row.name) else { panic!("there is no method {}", row.name) };
        let x = &row.arguments;
        let (value, slopes, bends) = tapewright::hessian::<Second>(methods.reverse, x);
        assert_first(row, "by duals", value, &slopes);
        // Where a second derivative is hardly conditioned; `rules.rs` looks at all of them.
        for (i, j) in (0..x.len()).flat_map(|i| (i..x.len()).map(move |j| (i, j))) {
            let (found, expected) = (bends[i][j], row.bend(i, j));
            assert!(found.is_nan() == expected.is_nan(), "∂{i}∂{j} {found} at {}", row.place);
            let relative = excess(found, expected, 0.0, TOLERANCE_OF_SECOND * 1e6);
            assert!(relative <= 1.0, "∂{i}∂{j} {found}, not {expected}, at {}", row.place);
        }
        let (values, slopes) = jacobian_forward::<Tangent<3>>(|x| vec![(methods.forward)(x)], x);
        assert_first(row, "forward", values[0], &slopes.concat());
        let (value, slopes) = value_and_gradient::<PrimalValue>(methods.closed, x);
        assert_first(row, "closed", value, &slopes);
        let found = in_packs::<Jacobian<Pack<4>>, _, 4>(3, |_| x, |x, _| (methods.packs)(x)).expect("swept");
        for k in 0..3 {
            assert_first(row, "in packs", found.values[k], &found.gradients[k]);
        }
    }
}

/// Checks the rows of a function in a kernel over all of them, from rows `name |x| value`.
macro_rules! in_kernels {
    ($rows:ident; $($name:ident |$($x:ident $k:literal),+| $value:expr;)*) => { $( {
        let some: Vec<&Row> = $rows.iter().filter(|row| row.name == stringify!($name)).collect();
        assert!(!some.is_empty(), "there are no rows of {}", stringify!($name));
        let mut tape = Tape::<Jacobian>::new();
        let (y, ($($x,)+)) = tape.record(|scope| {
            $(let $x = scope.view([some.len()], &some.iter().map(|row| row.arguments[$k]).collect::<Vec<_>>());)+
            let mut y = View::zeros([some.len()]);
            parallel_for(y.all(), ($(&$x,)+ &mut y), |($($x,)+ _)| {
                $(let $x = $x.at::<0>();)+
                ($value,)
            });
            (y, ($($x,)+))
        });
        let adjoints = tape.sweep_view(&[], (&y, &vec![1.0; some.len()])).expect("swept");
        let slopes = [$(adjoints.of_view(&$x).expect("an input")),+];
        for (k, row) in some.iter().enumerate() {
            let of_row: Vec<f64> = slopes.iter().map(|slopes| slopes[k]).collect();
            assert_first(row, "in a kernel", y.values()[k], &of_row);
        }
    } )* };
}

#[test]
fn kernels_find_what_the_tables_say() {
    let rows = rows();
    in_kernels! { rows;
        ln_normal_cdf |x 0| x.ln_normal_cdf();
        square |x 0| x.square();
        lambert_w0 |x 0| x.lambert_w0();
        xlogy |x 0, y 1| x.xlogy(y);
    }
}
