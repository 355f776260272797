//! Packs in kernels: launches compute lane by lane, so there are no registers of packs.

use super::Pack;
use super::registered::Registered;
use crate::number::simd::dispatch::{Registers, SimdTask};
use crate::number::simd::rule::{Part, Rule};
use crate::number::simd::scalar::ScalarValue;

impl<const N: usize, V: Registered> Registers for Pack<N, V> {
    type Part = V::Part;
    type Stride = isize;
    type Elements<'a> = Vec<Self>;
    fn elements(_: &[Self::Part], copy: impl FnOnce() -> Vec<Self>) -> Vec<Self> {
        copy()
    }
    type Single = ScalarValue<Self>;
    fn call(rule: &'static Rule, part: Part, x: Self, y: Self) -> Self {
        Self(core::array::from_fn(|k| V::call(rule, part, x[k], y[k])))
    }
    fn call_with_slopes(rule: &'static Rule, part: Part, x: Self, y: Self) -> (Self, Self, Self) {
        let lanes: [_; N] = core::array::from_fn(|k| V::call_with_slopes(rule, part, x[k], y[k]));
        (Self(lanes.map(|lane| lane.0)), Self(lanes.map(|lane| lane.1)), Self(lanes.map(|lane| lane.2)))
    }
    fn call3(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> Self {
        Self(core::array::from_fn(|k| V::call3(rule, part, arguments.map(|x| x[k]))))
    }
    fn call3_with_slopes(rule: &'static Rule, part: Part, arguments: [Self; 3]) -> (Self, [Self; 3]) {
        let lanes: [_; N] = core::array::from_fn(|k| V::call3_with_slopes(rule, part, arguments.map(|x| x[k])));
        (Self(lanes.map(|lane| lane.0)), core::array::from_fn(|i| Self(lanes.map(|lane| lane.1[i]))))
    }
    unsafe fn dispatch<T: SimdTask<Self>>(task: T) -> T::Output {
        // SAFETY: promised by the caller.
        unsafe { task.run::<ScalarValue<Self>>() }
    }
}
