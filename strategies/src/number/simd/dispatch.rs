//! Instruction sets, chosen when a program runs.

use super::dual::DualVector;
use super::rule::{Part, Rule, TernaryRule};
use super::scalar::ScalarValue;
use super::vector::SimdVector;
use crate::{Dual, Number};
use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(all(target_arch = "aarch64", not(miri)))]
use super::aarch64::{Four32 as Middle32, Two64 as Middle64};
#[cfg(miri)]
use super::emulated::{Eight32 as Middle32, Eight64 as Wide64, Four64 as Middle64, Sixteen32 as Wide32};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::x86_64::{Eight32 as Middle32, Eight64 as Wide64, Four64 as Middle64, Sixteen32 as Wide32};

/// What the loops of kernels are compiled for. Results are the same, bit for bit, at every level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum InstructionSet {
    /// One number at a time, in whatever registers the whole program is compiled for.
    Baseline = 1,
    /// Registers of 256 bits on x86-64: AVX2. Registers of 128 bits on `AArch64`, where every machine has them: NEON.
    Middle = 2,
    /// Registers of 512 bits: AVX-512 on x86-64. `AArch64` has no such level.
    Wide = 3,
}

/// 0 as long as nobody has asked.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl InstructionSet {
    /// The level at which kernels run on this machine.
    #[must_use]
    #[inline]
    pub fn current() -> Self {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Self::Baseline,
            2 => Self::Middle,
            3 => Self::Wide,
            _ => Self::find(),
        }
    }

    /// The best level that this machine has.
    #[must_use]
    pub fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512bw") {
                return Self::Wide;
            }
            if has!("avx2") {
                return Self::Middle;
            }
        }
        // The interpreter has arrays for registers of x86-64.
        match () {
            () if cfg!(miri) => Self::Wide,
            () if cfg!(target_arch = "aarch64") => Self::Middle,
            () => Self::Baseline,
        }
    }

    #[cold]
    fn find() -> Self {
        let best = Self::best();
        LEVEL.store(best as u8, Ordering::Relaxed);
        best
    }

    /// Runs kernels at this level from now on, or at the best that the machine has if that is lower: for tests that
    /// compare levels. Returns the level that was taken.
    #[doc(hidden)]
    #[allow(clippy::return_self_not_must_use, reason = "it is called to set the level")]
    pub fn set(self) -> Self {
        let level = self.min(Self::best());
        LEVEL.store(level as u8, Ordering::Relaxed);
        level
    }
}

/// A loop that is compiled for each level.
pub trait SimdTask<V> {
    /// What it returns.
    type Output;
    /// Runs it, and is inlined into the function that calls it, with all that it calls.
    ///
    /// # Safety
    ///
    /// As the task says.
    #[allow(private_bounds, reason = "this trait cannot be named outside")]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> Self::Output;
}

/// The registers of a number type. Lanes exist inside tasks only, so nobody can use registers that the machine does not
/// have.
pub trait Registers: Sized + 'static {
    /// One number.
    #[allow(private_bounds, reason = "a sealed trait")]
    type Single: SimdVector<Number = Self>;
    /// A part of a rule over this number, at these arguments.
    #[doc(hidden)]
    fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self;
    /// The same, and its derivatives by the arguments.
    #[doc(hidden)]
    fn call_with_slopes(rule: &'static Rule, part: Part, x: Self, y: Self) -> (Self, Self, Self);
    /// A part of a rule of three arguments over this number.
    #[doc(hidden)]
    fn call3(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> Self;
    /// A part of a rule of three arguments, and its derivatives by them.
    #[doc(hidden)]
    fn call3_with_slopes(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> (Self, [Self; 3]);
    /// Runs a task in the registers of the present level.
    ///
    /// # Safety
    ///
    /// As the task says.
    #[doc(hidden)]
    unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output;
}

/// The rule as one of three arguments.
#[inline(always)]
const fn of_three(rule: &'static Rule) -> &'static TernaryRule {
    rule.three.as_ref().expect("the rule has three arguments")
}

/// Implements [`Registers`] from rows `number: its part of a rule, lanes of the wide level, lanes of the middle one;`.
macro_rules! registers {
    ($($number:ty: $scalar:ident $slopes:ident, $wide:ident, $middle:ident;)*) => { $(
        impl Registers for $number {
            type Single = Self;
            #[inline(always)]
            fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self {
                rule.$scalar.call(part, x, y)
            }
            fn call_with_slopes(rule: &'static Rule, part: Part, x: Self, y: Self) -> (Self, Self, Self) {
                let (x, y) = (Dual { value: x, tangents: [1.0, 0.0] }, Dual { value: y, tangents: [0.0, 1.0] });
                let Dual { value, tangents: [left, right] } = rule.$slopes.call(part, x, y);
                (value, left, right)
            }
            #[inline(always)]
            fn call3(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> Self {
                of_three(rule).$scalar.call(part, arguments)
            }
            fn call3_with_slopes(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> (Self, [Self; 3]) {
                let [x, y, z] = arguments;
                let arguments = [
                    Dual { value: x, tangents: [1.0, 0.0, 0.0] },
                    Dual { value: y, tangents: [0.0, 1.0, 0.0] },
                    Dual { value: z, tangents: [0.0, 0.0, 1.0] },
                ];
                let Dual { value, tangents } = of_three(rule).$slopes.call(part, arguments);
                (value, tangents)
            }
            #[inline]
            unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output {
                #[cfg(any(target_arch = "x86_64", miri))]
                #[cfg_attr(not(miri), target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw"))]
                unsafe fn wide<T: SimdTask<$number>>(task: T) -> T::Output {
                    // SAFETY: promised by the caller.
                    unsafe { task.run::<$wide>() }
                }
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", miri))]
                #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2"))]
                unsafe fn middle<T: SimdTask<$number>>(task: T) -> T::Output {
                    // SAFETY: promised by the caller.
                    unsafe { task.run::<$middle>() }
                }
                // SAFETY: promised by the caller; a level is current only if the machine has its instructions.
                unsafe {
                    match InstructionSet::current() {
                        #[cfg(any(target_arch = "x86_64", miri))]
                        InstructionSet::Wide => wide(task),
                        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", miri))]
                        InstructionSet::Middle => middle(task),
                        _ => task.run::<Self>(),
                    }
                }
            }
        }
    )* };
}
registers! {
    f64: double double_slopes, Wide64, Middle64;
    f32: single single_slopes, Wide32, Middle32;
}

/// Duals of scalars with few tangents are computed in the registers of their parts; other duals one at a time, in
/// whatever registers the whole program is compiled for.
impl<V: Number, const N: usize> Registers for Dual<V, N> {
    type Single = ScalarValue<Self>;
    fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self {
        let (value, left, right) = V::call_with_slopes(rule, part, x.value, y.value);
        x.chain2(y, value, (left, right))
    }
    fn call_with_slopes(_: &'static Rule, _: Part, _: Self, _: Self) -> (Self, Self, Self) {
        panic!("kernels can be computed over duals of `f64` and `f32`, but not over duals of duals")
    }
    fn call3(rule: &'static Rule, part: Part, [x, y, z]: [Self; 3]) -> Self {
        let (value, partials) = V::call3_with_slopes(rule, part, [x.value, y.value, z.value]);
        x.chain3([y, z], value, partials)
    }
    fn call3_with_slopes(rule: &'static Rule, part: Part, [x, y, z]: [Self; 3]) -> (Self, [Self; 3]) {
        let (value, left, right) = Self::call_with_slopes(rule, part, x, y);
        (value, [left, right, z])
    }
    unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output {
        // With more tangents, registers gain nothing, and take long to compile. Without optimisation every result of a
        // kernel lies on the stack, which has no room for so many registers; miri has a larger stack.
        let in_registers = V::PARTS == 1 && N < 4 && (cfg!(miri) || !cfg!(debug_assertions));
        // SAFETY: promised by the caller.
        unsafe { if in_registers { V::dispatch(Lifted(task)) } else { task.run::<ScalarValue<Self>>() } }
    }
}

/// A task over duals, as one over their parts.
pub(crate) struct Lifted<T, const N: usize>(pub(crate) T);

impl<V: Number, T: SimdTask<Dual<V, N>>, const N: usize> SimdTask<V> for Lifted<T, N> {
    type Output = T::Output;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> T::Output {
        // SAFETY: promised by the caller.
        unsafe { self.0.run::<DualVector<L, N>>() }
    }
}

/// Something that works on whole numbers or bytes, and is compiled for each level. Its method is to be inlined, with
/// all that it calls.
pub(crate) trait Plain {
    /// What it returns.
    type Output;
    /// Runs it.
    fn run(self) -> Self::Output;
}

struct Inlined<P>(P);
impl<P: Plain> SimdTask<f64> for Inlined<P> {
    type Output = P::Output;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = f64>>(self) -> P::Output {
        self.0.run()
    }
}

/// Runs it with the instructions of the present level.
#[inline]
pub(crate) fn dispatch_plain<P: Plain>(plain: P) -> P::Output {
    // SAFETY: this task has no conditions.
    unsafe { f64::dispatch(Inlined(plain)) }
}
