//! Compound assignment to views: `+=`, `-=`, `*=` and `/=`, each of them one launch.

use super::expression::functions::{Adds, Divides, Multiplies, Subtracts};
use super::operands::{Modes, Operands, Reads, Writes};
use super::start::Start;
use super::views::view::{Points, View};
use crate::expr::Real;
use core::ops::{AddAssign, DivAssign, MulAssign, SubAssign};
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Assign, BinaryNode, Constant, Element, Number};
use tapewright_strategies::kernel::targets::{BoundKernel, Space};

/// Every element of operand 0.
const EACH: Element<0, 0, 0, 0, 0, 0> = Element;

/// Implements compound assignment from rows `Trait method Function`, with a view of the same shape, a variable or a
/// number on the right-hand side.
macro_rules! assignments {
    ($($trait:ident $method:ident $function:ident;)*) => { $(
        /// One launch over all points.
        ///
        /// # Panics
        ///
        /// When [`parallel_for`](super::parallel_for) does.
        impl<S: Taping, const R: usize, M: Space<S::Value>> $trait<&View<S, R, M>> for View<S, R, M> {
            #[track_caller]
            fn $method(&mut self, other: &View<S, R, M>) {
                let other_element = Element::<1, 0, 0, 0, 0, 0>;
                let program = Assign::<Modes<(Writes, Reads)>, _>::new((
                    BinaryNode::<$function, _, _>::of(EACH, other_element),
                ));
                let range = Points(self.all());
                Start::new(&program, &range, (self, other).slots().as_mut()).write(&mut BoundKernel::of(&program));
            }
        }
        /// One launch over all points.
        ///
        /// # Panics
        ///
        /// When [`parallel_for`](super::parallel_for) does.
        impl<S: Taping, const R: usize, M: Space<S::Value>> $trait<&Real<S>> for View<S, R, M> {
            #[track_caller]
            fn $method(&mut self, number: &Real<S>) {
                let program = Assign::<Modes<(Writes, Reads)>, _>::new((
                    BinaryNode::<$function, _, _>::of(EACH, Number::<1>),
                ));
                let range = Points(self.all());
                Start::new(&program, &range, (self, number).slots().as_mut()).write(&mut BoundKernel::of(&program));
            }
        }
        /// One launch over all points.
        ///
        /// # Panics
        ///
        /// When [`parallel_for`](super::parallel_for) does.
        impl<S: Taping, const R: usize, M: Space<S::Value>> $trait<f64> for View<S, R, M> {
            #[track_caller]
            fn $method(&mut self, number: f64) {
                let program = Assign::<Modes<(Writes,)>, _>::new((
                    BinaryNode::<$function, _, _>::of(EACH, Constant(number)),
                ));
                let range = Points(self.all());
                Start::new(&program, &range, (self,).slots().as_mut()).write(&mut BoundKernel::of(&program));
            }
        }
    )* };
}
assignments! {
    AddAssign add_assign Adds;
    SubAssign sub_assign Subtracts;
    MulAssign mul_assign Multiplies;
    DivAssign div_assign Divides;
}
