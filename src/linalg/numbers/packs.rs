//! Matrices of packs: a matrix of floats for each lane.

use crate::linalg::backend::{Backend, Block};
use crate::linalg::element::{Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::system::Dense;
use crate::linalg::system::System;
use std::borrow::Cow;
use tapewright_strategies::{Number, Pack, Registered};

/// A factorized matrix for each lane, or one for all.
pub struct Lanes<K>(Vec<K>);

impl<K> Lanes<K> {
    fn of(&self, lane: usize) -> &K {
        &self.0[lane.min(self.0.len() - 1)]
    }
}

fn lane<V: Registered, const N: usize>(numbers: &[Pack<N, V>], lane: usize) -> Vec<V> {
    numbers.iter().map(|number| number[lane]).collect()
}

/// Applies `change` to the values of each lane separately.
fn each<V: Registered, const N: usize>(numbers: &mut [Pack<N, V>], change: impl Fn(usize, &mut [V])) {
    for k in 0..N {
        let mut part = lane(numbers, k);
        change(k, &mut part);
        numbers.iter_mut().zip(part).for_each(|(number, part)| number.0[k] = part);
    }
}

/// The packs of these lanes, which have the same length.
fn join<V: Registered, const N: usize>(lanes: &[impl AsRef<[V]>]) -> Vec<Pack<N, V>> {
    let count = lanes[0].as_ref().len();
    (0..count).map(|i| Pack::from_lanes(|k| lanes[k].as_ref()[i])).collect()
}

impl<V: Registered, K: System<V>, const N: usize> System<Pack<N, V>> for Lanes<K> {
    fn of_other(&self, entries: &[Pack<N, V>]) -> Result<Self, LinalgError> {
        let count = if agree(entries) { 1 } else { N };
        let other = |k| self.of(k).of_other(&lane(entries, k)).map_err(|error| error.in_lane(k, count));
        (0..count).map(other).collect::<Result<_, _>>().map(Self)
    }

    fn solve(&self, transposed: bool, right: &mut [Pack<N, V>]) {
        each(right, |k, right| self.of(k).solve(transposed, right));
    }

    fn rows(&self) -> usize {
        self.of(0).rows()
    }

    fn entries(&self) -> usize {
        self.of(0).entries()
    }

    fn subtract_outer(&self, lambda: &[Pack<N, V>], x: &[Pack<N, V>], adjoints: &mut [Pack<N, V>]) {
        each(adjoints, |k, adjoints| self.of(k).subtract_outer(&lane(lambda, k), &lane(x, k), adjoints));
    }

    fn subtract_product(&self, transposed: bool, entries: &[Pack<N, V>], x: &[Pack<N, V>], result: &mut [Pack<N, V>]) {
        each(result, |k, result| {
            self.of(k).subtract_product(transposed, &lane(entries, k), &lane(x, k), result);
        });
    }

    fn fold(&self, matrix: &[Pack<N, V>]) -> Vec<Pack<N, V>> {
        let lanes: Vec<Vec<V>> = (0..N).map(|k| self.of(k).fold(&lane(matrix, k))).collect();
        join(&lanes)
    }

    fn owned_bytes(&self) -> usize {
        self.0.iter().map(K::owned_bytes).sum::<usize>() + self.0.capacity() * size_of::<K>()
    }
}

/// Returns true if all lanes are the same, bit for bit.
fn agree<V: Registered, const N: usize>(numbers: &[Pack<N, V>]) -> bool {
    numbers.iter().all(|number| (1..N).all(|k| number.part(k).to_bits() == number.part(0).to_bits()))
}

/// Results of each lane, or of one lane for all if they agree.
fn by_lanes<V: Registered, const N: usize>(
    numbers: &[Pack<N, V>],
    find: impl Fn(&[V]) -> Result<Vec<V>, LinalgError>,
) -> Result<Vec<Pack<N, V>>, LinalgError> {
    let count = if agree(numbers) { 1 } else { N };
    let found = |k| find(&lane(numbers, k)).map_err(|error| error.in_lane(k, count));
    let lanes = (0..count).map(found).collect::<Result<Vec<_>, _>>()?;
    let lanes: Vec<&Vec<V>> = (0..N).map(|k| &lanes[k.min(count - 1)]).collect();
    Ok(join(&lanes))
}

impl<V: Registered + Plain + Element<Scalar = V>, const N: usize> Element for Pack<N, V> {
    type Scalar = V;
    type System<K: System<V>> = Lanes<K>;

    fn lift<K: System<V>>(
        entries: Vec<Self>,
        factorize: &mut dyn FnMut(Vec<V>) -> Result<K, LinalgError>,
    ) -> Result<Lanes<K>, LinalgError> {
        let count = if agree(&entries) { 1 } else { N };
        let factors = (0..count).map(|k| factorize(lane(&entries, k)).map_err(|error| error.in_lane(k, count)));
        Ok(Lanes(factors.collect::<Result<_, _>>()?))
    }

    fn multiply<B: Backend<V>>(scale: f64, left: Block<'_, Self>, right: Block<'_, Self>, sum: &mut [Self]) {
        each(sum, |k, sum| {
            let (a, b) = (lane(left.numbers, k), lane(right.numbers, k));
            B::multiply(Number::from_f64(scale), left.with(&a), right.with(&b), sum);
        });
    }

    fn solve_lower<B: Backend<V>>(n: usize, lower: &[Self], transposed: bool, right: &mut [Self]) {
        each(right, |k, right| B::solve_lower(n, &lane(lower, k), transposed, right));
    }

    fn ln_det<B: Backend<V>>(system: &Lanes<Dense<V, B>>) -> (Self, Self) {
        Self::pair_from_lanes(|k| system.of(k).ln_det())
    }

    fn lower<B: Backend<V>>(system: &Lanes<Dense<V, B>>) -> Cow<'_, [Self]> {
        let lanes: Vec<&[V]> = (0..N).map(|k| system.of(k).factor()).collect();
        Cow::Owned(join(&lanes))
    }

    fn through<F: Smooth, B: Backend<V>>(function: &F, matrix: &[Self]) -> Result<Vec<Self>, LinalgError> {
        by_lanes(matrix, |matrix| V::through::<F, B>(function, matrix))
    }

    fn eigen<B: Backend<V>>(n: usize, triangle: &[Self]) -> Result<Vec<Self>, LinalgError> {
        by_lanes(triangle, |triangle| V::eigen::<B>(n, triangle))
    }
}
