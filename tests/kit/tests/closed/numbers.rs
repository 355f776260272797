//! The traits of `num_traits` that are not functions of floats.

use super::{differentiated, report};
use std::cmp::Ordering;
use std::fmt::Debug;
use tapewright::Closed;
use tapewright::prelude::*;
use tapewright::strategies::num_traits::float::{FloatCore, TotalOrder};
use tapewright::strategies::num_traits::real::Real as NumReal;
use tapewright::strategies::num_traits::{
    AsPrimitive, Bounded, Euclid, Float, FloatConst, FromPrimitive, Inv, MulAdd, MulAddAssign, Num, NumAssignRef,
    NumRef, One, Pow, RefNum, Signed, ToPrimitive, Zero, abs_sub, cast, clamp, pow, real, signum,
};

type C = Closed<Jacobian>;

#[test]
fn constants_are_passive_and_those_of_floats() {
    macro_rules! assert_constants {
        ($($name:ident)*) => { $(
            assert_eq!(C::$name().value(), f64::$name(), stringify!($name));
            assert_eq!(Closed::<PrimalValue<f32>>::$name().value(), f32::$name(), stringify!($name));
            assert!(!C::$name().open().id().is_active());
        )* };
    }
    assert_constants! {
        E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3 FRAC_PI_4 FRAC_PI_6 FRAC_PI_8 LN_10
        LN_2 LOG10_E LOG2_E PI SQRT_2 TAU LOG10_2 LOG2_10
    }
    assert_eq!((C::zero().value(), C::one().value()), (0.0, 1.0));
    assert!(C::zero().is_zero() && C::from(-0.0).is_zero() && !C::from(f64::NAN).is_zero() && C::one().is_one());
    let (mut zero, mut one) = (C::from(3.0), C::from(3.0));
    zero.set_zero();
    one.set_one();
    assert_eq!((zero.value(), one.value()), (0.0, 1.0));
}

/// Asserts that a constant of floats is that of the value type, by both traits.
macro_rules! assert_float_constants {
    ($($name:ident)*) => { $(
        assert_eq!(<C as Float>::$name().value().to_bits(), <f64 as Float>::$name().to_bits(), stringify!($name));
        assert_eq!(<C as FloatCore>::$name().value().to_bits(), <f64 as Float>::$name().to_bits());
        assert_eq!(<Closed<Passive<f32>> as Float>::$name().value().to_bits(), <f32 as Float>::$name().to_bits());
    )* };
}

#[test]
fn limits_are_those_of_the_value_type() {
    assert_float_constants! { nan infinity neg_infinity neg_zero min_value max_value min_positive_value epsilon }
    assert_eq!((<C as Bounded>::min_value().value(), <C as Bounded>::max_value().value()), (f64::MIN, f64::MAX));
}

#[test]
fn casts_go_through_the_value_and_are_passive() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let x = C::from(scope.input(-3.75));
        assert_eq!((x.to_i8(), x.to_u8(), x.to_i64(), x.to_f64()), (Some(-3), None, Some(-3), Some(-3.75)));
        assert_eq!((x.to_i128(), x.to_u128(), x.to_usize(), x.to_f32()), (Some(-3), None, None, Some(-3.75)));
        let (int, byte, float): (i32, u8, f64) = (x.as_(), x.as_(), x.as_());
        assert_eq!((int, byte, float), (-3, 0, -3.75));
        let through_a_number: C = cast(x).expect("a float");
        assert_eq!((through_a_number.value(), through_a_number.open().id().is_active()), (-3.75, false));
        let itself: C = x.as_();
        assert!(itself.open().id().is_active());
    });
    assert_eq!(cast::<C, f32>(C::from(0.1)), Some(0.1_f32));
    assert_eq!(cast::<u8, C>(7).map(|x| x.value()), Some(7.0));
    assert_eq!(C::from_i64(-7).zip(C::from_u128(9)).map(|(a, b)| a.value() + b.value()), Some(2.0));
    assert_eq!(C::from_f32(0.5).zip(C::from_f64(0.1)).map(|(a, b)| (a.value(), b.value())), Some((0.5, 0.1)));
    let (a, b): (C, C) = (5_usize.as_(), 0.25_f32.as_());
    assert_eq!((a.value(), b.value()), (5.0, 0.25));
}

#[test]
fn integers_and_floats_are_rounded_once() {
    let large = (1_i64 << 53) + 1;
    let narrow: Closed<Passive<f32>> = large.as_();
    #[allow(clippy::cast_precision_loss, reason = "the rounding is what is tested")]
    let expected = large as f32;
    assert_eq!(narrow.value(), expected);
    assert_eq!([C::from(1_i32), C::from(2_u8), C::from(0.5_f32), C::from(3.0)], [1.0, 2.0, 0.5, 3.0]);
    assert_eq!(Closed::<Passive<f32>>::from(0.1).value(), 0.1_f32);
    assert_eq!(Closed::<Jacobian<f32>>::constant(0.1).value(), 0.1_f32);
}

#[test]
fn numbers_are_parsed_as_the_value_type_parses_them() {
    assert_eq!(C::from_str_radix("1010.1", 2).map(|x| x.value()).ok(), Some(10.5));
    assert_eq!("1e-3".parse::<C>().map(|x| x.value()), Ok(1e-3));
    assert!(C::from_str_radix("x", 10).is_err() && "x".parse::<C>().is_err());
}

#[test]
fn powers_take_every_exponent_by_value_and_borrowed() {
    macro_rules! assert_power {
        ($($exponent:expr),*) => { $(
            let n = $exponent;
            assert_eq!(differentiated::<Jacobian>(|x| x[0].pow(n), &[3.0]), (9.0, vec![6.0]));
            assert_eq!(differentiated::<Jacobian>(|x| Pow::pow(&x[0], &n), &[3.0]), (9.0, vec![6.0]));
            assert_eq!(differentiated::<PrimalValue>(|x| Pow::pow(&x[0], n), &[3.0]), (9.0, vec![6.0]));
            assert_eq!(differentiated::<PrimalValue>(|x| x[0].pow(&n), &[3.0]), (9.0, vec![6.0]));
            assert_eq!(report::<Jacobian, _>(&[3.0], |x| x[0].pow(n)).statements, 1);
        )* };
    }
    assert_power!(2.0_f64, 2.0_f32, 2_i32, 2_i16, 2_u16, 2_i8, 2_u8);
    let (value, gradient) = differentiated::<Jacobian>(|x| Pow::pow(x[0], &x[1]), &[3.0, 2.0]);
    assert_eq!((value, gradient), (9.0, vec![6.0, 9.0 * 3.0_f64.ln()]));
    // By squaring: the library's own.
    assert_eq!(differentiated::<Jacobian>(|x| pow(x[0], 3), &[2.0]), (8.0, vec![12.0]));
}

#[test]
fn signs_absolute_values_and_positive_differences() {
    assert_eq!(differentiated::<Jacobian>(|x| Signed::abs(&x[0]), &[-3.0]), (3.0, vec![-1.0]));
    assert_eq!(differentiated::<Jacobian>(|x| signum(x[0]), &[-3.0]), (-1.0, vec![0.0]));
    assert!(C::from(0.0).is_positive() && C::from(-0.0).is_negative() && !C::from(f64::NAN).is_negative());
    let difference = |x: &[Closed<PrimalValue>]| Signed::abs_sub(&x[0], &x[1]);
    assert_eq!(differentiated(difference, &[3.0, 1.0]), (2.0, vec![1.0, -1.0]));
    assert_eq!(differentiated(difference, &[1.0, 3.0]), (0.0, vec![0.0, 0.0]));
    assert_eq!(differentiated(difference, &[3.0, 3.0]), (0.0, vec![1.0, -1.0]));
    assert_eq!(differentiated(difference, &[f64::INFINITY, f64::INFINITY]), (0.0, vec![1.0, -1.0]));
    let (value, gradient) = differentiated(difference, &[f64::NAN, 1.0]);
    assert!(value.is_nan() && gradient.iter().all(|slope| slope.is_nan()));
    assert_eq!(differentiated::<Jacobian>(|x| abs_sub(x[0], x[1]), &[3.0, 1.0]), (2.0, vec![1.0, -1.0]));
    assert_eq!(differentiated::<Jacobian>(|x| Float::abs_sub(x[0], x[1]), &[3.0, 1.0]), (2.0, vec![1.0, -1.0]));
    assert_eq!(report::<Jacobian, _>(&[1.0, 3.0], |x| Closed::abs_sub(&x[0], 2.0)).statements, 1);
}

#[test]
fn euclidean_division_is_that_of_floats_and_its_remainder_one_statement() {
    for (x, y) in [(5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (-5.5, -2.0), (6.0, 3.0), (-6.0, 3.0)] {
        let quotient = f64::div_euclid(x, y);
        assert_eq!(C::from(x).div_euclid(&C::from(y)).value(), quotient);
        let remainder = |x: &[C]| Euclid::rem_euclid(&x[0], &x[1]);
        assert_eq!(differentiated(remainder, &[x, y]), (f64::rem_euclid(x, y), vec![1.0, -quotient]), "{x} mod {y}");
        assert_eq!(report::<Jacobian, _>(&[x, y], |x| Euclid::div_rem_euclid(&x[0], &x[1])).statements, 1);
    }
    assert!(Euclid::div_euclid(&C::from(1.0), &C::from(f64::NAN)).value().is_nan());
}

#[test]
fn inverses_and_fused_operations_are_one_statement() {
    assert_eq!(differentiated::<Jacobian>(|x| Inv::inv(x[0]) + Inv::inv(&x[0]), &[2.0]), (1.0, vec![-0.5]));
    let fused = |x: &[C]| {
        let mut y = MulAdd::mul_add(x[0], x[1], x[0]);
        MulAddAssign::mul_add_assign(&mut y, x[1], x[1]);
        y
    };
    // (x·y + x)·y + y
    assert_eq!(differentiated(fused, &[3.0, 2.0]), (20.0, vec![6.0, 16.0]));
    assert_eq!(report(&[3.0, 2.0], fused).statements, 2);
}

#[test]
fn values_are_ordered_totally() {
    let mut x = [f64::NAN, 1.0, 0.0, -0.0, f64::NEG_INFINITY, -f64::NAN].map(C::from);
    x.sort_by(TotalOrder::total_cmp);
    let bits = [-f64::NAN, f64::NEG_INFINITY, -0.0, 0.0, 1.0, f64::NAN].map(f64::to_bits);
    assert_eq!(x.map(|x| x.value().to_bits()), bits);
    assert_eq!(TotalOrder::total_cmp(&C::one(), &C::one()), Ordering::Equal);
}

#[test]
fn a_free_clamp_returns_one_of_its_arguments() {
    let inside = |x: &[C]| clamp(x[0], C::from(0.0), C::from(1.0));
    assert_eq!(differentiated(inside, &[0.5]), (0.5, vec![1.0]));
    assert_eq!(differentiated(inside, &[1.5]), (1.0, vec![0.0]));
}

/// x² + 1/x, over `num_traits::real::Real`.
fn over_real<T: NumReal>(x: T) -> T {
    x.powi(2) + x.recip()
}

/// x·y + x/y − x % y, with references.
fn by_reference<T: NumRef + Clone>(x: &T, y: &T) -> T
where
    for<'a> &'a T: RefNum<T>,
{
    x * y + x / y - x % y
}

/// ((x + y)·x − y)/x, in place.
fn in_place<T: NumAssignRef + Clone>(x: &T, y: &T) -> T {
    let mut z = x.clone();
    z += y;
    z *= x;
    z -= y.clone();
    z /= x;
    z
}

/// Everything that code may ask of a number at once.
fn everything<T>()
where
    T: real::Real + FloatConst + FromPrimitive + ToPrimitive + Signed + Bounded + Euclid + Send + Sync + 'static,
    T: NumAssignRef + AsPrimitive<f64> + AsPrimitive<T> + Default + Debug + std::iter::Sum + std::iter::Product,
    T: From<f64> + From<i32> + std::str::FromStr + Pow<T, Output = T> + Pow<i32, Output = T> + MulAdd<Output = T>,
    f64: AsPrimitive<T>,
{
}

#[test]
fn blanket_traits_of_num_traits_apply() {
    everything::<f64>();
    everything::<Closed<Jacobian>>();
    everything::<Closed<PrimalValue<f32, Linear<u64>>>>();
    everything::<Closed<Passive>>();
    assert_eq!(differentiated::<Jacobian>(|x| over_real(x[0]), &[2.0]), (4.5, vec![3.75]));
    assert_eq!(differentiated::<Jacobian>(|x| by_reference(&x[0], &x[1]), &[3.0, 2.0]), (6.5, vec![1.5, 3.25]));
    assert_eq!(differentiated::<PrimalValue>(|x| in_place(&x[0], &x[1]), &[2.0, 4.0]), (4.0, vec![2.0, 0.5]));
}
