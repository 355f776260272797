//! Conversions between views and arrays of the crate `ndarray`.

use super::view::View;
use ndarray::{Array, ArrayBase, Data, Dim, Dimension, Ix};
use tapewright_strategies::Taping;

/// The elements of an array, the last index running fastest, whatever its layout; and its shape.
pub(crate) fn elements<D: Data, const R: usize>(array: &ArrayBase<D, Dim<[Ix; R]>>) -> ([usize; R], Vec<D::Elem>)
where
    D::Elem: Copy,
    Dim<[Ix; R]>: Dimension,
{
    let shape = array.shape().try_into().expect("as many dimensions as its type says");
    (shape, array.iter().copied().collect())
}

impl<S: Taping, const R: usize> View<S, R>
where
    Dim<[Ix; R]>: Dimension,
{
    /// A passive view with the shape and the elements of an array, whatever its layout in memory.
    ///
    /// ```
    /// use ndarray::array;
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let mut x = View::<Passive, 2>::from_array(&a.t());
    /// parallel_for(x.all(), &mut x, |x| (10.0 * x.at::<0, 0>(),));
    /// assert_eq!(x.to_array(), array![[10.0, 40.0], [20.0, 50.0], [30.0, 60.0]]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the array has a dimension of length 0.
    #[must_use]
    #[track_caller]
    pub fn from_array<D: Data<Elem = S::Value>>(array: &ArrayBase<D, Dim<[Ix; R]>>) -> Self {
        let (shape, elements) = elements(array);
        Self::new(shape, &elements)
    }

    /// The values as an array of `ndarray`.
    ///
    /// # Panics
    ///
    /// When [`values`](Self::values) does.
    #[must_use]
    #[track_caller]
    #[allow(clippy::missing_panics_doc, reason = "the lengths agree")]
    pub fn to_array(&self) -> Array<S::Value, Dim<[Ix; R]>> {
        let mut shape = Dim::<[Ix; R]>::zeros(R);
        shape.slice_mut().copy_from_slice(&self.shape());
        Array::from_shape_vec(shape, self.to_vec()).expect("there are as many elements as the shape says")
    }
}
