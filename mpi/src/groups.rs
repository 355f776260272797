//! Collective calls, of all ranks together, that move values.

use crate::head::{Head, Kind};
use crate::link::{Call, Failure};
use crate::pattern::{Pattern, Place, length, of_all, zeros};
use crate::ranks::{Communicator, name_of};
use tapewright::exchange::Exchange;
use tapewright::strategies::Number;
use tapewright::variables::Variables;
use tapewright::{Real, Taping};

/// Adds up the parts of all ranks, in the order of the ranks.
pub(crate) fn add_up<V: Number>(all: &[V], sums: &mut [V]) {
    let (first, rest) = all.split_at(sums.len().min(all.len()));
    sums[..first.len()].copy_from_slice(first);
    for of_rank in rest.chunks_exact(sums.len().max(1)) {
        sums.iter_mut().zip(of_rank).for_each(|(sum, number)| *sum += *number);
    }
}

/// Transfers between a root and all ranks.
pub(crate) struct Rooted {
    pub(crate) root: usize,
    pub(crate) count: usize,
}

impl Rooted {
    /// Gathers a part of each rank on the root, in the order of the ranks.
    pub(crate) fn bring_in<V: Number>(&self, at: &Place<'_>, part: &[V], all: &mut [V]) -> Result<(), Failure> {
        at.count(usize::from(at.link.rank != self.root), size_of_val(part));
        at.link.gather(&at.head, bytemuck::cast_slice(part), bytemuck::cast_slice_mut(all), at.call)
    }

    /// Scatters the parts of `all` from the root to the ranks.
    pub(crate) fn deal_out<V: Number>(&self, at: &Place<'_>, all: &[V], part: &mut [V]) -> Result<(), Failure> {
        at.count(if at.link.rank == self.root { at.others() } else { 0 }, size_of_val(part));
        at.link.scatter(&at.head, bytemuck::cast_slice(all), bytemuck::cast_slice_mut(part), at.call)
    }
}

struct Broadcast(Rooted);

impl<V: Number> Pattern<V> for Broadcast {
    fn describe(&self, head: &mut Head) {
        of_all(head, Kind::Broadcast, self.0.root, self.0.count);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        if at.link.is_root(&at.head) {
            results.copy_from_slice(numbers);
            at.count(at.others(), size_of_val(numbers));
        }
        at.link.broadcast(&at.head, bytemuck::cast_slice_mut(results), at.call)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        let mut all = zeros(sums.len() * at.link.size);
        self.0.bring_in(at, seeds, &mut all)?;
        add_up(&all, sums);
        Ok(())
    }
}

struct Gather(Rooted);

impl<V: Number> Pattern<V> for Gather {
    fn describe(&self, head: &mut Head) {
        of_all(head, Kind::Gather, self.0.root, self.0.count);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        self.0.bring_in(at, numbers, results)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        self.0.deal_out(at, seeds, sums)
    }
}

struct Scatter(Rooted);

impl<V: Number> Pattern<V> for Scatter {
    fn describe(&self, head: &mut Head) {
        of_all(head, Kind::Scatter, self.0.root, self.0.count);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        self.0.deal_out(at, numbers, results)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        self.0.bring_in(at, seeds, sums)
    }
}

struct AllGather {
    count: usize,
}

impl<V: Number> Pattern<V> for AllGather {
    fn describe(&self, head: &mut Head) {
        of_all(head, Kind::AllGather, 0, self.count);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure> {
        at.count(at.others(), size_of_val(numbers));
        at.link.all_gather(&at.head, bytemuck::cast_slice(numbers), bytemuck::cast_slice_mut(results), at.call)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure> {
        let mut all = zeros::<V>(seeds.len());
        at.count(at.others(), size_of_val(sums));
        at.link.all_to_all(&at.head, bytemuck::cast_slice(seeds), bytemuck::cast_slice_mut(&mut all), at.call)?;
        add_up(&all, sums);
        Ok(())
    }
}

struct Barrier;

impl<V: Number> Pattern<V> for Barrier {
    fn describe(&self, head: &mut Head) {
        of_all(head, Kind::Barrier, 0, 0);
    }

    fn forward(&self, at: &Place<'_>, _: &[V], _: &mut [V]) -> Result<(), Failure> {
        at.count(at.others(), 0);
        at.link.agree(&at.head, at.call)
    }

    fn reverse(&self, at: &Place<'_>, _: &[V], _: &mut [V]) -> Result<(), Failure> {
        at.count(at.others(), 0);
        at.link.agree(&at.head, at.call)
    }
}

/// # Calls of all ranks together
///
/// All ranks call the same function, in the same order, with as many scalars; they compare this before the values are
/// sent. Each call panics when it differs, and in the cases listed at [`send`](Self::send).
impl Communicator {
    /// Returns the root's variables or views, on all ranks. On the other ranks only the shapes of `x` matter, and its
    /// values are ignored.
    ///
    /// In a reverse sweep the adjoints of all ranks are sent to the root, which adds them in the order of the ranks.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn broadcast<S, X>(self, x: &[X], root: usize) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::Broadcast), Some(root));
        self.assert_rank(root);
        let count = length(x);
        let exchange = Exchange::of(if self.rank() == root { x } else { &[] });
        self.carry_out(exchange, x, count, Broadcast(Rooted { root, count }), call)
    }

    /// Returns the variables or views of all ranks, in the order of the ranks, on the root; nothing on the other ranks.
    ///
    /// In a reverse sweep each rank gets its adjoints back.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn gather<S, X>(self, x: &[X], root: usize) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::Gather), Some(root));
        self.assert_rank(root);
        let (count, times) = (length(x), if self.rank() == root { self.size() } else { 0 });
        let shapes = (0..times).flat_map(|_| x);
        self.carry_out(Exchange::of(x), shapes, times * count, Gather(Rooted { root, count }), call)
    }

    /// Returns the variables or views of all ranks, in the order of the ranks, on all ranks.
    ///
    /// In a reverse sweep each rank gets its adjoints from all ranks, and adds them in the order of the ranks.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn all_gather<S, X>(self, x: &[X]) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::AllGather), None);
        let count = length(x);
        let shapes = (0..self.size()).flat_map(|_| x);
        self.carry_out(Exchange::of(x), shapes, self.size() * count, AllGather { count }, call)
    }

    /// Returns, on each rank, its part of the root's variables or views, with the shapes of `shapes`, whose values are
    /// ignored. On the root `x` has as many parts as there are ranks; on the other ranks it is ignored.
    ///
    /// In a reverse sweep the root gets the adjoints of all parts.
    ///
    /// # Panics
    ///
    /// When the root's `x` has another number of scalars than all ranks together get; in the cases listed at the calls
    /// of all ranks together.
    #[track_caller]
    #[must_use]
    pub fn scatter<S, X>(self, x: &[X], shapes: &[X], root: usize) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        let call = Call::here(name_of(Kind::Scatter), Some(root));
        self.assert_rank(root);
        let (count, x) = (length(shapes), if self.rank() == root { x } else { &[] });
        let (found, expected) = (length(x), if self.rank() == root { count * self.size() } else { 0 });
        assert!(found == expected, "{call}: {} ranks get {count} numbers each, and there are {found}", self.size());
        self.carry_out(Exchange::of(x), shapes, count, Scatter(Rooted { root, count }), call)
    }

    /// Waits until all ranks have made this call; a reverse sweep waits at its entry, too.
    ///
    /// # Panics
    ///
    /// In the cases listed at the calls of all ranks together.
    #[track_caller]
    pub fn barrier<S: Taping>(self) {
        let call = Call::here(name_of(Kind::Barrier), None);
        let nothing: &[Real<S>] = &[];
        self.carry_out(Exchange::<S>::of(nothing), nothing, 0, Barrier, call);
    }
}
