//! Sums, extrema and products over the ranks.

use crate::groups::{Rooted, add_up};
use crate::head::{Head, Kind, Phase, code_of};
use crate::link::{Call, Failure};
use crate::pattern::{Pattern, Place, Recorded, Round, carry_out, length, of_all, or_panic, zeros};
use crate::ranks::{Communicator, name_of};
use tapewright::Taping;
use tapewright::exchange::Exchange;
use tapewright::strategies::{Float, Number};
use tapewright::variables::Variables;

/// An operation that combines the values of all ranks, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reduction {
    /// The sum, added in the order of the ranks, so that it has the same bits from run to run.
    Sum,
    /// The smallest value. Its slope belongs to the lowest of the ranks that have it; a NaN is passed over unless all
    /// values are NaN.
    Min,
    /// The largest value, with slope and NaN as for `Min`.
    Max,
    /// The product. The slope for one rank is the product of the other ranks' values, also where some are 0.
    Product,
}

impl Reduction {
    /// Returns the results, and the weights: the partial of each result with respect to the value of each rank. Sums
    /// have no weights, since all are 1.
    fn of<V: Number>(self, all: &[V], ranks: usize) -> (Vec<V>, Vec<V>) {
        let count = all.len() / ranks.max(1);
        let mut results = zeros(count);
        if self == Self::Sum {
            add_up(all, &mut results);
            return (results, Vec::new());
        }
        let mut weights = zeros(all.len());
        for (k, result) in results.iter_mut().enumerate() {
            let number = |rank: usize| all[rank * count + k];
            if self == Self::Product {
                *result = factors(ranks, number, |rank, factor| weights[rank * count + k] = factor);
                continue;
            }
            let best = |lane: usize| {
                (1..ranks).fold(0, |best, rank| {
                    if self.is_better(number(rank).lane(lane), number(best).lane(lane)) { rank } else { best }
                })
            };
            *result = V::from_lanes(|lane| number(best(lane)).lane(lane));
            for rank in 0..ranks {
                let one = |lane: usize| if best(lane) == rank { V::Lane::ONE } else { V::Lane::ZERO };
                weights[rank * count + k] = V::from_lanes(one);
            }
        }
        (results, weights)
    }

    /// Returns true if `a` is the smallest or largest of two values rather than `b`, which belongs to a lower rank.
    fn is_better<V: Float>(self, a: V, b: V) -> bool {
        b.is_nan() && !a.is_nan() || if self == Self::Min { a < b } else { a > b }
    }
}

/// Returns the product of some values, and calls `each` with the product of all but one of them, for each of them,
/// without a division.
fn factors<V: Number>(count: usize, number: impl Fn(usize) -> V, mut each: impl FnMut(usize, V)) -> V {
    let mut behind = vec![V::ONE; count + 1];
    (0..count).rev().for_each(|k| behind[k] = behind[k + 1] * number(k));
    (0..count).fold(V::ONE, |before, k| {
        each(k, before * behind[k + 1]);
        before * number(k)
    })
}

/// Returns the product of two values, where zero times anything is zero.
fn times<V: Number>(a: V, b: V) -> V {
    if a.is_nought() || b.is_nought() { V::ZERO } else { a.contribution(b) }
}

/// Number of values in a reduction, and the partials of its results with respect to each value, by rank; empty for
/// sums.
struct Weights<V> {
    operation: Reduction,
    count: usize,
    list: Vec<V>,
}

impl<V: Number> Weights<V> {
    /// The weights of a reduction whose results are not known yet.
    const fn new(operation: Reduction, count: usize) -> Self {
        Self { operation, count, list: Vec::new() }
    }

    /// Multiplies values, `lanes` for each element, by the weights of a rank.
    fn apply(&self, rank: usize, lanes: usize, numbers: &mut [V]) {
        if self.operation == Reduction::Sum {
            return;
        }
        let weights = &self.list[rank * self.count..][..self.count];
        for (weight, numbers) in weights.iter().zip(numbers.chunks_exact_mut(lanes)) {
            numbers.iter_mut().for_each(|number| *number = times(*weight, *number));
        }
    }

    fn describe(&self, head: &mut Head, kind: Kind, root: usize) {
        of_all(head, kind, root, self.count);
        head.operation = self.operation as u32;
    }

    fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<V>()
    }
}

/// A reduction whose result the root gets, with the weights of all ranks there.
struct Reduce<V> {
    way: Rooted,
    weights: Weights<V>,
}

impl<V: Number> Pattern<V> for Reduce<V> {
    fn replays(&self) -> bool {
        self.weights.operation == Reduction::Sum
    }

    fn describe(&self, head: &mut Head) {
        self.weights.describe(head, Kind::Reduce, self.way.root);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        let count = results.len();
        let mut all = zeros(count * at.link.size);
        self.way.bring_in(at, numbers, &mut all)?;
        all.chunks_exact_mut(count.max(1)).enumerate().for_each(|(rank, part)| self.weights.apply(rank, 1, part));
        add_up(&all, results);
        Ok(())
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        let lanes = usize::try_from(at.head.lanes).expect("as many as there are");
        let mut all = Vec::with_capacity(seeds.len() * at.link.size);
        (0..at.link.size).for_each(|_| all.extend_from_slice(seeds));
        let parts = all.chunks_exact_mut(seeds.len().max(1)).enumerate();
        parts.for_each(|(rank, part)| self.weights.apply(rank, lanes, part));
        self.way.deal_out(at, &all, sums)
    }

    fn owned_bytes(&self) -> usize {
        self.weights.bytes()
    }
}

/// A reduction whose result all ranks get, with the weights of this rank.
struct AllReduce<V>(Weights<V>);

/// Adds up these values over all ranks, in the order of the ranks.
fn sum_of_all<V: Number>(at: &Place<'_>, numbers: &[V], sums: &mut [V]) -> Result<(), Failure> {
    add_up(&gather_all(at, numbers)?, sums);
    Ok(())
}

/// Returns the numbers of all ranks, in the order of the ranks.
fn gather_all<V: Number>(at: &Place<'_>, numbers: &[V]) -> Result<Vec<V>, Failure> {
    let mut all = zeros::<V>(numbers.len() * at.link.size);
    at.count(at.others(), size_of_val(numbers));
    at.link.all_gather(&at.head, bytemuck::cast_slice(numbers), bytemuck::cast_slice_mut(&mut all), at.call)?;
    Ok(all)
}

impl<V: Number> Pattern<V> for AllReduce<V> {
    fn replays(&self) -> bool {
        self.0.operation == Reduction::Sum
    }

    fn describe(&self, head: &mut Head) {
        self.0.describe(head, Kind::AllReduce, 0);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        let mut shares = numbers.to_vec();
        self.0.apply(0, 1, &mut shares);
        sum_of_all(at, &shares, results)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        let lanes = usize::try_from(at.head.lanes).expect("as many as there are");
        sum_of_all(at, seeds, sums)?;
        self.0.apply(0, lanes, sums);
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// # Reductions
///
/// Reductions gather the values of all ranks and combine them in the order of the ranks: the same bits from run to run,
/// at the price of the memory for the values of all ranks, which MPI's own reductions do without.
impl Communicator {
    /// Combines the variables or views of all ranks, element by element. The root gets the results, with the shapes of
    /// `x`; the other ranks get nothing.
    ///
    /// In a reverse sweep the root sends each rank its adjoints. A recording with a reduction other than a sum cannot
    /// be replayed.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn reduce<S, X>(self, x: &[X], operation: Reduction, root: usize) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::Reduce), Some(root));
        self.assert_rank(root);
        let (way, is_root) = (Rooted { root, count: length(x) }, self.rank() == root);
        let exchange = Exchange::of(x);
        let (all, weights) =
            self.gathered(&exchange, Weights::new(operation, way.count), call, (Kind::Reduce, root), |at, values| {
                let mut all = zeros(if is_root { values.len() * self.size() } else { 0 });
                way.bring_in(at, values, &mut all)?;
                Ok(all)
            });
        let flow = code_of(exchange.flow());
        let pattern = Reduce { way, weights };
        exchange.finish(if is_root { x } else { &[] }, &all, Recorded { pattern, communicator: self, call, flow })
    }

    /// Combines the variables or views of all ranks, element by element; all ranks get the results.
    ///
    /// In a reverse sweep each rank gets the adjoints of all ranks, and adds them in the order of the ranks: a result
    /// that several ranks seed, or use further, counts once for each of them. A recording with a reduction other than a
    /// sum cannot be replayed.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn all_reduce<S, X>(self, x: &[X], operation: Reduction) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::AllReduce), None);
        let (exchange, count) = (Exchange::of(x), length(x));
        let weights = Weights::new(operation, count);
        let (results, mut weights) = self.gathered(&exchange, weights, call, (Kind::AllReduce, 0), gather_all);
        if operation != Reduction::Sum {
            weights.list = weights.list[self.rank() * count..][..count].to_vec();
        }
        let flow = code_of(exchange.flow());
        exchange.finish(x, &results, Recorded { pattern: AllReduce(weights), communicator: self, call, flow })
    }

    /// Returns the results of a reduction and the weights, where `gather` returns the values of all ranks.
    #[track_caller]
    fn gathered<S: Taping>(
        self,
        exchange: &Exchange<'_, S>,
        weights: Weights<S::Value>,
        call: Call,
        (kind, root): (Kind, usize),
        gather: impl FnOnce(&Place<'_>, &[S::Value]) -> Result<Vec<S::Value>, Failure>,
    ) -> (Vec<S::Value>, Weights<S::Value>) {
        let (link, values) = (self.link(), exchange.values());
        let mut all = Vec::new();
        let round = Round { phase: Phase::Values, flow: code_of(exchange.flow()), lanes: 1 };
        let outcome = carry_out::<S::Value>(
            &link,
            call,
            round,
            |head| weights.describe(head, kind, root),
            |at| {
                all = gather(at, &values)?;
                Ok(())
            },
        );
        or_panic(outcome, call);
        let (results, list) = weights.operation.of(&all, self.size());
        (results, Weights { list, ..weights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extrema_belong_to_the_lowest_rank_that_has_them() {
        let all = [1.0, 5.0, f64::NAN, 3.0, 5.0, 2.0, 1.0, -1.0, f64::NAN];
        let (results, weights) = Reduction::Max.of(&all, 3);
        assert_eq!(results, [3.0, 5.0, 2.0]);
        assert_eq!(weights, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        let (results, weights) = Reduction::Min.of(&all, 3);
        assert_eq!(results, [1.0, -1.0, 2.0]);
        assert_eq!(weights, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn products_with_zeros_have_the_slopes_of_the_other_factors() {
        let (results, weights) = Reduction::Product.of(&[2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 7.0], 3);
        assert_eq!(results, [30.0, 0.0, 0.0]);
        assert_eq!(weights, [15.0, 24.0, 0.0, 10.0, 0.0, 0.0, 6.0, 0.0, 0.0]);
    }
}
