//! Views from and to arrays of the crate `ndarray`.

use super::numbers;
use ndarray::{Array, Array1, Array2, Array4, ShapeBuilder, s};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;

#[test]
fn elements_are_in_the_order_of_indices_whatever_the_layout() {
    let a = Array2::from_shape_fn((5, 7), |(j, i)| (10 * j + i) as f64);
    // Every second row from the end, without the first two columns, the dimensions exchanged.
    let part = a.slice(s![..;-2, 2..]).reversed_axes();
    let view = View::<Passive, 2>::from_array(&part);
    assert_eq!(view.shape(), [5, 3]);
    assert_eq!(view.values()[..4], [42.0, 22.0, 2.0, 43.0]);
    assert_eq!(view.to_array(), part);
    let fortran = Array::from_shape_vec((2, 3).f(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).expect("six elements");
    assert_eq!(View::<Passive, 2>::from_array(&fortran).values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let deep = Array4::from_shape_vec((2, 3, 1, 2), numbers(12, 1)).expect("twelve elements");
    assert_eq!(View::<Passive, 4>::from_array(&deep).to_array(), deep);
}

#[test]
fn gradients_come_back_in_the_same_order() {
    let a = Array2::from_shape_vec((4, 3), numbers(12, 2)).expect("twelve elements");
    let mut tape = Tape::<Jacobian>::new();
    let (x, sum) = tape.record(|scope| {
        let x = scope.view_from_array(&a.t());
        let mut y = View::zeros(x.shape());
        parallel_for(y.all(), (&x, &mut y), |(x, _)| (x.at::<0, 0>().square() * x.or_zero::<1, 0>(),));
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0, 0>());
        (x, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("swept");
    let gradient = Array2::from_shape_vec(x.shape(), adjoints.of_view(&x).expect("x").into_owned()).expect("as many");
    for ((j, i), found) in gradient.indexed_iter() {
        let at = |j: usize| if j < 3 { a[[i, j]] } else { 0.0 };
        let before = if j > 0 { at(j - 1).powi(2) } else { 0.0 };
        assert!((found - 2.0 * at(j) * at(j + 1) - before).abs() < 1e-14);
    }
}

#[test]
#[should_panic(expected = "a view of shape [0] has no elements")]
fn an_empty_array_is_refused() {
    _ = View::<Passive, 1>::from_array(&Array1::<f64>::zeros(0));
}
