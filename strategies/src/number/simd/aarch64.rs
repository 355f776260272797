//! SIMD registers of `AArch64`. Every such processor has them, so unlike those of x86-64 they need no functions with a
//! target feature.

use super::Sealed;
use super::planes::Place;
use super::vector::{Formula, SimdValue, SimdVector, one_pass, replace};
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics are all of one kind")]
use core::arch::aarch64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Defines a register type. The row `Two64(float64x2_t, f64, 2, uint64x2_t, u64): …` is a register of two elements. Its
/// masks are registers of two `u64`, with all bits set for true.
macro_rules! register {
    ($name:ident($register:ty, $number:ty, $n:literal, $mask:ty, $int:ty): $add:ident $sub:ident $mul:ident $div:ident
        $sqrt:ident $splat:ident $load:ident $store:ident $fused:ident;
        $neg:ident $abs:ident $less:ident $at_most:ident $equal:ident
        $blend:ident $and:ident $or:ident $xor:ident $all:ident $load_mask:ident $store_mask:ident $halves:ident
        $low:ident $high:ident) => {
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name($register);

        register! { @ops $name Add add $add, Sub sub $sub, Mul mul $mul, Div div $div }

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $neg(self.0) })
            }
        }

        impl $name {
            #[inline(always)]
            fn numbers(self) -> [$number; $n] {
                let mut numbers = [0.0; $n];
                // SAFETY: the array has room for all elements.
                unsafe { $store(numbers.as_mut_ptr(), self.0) }
                numbers
            }
            #[inline(always)]
            fn of(numbers: [$number; $n]) -> Self {
                // SAFETY: the array has as many elements.
                Self(unsafe { $load(numbers.as_ptr()) })
            }
            /// Converts a mask to integers, which are not 0 for true.
            #[inline(always)]
            fn answers(mask: $mask) -> [$int; $n] {
                let mut answers = [0; $n];
                // SAFETY: the array has room for all lanes.
                unsafe { $store_mask(answers.as_mut_ptr(), mask) }
                answers
            }
        }

        impl Sealed for $name {}
        impl SimdValue for $name {
            type Number = $number;
            type Mask = $mask;
            #[inline(always)]
            fn splat(number: $number) -> Self {
                // SAFETY: every machine of this kind has these instructions.
                Self(unsafe { $splat(number) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $less(self.0, other.0) }
            }
            #[inline(always)]
            fn at_most(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $at_most(self.0, other.0) }
            }
            #[inline(always)]
            fn equal(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $equal(self.0, other.0) }
            }
            #[inline(always)]
            fn differ(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $xor($equal(self.0, other.0), $all(<$int>::MAX)) }
            }
            #[inline(always)]
            fn both(a: $mask, b: $mask) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $and(a, b) }
            }
            #[inline(always)]
            fn either(a: $mask, b: $mask) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $or(a, b) }
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(mask, yes.0, no.0) })
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fused(term.0, self.0, factor.0) })
            }
            #[inline(always)]
            fn map2(self, other: Self, f: impl Fn($number, $number) -> $number) -> Self {
                let (a, b, mut to) = (self.numbers(), other.numbers(), [0.0; $n]);
                let mut k = 0;
                while k < $n {
                    to[k] = f(a[k], b[k]);
                    k += 1;
                }
                Self::of(to)
            }
        }

        impl SimdVector for $name {
            const N: usize = $n;
            one_pass!();
            #[inline(always)]
            unsafe fn call<F: Formula>(numbers: [*mut f64; 2]) {
                // SAFETY: promised by the caller.
                unsafe { called::<F, $n>(numbers) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: promised by the caller.
                Self(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: promised by the caller.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            fn interleaved(self, other: Self) -> (Self, Self) {
                // SAFETY: as in `splat`.
                unsafe { (Self($low(self.0, other.0)), Self($high(self.0, other.0))) }
            }
            // NEON has no masked loads and stores, and only chosen elements may be touched, so each is moved on its
            // own.
            #[inline(always)]
            unsafe fn take_some(from: Place<$number>, mask: $mask) -> Self {
                let from = from.address();
                let (answers, mut numbers) = (Self::answers(mask), [0.0; $n]);
                let mut k = 0;
                while k < $n {
                    if answers[k] != 0 {
                        // SAFETY: promised by the caller.
                        numbers[k] = unsafe { *from.add(k) };
                    }
                    k += 1;
                }
                Self::of(numbers)
            }
            #[inline(always)]
            unsafe fn put_some(self, to: Place<$number>, mask: $mask) {
                let to = to.address();
                let (answers, numbers) = (Self::answers(mask), self.numbers());
                let mut k = 0;
                while k < $n {
                    if answers[k] != 0 {
                        // SAFETY: promised by the caller.
                        unsafe { *to.add(k) = numbers[k] }
                    }
                    k += 1;
                }
            }
            #[inline(always)]
            fn within(from: isize, to: isize) -> $mask {
                let mut answers = [0; $n];
                let mut k = 0_usize;
                while k < $n {
                    if k.cast_signed() >= from && k.cast_signed() < to {
                        answers[k] = <$int>::MAX;
                    }
                    k += 1;
                }
                // SAFETY: the array has as many lanes.
                unsafe { $load_mask(answers.as_ptr()) }
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                // SAFETY: as in `splat`.
                unsafe { vmaxvq_u32($halves(mask)) != 0 }
            }
        }
    };
    (@ops $name:ident $($trait:ident $method:ident $f:ident),*) => { $(
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $f(self.0, other.0) })
            }
        }
    )* };
}

register! {
    Two64(float64x2_t, f64, 2, uint64x2_t, u64): vaddq_f64 vsubq_f64 vmulq_f64 vdivq_f64 vsqrtq_f64
    vdupq_n_f64 vld1q_f64 vst1q_f64 vfmaq_f64; vnegq_f64 vabsq_f64 vcltq_f64 vcleq_f64 vceqq_f64 vbslq_f64
    vandq_u64 vorrq_u64 veorq_u64 vdupq_n_u64 vld1q_u64 vst1q_u64 vreinterpretq_u32_u64
    vzip1q_f64 vzip2q_f64
}
register! {
    Four32(float32x4_t, f32, 4, uint32x4_t, u32): vaddq_f32 vsubq_f32 vmulq_f32 vdivq_f32 vsqrtq_f32
    vdupq_n_f32 vld1q_f32 vst1q_f32 vfmaq_f32; vnegq_f32 vabsq_f32 vcltq_f32 vcleq_f32 vceqq_f32 vbslq_f32
    vandq_u32 vorrq_u32 veorq_u32 vdupq_n_u32 vld1q_u32 vst1q_u32 whole vzip1q_f32 vzip2q_f32
}

/// Identity, in place of a conversion to 32-bit lanes, for masks that have 32-bit lanes already.
#[inline(always)]
fn whole(mask: uint32x4_t) -> uint32x4_t {
    mask
}

/// Replaces `N` arguments of a formula.
///
/// # Safety
///
/// As that of [`replace`].
#[inline(never)]
unsafe fn called<F: Formula, const N: usize>(numbers: [*mut f64; 2]) {
    // SAFETY: promised by the caller.
    unsafe { replace::<F, Two64>(numbers, N) }
}
