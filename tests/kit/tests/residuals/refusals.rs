//! Problems and points that are refused, with the number of the block.

use crate::kinds::{Measured, Products};
use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Residual, ResidualError, Trivial, UnitQuaternion};

fn with_blocks(sizes: &[usize]) -> Problem {
    let mut problem = Problem::new();
    sizes.iter().for_each(|size| _ = problem.add_parameters(&vec![1.0; *size]));
    problem
}

#[test]
fn a_parameter_block_out_of_range_is_named() {
    let mut problem = with_blocks(&[2, 3]);
    let data = [0.0; 2];
    problem.add_residuals(Products, Trivial, [([0, 1], data)]).expect("possible");
    let error = ResidualError::NoSuchBlock { residual: Some(2), block: 2, blocks: 2 };
    assert_eq!(problem.add_residuals(Products, Trivial, [([0, 1], data), ([0, 2], data)]), Err(error.clone()));
    assert_eq!(error.to_string(), "residual block 2: there is no parameter block 2: the problem has 2, counted from 0");
    assert_eq!(problem.residual_blocks(), 1, "the problem is unchanged");
    let error = Err(ResidualError::NoSuchBlock { residual: None, block: 7, blocks: 2 });
    assert_eq!(
        [problem.set_constant(7), problem.set_free(7), problem.set_manifold(7, UnitQuaternion)],
        [error.clone(), error.clone(), error]
    );
}

#[test]
fn parameter_blocks_of_another_size_are_named() {
    let mut problem = with_blocks(&[2, 3]);
    let error = ResidualError::BlockSize { residual: 0, block: 1, expected: 2, found: 3 };
    assert_eq!(problem.add_residuals(Products, Trivial, [([1, 0], [0.0; 2])]), Err(error.clone()));
    assert_eq!(error.to_string(), "residual block 0 takes 2 parameters where parameter block 1 has 3");
    let error = ResidualError::ManifoldSize { block: 1, expected: 4, found: 3 };
    assert_eq!(problem.set_manifold(1, UnitQuaternion), Err(error));
}

/// Two blocks of one size.
struct Difference;

impl Residual<2, 0, 1> for Difference {
    fn sizes(&self) -> [usize; 2] {
        [1, 1]
    }
    fn residuals<S: Strategy>(&self, [x, y]: [&[Real<S>]; 2], []: [Real<S>; 0]) -> [Real<S>; 1] {
        [((x[0] - y[0]).sqrt()).into()]
    }
}

#[test]
fn a_parameter_block_twice_in_a_residual_block_is_refused() {
    let mut problem = with_blocks(&[1, 1]);
    let error = ResidualError::RepeatedBlock { residual: 0, block: 1 };
    assert_eq!(problem.add_residuals(Difference, Trivial, [([1, 1], [])]), Err(error));
}

#[test]
fn a_problem_without_a_free_block_is_refused() {
    let mut problem = with_blocks(&[]);
    assert_eq!(Linearization::new(&problem).err(), Some(ResidualError::NoFreeBlock));
    let x = problem.add_parameters(&[1.0]);
    problem.set_constant(x).expect("there is such a block");
    assert_eq!(Linearization::new(&problem).err(), Some(ResidualError::NoFreeBlock));
    assert_eq!(problem.cost(&[1.0]), Ok(0.0), "the cost needs no free block");
}

#[test]
fn the_first_residual_block_that_is_not_finite_is_named() {
    for (bad, count) in [(0, 1), (3, 8), (11, 12), (600, 700)] {
        let mut problem = with_blocks(&vec![1; count]);
        problem.add_residuals(Measured, Trivial, [([0], [0.0]); 2]).expect("possible");
        problem.add_residuals(Measured, Trivial, (0..count).map(|k| ([k], [0.0]))).expect("possible");
        let mut at = Linearization::new(&problem).expect("free blocks");
        let mut x = problem.start().to_vec();
        for number in [f64::NAN, f64::INFINITY] {
            x[bad] = number;
            let residual = if bad == 0 { 0 } else { 2 + bad };
            assert_eq!(at.evaluate(&x), Err(ResidualError::ResidualNotFinite { residual }));
            assert_eq!(problem.cost(&x), Err(ResidualError::ResidualNotFinite { residual }));
        }
        x[bad] = 1.0;
        at.evaluate(&x).expect("finite again");
    }
}

#[test]
fn derivatives_that_are_not_finite_are_no_residuals_that_are_not() {
    let mut problem = with_blocks(&[1, 1]);
    problem.add_residuals(Difference, Trivial, [([0, 1], [])]).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    assert_eq!(at.evaluate(&[2.0, 1.0]), Ok(()));
    assert_eq!(at.evaluate(&[1.0, 1.0]), Err(ResidualError::DerivativeNotFinite { residual: 0 }));
    assert_eq!(at.evaluate(&[1.0, 2.0]), Err(ResidualError::ResidualNotFinite { residual: 0 }));
}

#[test]
fn vectors_of_another_length_are_refused() {
    let problem = with_blocks(&[2, 1]);
    let mut at = Linearization::new(&problem).expect("free blocks");
    let length = |of, expected, found| Err(ResidualError::Length { of, expected, found });
    assert_eq!(at.evaluate(&[1.0; 2]), length("parameters", 3, 2));
    assert_eq!(problem.plus(&[1.0; 4], &[1.0; 3], &mut [0.0; 3]), length("parameters", 3, 4));
    assert_eq!(problem.plus(&[1.0; 3], &[1.0; 2], &mut [0.0; 3]), length("steps", 3, 2));
    assert_eq!(problem.plus(&[1.0; 3], &[1.0; 3], &mut [0.0; 2]), length("parameters", 3, 2));
    assert_eq!(problem.cost(&[]), Err(ResidualError::Length { of: "parameters", expected: 3, found: 0 }));
}

#[test]
fn kinds_without_observations_add_nothing() {
    let mut problem = with_blocks(&[2, 3, 1]);
    assert_eq!(problem.add_residuals(Products, Trivial, []), Ok(0..0));
    let mut at = Linearization::new(&problem).expect("free blocks");
    assert_eq!((at.evaluate(problem.start()), at.cost(), at.residuals().len()), (Ok(()), 0.0, 0));
    assert_eq!(at.gradient(), [0.0; 6]);
    assert_eq!((problem.residuals(problem.start(), &mut []), problem.rows()), (Ok(0.0), 0));
    problem.add_residuals(Measured, Trivial, [([2], [3.0])]).expect("possible");
    problem.add_residuals(Products, Trivial, []).expect("possible");
    let mut at = Linearization::new(&problem).expect("free blocks");
    at.evaluate(problem.start()).expect("finite");
    assert_eq!((at.residuals(), at.gradient()), (&[-2.0][..], vec![0.0, 0.0, 0.0, 0.0, 0.0, -2.0]));
}

#[test]
fn residuals_need_no_derivatives_and_no_free_block() {
    let mut problem = with_blocks(&[1, 1]);
    problem.add_residuals(Difference, Trivial, [([0, 1], [])]).expect("possible");
    let mut residuals = [7.0];
    assert_eq!(problem.residuals(&[1.0, 1.0], &mut residuals), Ok(0.0), "the derivatives there are infinite");
    assert_eq!(residuals, [0.0]);
    let error = Err(ResidualError::ResidualNotFinite { residual: 0 });
    assert_eq!(problem.residuals(&[1.0, 2.0], &mut residuals), error);
    (0..2).for_each(|block| problem.set_constant(block).expect("there is such a block"));
    assert_eq!(problem.residuals(&[5.0, 1.0], &mut residuals), Ok(2.0));
    assert_eq!(residuals, [2.0]);
    let error = Err(ResidualError::Length { of: "residuals", expected: 1, found: 2 });
    assert_eq!(problem.residuals(&[5.0, 1.0], &mut [0.0; 2]), error);
}
