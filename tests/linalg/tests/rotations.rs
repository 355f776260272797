//! Rotations and motions that are right at the identity, against closed forms in 1500 digits.
//!
//! `rotations/oracle.txt` is written by `rotations/oracle.py`, which evaluates the textbook's formulas, with their
//! square roots and quotients, and takes differences with steps of 10⁻²⁰⁰. Inputs are turns by 0, by 10⁻³⁰⁰ to 10⁻³, by
//! 0.1, ½π, 3 and π − 10⁻⁶, about an axis of coordinates and another.

#[path = "rotations/identities.rs"]
mod identities;
#[path = "rotations/numbers.rs"]
mod numbers;
#[path = "rotations/singular.rs"]
mod singular;

use nalgebra::{
    Isometry2, Isometry3, Quaternion, Translation2, Translation3, UnitComplex, UnitQuaternion, Vector3, Vector4,
    Vector6,
};
use tapewright::prelude::*;
use tapewright::rotations::{self, RotationScalar};
use tapewright::{Closed, Dual, hvp};
use tapewright_linalg_tests::assert_close;

pub(crate) type D1 = Dual<f64, 1>;

/// The numbers of `oracle.py`.
const WEIGHTS: [f64; 6] = [1.5, -0.75, 2.25, 0.625, -1.25, 0.875];
const DIRECTION: [f64; 9] = [0.7, -1.1, 0.4, 0.9, -0.3, 1.2, -0.8, 0.6, 0.5];

/// A formula has some twenty roundings in a row; each statement of second derivatives has as many again.
const ROUNDINGS: f64 = 20.0 * f64::EPSILON;

pub(crate) fn c<T: RotationScalar>(value: f64) -> T {
    nalgebra::convert(value)
}

pub(crate) fn three<T: RotationScalar + Copy>(x: &[T]) -> Vector3<T> {
    Vector3::from_column_slice(&x[..3])
}

fn weighed<'a, T: RotationScalar + Copy>(x: impl IntoIterator<Item = &'a T>) -> T {
    x.into_iter().zip(WEIGHTS).fold(T::zero(), |sum, (x, weight)| sum + *x * c(weight))
}

/// A quaternion of these numbers as they are, the scalar last.
pub(crate) fn raw<T: RotationScalar + Copy>(x: &[T]) -> Quaternion<T> {
    Quaternion::from(Vector4::from_column_slice(&x[..4]))
}

pub(crate) fn unchecked<T: RotationScalar + Copy>(x: &[T]) -> UnitQuaternion<T> {
    UnitQuaternion::new_unchecked(raw(x))
}

/// A gradient at a point.
type Gradient = fn(&[f64]) -> Vec<f64>;
/// A product of the Hessian matrix at a point with a vector.
type Product = fn(&[f64], &[f64]) -> Vec<f64>;

/// A function in all the ways in which it is differentiated.
struct Row {
    name: &'static str,
    value: fn(&[f64]) -> f64,
    reverse: Gradient,
    /// With the feature `wide`: most of what this test costs is compiling it.
    primal: Option<Gradient>,
    forward: Gradient,
    second: Product,
    second_primal: Option<Product>,
}

/// The row `exp |x| body;` becomes the function `exp::body`, and its derivatives.
macro_rules! rows {
    ($($name:ident |$x:ident| $body:expr;)*) => {
        $(mod $name {
            use super::*;
            pub(super) fn body<T: RotationScalar + Copy>($x: &[T]) -> T {
                $body
            }
            pub(super) fn on<S: Strategy>(x: &[Real<S>]) -> Real<S> {
                body(Closed::wrap_slice(x)).open()
            }
        })*
        const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            value: $name::body::<f64>,
            reverse: |x| gradient::<Jacobian>($name::on, x),
            primal: if cfg!(feature = "wide") { Some(|x| gradient::<PrimalValue>($name::on, x)) } else { None },
            forward: |x| jacobian_forward::<Tangent<9>>(|x| vec![$name::on(x)], x).1.remove(0),
            second: |x, v| hvp::<Jacobian<D1>>($name::on, x, v).2,
            second_primal: if cfg!(feature = "wide") {
                Some(|x, v| hvp::<PrimalValue<D1>>($name::on, x, v).2)
            } else {
                None
            },
        }),*];
    };
}

rows! {
    exp |x| weighed(&rotations::exp::<UnitQuaternion<T>>(&three(x)).coords);
    rotated |x| {
        let moved = rotations::exp::<nalgebra::Rotation3<T>>(&three(x)) * Vector3::new(c(1.0), c(2.0), c(3.0));
        moved.x * c(0.375) - moved.y * c(0.75) + moved.z * c(1.125)
    };
    log |x| weighed(&rotations::log(&unchecked(x)));
    squared_angle |x| rotations::squared_angle(&unchecked(x));
    angle |x| rotations::angle(&unchecked(x));
    motion |x| {
        weighed(&rotations::exp::<Isometry3<T>>(&Vector6::from_column_slice(x)).translation.vector)
    };
    motion_log |x| {
        let motion = Isometry3::from_parts(Translation3::from(three(x)), unchecked(&x[3..]));
        weighed(&rotations::log(&motion).fixed_rows::<3>(0).into_owned())
    };
    interpolated |x| {
        let start = unchecked(&[c(0.5), c(0.5), c(-0.5), c(0.5)]);
        let end = start * rotations::exp::<UnitQuaternion<T>>(&three(x));
        weighed(&rotations::interpolate(&start, &end, x[3]).coords)
    };
    between |x| weighed(&rotations::rotation_between(&three(x), &three(&x[3..])).expect("not opposite").coords);
    planar_motion |x| weighed(&rotations::exp::<Isometry2<T>>(&three(x)).translation.vector);
    planar_log |x| {
        let motion = Isometry2::from_parts(Translation2::new(x[0], x[1]), UnitComplex::new(x[2]));
        weighed(&rotations::log(&motion).fixed_rows::<2>(0).into_owned())
    };
    quaternion_exp |x| weighed(&rotations::quaternion_exp(&raw(x)).coords);
    quaternion_ln |x| weighed(&rotations::quaternion_ln(&raw(x)).coords);
    unit |x| if x.len() == 3 {
        weighed(&rotations::unit_vector(&three(x)).into_inner())
    } else {
        weighed(&rotations::unit_quaternion(&raw(x)).coords)
    };
}

/// What `oracle.txt` says of a function at some inputs.
struct Case {
    name: &'static str,
    condition: f64,
    inputs: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    product: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let numbers = |text: &str| text.split_whitespace().map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let case = |line: &'static str| {
        let [name, condition, inputs, value, gradient, product] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("six groups, not {line}");
        };
        let (condition, value) = (numbers(condition)[0], numbers(value)[0]);
        let [inputs, gradient, product] = [inputs, gradient, product].map(numbers);
        Case { name, condition, inputs, value, gradient, product }
    };
    include_str!("rotations/oracle.txt").lines().map(case).collect()
}

#[test]
fn values_and_derivatives_are_those_of_closed_forms() {
    let cases = cases();
    for row in ROWS {
        let mine = cases.iter().filter(|case| case.name == row.name);
        assert!(mine.clone().count() >= 4, "{} has cases", row.name);
        for Case { condition, inputs: x, value, gradient, product, .. } in mine {
            let name = format!("{} at {x:?}", row.name);
            let tolerance = ROUNDINGS * condition;
            // A sum of terms as large as its gradient, though it may be 0.
            let size = gradient.iter().zip(x).fold(value.abs(), |most, (slope, x)| most.max((slope * x).abs()));
            assert!(((row.value)(x) - value).abs() <= tolerance * size, "{name}: {} and not {value}", (row.value)(x));
            assert_close(&name, &(row.reverse)(x), gradient, tolerance);
            if let Some(primal) = row.primal {
                assert_close(&name, &primal(x), gradient, tolerance);
            }
            assert_close(&name, &(row.forward)(x), gradient, tolerance);
            let v = &DIRECTION[..x.len()];
            assert_close(&format!("{name}, second"), &(row.second)(x, v), product, 4.0 * tolerance * condition);
            if let Some(primal) = row.second_primal {
                assert_close(&format!("{name}, primal"), &primal(x, v), product, 4.0 * tolerance * condition);
            }
        }
    }
}
