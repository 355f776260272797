//! Matrices of duals: factors of the values, and the product rule.

use crate::linalg::backend::{Backend, Block};
use crate::linalg::cholesky::moved_factor;
use crate::linalg::eigen::Eigen;
use crate::linalg::element::{At, Element, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::lu::ln_det_slope;
use crate::linalg::system::Dense;
use crate::linalg::system::System;
use core::array::from_fn;
use std::borrow::Cow;
use tapewright_strategies::{Dual, Number};

/// A factorized matrix of values, and the tangents of its entries.
pub struct Moving<K, V, const N: usize> {
    values: K,
    tangents: [Vec<V>; N],
}

fn values<V: Number, const N: usize>(numbers: &[Dual<V, N>]) -> Vec<V> {
    numbers.iter().map(|number| number.value).collect()
}

fn tangents<V: Number, const N: usize>(numbers: &[Dual<V, N>], k: usize) -> Vec<V> {
    numbers.iter().map(|number| number.tangents[k]).collect()
}

/// The duals of these values and tangents.
fn join<V: Number, const N: usize>(values: &[V], tangents: &[Vec<V>; N]) -> Vec<Dual<V, N>> {
    let number = |(i, value): (usize, &V)| Dual { value: *value, tangents: from_fn(|k| tangents[k][i]) };
    values.iter().enumerate().map(number).collect()
}

/// Returns true if a tangent along the direction is not 0. Other directions are left out, since zero times anything is
/// zero.
fn moves<V: Number>(tangents: &[V]) -> bool {
    tangents.iter().any(|tangent| !tangent.is_nought())
}

/// Applies `add`, which is bilinear, to duals by the product rule: to the values, and for each direction to the
/// tangents of one factor and the values of the other.
fn bilinear<V: Number, const N: usize>(
    left: &[Dual<V, N>],
    right: &[Dual<V, N>],
    sum: &mut [Dual<V, N>],
    add: impl Fn(&[V], &[V], &mut [V]),
) {
    let (left_values, right_values) = (values(left), values(right));
    let mut part = values(sum);
    add(&left_values, &right_values, &mut part);
    sum.iter_mut().zip(part).for_each(|(sum, part)| sum.value = part);
    for k in 0..N {
        let (left, right, mut part) = (tangents(left, k), tangents(right, k), tangents(sum, k));
        if moves(&left) {
            add(&left, &right_values, &mut part);
        }
        if moves(&right) {
            add(&left_values, &right, &mut part);
        }
        sum.iter_mut().zip(part).for_each(|(sum, part)| sum.tangents[k] = part);
    }
}

/// Replaces B by A⁻¹·B: `solve` does it for the values of A, and `subtract` subtracts the product of the tangents of A
/// along a direction and a matrix. All directions are solved for in one call.
fn solve<V: Number, const N: usize>(
    right: &mut [Dual<V, N>],
    solve: impl Fn(&mut [V]),
    subtract: impl Fn(usize, &[V], &mut [V]),
) {
    let mut x = values(right);
    solve(&mut x);
    let mut moved = Vec::with_capacity(N * x.len());
    for k in 0..N {
        let mut along = tangents(right, k);
        subtract(k, &x, &mut along);
        moved.append(&mut along);
    }
    if moves(&moved) {
        solve(&mut moved);
    }
    let count = x.len();
    for (i, (number, value)) in right.iter_mut().zip(x).enumerate() {
        *number = Dual { value, tangents: from_fn(|k| moved[k * count + i]) };
    }
}

impl<V: Number, K: System<V>, const N: usize> System<Dual<V, N>> for Moving<K, V, N> {
    fn of_other(&self, entries: &[Dual<V, N>]) -> Result<Self, LinalgError> {
        let values = self.values.of_other(&values(entries))?;
        Ok(Self { values, tangents: from_fn(|k| tangents(entries, k)) })
    }

    /// A·xₖ = bₖ − Aₖ·x.
    fn solve(&self, transposed: bool, right: &mut [Dual<V, N>]) {
        let subtract = |k: usize, x: &[V], along: &mut [V]| {
            if moves(&self.tangents[k]) {
                self.values.subtract_product(transposed, &self.tangents[k], x, along);
            }
        };
        solve(right, |right| self.values.solve(transposed, right), subtract);
    }

    fn rows(&self) -> usize {
        self.values.rows()
    }

    fn entries(&self) -> usize {
        self.values.entries()
    }

    fn subtract_outer(&self, lambda: &[Dual<V, N>], x: &[Dual<V, N>], adjoints: &mut [Dual<V, N>]) {
        bilinear(lambda, x, adjoints, |lambda, x, adjoints| self.values.subtract_outer(lambda, x, adjoints));
    }

    fn subtract_product(&self, transposed: bool, entries: &[Dual<V, N>], x: &[Dual<V, N>], result: &mut [Dual<V, N>]) {
        let subtract = |entries: &[V], x: &[V], result: &mut [V]| {
            self.values.subtract_product(transposed, entries, x, result);
        };
        bilinear(entries, x, result, subtract);
    }

    fn fold(&self, matrix: &[Dual<V, N>]) -> Vec<Dual<V, N>> {
        join(&self.values.fold(&values(matrix)), &from_fn(|k| self.values.fold(&tangents(matrix, k))))
    }

    fn owned_bytes(&self) -> usize {
        let numbers: usize = self.tangents.iter().map(Vec::capacity).sum();
        self.values.owned_bytes() + numbers * size_of::<V>()
    }
}

impl<V: Element, const N: usize> Element for Dual<V, N> {
    type Scalar = V::Scalar;
    type System<K: System<V::Scalar>> = Moving<V::System<K>, V, N>;

    fn lift<K: System<V::Scalar>>(
        entries: Vec<Self>,
        factorize: &mut dyn FnMut(Vec<V::Scalar>) -> Result<K, LinalgError>,
    ) -> Result<Self::System<K>, LinalgError> {
        let values = V::lift(values(&entries), factorize)?;
        Ok(Moving { values, tangents: from_fn(|k| tangents(&entries, k)) })
    }

    fn multiply<B: Backend<V::Scalar>>(scale: f64, left: Block<'_, Self>, right: Block<'_, Self>, sum: &mut [Self]) {
        bilinear(left.numbers, right.numbers, sum, |a, b, sum| {
            V::multiply::<B>(scale, left.with(a), right.with(b), sum);
        });
    }

    fn solve_lower<B: Backend<V::Scalar>>(n: usize, lower: &[Self], transposed: bool, right: &mut [Self]) {
        let values = values(lower);
        let subtract = |k: usize, x: &[V], along: &mut [V]| {
            let tangents = tangents(lower, k);
            if moves(&tangents) {
                let block = Block { transposed, ..Block::new(&tangents, n) };
                V::multiply::<B>(-1.0, block, Block::new(x, n), along);
            }
        };
        solve(right, |right| V::solve_lower::<B>(n, &values, transposed, right), subtract);
    }

    fn ln_det<B: Backend<V::Scalar>>(system: &Self::System<Dense<V::Scalar, B>>) -> (Self, Self) {
        let (value, sign) = V::ln_det::<B>(&system.values);
        let mut number = Self::constant(value);
        if system.tangents.iter().any(|tangents| moves(tangents)) {
            let slope = ln_det_slope(&system.values);
            let along = |tangents: &Vec<V>| {
                slope.iter().zip(tangents).fold(V::ZERO, |sum, (slope, tangent)| sum + *slope * *tangent)
            };
            number.tangents = from_fn(|k| along(&system.tangents[k]));
        }
        (number, Self::constant(sign))
    }

    fn lower<B: Backend<V::Scalar>>(system: &Self::System<Dense<V::Scalar, B>>) -> Cow<'_, [Self]> {
        let lower = V::lower::<B>(&system.values);
        let n = system.values.rows();
        Cow::Owned(join(&lower, &from_fn(|k| moved_factor::<V, B>(n, &lower, &system.tangents[k]))))
    }

    fn through<F: Smooth, B: Backend<V::Scalar>>(function: &F, matrix: &[Self]) -> Result<Vec<Self>, LinalgError> {
        let plain = values(matrix);
        let found = V::through::<F, B>(function, &plain)?;
        let mut moved = from_fn(|_| vec![V::ZERO; found.len()]);
        for (k, moved) in moved.iter_mut().enumerate() {
            let along = tangents(matrix, k);
            if moves(&along) {
                function.differentiable(&found)?;
                *moved = function.moved::<V, B>(At { matrix: &plain, found: &found }, &along, true)?;
            }
        }
        Ok(join(&found, &moved))
    }

    fn eigen<B: Backend<V::Scalar>>(n: usize, triangle: &[Self]) -> Result<Vec<Self>, LinalgError> {
        let found = V::eigen::<B>(n, &values(triangle))?;
        let eigen = Eigen::<V, B>::new(found[..n].to_vec(), found[n..].to_vec(), true);
        let mut moved = from_fn(|_| Vec::new());
        for (k, moved) in moved.iter_mut().enumerate() {
            *moved = eigen.moved(&tangents(triangle, k)).map_err(|pair| pair.error())?;
        }
        Ok(join(&found, &moved))
    }
}
