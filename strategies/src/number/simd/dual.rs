//! Duals of consecutive elements in SIMD registers: one register for the values, and one for each tangent.

use super::Sealed;
use super::vector::{MOST, SimdValue, SimdVector};
use crate::{Dual, Number};
use core::mem::MaybeUninit;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// One dual for each element of `L`. Operations round, part by part, like those of [`Dual`].
#[derive(Clone, Copy)]
pub(crate) struct DualVector<L, const N: usize> {
    value: L,
    tangents: [L; N],
}

/// Returns a·b; a product with zero is zero.
#[inline(always)]
fn guarded<L: SimdValue>(a: L, b: L) -> L {
    let zero = L::zero();
    L::select(L::both(a.differ(zero), b.differ(zero)), a * b, zero)
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

impl<L: SimdValue, const N: usize> DualVector<L, N> {
    #[inline(always)]
    fn chain(self, value: L, partial: L) -> Self {
        several!(value, |k| guarded(self.tangents[k], partial))
    }

    #[inline(always)]
    fn chain2(self, other: Self, value: L, (left, right): (L, L)) -> Self {
        several!(value, |k| guarded(self.tangents[k], left) + guarded(other.tangents[k], right))
    }
}

impl<L: SimdValue, const N: usize> Add for DualVector<L, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        several!(self.value + other.value, |k| self.tangents[k] + other.tangents[k])
    }
}

impl<L: SimdValue, const N: usize> Sub for DualVector<L, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        several!(self.value - other.value, |k| self.tangents[k] - other.tangents[k])
    }
}

impl<L: SimdValue, const N: usize> Mul for DualVector<L, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain2(other, self.value * other.value, (other.value, self.value))
    }
}

impl<L: SimdValue, const N: usize> Div for DualVector<L, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        self.chain2(other, value, (L::one() / other.value, -value / other.value))
    }
}

impl<L: SimdValue, const N: usize> Neg for DualVector<L, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        several!(-self.value, |k| -self.tangents[k])
    }
}

impl<L, const N: usize> Sealed for DualVector<L, N> {}
impl<L: SimdVector, const N: usize> SimdValue for DualVector<L, N> {
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

impl<L: SimdVector, const N: usize> DualVector<L, N> {
    /// Returns the duals as an array, padded with zeros.
    #[inline(always)]
    fn numbers(self) -> [Dual<L::Number, N>; MOST] {
        let mut numbers = [Dual::ZERO; MOST];
        // SAFETY: the array has room for all elements.
        unsafe { self.store(numbers.as_mut_ptr()) }
        numbers
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

impl<L: SimdVector, const N: usize> SimdVector for DualVector<L, N> {
    const N: usize = L::N;

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
    unsafe fn load_some(from: *const Self::Number, mask: L::Mask) -> Self {
        let chosen = Self::scattered(L::select(mask, L::one(), L::zero()));
        let mut numbers = [Dual::ZERO; MOST];
        for k in 0..L::N {
            if !chosen[k].is_nought() {
                // SAFETY: promised by the caller.
                numbers[k] = unsafe { *from.add(k) };
            }
        }
        // SAFETY: the array has as many elements.
        unsafe { Self::load(numbers.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn store_some(self, to: *mut Self::Number, mask: L::Mask) {
        let chosen = Self::scattered(L::select(mask, L::one(), L::zero()));
        let numbers = self.numbers();
        for k in 0..L::N {
            if !chosen[k].is_nought() {
                // SAFETY: promised by the caller.
                unsafe { *to.add(k) = numbers[k] }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::simd::dispatch::{InstructionSet, Lifted, Registers, SimdTask};

    type Pair = Dual<f64, 2>;

    /// Applies all operations to these numbers, in registers.
    struct All<'a>(&'a [Pair; 16], &'a [Pair; 16]);

    impl SimdTask<Pair> for All<'_> {
        type Output = Vec<[Pair; 16]>;
        #[inline(always)]
        unsafe fn run<L: SimdVector<Number = Pair>>(self) -> Vec<[Pair; 16]> {
            let mut found = vec![[Pair::ZERO; 16]; 13];
            for k in (0..16).step_by(L::N) {
                // SAFETY: registers have 1, 2, 4, 8 or 16 elements, so all accesses are in the arrays.
                unsafe {
                    let (x, y) = (L::load(&raw const self.0[k]), L::load(&raw const self.1[k]));
                    let some = L::within(1, 3);
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
                        L::select(L::either(x.differ(y), y.less(x)), L::splat(self.1[k]), x),
                        x.map2(y, |x, y| x * y - y),
                        L::select(some, L::load_some(&raw const self.0[k], some), L::zero()),
                    ];
                    for (to, result) in found.iter_mut().zip(results) {
                        result.store(&raw mut to[k]);
                    }
                    x.store_some(&raw mut found[12][k], some);
                }
            }
            found
        }
    }

    /// Expected results, by operations of single duals; `n` is the number of elements of a register.
    fn expected(x: &[Pair; 16], y: &[Pair; 16], n: usize) -> Vec<[Pair; 16]> {
        let of = |f: &dyn Fn(usize, Pair, Pair) -> Pair| core::array::from_fn(|k| f(k, x[k], y[k]));
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
            of(&|k, x, other| if x.value == other.value { x } else { y[k - k % n] }),
            of(&|_, x, y| x * y - y),
            of(&|k, x, _| some(k, x)),
            of(&|k, x, _| some(k, x)),
        ]
    }

    /// Bits of all parts, with the same bits for every NaN.
    fn bits(results: &[[Pair; 16]]) -> Vec<[u64; 3]> {
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        let parts = |x: &Pair| [x.value, x.tangents[0], x.tangents[1]].map(bits);
        results.iter().flatten().map(parts).collect()
    }

    #[test]
    fn several_at_once_are_as_one() {
        let special = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310];
        let of = |k: usize| special[k % 8];
        for shift in 0..8 * 8 {
            let x = core::array::from_fn(|k| Dual { value: of(k), tangents: [of(k / 2 + shift), of(k + shift / 8)] });
            let y = core::array::from_fn(|k| Dual {
                value: of(k + shift),
                tangents: [of(k / 3 + shift / 8), of(5 * k + shift)],
            });
            // SAFETY: the task has no conditions.
            let (single, lifted) =
                unsafe { (All(&x, &y).run::<DualVector<f64, 2>>(), f64::dispatch(Lifted(All(&x, &y)))) };
            assert_eq!(bits(&single), bits(&expected(&x, &y, 1)), "one at a time, {shift}");
            let n = match InstructionSet::current() {
                InstructionSet::Baseline => 1,
                InstructionSet::Middle => {
                    if cfg!(target_arch = "aarch64") {
                        2
                    } else {
                        4
                    }
                }
                InstructionSet::Wide => 8,
            };
            assert_eq!(bits(&lifted), bits(&expected(&x, &y, n)), "{shift}");
        }
    }
}
