//! Residuals, Jacobian matrices and products of several kinds in one problem.

use crate::kinds::{Measured, Products, products, products_by_hand};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Residual, Trivial};

/// Numbers of which products of a few are exact.
fn number(k: usize) -> f64 {
    f64::from(u8::try_from((k * 37 + 11) % 32).expect("below 32")) / 8.0 - 2.0
}

/// A block of each size twice, in the order y, x, x, y, single; and observations whose blocks come in both orders.
struct Example {
    problem: Problem,
    observations: Vec<([usize; 2], [f64; 2])>,
}

const SIZES: [usize; 5] = [3, 2, 2, 3, 1];

fn example(count: usize) -> Example {
    let mut problem = Problem::new();
    for (block, size) in SIZES.iter().enumerate() {
        problem.add_parameters(&(0..*size).map(|k| number(5 * block + k)).collect::<Vec<_>>());
    }
    let observation = |k: usize| ([1 + k % 2, if k.is_multiple_of(3) { 0 } else { 3 }], [number(k), number(2 * k + 1)]);
    let observations: Vec<_> = (0..count).map(observation).collect();
    problem.add_residuals(Measured, Trivial, [([4], [1.0])]).expect("possible");
    problem.add_residuals(Products, Trivial, observations.clone()).expect("possible");
    Example { problem, observations }
}

/// The dense matrix by hand, with the columns of all parameters.
fn by_hand(example: &Example) -> (Vec<f64>, Vec<Vec<f64>>) {
    let x = example.problem.start();
    let start = |block: usize| SIZES[..block].iter().sum::<usize>();
    let unit = |entries: &[(usize, f64)]| {
        let mut row = vec![0.0; x.len()];
        entries.iter().for_each(|(column, entry)| row[*column] = *entry);
        row
    };
    let mut residuals = vec![x[start(4)] - 1.0];
    let mut rows = vec![unit(&[(start(4), 1.0)])];
    for ([left, right], data) in &example.observations {
        let (l, r) = (start(*left), start(*right));
        let (p, q) = ([x[l], x[l + 1]], [x[r], x[r + 1], x[r + 2]]);
        residuals.extend(products(p, q, *data));
        for row in products_by_hand(p, q, *data) {
            rows.push(unit(&[(l, row[0]), (l + 1, row[1]), (r, row[2]), (r + 1, row[3]), (r + 2, row[4])]));
        }
    }
    (residuals, rows)
}

fn without_columns(rows: &[Vec<f64>], left_out: &[usize]) -> Vec<Vec<f64>> {
    let kept = |row: &Vec<f64>| {
        let entries = row.iter().enumerate().filter(|(column, _)| !left_out.contains(column));
        entries.map(|(_, entry)| *entry).collect()
    };
    rows.iter().map(kept).collect()
}

#[test]
fn matrices_are_those_by_hand_for_every_remainder_of_a_pack() {
    for count in 0..=17 {
        let example = example(count);
        let (residuals, rows) = by_hand(&example);
        let mut at = Linearization::new(&example.problem).expect("free blocks");
        at.evaluate(example.problem.start()).expect("finite");
        assert_eq!((at.residuals(), at.jacobian().to_dense()), (&*residuals, rows), "{count} observations");
        let cost = 0.5 * (residuals[0] * residuals[0] + residuals[1..].iter().map(|r| r * r).sum::<f64>());
        assert!((at.cost() - cost).abs() <= 1e-15 * cost * 60.0, "{} and {cost}", at.cost());
        assert_eq!(example.problem.cost(example.problem.start()), Ok(at.cost()), "bit for bit");
    }
}

#[test]
fn every_piece_of_many_observations_is_right() {
    let example = example(1030);
    let (residuals, rows) = by_hand(&example);
    let mut at = Linearization::new(&example.problem).expect("free blocks");
    at.evaluate(example.problem.start()).expect("finite");
    assert!(at.residuals() == residuals && at.jacobian().to_dense() == rows);
}

#[test]
fn constant_blocks_have_no_columns_and_the_same_residuals() {
    for (constant, columns) in [(0, vec![0, 1, 2]), (1, vec![3, 4]), (3, vec![7, 8, 9]), (4, vec![10])] {
        let mut example = example(9);
        example.problem.set_constant(constant).expect("there is such a block");
        let (residuals, rows) = by_hand(&example);
        let mut at = Linearization::new(&example.problem).expect("free blocks");
        at.evaluate(example.problem.start()).expect("finite");
        assert_eq!((at.residuals(), at.jacobian().to_dense()), (&*residuals, without_columns(&rows, &columns)));
        assert_eq!((at.column(constant), at.jacobian().pattern().columns()), (None, 11 - columns.len()));
        let mut moved = vec![0.0; 11];
        let step = vec![1.0; 11 - columns.len()];
        example.problem.plus(example.problem.start(), &step, &mut moved).expect("lengths fit");
        for (k, (after, before)) in moved.iter().zip(example.problem.start()).enumerate() {
            assert_eq!(after - before, if columns.contains(&k) { 0.0 } else { 1.0 });
        }
    }
}

#[test]
fn a_block_that_is_free_again_has_its_columns() {
    let mut example = example(3);
    example.problem.set_constant(1).expect("there is such a block");
    example.problem.set_free(1).expect("there is such a block");
    assert_eq!(example.problem.columns(), 11);
}

#[test]
fn rows_of_a_block_list_its_columns_in_ascending_order() {
    let example = example(2);
    let at = Linearization::new(&example.problem).expect("free blocks");
    let pattern = at.jacobian().pattern();
    assert_eq!(pattern.row(0), [10]);
    assert_eq!((pattern.row(1), pattern.row(3)), (&[0, 1, 2, 3, 4][..], &[0, 1, 2, 3, 4][..]));
    assert_eq!(pattern.row(4), [5, 6, 7, 8, 9]);
}

#[test]
fn products_gradient_and_normal_matrix_are_those_of_the_dense_matrix() {
    let mut example = example(13);
    example.problem.set_constant(1).expect("there is such a block");
    let mut at = Linearization::new(&example.problem).expect("free blocks");
    at.evaluate(example.problem.start()).expect("finite");
    let rows = at.jacobian().to_dense();
    let (columns, n) = (at.jacobian().pattern().columns(), rows.len());
    let (v, w): (Vec<f64>, Vec<f64>) = ((0..columns).map(number).collect(), (0..n).map(number).collect());
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let column = |j: usize| rows.iter().map(|row| row[j]).collect::<Vec<_>>();
    // Sums of n products in another order differ by n·ε of the sum of their sizes at most.
    let near = |found: f64, a: &[f64], b: &[f64]| {
        let sizes: f64 = a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum();
        assert!((found - dot(a, b)).abs() <= n as f64 * f64::EPSILON * sizes, "{found}, {}", dot(a, b));
    };
    at.times(&v).iter().zip(&rows).for_each(|(found, row)| near(*found, row, &v));
    at.transpose_times(&w).iter().enumerate().for_each(|(j, found)| near(*found, &column(j), &w));
    let residuals = at.residuals().to_vec();
    at.gradient().iter().enumerate().for_each(|(j, found)| near(*found, &column(j), &residuals));
    let normal = at.normal_matrix().clone();
    let (upper, diagonal) = (normal.to_upper().to_dense(), normal.diagonal());
    let mut listed = 0;
    for block in normal.blocks() {
        for (i, row) in block.rows.clone().enumerate() {
            for (j, column_of) in block.columns.clone().enumerate() {
                let entry = block.entries[i * block.columns.len() + j];
                near(entry, &column(row), &column(column_of));
                assert!(column_of < row || upper[row][column_of] == entry);
                assert!(column_of != row || diagonal[row] == entry);
                listed += usize::from(entry != 0.0 && row <= column_of);
            }
        }
        assert_eq!(normal.block(block.blocks[0], block.blocks[1]), Some(block.entries));
    }
    let all = (0..columns).flat_map(|i| (i..columns).map(move |j| (i, j)));
    assert_eq!(listed, all.filter(|(i, j)| dot(&column(*i), &column(*j)) != 0.0).count(), "no entry is left out");
    assert_eq!((normal.block(1, 3), normal.block(0, 3), normal.block(0, 99)), (None, None, None));
}

#[test]
fn numbers_on_the_diagonal_last_until_the_matrix_is_computed_again() {
    let example = example(4);
    let mut at = Linearization::new(&example.problem).expect("free blocks");
    at.evaluate(example.problem.start()).expect("finite");
    let before = at.normal_matrix().clone();
    let added: Vec<f64> = (0..before.size()).map(|k| 2.0 * number(k)).collect();
    let normal = at.normal_matrix();
    normal.add_to_diagonal(&added);
    let expected: Vec<f64> = before.diagonal().iter().zip(&added).map(|(a, b)| a + b).collect();
    assert_eq!(normal.diagonal(), expected);
    assert_eq!(at.normal_matrix().diagonal(), before.diagonal());
}

/// A kind without data, and one with a parameter block of size 0.
struct Bare;

impl Residual<2, 0, 1> for Bare {
    fn sizes(&self) -> [usize; 2] {
        [0, 1]
    }
    fn residuals<S: Strategy>(&self, [_, x]: [&[Real<S>]; 2], []: [Real<S>; 0]) -> [Real<S>; 1] {
        [x[0]]
    }
}

#[test]
fn a_residual_may_be_a_parameter_and_a_block_may_be_empty() {
    let mut problem = Problem::new();
    let (none, one) = (problem.add_parameters(&[]), problem.add_parameters(&[3.0]));
    problem.add_residuals(Bare, Trivial, [([none, one], [])]).expect("possible");
    let mut at = Linearization::new(&problem).expect("a free block");
    at.evaluate(&[3.0]).expect("finite");
    assert_eq!((at.residuals(), at.jacobian().to_dense()), (&[3.0][..], vec![vec![1.0]]));
    assert_eq!((at.normal_matrix().diagonal(), at.cost()), (vec![1.0], 4.5));
}

/// A kind whose residuals do not depend on its parameters.
struct Fixed;

impl Residual<1, 1, 2> for Fixed {
    fn sizes(&self) -> [usize; 1] {
        [1]
    }
    fn residuals<S: Strategy>(&self, _: [&[Real<S>]; 1], [y]: [Real<S>; 1]) -> [Real<S>; 2] {
        [0.0.into(), Real::constant((y * 2.0).value())]
    }
}

#[test]
fn residuals_without_dependence_have_zeros_in_their_rows() {
    let mut problem = Problem::new();
    let x = problem.add_parameters(&[3.0]);
    problem.add_residuals(Fixed, Trivial, [([x], [1.0]), ([x], [2.0])]).expect("possible");
    let mut at = Linearization::new(&problem).expect("a free block");
    at.evaluate(&[3.0]).expect("finite");
    assert_eq!((at.residuals(), at.jacobian().values()), (&[0.0, 2.0, 0.0, 4.0][..], &[0.0; 4][..]));
    assert_eq!(at.cost(), 10.0);
}

#[test]
fn the_upper_triangle_is_written_into_a_matrix_that_is_kept() {
    let example = example(13);
    let mut at = Linearization::new(&example.problem).expect("free blocks");
    let mut kept = at.normal_matrix().to_upper();
    assert!(kept.values().iter().all(|entry| *entry == 0.0), "nothing has been evaluated");
    at.evaluate(example.problem.start()).expect("finite");
    at.normal_matrix().upper_into(&mut kept);
    let (sum, upper) = (kept.values().iter().sum::<f64>(), at.normal_matrix().to_upper());
    assert!(kept == upper && sum != 0.0);
    // With a block of parameters fewer, the entries lie elsewhere.
    let mut fewer = example;
    fewer.problem.set_constant(1).expect("there is such a block");
    let mut other = Linearization::new(&fewer.problem).expect("free blocks");
    let normal = other.normal_matrix();
    let refused = catch_unwind(AssertUnwindSafe(|| normal.upper_into(&mut upper.clone())));
    let panic = refused.expect_err("another pattern");
    assert!(panic.downcast_ref::<&str>().is_some_and(|message| message.contains("`to_upper`")));
}
