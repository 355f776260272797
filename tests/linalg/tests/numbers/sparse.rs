//! Sparse systems over duals and packs.

use super::{ByFaer, ByNalgebra, Library, Row, agrees, elementary, matrix, reals, rows};
use tapewright::linalg::{Element, LinalgError, SparseCholesky, SparseLu, SparsePattern};
use tapewright::prelude::*;

/// Places of a matrix of four rows, in no order.
const PLACES: [(usize, usize); 9] = [(2, 1), (0, 0), (3, 3), (1, 1), (0, 3), (2, 2), (1, 0), (3, 1), (1, 2)];
/// Below the diagonal.
const LOWER: [(usize, usize); 7] = [(2, 1), (0, 0), (3, 3), (1, 1), (3, 0), (2, 2), (1, 0)];

/// A dense matrix of these entries.
fn dense<S: Strategy>(places: &[(usize, usize)], values: &[Real<S>]) -> Vec<Real<S>> {
    let mut a = vec![Real::from(0.0); 16];
    places.iter().zip(values).for_each(|((i, j), value)| a[j * 4 + i] = *value);
    a
}

/// More on the diagonal.
fn large<S: Strategy>(places: &[(usize, usize)], values: &[Real<S>]) -> Vec<Real<S>> {
    let more = |((i, j), value): (&(usize, usize), &Real<S>)| if i == j { (*value + 4.0).eval() } else { *value };
    places.iter().zip(values).map(more).collect()
}

rows! {
    sparse_lu 17 |x, L| {
        let pattern = SparsePattern::new(4, &PLACES).expect("a pattern");
        let values = large(&PLACES, x);
        reals(SparseLu::new(&pattern, &values).expect("regular").solve(&matrix::<L::Matrix<S>>(4, &x[9..])).expect("four rows"))
    };
        elementary::solve(4, &dense(&PLACES, &large(&PLACES, x)), &x[9..]);
    sparse_cholesky 11 |x, L| {
        let pattern = SparsePattern::new(4, &LOWER).expect("a pattern");
        let values = large(&LOWER, x);
        let solver = SparseCholesky::new(&pattern, &values).expect("positive definite");
        reals(solver.solve(&matrix::<L::Vector<S>>(4, &x[7..])).expect("four rows"))
    };
        elementary::solve(4, &elementary::mirrored(4, &dense(&LOWER, &large(&LOWER, x))), &x[7..]);
}

#[cfg(feature = "packs")]
#[test]
fn errors_name_the_lane() {
    use tapewright::packs::Pack;
    let pattern = SparsePattern::new(2, &[(0, 0), (1, 1), (1, 0)]).expect("a pattern");
    let values = |last: f64| [1.0, last, 2.0].map(|x| Real::<Passive<Pack<2>>>::constant(Pack([x.abs(), x])));
    let lane = |error| Some(LinalgError::Lane { lane: 1, error: Box::new(error) });
    assert_eq!(SparseLu::new(&pattern, &values(-1.0)).err(), None);
    let mut flat = values(1.0);
    flat[1] = Real::constant(Pack([1.0, 0.0]));
    assert_eq!(SparseLu::new(&pattern, &flat).err(), lane(LinalgError::Singular { pivot: None }));
    let definite = [4.0, 4.0, 1.0].map(|x| Real::<Passive<Pack<2>>>::constant(Pack([x, 5.0 - x])));
    assert_eq!(SparseCholesky::new(&pattern, &definite).err(), lane(LinalgError::NotPositiveDefinite));
}
