//! Instruction sets, selected at run time.

use super::dual::DualVector;
use super::planes::Stride;
use super::rule::{Part, Rule, TernaryRule};
use super::scalar::ScalarValue;
use super::vector::SimdVector;
use crate::number::dual::each;
use crate::{Dual, Number};
use core::fmt;
use core::ops::Deref;
use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(all(target_arch = "aarch64", not(miri)))]
use super::aarch64::{Four32 as Middle32, Two64 as Middle64};
#[cfg(miri)]
use super::emulated::{Eight32 as Middle32, Eight64 as Wide64, Four64 as Middle64, Sixteen32 as Wide32};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::x86_64::{Eight32 as Middle32, Eight64 as Wide64, Four64 as Middle64, Sixteen32 as Wide32};

/// Instruction sets that the loops of kernels are compiled for. Results have the same bits on every one.
/// From narrow to wide; later versions may have more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InstructionSet {
    /// One element at a time, with the instructions that the complete program is compiled for.
    Baseline,
    /// Registers of 256 bits on x86-64: AVX2 and FMA. Registers of 128 bits on `AArch64`, where every machine has them:
    /// NEON.
    Middle,
    /// Registers of 512 bits: AVX-512 on x86-64. Not available on `AArch64`.
    Wide,
}

/// All instruction sets, from narrow to wide: each at the index that it is as an integer.
const LEVELS: [InstructionSet; 3] = [InstructionSet::Baseline, InstructionSet::Middle, InstructionSet::Wide];
const _: () = {
    let mut index = 0;
    while index < LEVELS.len() {
        assert!(LEVELS[index] as usize == index);
        index += 1;
    }
};

/// Index of the current instruction set in [`LEVELS`]; beyond its end before the first query.
static LEVEL: AtomicU8 = AtomicU8::new(u8::MAX);

impl InstructionSet {
    /// Returns the instruction set that kernels run on.
    #[must_use]
    #[inline]
    pub fn current() -> Self {
        LEVELS.get(usize::from(LEVEL.load(Ordering::Relaxed))).copied().unwrap_or_else(Self::find)
    }

    /// Returns the best instruction set of this machine.
    #[must_use]
    pub fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512bw") {
                return Self::Wide;
            }
            if has!("avx2") && has!("fma") {
                return Self::Middle;
            }
        }
        // Miri emulates the registers of x86-64 by arrays.
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

    /// Makes kernels run on this instruction set from now on, or on the machine's best one if that is lower: for tests
    /// that compare instruction sets. Returns the one that was chosen.
    #[doc(hidden)]
    #[allow(clippy::return_self_not_must_use, reason = "it is called to set the level")]
    pub fn set(self) -> Self {
        let level = self.min(Self::best());
        LEVEL.store(level as u8, Ordering::Relaxed);
        level
    }
}

/// Held by the tests of this package that change the instruction set, which is that of the whole process, and by those
/// whose results depend on it.
#[cfg(test)]
pub(crate) static CHANGES: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A loop that is compiled for each instruction set.
pub trait SimdTask<V> {
    /// Result of the loop.
    type Output;
    /// Runs the loop. Must be inlined into the caller, together with everything that it calls.
    ///
    /// # Safety
    ///
    /// The conditions of the task.
    #[allow(private_bounds, reason = "this trait cannot be named outside")]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> Self::Output;
}

/// A function that is compiled for each instruction set.
pub trait SimdFunction<V> {
    /// Type of its argument.
    type Argument;
    /// Runs the function. Must be inlined into the caller, together with everything that it calls.
    ///
    /// # Safety
    ///
    /// The conditions of the function.
    #[allow(private_bounds, reason = "this trait cannot be named outside")]
    unsafe fn run<L: SimdVector<Number = V>>(argument: Self::Argument);
}

/// SIMD registers of a number type. Register values exist only inside tasks, so no code can use registers that the
/// machine does not have.
pub trait Registers: Sized + 'static {
    /// Type of the parts that arrays keep apart, in planes: of the value, of each tangent, and of the lanes of each.
    /// `Self`, unless the number has several parts.
    type Part: Number;
    /// Distance between the planes of an array.
    #[doc(hidden)]
    type Stride: Stride;
    /// Elements of an array: a slice for numbers of one part, which lie side by side, and a vector for other numbers.
    type Elements<'a>: Deref<Target = [Self]> + Clone + fmt::Debug + PartialEq
    where
        Self: Sized;
    /// Returns elements: the only plane of their array if they have one part, else a copy.
    #[doc(hidden)]
    fn elements(plane: &[Self::Part], copy: impl FnOnce() -> Vec<Self>) -> Self::Elements<'_>;
    /// Turns tangents of −0 into +0. Loops store no other zeros, because the sign of a zero tangent depends on which
    /// products with zero are left out.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    fn settled(self) -> Self {
        self
    }
    /// Register of one element.
    #[allow(private_bounds, reason = "a sealed trait")]
    type Single: SimdVector<Number = Self>;
    /// Evaluates a part of a rule of one or two arguments.
    #[doc(hidden)]
    fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self;
    /// Evaluates a part of a rule, and its derivatives with respect to both arguments.
    #[doc(hidden)]
    fn call_with_slopes(rule: &'static Rule, part: Part, x: Self, y: Self) -> (Self, Self, Self);
    /// Evaluates a part of a rule of three arguments.
    #[doc(hidden)]
    fn call3(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> Self;
    /// Evaluates a part of a rule of three arguments, and its derivatives with respect to them.
    #[doc(hidden)]
    fn call3_with_slopes(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> (Self, [Self; 3]);
    /// Runs a task on the current instruction set.
    ///
    /// # Safety
    ///
    /// The conditions of the task.
    #[doc(hidden)]
    unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output;
    /// Returns a function as compiled for the current instruction set; `None` if that has no registers of several
    /// elements.
    #[doc(hidden)]
    #[must_use]
    fn compiled<F: SimdFunction<Self>>() -> Option<unsafe fn(F::Argument)> {
        None
    }
}

/// Returns the functions of a rule of three arguments.
#[inline(always)]
const fn of_three(rule: &'static Rule) -> &'static TernaryRule {
    rule.three.as_ref().expect("the rule has three arguments")
}

/// Implements [`Registers`] from rows `number: fields of a rule, registers of Wide, registers of Middle;`.
macro_rules! registers {
    ($($number:ty: $scalar:ident $slopes:ident, $wide:ident, $middle:ident;)*) => { $(
        impl Registers for $number {
            type Part = Self;
            type Stride = ();
            type Elements<'a> = &'a [Self];
            #[inline(always)]
            fn elements(plane: &[Self], _: impl FnOnce() -> Vec<Self>) -> &[Self] {
                plane
            }
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
                #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,fma"))]
                unsafe fn middle<T: SimdTask<$number>>(task: T) -> T::Output {
                    // SAFETY: promised by the caller.
                    unsafe { task.run::<$middle>() }
                }
                // SAFETY: promised by the caller; an instruction set is current only if the machine has it.
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
            fn compiled<F: SimdFunction<Self>>() -> Option<unsafe fn(F::Argument)> {
                #[cfg(any(target_arch = "x86_64", miri))]
                #[cfg_attr(not(miri), target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw"))]
                unsafe fn wide<F: SimdFunction<$number>>(argument: F::Argument) {
                    // SAFETY: promised by the caller.
                    unsafe { F::run::<$wide>(argument) }
                }
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", miri))]
                #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,fma"))]
                unsafe fn middle<F: SimdFunction<$number>>(argument: F::Argument) {
                    // SAFETY: promised by the caller.
                    unsafe { F::run::<$middle>(argument) }
                }
                match InstructionSet::current() {
                    #[cfg(any(target_arch = "x86_64", miri))]
                    InstructionSet::Wide => Some(wide::<F>),
                    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", miri))]
                    InstructionSet::Middle => Some(middle::<F>),
                    _ => None,
                }
            }
        }
    )* };
}
registers! {
    f64: double double_slopes, Wide64, Middle64;
    f32: single single_slopes, Wide32, Middle32;
}

/// Duals of scalars are computed in the registers of their parts; other duals one at a time, with the instructions that
/// the complete program is compiled for.
impl<V: Number, const N: usize> Registers for Dual<V, N> {
    type Part = V::Part;
    type Stride = isize;
    type Elements<'a> = Vec<Self>;
    fn elements(_: &[Self::Part], copy: impl FnOnce() -> Vec<Self>) -> Vec<Self> {
        copy()
    }
    #[inline(always)]
    fn settled(self) -> Self {
        Self { value: self.value.settled(), tangents: each(|k| self.tangents[k].settled() + V::ZERO) }
    }
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
        // Without optimization every result of a kernel is on the stack, which has no room for so many registers; miri
        // has a larger stack.
        let in_registers = V::PARTS == 1 && (cfg!(miri) || !cfg!(debug_assertions));
        let run: unsafe fn(T) -> T::Output = const {
            match N {
                // As many passes of equal length as there must be, if none may have more than four tangents.
                0..=4 => lifted::<V, T, N, N>,
                5 | 6 | 9 => lifted::<V, T, N, 3>,
                _ => lifted::<V, T, N, 4>,
            }
        };
        // SAFETY: promised by the caller.
        unsafe { if in_registers { run(task) } else { task.run::<ScalarValue<Self>>() } }
    }
}

/// Runs a task over duals in the registers of their parts.
///
/// # Safety
///
/// The conditions of the task.
unsafe fn lifted<V: Number, T: SimdTask<Dual<V, N>>, const N: usize, const W: usize>(task: T) -> T::Output {
    // SAFETY: promised by the caller.
    unsafe { V::dispatch(Lifted::<T, N, W>(task)) }
}

/// Converts a task over duals to a task over their parts.
pub(crate) struct Lifted<T, const N: usize, const W: usize>(pub(crate) T);

impl<V: Number, T: SimdTask<Dual<V, N>>, const N: usize, const W: usize> SimdTask<V> for Lifted<T, N, W> {
    type Output = T::Output;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> T::Output {
        // SAFETY: promised by the caller.
        unsafe { self.0.run::<DualVector<L, N, W>>() }
    }
}

/// A loop over integers or bytes that is compiled for each instruction set. `run` must be inlined, together with
/// everything that it calls.
pub(crate) trait Plain {
    /// Result of the loop.
    type Output;
    /// Runs the loop.
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

/// Runs a loop on the current instruction set.
#[inline]
pub(crate) fn dispatch_plain<P: Plain>(plain: P) -> P::Output {
    // SAFETY: this task has no conditions.
    unsafe { f64::dispatch(Inlined(plain)) }
}

/// Asks for memory that will be written soon. Does nothing where there is no instruction for it.
#[inline]
pub(crate) fn prefetch<T>(memory: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in memory.chunks((64 / size_of::<T>().max(1)).max(1)) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, which reads and writes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = memory;
}
