//! Arrays of few numbers, in the registers that the complete program is compiled for.
//!
//! The tangents of a variable are such an array. Loops over arrays whose length is known are unrolled, and the compiler
//! then finds few of the registers again that it could have used, and other ones in each loop, so that numbers are
//! stored in one width and loaded in another. Here the widths depend on the length alone: the widest registers first,
//! then narrower ones for what is left. Sums are those of a loop over single numbers, bit for bit.

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics are all of one kind")]
use core::arch::aarch64::*;
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(clippy::wildcard_imports, reason = "the names of intrinsics are all of one kind")]
use core::arch::x86_64::*;

/// Numbers of which registers are compared.
pub(crate) trait Compared: Copy {
    /// The widest register.
    type Widest: Copy;
    /// Returns 0 unless one of these registers has a NaN where the other one has any number. An integer and not a
    /// `bool`: the compiler would branch on that for each register.
    fn unordered(a: Self::Widest, b: Self::Widest) -> u32;
}

/// A register that can be compared.
trait Widened<V: Compared> {
    /// The numbers of this register, and in the rest of the widest one numbers that are not NaN unless one of these is.
    fn widened(self) -> V::Widest;
}

/// Implements [`Compared`] for one type of numbers and [`Widened`] for its registers. `|a, b|` is followed by an
/// expression that is not 0 if `a` or `b` has a NaN, `|x|` by the wide register.
macro_rules! compared {
    ($number:ty, $widest:ty: |$a:ident, $b:ident| $unordered:expr; $($register:ty: |$x:ident| $wide:expr;)*) => {
        impl Compared for $number {
            type Widest = $widest;
            #[inline(always)]
            #[allow(clippy::cast_sign_loss, clippy::cast_lossless, reason = "a mask")]
            fn unordered($a: $widest, $b: $widest) -> u32 {
                // SAFETY: the program is compiled for machines with these instructions.
                #[allow(unused_unsafe, reason = "a comparison of single numbers is safe")]
                unsafe { $unordered as u32 }
            }
        }
        $(
            impl Widened<$number> for $register {
                #[inline(always)]
                fn widened(self) -> $widest {
                    let $x = self;
                    // SAFETY: as in `unordered`.
                    #[allow(unused_unsafe, reason = "the widest register is itself")]
                    unsafe { $wide }
                }
            }
        )*
    };
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512f", not(miri)))]
compared! {
    f64, __m512d: |a, b| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, b);
    __m512d: |x| x;
    __m256d: |x| _mm512_zextpd256_pd512(x);
    __m128d: |x| _mm512_zextpd128_pd512(x);
    f64: |x| _mm512_zextpd128_pd512(_mm_set_sd(x));
}
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f", not(miri)))]
compared! {
    f32, __m512: |a, b| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, b);
    __m512: |x| x;
    __m256: |x| _mm512_zextps256_ps512(x);
    __m128: |x| _mm512_zextps128_ps512(x);
    f32: |x| _mm512_zextps128_ps512(_mm_set_ss(x));
}
#[cfg(all(target_arch = "x86_64", target_feature = "avx", not(target_feature = "avx512f"), not(miri)))]
compared! {
    f64, __m256d: |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(a, b));
    __m256d: |x| x;
    __m128d: |x| _mm256_zextpd128_pd256(x);
    f64: |x| _mm256_zextpd128_pd256(_mm_set_sd(x));
}
#[cfg(all(target_arch = "x86_64", target_feature = "avx", not(target_feature = "avx512f"), not(miri)))]
compared! {
    f32, __m256: |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(a, b));
    __m256: |x| x;
    __m128: |x| _mm256_zextps128_ps256(x);
    f32: |x| _mm256_zextps128_ps256(_mm_set_ss(x));
}
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
compared! {
    f64, __m128d: |a, b| _mm_movemask_pd(_mm_cmpunord_pd(a, b));
    __m128d: |x| x;
    f64: |x| _mm_set_sd(x);
}
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
compared! {
    f32, __m128: |a, b| _mm_movemask_ps(_mm_cmpunord_ps(a, b));
    __m128: |x| x;
    f32: |x| _mm_set_ss(x);
}
#[cfg(all(target_arch = "aarch64", not(miri)))]
compared! {
    f64, float64x2_t: |a, b| !vminvq_u32(vreinterpretq_u32_u64(vandq_u64(vceqq_f64(a, a), vceqq_f64(b, b))));
    float64x2_t: |x| x;
    f64: |x| vdupq_n_f64(x);
}
#[cfg(all(target_arch = "aarch64", not(miri)))]
compared! {
    f32, float32x4_t: |a, b| !vminvq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
    float32x4_t: |x| x;
    f32: |x| vdupq_n_f32(x);
}
#[cfg(any(miri, not(any(target_arch = "aarch64", target_arch = "x86_64"))))]
compared! { f64, f64: |a, b| a.is_nan() | b.is_nan(); f64: |x| x; }
#[cfg(any(miri, not(any(target_arch = "aarch64", target_arch = "x86_64"))))]
compared! { f32, f32: |a, b| a.is_nan() | b.is_nan(); f32: |x| x; }

/// A register, or a single number. Its instructions belong to all machines that the program is compiled for.
trait Group: Copy + Widened<Self::Number> {
    type Number: Compared;
    /// Loads the numbers from this address on.
    ///
    /// # Safety
    ///
    /// As many numbers as the register has may be read there.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// Stores the numbers to this address.
    ///
    /// # Safety
    ///
    /// As many numbers as the register has may be written there.
    unsafe fn store(self, to: *mut Self::Number);
    /// Returns `self` + `terms` · `factor`, rounded twice.
    fn plus_scaled(self, terms: Self, factor: Self::Number) -> Self;
}

/// Implements [`Group`] for one register. The row `__m256d, f64: …` has the names of the instructions.
#[cfg(all(any(target_arch = "aarch64", target_arch = "x86_64"), not(miri)))]
macro_rules! groups {
    ($($(#[$cfg:meta])? $register:ty, $number:ty:
        $load:ident $store:ident $splat:ident $add:ident $mul:ident;)*) => { $(
        $(#[$cfg])?
        impl Group for $register {
            type Number = $number;
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: promised by the caller; the program is compiled for machines with this instruction.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: as in `load`.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            fn plus_scaled(self, terms: Self, factor: $number) -> Self {
                // SAFETY: the program is compiled for machines with these instructions.
                unsafe { $add(self, $mul(terms, $splat(factor))) }
            }
        }
    )* };
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
groups! {
    #[cfg(target_feature = "avx512f")]
    __m512d, f64: _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd _mm512_add_pd _mm512_mul_pd;
    #[cfg(target_feature = "avx512f")]
    __m512, f32: _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_add_ps _mm512_mul_ps;
    #[cfg(target_feature = "avx")]
    __m256d, f64: _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd _mm256_add_pd _mm256_mul_pd;
    #[cfg(target_feature = "avx")]
    __m256, f32: _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_add_ps _mm256_mul_ps;
    __m128d, f64: _mm_loadu_pd _mm_storeu_pd _mm_set1_pd _mm_add_pd _mm_mul_pd;
    __m128, f32: _mm_loadu_ps _mm_storeu_ps _mm_set1_ps _mm_add_ps _mm_mul_ps;
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
groups! {
    float64x2_t, f64: vld1q_f64 vst1q_f64 vdupq_n_f64 vaddq_f64 vmulq_f64;
    float32x4_t, f32: vld1q_f32 vst1q_f32 vdupq_n_f32 vaddq_f32 vmulq_f32;
}

/// Implements [`Group`] for single numbers.
macro_rules! single {
    ($($number:ty)*) => { $(
        impl Group for $number {
            type Number = $number;
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: promised by the caller.
                unsafe { *from }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: promised by the caller.
                unsafe { *to = self }
            }
            #[inline(always)]
            fn plus_scaled(self, terms: Self, factor: $number) -> Self { self + terms * factor }
        }
    )* };
}
single!(f64 f32);

/// Work on an array, register by register.
trait Pass<V: Compared> {
    /// Does the work for the numbers from this index on.
    ///
    /// # Safety
    ///
    /// The array has as many numbers from there on as the register has.
    unsafe fn group<G: Group<Number = V>>(&mut self, first: usize);
}

/// Numbers for which arrays are divided into registers.
pub(crate) trait Divided: Compared {
    /// Runs a pass over an array of `N` numbers.
    #[allow(private_bounds, reason = "only functions of this module make passes")]
    fn run<const N: usize>(pass: &mut impl Pass<Self>);
}

/// Implements [`Divided`]. The row `f64 { #[cfg(…)] __m512d: 8; … }` lists registers with their lengths, the longest
/// first.
macro_rules! divided {
    ($($number:ident { $($(#[$cfg:meta])? $register:ty: $n:literal;)* })*) => { $(
        impl Divided for $number {
            #[inline(always)]
            #[allow(private_bounds, reason = "only functions of this module make passes")]
            fn run<const N: usize>(pass: &mut impl Pass<Self>) {
                let mut k = 0;
                $(
                    $(#[$cfg])?
                    while N - k >= $n {
                        // SAFETY: the numbers from `k` to `k` + the register's length are in the array.
                        unsafe { pass.group::<$register>(k) }
                        k += $n;
                    }
                )*
                let _ = k;
            }
        }
    )* };
}

divided! {
    f64 {
        #[cfg(all(target_arch = "x86_64", target_feature = "avx512f", not(miri)))]
        __m512d: 8;
        #[cfg(all(target_arch = "x86_64", target_feature = "avx", not(miri)))]
        __m256d: 4;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        __m128d: 2;
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        float64x2_t: 2;
        f64: 1;
    }
    f32 {
        #[cfg(all(target_arch = "x86_64", target_feature = "avx512f", not(miri)))]
        __m512: 16;
        #[cfg(all(target_arch = "x86_64", target_feature = "avx", not(miri)))]
        __m256: 8;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        __m128: 4;
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        float32x4_t: 4;
        f32: 1;
    }
}

struct Scaled<'a, V, const N: usize> {
    sums: &'a mut [V; N],
    factor: V,
    terms: &'a [V; N],
}

impl<V: Compared, const N: usize> Pass<V> for Scaled<'_, V, N> {
    #[inline(always)]
    unsafe fn group<G: Group<Number = V>>(&mut self, first: usize) {
        // SAFETY: both arrays have as many numbers, as promised by the caller.
        unsafe {
            let to = self.sums.as_mut_ptr().add(first);
            let terms = G::load(self.terms.as_ptr().add(first));
            G::load(to).plus_scaled(terms, self.factor).store(to);
        }
    }
}

/// Adds `terms`, each times `factor`, to `sums`.
#[inline(always)]
pub(crate) fn add_scaled<V: Divided, const N: usize>(sums: &mut [V; N], factor: V, terms: &[V; N]) {
    V::run::<N>(&mut Scaled { sums, factor, terms });
}

struct Nan<'a, V: Compared, const N: usize> {
    numbers: &'a [V; N],
    /// A register that is compared with the next one: one comparison for two registers.
    waiting: Option<V::Widest>,
    some: u32,
}

impl<V: Compared, const N: usize> Pass<V> for Nan<'_, V, N> {
    #[inline(always)]
    unsafe fn group<G: Group<Number = V>>(&mut self, first: usize) {
        // SAFETY: promised by the caller.
        let group = unsafe { G::load(self.numbers.as_ptr().add(first)) }.widened();
        match self.waiting.take() {
            Some(waiting) => self.some |= V::unordered(waiting, group),
            None => self.waiting = Some(group),
        }
    }
}

/// Returns true if some number is NaN.
#[inline(always)]
pub(crate) fn has_nan<V: Divided, const N: usize>(numbers: &[V; N]) -> bool {
    let mut pass = Nan { numbers, waiting: None, some: 0 };
    V::run::<N>(&mut pass);
    let last = pass.waiting.map_or(0, |waiting| V::unordered(waiting, waiting));
    (pass.some | last) != 0
}

struct Extremes<'a, V: Compared, const N: usize> {
    numbers: &'a [V; N],
    /// 0 and ∞, or 0 twice.
    ends: [V; 2],
    some: u32,
}

impl<V: Compared, const N: usize> Pass<V> for Extremes<'_, V, N> {
    #[inline(always)]
    unsafe fn group<G: Group<Number = V>>(&mut self, first: usize) {
        // SAFETY: promised by the caller.
        let group = unsafe { G::load(self.numbers.as_ptr().add(first)) };
        // x + x · 0 is NaN if x is infinite or NaN, and x + x · ∞ if x is 0 or NaN.
        let [large, small] = self.ends.map(|end| group.plus_scaled(group, end).widened());
        self.some |= V::unordered(large, small);
    }
}

/// Returns true if all numbers are finite and, if `ends` are 0 and ∞ and not 0 twice, no number is 0.
#[inline(always)]
pub(crate) fn are_within<V: Divided, const N: usize>(numbers: &[V; N], ends: [V; 2]) -> bool {
    let mut pass = Extremes { numbers, ends, some: 0 };
    V::run::<N>(&mut pass);
    pass.some == 0
}

struct Copied<'a, V, const N: usize> {
    to: &'a mut [V; N],
    from: &'a [V; N],
}

impl<V: Compared, const N: usize> Pass<V> for Copied<'_, V, N> {
    #[inline(always)]
    unsafe fn group<G: Group<Number = V>>(&mut self, first: usize) {
        // SAFETY: both arrays have as many numbers, as promised by the caller.
        unsafe { G::load(self.from.as_ptr().add(first)).store(self.to.as_mut_ptr().add(first)) }
    }
}

/// Copies an array by its registers.
#[inline(always)]
pub(crate) fn copy<V: Divided, const N: usize>(to: &mut [V; N], from: &[V; N]) {
    V::run::<N>(&mut Copied { to, from });
}

#[cfg(test)]
mod tests {
    use super::{Divided, add_scaled, are_within, copy, has_nan};
    use core::array::from_fn;
    use core::fmt::Debug;
    use core::ops::{Add, Mul};

    /// Sums, copies and tests arrays of `N` numbers, one of them special, as a loop over single numbers does.
    fn agrees_with_a_loop<V, const N: usize>(special: [V; 4], number: fn(usize) -> V, bits: fn(V) -> u64)
    where
        V: Divided + Debug + Default + Add<Output = V> + Mul<Output = V> + PartialEq,
    {
        let all = |numbers: [V; N]| numbers.map(bits);
        for (k, special) in (0..N).flat_map(|k| special.map(|special| (k, special))) {
            let (mut terms, mut sums): ([V; N], [V; N]) = (from_fn(number), from_fn(|k| number(k + 7)));
            terms[k] = special;
            let expected: [V; N] = from_fn(|k| sums[k] + terms[k] * number(3));
            add_scaled(&mut sums, number(3), &terms);
            assert_eq!(all(sums), all(expected));
            assert_eq!(has_nan(&sums), bits(special) == bits(number(usize::MAX)), "{sums:?}");
            let (zero, infinity) = (V::default(), number(usize::MAX - 1));
            let finite = terms.iter().all(|x| *x * zero == zero);
            assert_eq!(are_within(&terms, [zero, zero]), finite, "{terms:?}");
            assert_eq!(are_within(&terms, [zero, infinity]), finite && !terms.contains(&zero), "{terms:?}");
            let mut copied = [V::default(); N];
            copy(&mut copied, &terms);
            assert_eq!(all(copied), all(terms));
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers are small")]
    fn double(k: usize) -> f64 {
        if k >= usize::MAX - 1 { [f64::NAN, f64::INFINITY][usize::MAX - k] } else { 0.1 + k as f64 * 0.7 }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers are small")]
    fn single(k: usize) -> f32 {
        if k >= usize::MAX - 1 { [f32::NAN, f32::INFINITY][usize::MAX - k] } else { 0.1 + k as f32 * 0.7 }
    }

    /// The bits of a number; which NaN it is, is not specified.
    fn double_bits(x: f64) -> u64 {
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    }

    fn single_bits(x: f32) -> u64 {
        if x.is_nan() { f32::NAN.to_bits().into() } else { x.to_bits().into() }
    }

    #[test]
    fn arrays_of_every_length_are_computed_as_single_numbers_are() {
        macro_rules! lengths {
            ($($n:literal)*) => { $(
                agrees_with_a_loop::<f64, $n>([f64::NAN, f64::INFINITY, -0.0, 1.5], double, double_bits);
                agrees_with_a_loop::<f32, $n>([f32::NAN, f32::INFINITY, -0.0, 1.5], single, single_bits);
            )* };
        }
        lengths!(0 1 2 3 4 5 6 7 8 9 11 12 13 15 16 17 24 31 33);
    }
}
