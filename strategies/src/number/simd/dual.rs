//! Duals of consecutive elements in SIMD registers: one register for the values, and one for each tangent.

use super::Sealed;
use super::planes::Place;
use super::vector::{MOST, SimdValue, SimdVector};
use crate::{Dual, Number};
use core::mem::MaybeUninit;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// One dual for each element of `L`. Programs are computed in passes of `W` tangents each: in a single one if `W` is
/// `N`.
///
/// Operations round, part by part, like those of [`Dual`], with two exceptions: a tangent that is a sum of products
/// with zero may be zero of the other sign; and it is NaN if the other factor is infinite or NaN, where [`Dual`] has
/// zero.
///
/// Such a NaN cannot vanish: tangents are only added, subtracted, negated, multiplied by values and chosen by masks of
/// values. (A rule that is called number by number multiplies them, too: if the other factor is 0, the product is the 0
/// that it should be.) So each part of a result is what [`Dual`] gives but for the sign of a zero, or it is NaN; and
/// whoever finds a part that is not finite lets [`Dual`] compute all of it again.
#[derive(Clone, Copy)]
pub(crate) struct DualVector<L, const N: usize, const W: usize = N> {
    value: L,
    tangents: [L; N],
}

/// Builds a vector from a value and an expression for tangent `k`. A macro, because a closure would be compiled without
/// the target feature.
macro_rules! several {
    ($value:expr, |$k:ident| $tangent:expr) => {{
        let mut several = Self { value: $value, tangents: [L::zero(); N] };
        for $k in 0..N {
            several.tangents[$k] = $tangent;
        }
        several
    }};
}

impl<L: SimdValue, const N: usize, const W: usize> DualVector<L, N, W> {
    #[inline(always)]
    fn chain(self, value: L, partial: L) -> Self {
        several!(value, |k| self.tangents[k] * partial)
    }

    #[inline(always)]
    fn chain2(self, other: Self, value: L, (left, right): (L, L)) -> Self {
        several!(value, |k| self.tangents[k] * left + other.tangents[k] * right)
    }
}

impl<L: SimdValue, const N: usize, const W: usize> Add for DualVector<L, N, W> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        several!(self.value + other.value, |k| self.tangents[k] + other.tangents[k])
    }
}

impl<L: SimdValue, const N: usize, const W: usize> Sub for DualVector<L, N, W> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        several!(self.value - other.value, |k| self.tangents[k] - other.tangents[k])
    }
}

impl<L: SimdValue, const N: usize, const W: usize> Mul for DualVector<L, N, W> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain2(other, self.value * other.value, (other.value, self.value))
    }
}

impl<L: SimdValue, const N: usize, const W: usize> Div for DualVector<L, N, W> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        self.chain2(other, value, (L::one() / other.value, -value / other.value))
    }
}

impl<L: SimdValue, const N: usize, const W: usize> Neg for DualVector<L, N, W> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        several!(-self.value, |k| -self.tangents[k])
    }
}

impl<L, const N: usize, const W: usize> Sealed for DualVector<L, N, W> {}
impl<L: SimdVector, const N: usize, const W: usize> SimdValue for DualVector<L, N, W> {
    type Number = Dual<L::Number, N>;
    type Mask = L::Mask;

    #[inline(always)]
    fn splat(number: Self::Number) -> Self {
        several!(L::splat(number.value), |k| L::splat(number.tangents[k]))
    }
    /// Square root. The slope is 0.5/y; at −0 it is +∞ as at +0.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.chain(value, L::splat(L::Number::from_f64(0.5)) / (value + L::zero()))
    }
    /// Absolute value. The slope is 0 at 0, and NaN at NaN.
    #[inline(always)]
    fn abs(self) -> Self {
        let (x, zero, one) = (self.value, L::zero(), L::one());
        let sign = L::select(x.less(zero), -one, L::select(zero.less(x), one, x));
        self.chain(x.abs(), L::select(x.equal(zero), zero, sign))
    }
    #[inline(always)]
    fn less(self, other: Self) -> L::Mask {
        self.value.less(other.value)
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> L::Mask {
        self.value.at_most(other.value)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> L::Mask {
        self.value.equal(other.value)
    }
    #[inline(always)]
    fn differ(self, other: Self) -> L::Mask {
        self.value.differ(other.value)
    }
    #[inline(always)]
    fn both(a: L::Mask, b: L::Mask) -> L::Mask {
        L::both(a, b)
    }
    #[inline(always)]
    fn either(a: L::Mask, b: L::Mask) -> L::Mask {
        L::either(a, b)
    }
    #[inline(always)]
    fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        several!(L::select(mask, yes.value, no.value), |k| L::select(mask, yes.tangents[k], no.tangents[k]))
    }
    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(Self::Number, Self::Number) -> Self::Number) -> Self {
        let (mut a, b) = (self.numbers(), other.numbers());
        for k in 0..L::N {
            a[k] = f(a[k], b[k]);
        }
        // SAFETY: the array has as many elements.
        unsafe { Self::load(a.as_ptr()) }
    }
}

impl<L: SimdVector, const N: usize, const W: usize> DualVector<L, N, W> {
    /// Returns the duals as an array, padded with zeros.
    #[inline(always)]
    fn numbers(self) -> [Dual<L::Number, N>; MOST] {
        let mut numbers = [Dual::ZERO; MOST];
        // SAFETY: the array has room for all elements.
        unsafe { self.store(numbers.as_mut_ptr()) }
        numbers
    }

    /// Returns the first tangent of a pass. The last pass begins early enough to be full.
    #[inline(always)]
    const fn first(pass: usize) -> usize {
        if N == W || pass + 1 < Self::PASSES { pass * W } else { N - W }
    }

    /// Loads one part of each dual into a register.
    ///
    /// # Safety
    ///
    /// The duals may be read.
    #[inline(always)]
    unsafe fn part(from: *const Dual<L::Number, N>, part: usize) -> L {
        let mut numbers = [const { MaybeUninit::uninit() }; MOST];
        for k in 0..L::N {
            // SAFETY: promised by the caller; a dual is its value and its tangents.
            numbers[k] = MaybeUninit::new(unsafe { *from.add(k).cast::<L::Number>().add(part) });
        }
        // SAFETY: the elements have just been written.
        unsafe { L::load(numbers.as_ptr().cast()) }
    }

    /// Returns the elements of a register, padded with zeros.
    #[inline(always)]
    fn scattered(register: L) -> [L::Number; MOST] {
        const { assert!(L::N <= MOST, "no register has more numbers") }
        let mut numbers = [L::Number::ZERO; MOST];
        // SAFETY: the array has room for all elements.
        unsafe { register.store(numbers.as_mut_ptr()) }
        numbers
    }
}

impl<L: SimdVector, const N: usize, const W: usize> SimdVector for DualVector<L, N, W> {
    const N: usize = L::N;
    const LOOSE: bool = true;

    #[inline(always)]
    unsafe fn load(from: *const Self::Number) -> Self {
        // SAFETY: promised by the caller.
        unsafe { several!(Self::part(from, 0), |k| Self::part(from, 1 + k)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Self::Number) {
        for part in 0..=N {
            let numbers = Self::scattered(if part == 0 { self.value } else { self.tangents[part - 1] });
            for k in 0..L::N {
                // SAFETY: promised by the caller; a dual is its value and its tangents.
                unsafe { to.add(k).cast::<L::Number>().add(part).write(numbers[k]) }
            }
        }
    }
    #[inline(always)]
    fn within(from: isize, to: isize) -> L::Mask {
        L::within(from, to)
    }
    #[inline(always)]
    fn any(mask: L::Mask) -> bool {
        L::any(mask)
    }

    #[inline(always)]
    unsafe fn take(from: Place<Self::Number>) -> Self {
        // SAFETY: promised by the caller.
        unsafe { several!(L::take(from.narrowed(0, 0)), |k| L::take(from.narrowed(1 + k, 0))) }
    }
    #[inline(always)]
    unsafe fn put(self, to: Place<Self::Number>) {
        // SAFETY: promised by the caller.
        unsafe {
            self.value.put(to.narrowed(0, 0));
            for k in 0..N {
                self.tangents[k].put(to.narrowed(1 + k, 0));
            }
        }
    }
    #[inline(always)]
    unsafe fn take_some(from: Place<Self::Number>, mask: L::Mask) -> Self {
        // SAFETY: promised by the caller.
        unsafe { several!(L::take_some(from.narrowed(0, 0), mask), |k| L::take_some(from.narrowed(1 + k, 0), mask)) }
    }
    #[inline(always)]
    unsafe fn put_some(self, to: Place<Self::Number>, mask: L::Mask) {
        // SAFETY: promised by the caller.
        unsafe {
            self.value.put_some(to.narrowed(0, 0), mask);
            for k in 0..N {
                self.tangents[k].put_some(to.narrowed(1 + k, 0), mask);
            }
        }
    }

    #[inline(always)]
    fn any_part(self) -> bool {
        // The parts are 0 or NaN, so their sum is 0 only if all are.
        let mut sum = self.value;
        for k in 0..N {
            sum = sum + self.tangents[k];
        }
        L::any(sum.differ(L::zero()))
    }
    #[inline(always)]
    fn scaled(self, factor: Self) -> Self {
        self.chain(self.value * factor.value, factor.value)
    }
    #[inline(always)]
    fn divided(self, divisor: Self) -> Self {
        self.chain(self.value / divisor.value, L::one() / divisor.value)
    }
    #[inline(always)]
    fn settled(self) -> Self {
        several!(self.value, |k| self.tangents[k] + L::zero())
    }

    type Pass = DualVector<L, W, W>;
    const PASSES: usize = if W == 0 { 1 } else { N.div_ceil(W) };
    #[inline(always)]
    unsafe fn take_pass(from: Place<Self::Number>, pass: usize) -> Self::Pass {
        let first = 1 + Self::first(pass);
        let mut found = DualVector { value: L::zero(), tangents: [L::zero(); W] };
        // SAFETY: promised by the caller.
        unsafe {
            found.value = L::take(from.narrowed(0, 0));
            for k in 0..W {
                found.tangents[k] = L::take(from.narrowed(first + k, 0));
            }
        }
        found
    }
    #[inline(always)]
    fn splat_pass(number: Self::Number, pass: usize) -> Self::Pass {
        let first = Self::first(pass);
        let mut found = DualVector { value: L::splat(number.value), tangents: [L::zero(); W] };
        for k in 0..W {
            found.tangents[k] = L::splat(number.tangents[first + k]);
        }
        found
    }
    #[inline(always)]
    fn set_pass(&mut self, pass: usize, found: Self::Pass) {
        let first = Self::first(pass);
        self.value = found.value;
        for k in 0..W {
            self.tangents[first + k] = found.tangents[k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::simd::dispatch::{CHANGES, InstructionSet, Lifted, Registers, SimdTask};

    type Pair = Dual<f64, 2>;
    /// Sixteen duals: their values, and each of their tangents.
    type Planes = [[f64; 16]; 3];

    /// The place of an element.
    fn at(planes: *const Planes, k: usize) -> Place<Pair> {
        Place::new(planes.cast::<f64>().cast_mut(), 16).wrapping_offset(k.cast_signed())
    }

    fn pair(planes: &Planes, k: usize) -> Pair {
        Dual { value: planes[0][k], tangents: [planes[1][k], planes[2][k]] }
    }

    /// Applies all operations to these numbers, in registers.
    struct All<'a>(&'a Planes, &'a Planes);

    impl SimdTask<Pair> for All<'_> {
        type Output = Vec<Planes>;
        #[inline(always)]
        unsafe fn run<L: SimdVector<Number = Pair>>(self) -> Vec<Planes> {
            let mut found = vec![[[0.0; 16]; 3]; 16];
            for k in (0..16).step_by(L::N) {
                // SAFETY: registers have 1, 2, 4, 8 or 16 elements, so all accesses are in the arrays.
                unsafe {
                    let (x, y) = (L::take(at(self.0, k)), L::take(at(self.1, k)));
                    let some = L::within(1, 3);
                    let mut passes = L::zero();
                    for pass in 0..L::PASSES {
                        passes.set_pass(pass, L::take_pass(at(self.0, k), pass) * L::take_pass(at(self.1, k), pass));
                    }
                    let results = [
                        x + y,
                        x - y,
                        x * y,
                        x / y,
                        -x,
                        x.sqrt(),
                        x.abs(),
                        L::select(x.less(y), x, y),
                        L::select(L::both(x.at_most(y), x.equal(y)), x, L::one()),
                        L::select(L::either(x.differ(y), y.less(x)), L::splat(pair(self.1, k)), x),
                        x.map2(y, |x, y| x * y - y),
                        x.scaled(L::splat(Dual::from_f64(-2.5))) + x.scaled(L::zero()),
                        x.divided(L::splat(Dual::from_f64(-2.5))) - x.divided(L::zero()),
                        L::select(some, L::take_some(at(self.0, k), some), L::zero()),
                        passes,
                    ];
                    for (to, result) in found.iter_mut().zip(results) {
                        result.settled().put(at(to, k));
                    }
                    x.put_some(at(&raw mut found[15], k), some);
                }
            }
            found
        }
    }

    /// Expected results, by operations of single duals; `n` is the number of elements of a register.
    fn expected(x: &Planes, y: &Planes, n: usize) -> Vec<[Pair; 16]> {
        let of = |f: &dyn Fn(usize, Pair, Pair) -> Pair| core::array::from_fn(|k| f(k, pair(x, k), pair(y, k)));
        let some = |k: usize, x: Pair| if (1..3).contains(&(k % n)) { x } else { Pair::ZERO };
        vec![
            of(&|_, x, y| x + y),
            of(&|_, x, y| x - y),
            of(&|_, x, y| x * y),
            of(&|_, x, y| x / y),
            of(&|_, x, _| -x),
            of(&|_, x, _| Number::sqrt(x)),
            of(&|_, x, _| Number::abs(x)),
            of(&|_, x, y| if x.value < y.value { x } else { y }),
            of(&|_, x, y| if x.value == y.value { x } else { Pair::ONE }),
            of(&|k, x, other| if x.value == other.value { x } else { pair(y, k - k % n) }),
            of(&|_, x, y| x * y - y),
            of(&|_, x, _| x * Dual::from_f64(-2.5) + x * Dual::ZERO),
            of(&|_, x, _| x / Dual::from_f64(-2.5) - x / Dual::ZERO),
            of(&|k, x, _| some(k, x)),
            of(&|_, x, y| x * y),
            of(&|k, x, _| some(k, x)),
        ]
    }

    /// Fails unless values are equal bit for bit, and each tangent is equal but for the sign of a zero, or is NaN
    /// because a part of an operand or a partial derivative is not finite.
    #[track_caller]
    fn assert_as_single(found: &[Planes], expected: &[[Pair; 16]], (x, y): (&Planes, &Planes), what: &str) {
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        for (operation, (found, expected)) in found.iter().zip(expected).enumerate() {
            for k in 0..16 {
                let (found, expected) = (pair(found, k), expected[k]);
                let what = format!("{what}, operation {operation} of {:?} and {:?}", pair(x, k), pair(y, k));
                assert_eq!(bits(found.value), bits(expected.value), "{what}: {found}, not {expected}");
                let of = |planes: &Planes| planes.iter().all(|plane| plane[k].is_finite() && plane[k] != 0.0);
                let is_ordinary = of(x) && of(y);
                for (found, expected) in found.tangents.into_iter().zip(expected.tangents) {
                    let is_same = bits(found + 0.0) == bits(expected + 0.0);
                    assert!(is_same || found.is_nan() && !is_ordinary, "{what}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn several_at_once_are_as_one_or_nan() {
        let _unchanged = CHANGES.lock();
        let special = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e300];
        let of = |k: usize| special[k % 9];
        let planes = |f: &dyn Fn(usize, usize) -> f64| core::array::from_fn(|p| core::array::from_fn(|k| f(p, k)));
        for shift in 0..9 * 9 {
            let x: Planes = planes(&|p, k| of([k, k / 2 + shift, k + shift / 9][p]));
            let y: Planes = planes(&|p, k| of([k + shift, k / 3 + shift / 9, 5 * k + shift][p]));
            // SAFETY: the task has no conditions.
            let (single, lifted, passes) = unsafe {
                (
                    All(&x, &y).run::<DualVector<f64, 2>>(),
                    f64::dispatch(Lifted::<_, 2, 2>(All(&x, &y))),
                    f64::dispatch(Lifted::<_, 2, 1>(All(&x, &y))),
                )
            };
            let n = match InstructionSet::current() {
                InstructionSet::Baseline => 1,
                InstructionSet::Middle if cfg!(target_arch = "aarch64") => 2,
                InstructionSet::Middle => 4,
                InstructionSet::Wide => 8,
            };
            let (one, several) = (expected(&x, &y, 1), expected(&x, &y, n));
            assert_as_single(&single, &one, (&x, &y), "one at a time");
            assert_as_single(&lifted, &several, (&x, &y), "several at once");
            assert_as_single(&passes, &several, (&x, &y), "several at once in two passes");
        }
    }
}
