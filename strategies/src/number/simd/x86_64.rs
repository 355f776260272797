//! SIMD registers of x86-64.
//!
//! Every function here must be inlined into a function with the target feature; [`dispatch`](super::dispatch) has
//! those. Values of these types exist nowhere else.

use super::Sealed;
use super::planes::Place;
use super::vector::{Formula, SimdValue, SimdVector, one_pass, replace};
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics are all of one kind")]
use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Operations that all registers share. The row `Eight64(__m512d, f64, 8, __mmask8): …` defines a register of eight
/// elements.
macro_rules! register {
    ($name:ident($register:ty, $number:ty, $n:literal, $mask:ty):
        $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $splat:ident $load:ident $store:ident $fused:ident;
        $($rest:tt)*
    ) => {
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name($register);

        register! { @ops $name Add add $add, Sub sub $sub, Mul mul $mul, Div div $div }

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.negated()
            }
        }

        impl $name {
            #[inline(always)]
            fn numbers(self) -> [$number; $n] {
                // SAFETY: a register consists of its elements.
                unsafe { core::mem::transmute(self) }
            }
            #[inline(always)]
            const fn of(numbers: [$number; $n]) -> Self {
                // SAFETY: a register consists of its elements.
                unsafe { core::mem::transmute(numbers) }
            }
        }

        impl Sealed for $name {}
        impl SimdValue for $name {
            type Number = $number;
            type Mask = $mask;
            #[inline(always)]
            fn splat(number: $number) -> Self {
                // SAFETY: the caller is compiled with the target feature, as all users of this type are.
                Self(unsafe { $splat(number) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fused(self.0, factor.0, term.0) })
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
            $($rest)*
        }
    };
    (@ops $name:ident $($trait:ident $method:ident $f:ident),*) => { $(
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the caller is compiled with the target feature, as all users of this type are.
                Self(unsafe { $f(self.0, other.0) })
            }
        }
    )* };
}

/// Registers whose masks are integers with a bit for each element.
macro_rules! with_bits {
    ($name:ident($register:ty, $number:ty, $n:literal, $mask:ty, $int:ty):
        $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $splat:ident $load:ident $store:ident $fused:ident;
        $xor:ident $abs:ident $compare:ident $blend:ident $some:ident $put:ident $pick:ident) => {
        register! {
            $name($register, $number, $n, $mask): $add $sub $mul $div $sqrt $splat $load $store $fused;
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_LT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn at_most(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_LE_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn not_at_most(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_NLE_UQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn equal(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_EQ_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn differ(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_NEQ_UQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn both(a: $mask, b: $mask) -> $mask {
                a & b
            }
            #[inline(always)]
            fn either(a: $mask, b: $mask) -> $mask {
                a | b
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(mask, no.0, yes.0) })
            }
        }

        impl $name {
            #[inline(always)]
            fn negated(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $xor(self.0, $splat(-0.0)) })
            }
        }

        impl SimdVector for $name {
            const N: usize = $n;
            one_pass!();
            #[inline(always)]
            unsafe fn call<F: Formula>(numbers: [*mut f64; 2]) {
                // SAFETY: promised by the caller, who is compiled with the target feature.
                unsafe { called_wide::<F, $n>(numbers) }
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
                // Element k of the first half from the first register, then of the second register, and so on.
                const ORDER: [[$int; $n]; 2] = {
                    let (mut order, mut k, mut element) = ([[0; $n]; 2], 0, 0);
                    while k < $n {
                        order[k / ($n / 2)][2 * k % $n] = element;
                        order[k / ($n / 2)][2 * k % $n + 1] = $n + element;
                        k += 1;
                        element += 1;
                    }
                    order
                };
                let order = |order| {
                    // SAFETY: a register consists of its elements.
                    unsafe { core::mem::transmute::<[$int; $n], __m512i>(order) }
                };
                // SAFETY: the caller is compiled with the target feature.
                unsafe {
                    (Self($pick(self.0, order(ORDER[0]), other.0)), Self($pick(self.0, order(ORDER[1]), other.0)))
                }
            }
            #[inline(always)]
            unsafe fn take_some(from: Place<$number>, mask: $mask) -> Self {
                let from = from.address();
                // SAFETY: promised by the caller.
                Self(unsafe { $some(mask, from) })
            }
            #[inline(always)]
            unsafe fn put_some(self, to: Place<$number>, mask: $mask) {
                let to = to.address();
                // SAFETY: promised by the caller.
                unsafe { $put(to, mask, self.0) }
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ a, b ≤ N")]
            fn within(from: isize, to: isize) -> $mask {
                let (a, b) = (from.clamp(0, $n) as u32, to.clamp(0, $n) as u32);
                (((1_u32 << b) - 1) & (u32::MAX << a)) as $mask
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                mask != 0
            }
        }
    };
}

/// Registers whose masks are registers.
macro_rules! with_registers {
    ($name:ident($register:ty, $number:ty, $n:literal, $int:ty):
        $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $splat:ident $load:ident $store:ident $fused:ident;
        $xor:ident $andnot:ident $compare:ident $blend:ident $some:ident $put:ident
        $and:ident $or:ident $bits:ident $cast:ident $back:ident $signed:ident
        $low:ident $high:ident $halves:ident) => {
        register! {
            $name($register, $number, $n, $register): $add $sub $mul $div $sqrt $splat $load $store $fused;
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $andnot($splat(-0.0), self.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_LT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn at_most(self, other: Self) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_LE_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn not_at_most(self, other: Self) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_NLE_UQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn equal(self, other: Self) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_EQ_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn differ(self, other: Self) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $compare::<_CMP_NEQ_UQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn both(a: $register, b: $register) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $and(a, b) }
            }
            #[inline(always)]
            fn either(a: $register, b: $register) -> $register {
                // SAFETY: as in `splat`.
                unsafe { $or(a, b) }
            }
            #[inline(always)]
            fn select(mask: $register, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(no.0, yes.0, mask) })
            }
            #[inline(always)]
            fn or_zero(self, mask: $register) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $and(mask, self.0) })
            }
        }

        impl $name {
            #[inline(always)]
            fn negated(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $xor(self.0, $splat(-0.0)) })
            }
        }

        impl SimdVector for $name {
            const N: usize = $n;
            one_pass!();
            #[inline(always)]
            unsafe fn call<F: Formula>(numbers: [*mut f64; 2]) {
                // SAFETY: promised by the caller, who is compiled with the target feature.
                unsafe { called_middle::<F, $n>(numbers) }
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
                // SAFETY: the caller is compiled with the target feature.
                unsafe {
                    let (low, high) = ($low(self.0, other.0), $high(self.0, other.0));
                    (Self($halves::<0x20>(low, high)), Self($halves::<0x31>(low, high)))
                }
            }
            #[inline(always)]
            unsafe fn take_some(from: Place<$number>, mask: $register) -> Self {
                let from = from.address();
                // SAFETY: promised by the caller.
                Self(unsafe { $some(from, $cast(mask)) })
            }
            #[inline(always)]
            unsafe fn put_some(self, to: Place<$number>, mask: $register) {
                let to = to.address();
                // SAFETY: promised by the caller.
                unsafe { $put(to, $cast(mask), self.0) }
            }
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_possible_wrap,
                reason = "k is below N"
            )]
            fn within(from: isize, to: isize) -> $register {
                let mut bits = [0 as $int; $n];
                let mut k = 0;
                while k < $n {
                    bits[k] = if (k as isize) >= from && (k as isize) < to { -1 } else { 0 };
                    k += 1;
                }
                // SAFETY: a register consists of its elements.
                unsafe { core::mem::transmute(bits) }
            }
            #[inline(always)]
            fn any(mask: $register) -> bool {
                // SAFETY: as in `splat`.
                unsafe { $bits(mask) != 0 }
            }
        }
    };
}

with_bits! {
    Eight64(__m512d, f64, 8, __mmask8, i64): _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_fmadd_pd;
    _mm512_xor_pd _mm512_abs_pd _mm512_cmp_pd_mask _mm512_mask_blend_pd
    _mm512_maskz_loadu_pd _mm512_mask_storeu_pd _mm512_permutex2var_pd
}
with_bits! {
    Sixteen32(__m512, f32, 16, __mmask16, i32): _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps;
    _mm512_xor_ps _mm512_abs_ps _mm512_cmp_ps_mask _mm512_mask_blend_ps
    _mm512_maskz_loadu_ps _mm512_mask_storeu_ps _mm512_permutex2var_ps
}
with_registers! {
    Four64(__m256d, f64, 4, i64): _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_sqrt_pd
    _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_fmadd_pd;
    _mm256_xor_pd _mm256_andnot_pd _mm256_cmp_pd _mm256_blendv_pd
    _mm256_maskload_pd _mm256_maskstore_pd _mm256_and_pd _mm256_or_pd _mm256_movemask_pd _mm256_castpd_si256
    _mm256_castsi256_pd i64 _mm256_unpacklo_pd _mm256_unpackhi_pd _mm256_permute2f128_pd
}
with_registers! {
    Eight32(__m256, f32, 8, i32): _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps
    _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps;
    _mm256_xor_ps _mm256_andnot_ps _mm256_cmp_ps _mm256_blendv_ps
    _mm256_maskload_ps _mm256_maskstore_ps _mm256_and_ps _mm256_or_ps _mm256_movemask_ps _mm256_castps_si256
    _mm256_castsi256_ps i32 _mm256_unpacklo_ps _mm256_unpackhi_ps _mm256_permute2f128_ps
}

/// Replaces `N` arguments of a formula. A function without target features, which calls one that has them: the compiler
/// (rustc 1.95) inlines those in spite of `inline(never)`, and so all formulas into all statements.
///
/// # Safety
///
/// As that of [`replace`], on a machine with AVX-512.
#[inline(never)]
unsafe fn called_wide<F: Formula, const N: usize>(numbers: [*mut f64; 2]) {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    unsafe fn wide<F: Formula, const N: usize>(numbers: [*mut f64; 2]) {
        // SAFETY: promised by the caller.
        unsafe { replace::<F, Eight64>(numbers, N) }
    }
    // SAFETY: promised by the caller.
    unsafe { wide::<F, N>(numbers) }
}

/// Replaces `N` arguments of a formula, as [`called_wide`] does.
///
/// # Safety
///
/// As that of [`replace`], on a machine with AVX2 and FMA.
#[inline(never)]
unsafe fn called_middle<F: Formula, const N: usize>(numbers: [*mut f64; 2]) {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn middle<F: Formula, const N: usize>(numbers: [*mut f64; 2]) {
        // SAFETY: promised by the caller.
        unsafe { replace::<F, Four64>(numbers, N) }
    }
    // SAFETY: promised by the caller.
    unsafe { middle::<F, N>(numbers) }
}
