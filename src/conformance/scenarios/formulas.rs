//! Values and gradients of formulas.

use crate::conformance::Outcome;
use crate::conformance::check::{close, ensure, floats, gradient_is, recorded};
use crate::{Float, Number, Real, Reverse};
use tapewright_strategies::same;

/// A formula in two variables as a row of a table: its text, the formula, its value, its partial derivatives.
type Row<S> = (&'static str, fn(&Real<S>, &Real<S>) -> Real<S>, f64, [f64; 2]);

fn all_rows<S: Reverse>(x: f64, y: f64, rows: &[Row<S>]) -> Outcome {
    rows.iter().try_for_each(|(text, f, value, gradient)| {
        gradient_is::<S>(text, |v| f(&v[0], &v[1]), &[x, y], *value, gradient)
    })
}

/// Arithmetic on variables has, bit for bit, the results of arithmetic on floats.
pub fn values_are_those_of_floats<S: Reverse>() -> Outcome {
    fn on_floats<V: Float>(x: V, y: V) -> [V; 5] {
        [x + y, x - y * y, x * y / (x - y), -x % y, (x * y).sin()]
    }
    let x = floats::<<S::Value as Number>::Lane>(&[0.7, -1.3]);
    let expected = on_floats(x[0], x[1]).map(|lane| S::Value::from_lanes(|_| lane));
    let on_variables = recorded::<S>(&[0.7, -1.3], |x| {
        let (x, y) = (&x[0], &x[1]);
        let exact = [(x + y).eval(), (x - y * y).eval(), (x * y / (x - y)).eval(), (-x % y).eval()];
        exact.into_iter().chain([(x * y).sin().eval()]).collect()
    });
    for (found, expected) in on_variables.y.iter().zip(expected).take(4) {
        ensure(same(found.value(), expected), format_args!("{found} is not the {expected} that floats give"))?;
    }
    close("sin(x·y)", on_variables.y[4].value(), expected[4].as_f64())
}

/// x³ − 2x²y + 3y − 7.
pub fn polynomial<S: Reverse>() -> Outcome {
    let (x, y) = (1.5, -0.5);
    let f = |v: &[Real<S>]| {
        let (x, y) = (&v[0], &v[1]);
        (x * x * x - 2.0 * x * x * y + 3.0 * y - 7.0).into()
    };
    let value = x * x * x - 2.0 * x * x * y + 3.0 * y - 7.0;
    gradient_is::<S>("x³ − 2x²y + 3y − 7", f, &[x, y], value, &[3.0 * x * x - 4.0 * x * y, -2.0 * x * x + 3.0])
}

/// Variables, literals and expressions above and below the bar.
pub fn quotients<S: Reverse>() -> Outcome {
    let (x, y) = (2.5, 0.5);
    let f = |v: &[Real<S>]| {
        let (x, y) = (&v[0], &v[1]);
        (x / y - 1.0 / (x + y) + x / 4.0 + (x - y) / (x * y)).into()
    };
    let value = x / y - 1.0 / (x + y) + x / 4.0 + 1.0 / y - 1.0 / x;
    let shared = 1.0 / ((x + y) * (x + y));
    let gradient = [1.0 / y + shared + 0.25 + 1.0 / (x * x), -x / (y * y) + shared - 1.0 / (y * y)];
    gradient_is::<S>("quotients", f, &[x, y], value, &gradient)
}

/// eˣ·sin y + ln x/√y + tanh(xy) + xʸ.
pub fn transcendental_functions<S: Reverse>() -> Outcome {
    let (x, y): (f64, f64) = (1.25, 0.75);
    let f = |v: &[Real<S>]| {
        let (x, y) = (&v[0], &v[1]);
        (x.exp() * y.sin() + x.ln() / y.sqrt() + (x * y).tanh() + x.powf(y)).into()
    };
    let value = x.exp() * y.sin() + x.ln() / y.sqrt() + (x * y).tanh() + x.powf(y);
    let sech2 = 1.0 - (x * y).tanh().powi(2);
    let gradient = [
        x.exp() * y.sin() + 1.0 / (x * y.sqrt()) + y * sech2 + y * x.powf(y - 1.0),
        x.exp() * y.cos() - 0.5 * x.ln() * y.powf(-1.5) + x * sech2 + x.powf(y) * x.ln(),
    ];
    gradient_is::<S>("transcendental functions", f, &[x, y], value, &gradient)
}

/// `+ − × ÷ %` and negation, with every kind of operand on either side, at (7.5, 2).
fn operators<S: Reverse>() -> [Row<S>; 24] {
    [
        ("x + y", |x, y| (x + y).into(), 9.5, [1.0, 1.0]),
        ("x − y", |x, y| (x - y).into(), 5.5, [1.0, -1.0]),
        ("x·y", |x, y| (x * y).into(), 15.0, [2.0, 7.5]),
        ("x/y", |x, y| (x / y).into(), 3.75, [0.5, -1.875]),
        ("x % y", |x, y| (x % y).into(), 1.5, [1.0, -3.0]),
        ("−x", |x, _| (-x).into(), -7.5, [-1.0, 0.0]),
        ("−(x·y)", |x, y| (-(x * y)).into(), -15.0, [-2.0, -7.5]),
        ("x + 4", |x, _| (x + 4.0).into(), 11.5, [1.0, 0.0]),
        ("x − 4", |x, _| (x - 4.0).into(), 3.5, [1.0, 0.0]),
        ("x·4", |x, _| (x * 4.0).into(), 30.0, [4.0, 0.0]),
        ("x/4", |x, _| (x / 4.0).into(), 1.875, [0.25, 0.0]),
        ("x % 4", |x, _| (x % 4.0).into(), 3.5, [1.0, 0.0]),
        ("4 + y", |_, y| (4.0 + y).into(), 6.0, [0.0, 1.0]),
        ("4 − y", |_, y| (4.0 - y).into(), 2.0, [0.0, -1.0]),
        ("4·y", |_, y| (4.0 * y).into(), 8.0, [0.0, 4.0]),
        ("4/y", |_, y| (4.0 / y).into(), 2.0, [0.0, -1.0]),
        ("5 % y", |_, y| (5.0 % y).into(), 1.0, [0.0, -2.0]),
        ("x·y + x", |x, y| (x * y + x).into(), 22.5, [3.0, 7.5]),
        ("x − x·y", |x, y| (x - x * y).into(), -7.5, [-1.0, -7.5]),
        ("(x·y)·(x + y)", |x, y| ((x * y) * (x + y)).into(), 142.5, [34.0, 86.25]),
        ("(x + y)/(x − y)", |x, y| ((x + y) / (x - y)).into(), 9.5 / 5.5, [-4.0 / 30.25, 15.0 / 30.25]),
        ("(x·y) % (y + 2)", |x, y| ((x * y) % (y + 2.0)).into(), 3.0, [2.0, 4.5]),
        ("4 − (x·y)", |x, y| (4.0 - (x * y)).into(), -11.0, [-2.0, -7.5]),
        ("(x·y)/4 + 1", |x, y| ((x * y) / 4.0 + 1.0).into(), 4.75, [0.5, 1.875]),
    ]
}

/// Each operator in a recording of its own.
pub fn every_operator<S: Reverse>() -> Outcome {
    all_rows::<S>(7.5, 2.0, &operators())
}

/// Two dozen types of statements, interleaved in one recording.
pub fn many_types_of_statements<S: Reverse>() -> Outcome {
    let rows = operators::<S>();
    let f = |v: &[Real<S>]| {
        let mut total = Real::default();
        for (_, row, ..) in rows.iter().chain(rows.iter().rev()) {
            total += row(&v[0], &v[1]);
        }
        total
    };
    let twice = |of: fn(&Row<S>) -> f64| 2.0 * rows.iter().map(of).sum::<f64>();
    let gradient = [twice(|row| row.3[0]), twice(|row| row.3[1])];
    gradient_is::<S>("the sum of all rows, twice", f, &[7.5, 2.0], twice(|row| row.2), &gradient)
}

/// An assignment to a variable that has the value of x, as a row of a table: its text, the assignment, given x and y,
/// its value, its partial derivatives.
type Assigned<S> = (&'static str, fn(&mut Real<S>, &Real<S>, &Real<S>), f64, [f64; 2]);

/// Each assignment operator, the right-hand sides being y, 4 and an expression, at (7.5, 2).
fn assignments<S: Reverse>() -> [Assigned<S>; 15] {
    [
        ("x += y", |t, _, y| *t += y, 9.5, [1.0, 1.0]),
        ("x −= y", |t, _, y| *t -= y, 5.5, [1.0, -1.0]),
        ("x ×= y", |t, _, y| *t *= y, 15.0, [2.0, 7.5]),
        ("x ÷= y", |t, _, y| *t /= y, 3.75, [0.5, -1.875]),
        ("x %= y", |t, _, y| *t %= y, 1.5, [1.0, -3.0]),
        ("x += 4", |t, _, _| *t += 4.0, 11.5, [1.0, 0.0]),
        ("x −= 4", |t, _, _| *t -= 4.0, 3.5, [1.0, 0.0]),
        ("x ×= 4", |t, _, _| *t *= 4.0, 30.0, [4.0, 0.0]),
        ("x ÷= 4", |t, _, _| *t /= 4.0, 1.875, [0.25, 0.0]),
        ("x %= 4", |t, _, _| *t %= 4.0, 3.5, [1.0, 0.0]),
        ("x += x·y", |t, x, y| *t += x * y, 22.5, [3.0, 7.5]),
        ("x −= x·y", |t, x, y| *t -= x * y, -7.5, [-1.0, -7.5]),
        ("x ×= x·y", |t, x, y| *t *= x * y, 112.5, [30.0, 56.25]),
        ("x ÷= x·y", |t, x, y| *t /= x * y, 0.5, [0.0, -0.25]),
        ("x %= y + 2", |t, _, y| *t %= y + 2.0, 3.5, [1.0, -1.0]),
    ]
}

/// Assignment operators, each in a recording of its own, and assignments to a variable that has had no value.
pub fn compound_assignments<S: Reverse>() -> Outcome {
    for (text, assign, value, gradient) in assignments::<S>() {
        let f = |x: &[Real<S>]| {
            let mut t = x[0].clone();
            assign(&mut t, &x[0], &x[1]);
            t
        };
        gradient_is(text, f, &[7.5, 2.0], value, &gradient)?;
    }
    undefined_until_assigned::<S>()
}

fn undefined_until_assigned<S: Reverse>() -> Outcome {
    gradient_is::<S>(
        "an undefined variable, assigned three times",
        |x| {
            let mut t = Real::undefined();
            t.assign(&x[0] * &x[1]);
            t.assign(x[1].clone());
            t *= &x[1];
            t
        },
        &[7.5, 2.0],
        4.0,
        &[0.0, 4.0],
    )
}

/// Sums and products over iterators of variables and of expressions.
pub fn iterator_folds<S: Reverse>() -> Outcome {
    let x = [1.5, 2.0, -4.0];
    gradient_is::<S>("Σ xᵢ", |x| x.iter().sum(), &x, -0.5, &[1.0; 3])?;
    gradient_is::<S>("Σ xᵢ²", |x| x.iter().map(|v| v * v).sum(), &x, 22.25, &[3.0, 4.0, -8.0])?;
    gradient_is::<S>("Π xᵢ", |x| x.iter().product(), &x, -12.0, &[-8.0, -6.0, 3.0])?;
    gradient_is::<S>("Π 2xᵢ", |x| x.iter().map(|v| v * 2.0).product(), &x, -96.0, &[-64.0, -48.0, 24.0])
}

/// The derivative of 100 iterations of x = sin(x) is the product of the cosines.
pub fn chain_of_sines<S: Reverse>() -> Outcome {
    let (mut value, mut slope) = (0.75_f64, 1.0);
    for _ in 0..100 {
        slope *= value.cos();
        value = value.sin();
    }
    let f = |x: &[Real<S>]| {
        let mut x = x[0].clone();
        for _ in 0..100 {
            x = x.sin().into();
        }
        x
    };
    gradient_is::<S>("sin applied 100 times", f, &[0.75], value, &[slope])
}

/// One variable is an argument of 200 statements.
pub fn fan_out<S: Reverse>() -> Outcome {
    let f = |x: &[Real<S>]| {
        let t = (&x[0] * &x[1]).eval();
        let mut total = Real::default();
        for k in 0..200 {
            total += &t * f64::from(k);
        }
        (&total * &t).into()
    };
    let (x, y, sum) = (0.5, 0.25, 19900.0);
    let t = x * y;
    gradient_is::<S>("a variable used 200 times", f, &[x, y], sum * t * t, &[2.0 * sum * t * y, 2.0 * sum * t * x])
}

/// One variable several times in one statement; at (1.5, −0.5).
#[allow(clippy::eq_op, reason = "that the operands are equal is the point")]
pub fn repeated_arguments<S: Reverse>() -> Outcome {
    let (sine, cosine) = 1.5_f64.sin_cos();
    all_rows::<S>(
        1.5,
        -0.5,
        &[
            ("x + x", |x, _| (x + x).into(), 3.0, [2.0, 0.0]),
            ("x·x", |x, _| (x * x).into(), 2.25, [3.0, 0.0]),
            ("x − x", |x, _| (x - x).into(), 0.0, [0.0, 0.0]),
            ("x/x", |x, _| (x / x).into(), 1.0, [0.0, 0.0]),
            ("x·x·x·x", |x, _| (x * x * x * x).into(), 5.0625, [13.5, 0.0]),
            ("y + x·y·y − y·y", |x, y| (y + x * y * y - y * y).into(), -0.375, [0.25, 0.5]),
        ],
    )?;
    let f = |v: &[Real<S>]| (&v[0] * v[0].sin() * &v[0] - &v[0]).into();
    gradient_is::<S>("x·sin(x)·x − x", f, &[1.5], 2.25 * sine - 1.5, &[3.0 * sine + 2.25 * cosine - 1.0])
}

/// Statements in which arguments have the same partial up to sign, or ±1, at (a, b, x, y, z).
pub fn shared_partials<S: Reverse>() -> Outcome {
    let at = [1.5, -0.5, 2.0, 0.75, -3.0];
    let [a, b, x, y, z] = at;
    let f = |v: &[Real<S>]| (&v[0] * (&v[2] + &v[3]) - &v[1] * (&v[2] - &v[3]) + &v[2]).into();
    let value = a * (x + y) - b * (x - y) + x;
    gradient_is::<S>("a·(x + y) − b·(x − y) + x", f, &at, value, &[x + y, y - x, a - b + 1.0, a + b, 0.0])?;

    let f = |v: &[Real<S>]| (&v[0] * (&v[2] + &v[1] * (&v[3] - &v[2]) - &v[4])).into();
    let value = a * (x + b * (y - x) - z);
    let gradient = [x + b * (y - x) - z, a * (y - x), a * (1.0 - b), a * b, -a];
    gradient_is::<S>("a·(x + b·(y − x) − z)", f, &at, value, &gradient)?;

    let f = |v: &[Real<S>]| (-(&v[2] - &v[3])).into();
    gradient_is::<S>("−(x − y)", f, &at, y - x, &[0.0, 0.0, -1.0, 1.0, 0.0])?;

    let f = |v: &[Real<S>]| (&v[2] - (&v[3] - (&v[4] - &v[2]))).into();
    gradient_is::<S>("x − (y − (z − x))", f, &at, z - y, &[0.0, 0.0, 0.0, -1.0, 1.0])?;

    let f = |v: &[Real<S>]| (2.0 * (&v[2] + &v[3]) - (&v[2] - &v[3]) * 3.0).into();
    gradient_is::<S>("2·(x + y) − (x − y)·3", f, &at, 5.0 * y - x, &[0.0, 0.0, -1.0, 5.0, 0.0])?;

    let f = |v: &[Real<S>]| (-(-((&v[2] + &v[3]) * (&v[2] - &v[3]))) - &v[4]).into();
    let value = x * x - y * y - z;
    gradient_is::<S>("(x + y)·(x − y) − z", f, &at, value, &[0.0, 0.0, 2.0 * x, -2.0 * y, -1.0])
}

/// An argument of `max` that is not the larger one has partial 0, even where its own slope is infinite.
pub fn unselected_branch_contributes_nothing<S: Reverse>() -> Outcome {
    all_rows::<S>(
        3.0,
        0.0,
        &[
            ("max(x, √y)", |x, y| x.max(y.sqrt()).into(), 3.0, [1.0, 0.0]),
            ("max(√y − 1, x·2)", |x, y| (y.sqrt() - 1.0).max(x * 2.0).into(), 6.0, [2.0, 0.0]),
            ("min(x, y − x)", |x, y| x.min(y - x).into(), -3.0, [-1.0, 1.0]),
            ("x·max(x·x, y)", |x, y| (x * (x * x).max(y)).into(), 27.0, [27.0, 0.0]),
        ],
    )
}
