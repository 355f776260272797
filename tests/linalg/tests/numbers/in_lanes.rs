//! Packs: each lane is, bit for bit, what plain numbers give, and so are its second derivatives.

use super::{ByNalgebra, Library, Row, bits, entry};
use nalgebra::{DMatrix, DVector};
use tapewright::linalg::{self, Cholesky, LinalgError, Lu};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::{Closed, Dual, hvp};
use tapewright_linalg_tests::scattered;

/// Inputs of a lane.
fn inputs(n: usize, lane: usize) -> Vec<f64> {
    let step = [0.0, 0.3, -0.2][lane];
    scattered(n).iter().zip(&scattered(2 * n)[n..]).map(|(x, d)| x + step * d).collect()
}

fn packed(lanes: &[Vec<f64>; 3]) -> Vec<Pack<3>> {
    (0..lanes[0].len()).map(|i| Pack(core::array::from_fn(|k| lanes[k][i]))).collect()
}

fn lane(numbers: &[Pack<3>], k: usize) -> Vec<f64> {
    numbers.iter().map(|number| number.0[k]).collect()
}

pub(crate) fn agrees<R: Row, L: Library>() {
    let n = R::INPUTS;
    let lanes = core::array::from_fn(|k| inputs(n, k));
    let directions = core::array::from_fn(|k| scattered(n * (k + 2))[n * (k + 1)..].to_vec());
    first_and_second::<R, L>(&lanes, &directions);
    // One matrix for all lanes.
    let same = [lanes[1].clone(), lanes[1].clone(), lanes[1].clone()];
    first_and_second::<R, L>(&same, &directions);
}

fn first_and_second<R: Row, L: Library>(lanes: &[Vec<f64>; 3], directions: &[Vec<f64>; 3]) {
    let (value, slopes) = value_and_gradient::<Jacobian<Pack<3>>>(entry::<R, L, _>, &packed(lanes));
    let second = hvp::<Jacobian<Dual<Pack<3>, 1>>>(entry::<R, L, _>, &packed(lanes), &packed(directions));
    for k in 0..3 {
        let (alone, alone_slopes) = value_and_gradient::<Jacobian>(entry::<R, L, _>, &lanes[k]);
        assert_eq!(value.0[k].to_bits(), alone.to_bits(), "the value of lane {k}");
        assert_eq!(bits(&lane(&slopes, k)), bits(&alone_slopes), "the gradient of lane {k}");
        let alone = hvp::<Jacobian<Dual<f64, 1>>>(entry::<R, L, _>, &lanes[k], &directions[k]);
        assert_eq!(bits(&lane(&second.1, k)), bits(&alone.1), "the gradient of lane {k} over duals");
        assert_eq!(bits(&lane(&second.2, k)), bits(&alone.2), "the product of lane {k}");
    }
}

type C = Closed<Passive<Pack<2>>>;

/// Lanes of a matrix of two rows, by rows.
fn two(first: [f64; 4], second: [f64; 4]) -> DMatrix<C> {
    DMatrix::from_row_iterator(2, 2, (0..4).map(|k| C::constant(Pack([first[k], second[k]]))))
}

fn error<T>(result: Result<T, LinalgError>) -> LinalgError {
    result.err().expect("an error")
}

#[test]
fn errors_name_the_lane() {
    let in_second = |error| LinalgError::Lane { lane: 1, error: Box::new(error) };
    let (one, flat) = ([1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 2.0, 4.0]);
    let singular = error(Lu::new(&two(one, flat)));
    assert_eq!(singular, in_second(LinalgError::Singular { pivot: Some(1) }));
    assert_eq!(singular.to_string(), "lane 1: the matrix is singular: its pivot 1 is 0");
    assert_eq!(error(Cholesky::new(&two(one, flat))), in_second(LinalgError::NotPositiveDefinite));
    let broken = two(one, [1.0, 0.0, f64::NAN, 1.0]);
    assert_eq!(error(Lu::new(&broken)), in_second(LinalgError::NotFinite { row: 1, column: 0 }));
    assert_eq!(error(linalg::symmetric_eigenvalues(&broken)), in_second(LinalgError::NotFinite { row: 1, column: 0 }));
    // All lanes are one matrix.
    assert_eq!(error(Lu::new(&two(flat, flat))), LinalgError::Singular { pivot: Some(1) });
}

#[test]
fn signs_and_sizes_are_those_of_the_lanes() {
    let (ln, sign) = Lu::new(&two([0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 4.0])).expect("regular").ln_det();
    assert_eq!((sign.0, ln.value().0), ([-1.0, 1.0], [0.0, 8.0_f64.ln()]));
    let nothing = DMatrix::<C>::from_vec(0, 0, vec![]);
    assert_eq!(Lu::new(&nothing).expect("regular").inverse().shape(), (0, 0));
    assert_eq!(Cholesky::new(&nothing).expect("definite").l().shape(), (0, 0));
    assert!(linalg::symmetric_eigenvalues(&nothing).expect("none").is_empty());
    let b = DVector::from_element(3, C::default());
    assert!(matches!(
        Lu::new(&two([1.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 1.0])).expect("regular").solve(&b),
        Err(LinalgError::Shape { .. })
    ));
}

/// Eigenvalues that coincide in one lane: the others go on.
#[test]
fn eigenvalues_that_coincide_in_a_lane() {
    let numbers = [Pack([2.0, 1.0]), Pack([0.0, 0.5]), Pack([0.0, 0.5]), Pack([2.0, 3.0])];
    let mut tape = Tape::<Jacobian<Pack<2>>>::new();
    let (inputs, values) = tape.record(|scope| {
        let inputs = scope.inputs(&numbers);
        let a = DMatrix::from_column_slice(2, 2, Closed::wrap_slice(&inputs));
        let values = linalg::symmetric_eigenvalues(&a).expect("finite");
        (inputs, values)
    });
    let (first, second) = (values[0].as_real(), values[1].as_real());
    // Alike in the first lane, apart in the second.
    let adjoints =
        tape.sweep(&[(first, Pack([1.0, 1.0])), (second, Pack([1.0, 0.0]))]).expect("they are treated alike");
    let slopes = adjoints.of_all(&inputs).expect("inputs");
    let alone = gradient::<Jacobian>(
        |x| {
            linalg::symmetric_eigenvalues(&DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x))).expect("finite")[0]
                .open()
        },
        &[1.0, 0.5, 0.5, 3.0],
    );
    assert_eq!((slopes[0].0, slopes[3].0), ([1.0, alone[0]], [1.0, alone[3]]));
    let error = tape.sweep(&[(first, Pack([1.0, 1.0]))]).expect_err("one of them alone, in the first lane");
    assert!(error.to_string().contains("the eigenvalues 0 and 1 coincide (2)"), "{error}");
}

/// `in_packs` fills the lanes that are left over with the last evaluation.
#[test]
fn in_packs_of_evaluations() {
    let f = |x: &[Real<Jacobian<Pack<2>>>]| entry::<super::density::This, ByNalgebra, _>(x);
    let sets: Vec<Vec<f64>> = (0..3).map(|k| inputs(12, k)).collect();
    let found = tapewright::packs::in_packs::<Jacobian<Pack<2>>, _, 2>(3, |k| &sets[k], |x, _| f(x))
        .expect("three evaluations");
    for (k, set) in sets.iter().enumerate() {
        let (value, slopes) = value_and_gradient::<Jacobian>(entry::<super::density::This, ByNalgebra, _>, set);
        assert_eq!((found.values[k].to_bits(), bits(&found.gradients[k])), (value.to_bits(), bits(&slopes)));
    }
}
