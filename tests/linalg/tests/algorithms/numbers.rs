//! The traits themselves.

use super::{Owned, reverse};
use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use nalgebra::{ComplexField, DMatrix, Matrix3, RealField, Vector3};
use simba::scalar::{SubsetOf, SupersetOf};
use simba::simd::{SimdPartialOrd, SimdValue};
use tapewright::Closed;
use tapewright::prelude::*;
use tapewright::strategies::num_traits::FloatConst;

/// Every function of the two traits, weighted, at an x between 0 and 1.
fn functions<T: RealField>(x: &[T]) -> T {
    let (x, y) = (|| x[0].clone(), || x[1].clone());
    let terms = [
        x().modulus(),
        x().modulus_squared(),
        x().norm1(),
        x().scale(y()),
        x().unscale(y()),
        x().fract(),
        x().mul_add(y(), x()),
        ComplexField::abs(-x()),
        x().hypot(y()),
        x().recip(),
        x().conjugate() * x().real(),
        x().sin() + x().cos() * x().tan(),
        x().sin_cos().0 * x().sin_cos().1,
        x().asin() + x().acos() * x().atan(),
        x().sinh() + x().cosh() * x().tanh(),
        x().sinh_cosh().0,
        x().asinh() + (x() + T::one()).acosh() + x().atanh(),
        x().sinc() + x().sinhc() + x().cosc() + x().coshc(),
        x().log(y() + T::one()) + x().log2() + x().log10() + x().ln() + x().ln_1p(),
        x().sqrt() + x().exp() + x().exp2() + x().exp_m1() + x().cbrt(),
        x().powi(3) + x().powf(y()) + x().powc(y()),
        x().try_sqrt().expect("positive"),
        x().copysign(-y()) + x().max(y()) * x().min(y()) + x().atan2(y()),
        RealField::clamp(x(), y(), T::one()),
        (-x()).to_exp().0 * x().to_exp().1,
    ];
    let weigh = |(k, term): (u32, T)| term * nalgebra::convert::<f64, T>(1.0 + 0.1 * f64::from(k));
    (0..).zip(terms).map(weigh).fold(T::zero(), |sum, term| sum + term)
}

#[test]
fn all_functions_have_their_derivatives() {
    let x = [0.37, 0.22];
    let (value, gradient) = reverse::<Jacobian>(functions, &x);
    approx::assert_relative_eq!(value, functions::<f64>(&x), max_relative = 1e-14);
    let expected = tapewright_linalg_tests::differences(functions::<f64>, &x);
    approx::assert_relative_eq!(gradient[..], expected[..], max_relative = 1e-8);
    assert_eq!(reverse::<Owned>(functions, &x).1, gradient);
}

#[test]
fn steps_and_constants_are_passive() {
    let x: Closed<Passive> = Closed::from(-1.75);
    assert_eq!(ComplexField::floor(x).value(), -2.0);
    assert_eq!(ComplexField::ceil(x).value(), -1.0);
    assert_eq!(ComplexField::round(x).value(), -2.0);
    assert_eq!(ComplexField::trunc(x).value(), -1.0);
    assert_eq!(ComplexField::signum(x).value(), -1.0);
    assert_eq!((x.argument().value(), x.imaginary().value()), (f64::PI(), 0.0));
    assert!(x.try_sqrt().is_none() && ComplexField::is_finite(&x));
    let (value, slope) = reverse::<Jacobian>(
        |x| {
            let steps = ComplexField::floor(x[0]) + ComplexField::signum(x[0]) + x[0].argument() + x[0].imaginary();
            steps + <Closed<Jacobian> as RealField>::two_pi()
        },
        &[-1.75],
    );
    assert_eq!((value, slope), (-3.0 + 3.0 * f64::PI(), vec![0.0]));
}

#[test]
fn constants_are_those_of_floats() {
    type C = Closed<Passive>;
    let pairs = [
        (C::pi(), f64::pi()),
        (C::two_pi(), f64::two_pi()),
        (C::frac_pi_2(), f64::frac_pi_2()),
        (C::frac_pi_3(), f64::frac_pi_3()),
        (C::frac_pi_4(), f64::frac_pi_4()),
        (C::frac_pi_6(), f64::frac_pi_6()),
        (C::frac_pi_8(), f64::frac_pi_8()),
        (C::frac_1_pi(), f64::frac_1_pi()),
        (C::frac_2_pi(), f64::frac_2_pi()),
        (C::frac_2_sqrt_pi(), f64::frac_2_sqrt_pi()),
        (<C as RealField>::e(), f64::e()),
        (C::log2_e(), f64::log2_e()),
        (C::log10_e(), f64::log10_e()),
        (C::ln_2(), f64::ln_2()),
        (C::ln_10(), f64::ln_10()),
        (<C as RealField>::min_value().expect("finite"), f64::MIN),
        (<C as RealField>::max_value().expect("finite"), f64::MAX),
    ];
    pairs.iter().for_each(|(found, expected)| assert_eq!(found.value(), *expected));
}

#[test]
fn casts_from_floats_are_passive_and_lose_the_derivative_on_the_way_back() {
    let matrix: Matrix3<Closed<Jacobian>> = Matrix3::<f64>::identity().cast();
    assert_eq!(matrix.map(|x| x.value()), Matrix3::identity());
    let (_, slope) = reverse::<Jacobian>(
        |x| {
            let number: f64 = x[0].to_subset().expect("every value is a number");
            let single: f32 = x[0].to_subset_unchecked();
            assert_eq!((number, single), (1.5, 1.5));
            let same: Closed<Jacobian> = x[0].to_superset();
            same * same + Closed::from_subset(&number) * Closed::from_subset(&single)
        },
        &[1.5],
    );
    assert_eq!(slope, [3.0]);
}

#[test]
fn one_lane() {
    let mut x: Closed<Passive> = SimdValue::splat(Closed::from(2.0));
    assert_eq!(x.extract(0).value(), 2.0);
    x.replace(0, Closed::from(3.0));
    assert_eq!(x.select(true, Closed::from(4.0)).value(), 3.0);
    assert_eq!(x.select(false, Closed::from(4.0)).value(), 4.0);
    assert_eq!(x.simd_max(Closed::from(5.0)).map_lanes(|x| x + 1.0).value(), 6.0);
}

#[test]
fn comparisons_up_to_a_tolerance() {
    type C = Closed<Passive>;
    let (one, near): (C, C) = (Closed::from(1.0), Closed::from(1.0 + 2.0 * f64::EPSILON));
    assert!(!one.abs_diff_eq(&near, C::default_epsilon()));
    assert!(one.abs_diff_eq(&near, Closed::from(3.0 * f64::EPSILON)));
    assert!(!one.relative_eq(&near, C::default_epsilon(), C::default_max_relative()));
    assert!(one.ulps_eq(&near, C::default_epsilon(), C::default_max_ulps()));
    assert!(!one.ulps_eq(&near, C::default_epsilon(), 1));
    let infinite: C = Closed::from(f64::INFINITY);
    assert!(infinite.relative_eq(&infinite, one, one) && !infinite.relative_eq(&near, one, one));
    let nan: C = Closed::from(f64::NAN);
    assert!(!nan.relative_eq(&nan, one, one));
}

/// A unit normal, by values of 32 bits.
#[test]
fn single_precision() {
    let f = |x: &[Real<Jacobian<f32>>]| {
        let x = Closed::wrap_slice(x);
        let matrix = DMatrix::from_fn(2, 2, |i, j| if i == j { x[0] + 2.0 } else { x[1] });
        let right = nalgebra::DVector::from_column_slice(&x[1..]);
        let solution = matrix.lu().solve(&right).expect("regular");
        (solution.norm() + Vector3::from_column_slice(x).normalize()[0]).open()
    };
    let double = |x: &[f64]| {
        let matrix = DMatrix::from_fn(2, 2, |i, j| if i == j { x[0] + 2.0 } else { x[1] });
        let solution = matrix.lu().solve(&nalgebra::DVector::from_column_slice(&x[1..])).expect("regular");
        solution.norm() + Vector3::from_column_slice(x).normalize()[0]
    };
    let (value, gradient) = value_and_gradient::<Jacobian<f32>>(f, &[0.5, 0.25, -0.75]);
    approx::assert_relative_eq!(f64::from(value), double(&[0.5, 0.25, -0.75]), max_relative = 1e-6);
    let expected = tapewright_linalg_tests::differences(double, &[0.5, 0.25, -0.75]);
    let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
    approx::assert_relative_eq!(gradient[..], expected[..], max_relative = 2e-6);
}
