//! Inputs that are arrays of the crate `ndarray`.

use super::Scope;
use crate::kernels::{View, elements};
use ndarray::{ArrayBase, Data, Dim, Dimension, Ix};
use tapewright_strategies::Reverse;

impl<S: Reverse> Scope<'_, S> {
    /// [`view`](Self::view) with the shape and the elements of an array, whatever its layout in memory.
    ///
    /// ```
    /// use ndarray::array;
    /// use tapewright::{kernels::dot, prelude::*};
    ///
    /// let mut tape = Tape::<Jacobian>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.view_from_array(&array![1.0, 2.0, 3.0]);
    ///     let y = dot(&x, &x);
    ///     (x, y)
    /// });
    /// let adjoints = tape.sweep(&[(&y, 1.0)])?;
    /// assert_eq!(*adjoints.of_view(&x)?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When [`view`](Self::view) does.
    #[must_use]
    #[track_caller]
    pub fn view_from_array<D: Data<Elem = S::Value>, const R: usize>(
        &mut self,
        array: &ArrayBase<D, Dim<[Ix; R]>>,
    ) -> View<S, R>
    where
        Dim<[Ix; R]>: Dimension,
    {
        let (shape, elements) = elements(array);
        self.view(shape, &elements)
    }
}
