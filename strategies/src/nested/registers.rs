//! SIMD registers of nested numbers: there are none.

use crate::number::simd::dispatch::{Registers, SimdTask};
use crate::number::simd::rule::{Part, Rule};
use crate::number::simd::scalar::ScalarValue;
use crate::{Nested, Nests};

/// Refuses all kernels: their loops run on several threads, and numbers that are variables are recorded on one.
impl<S: Nests> Registers for Nested<S> {
    type Part = Self;
    type Stride = ();
    type Elements<'a> = &'a [Self];
    fn elements(plane: &[Self], _: impl FnOnce() -> Vec<Self>) -> &[Self] {
        plane
    }
    type Single = ScalarValue<Self>;
    fn call(_: &'static Rule, _: Part, _: Self, _: Self) -> Self {
        refuse()
    }
    fn call_with_slopes(_: &'static Rule, _: Part, _: Self, _: Self) -> (Self, Self, Self) {
        refuse()
    }
    fn call3(_: &'static Rule, _: Part, _: [Self; 3]) -> Self {
        refuse()
    }
    fn call3_with_slopes(_: &'static Rule, _: Part, _: [Self; 3]) -> (Self, [Self; 3]) {
        refuse()
    }
    unsafe fn dispatch<T: SimdTask<Self>>(_: T) -> T::Output {
        refuse()
    }
}

#[cold]
fn refuse() -> ! {
    panic!("array kernels cannot be computed over numbers that are variables of a recording, but over `Dual` they can")
}
