//! Programs on all ranks: scenarios that are shared out, and means over those of all ranks.

use crate::ranks::Communicator;
use tapewright::programs::{Evaluations, Means, Scenarios};
use tapewright::strategies::Plain;
use tapewright::{Error, Float, Passive, Real};

impl Communicator {
    /// The scenarios of this rank, if all ranks together compute these: consecutive ones, and as many on each rank, or
    /// one more on the first ranks.
    #[must_use]
    pub fn share<D>(self, scenarios: D) -> Share<D> {
        Share { scenarios, rank: self.rank(), ranks: self.size() }
    }

    /// Means, standard errors and mean gradients over the evaluations of all ranks, each of which gives its own. They
    /// are put together in the order of the ranks, so that all ranks get the same bits, and the same number of ranks
    /// gives them in each run. With another number of ranks the last bits differ, since sums are formed otherwise.
    ///
    /// All ranks call this together, also those without scenarios. Nothing is recorded: what comes out is a constant.
    ///
    /// # Panics
    ///
    /// When ranks with scenarios differ in the number of outputs or the lengths of gradients, and in the cases listed
    /// at the calls of all ranks together.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use tapewright::programs::{Program, scenarios};
    /// use tapewright_mpi::Ranks;
    ///
    /// let universe = mpi::initialize().expect("MPI is initialized once");
    /// let ranks = Ranks::new(&universe, Duration::from_secs(60));
    /// let all = ranks.all();
    ///
    /// let program = Program::new(|p, d| [(p[0] * d[0]).exp().eval()]);
    /// let paths = scenarios(1_000_000, 1, |k, data| data[0] = k as f64 * 1e-6);
    /// let found = program.gradient(&[0.5], all.share(paths))?;
    /// let means = all.means(&found);
    /// println!("{} ± {}, slope {}", means.mean(0), means.standard_error(0), means.mean_gradient(0)[0]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn means<V: Float + Plain>(self, found: &Evaluations<V>) -> Means<V> {
        let mine = found.means();
        #[allow(clippy::cast_precision_loss, reason = "fewer than 2⁵³ evaluations")]
        let shape = [mine.count(), mine.outputs(), mine.numbers().len()].map(|number| number as f64);
        let shapes = self.all_gather(Real::<Passive>::wrap_slice(&shape));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let shapes: Vec<[usize; 3]> =
            shapes.chunks_exact(3).map(|shape| [0, 1, 2].map(|k| shape[k].value() as usize)).collect();
        let Some((first, [_, outputs, length])) =
            shapes.iter().copied().enumerate().find(|(_, [count, ..])| *count > 0)
        else {
            return mine;
        };
        for (rank, shape) in shapes.iter().enumerate().filter(|(_, [count, ..])| *count > 0) {
            assert!(
                shape[1..] == [outputs, length],
                "means over all ranks: {outputs} outputs with {length} numbers on rank {first}, {} with {} on rank {rank}",
                shape[1],
                shape[2]
            );
        }
        let mut numbers = mine.numbers().to_vec();
        numbers.resize(length, V::ZERO);
        let all = self.all_gather(Real::<Passive<V>>::wrap_slice(&numbers));
        let all = Real::floats(&all);
        let part = |rank: usize| Means::from_numbers(shapes[rank][0], outputs, &all[rank * length..][..length]);
        let mut means = part(first);
        (first + 1..self.size()).for_each(|rank| means.merge(&part(rank)).expect("their lengths have been compared"));
        means
    }
}

/// The scenarios of one rank; made by [`Communicator::share`].
#[derive(Clone, Copy, Debug)]
pub struct Share<D> {
    scenarios: D,
    rank: usize,
    ranks: usize,
}

impl<D> Share<D> {
    /// The number of scenarios of the ranks below this one, of so many.
    const fn before(&self, rank: usize, count: usize) -> usize {
        let (each, more) = (count / self.ranks, count % self.ranks);
        rank * each + if rank < more { rank } else { more }
    }
}

impl<V, D: Scenarios<V>> Scenarios<V> for Share<D> {
    fn count(&self) -> usize {
        let all = self.scenarios.count();
        self.before(self.rank + 1, all) - self.before(self.rank, all)
    }

    fn columns(&self) -> Result<usize, Error> {
        self.scenarios.columns()
    }

    fn write(&self, scenario: usize, data: &mut [V]) {
        self.scenarios.write(self.before(self.rank, self.scenarios.count()) + scenario, data);
    }
}
