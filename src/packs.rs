//! Many evaluations of one function, several to a recording, as packs.

use crate::error::Error;
use crate::expr::Real;
use crate::tape::Tape;
use tapewright_strategies::{Number, Reverse};

pub use tapewright_strategies::{Pack, Registered};

/// The evaluations that share a recording: one for each lane of a [`Pack`].
///
/// The last recording may have lanes left over; they repeat the last evaluation, and their results are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes<const N: usize> {
    first: usize,
    count: usize,
}

impl<const N: usize> Lanes<N> {
    /// Index of the evaluation in this lane, counted from 0.
    #[must_use]
    pub fn evaluation(&self, lane: usize) -> usize {
        (self.first + lane).min(self.count - 1)
    }

    /// The pack with one value for each evaluation, such as its data, or the next value of its random stream.
    #[must_use]
    pub fn pack<V>(&self, mut of: impl FnMut(usize) -> V) -> Pack<N, V> {
        Pack(core::array::from_fn(|lane| of(self.evaluation(lane))))
    }

    /// Number of lanes that have an evaluation of their own.
    fn used(&self) -> usize {
        N.min(self.count - self.first)
    }
}

/// Values and gradients of many evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluations<V> {
    /// The value of each evaluation.
    pub values: Vec<V>,
    /// The gradient of each evaluation.
    pub gradients: Vec<Vec<V>>,
}

impl<V: Number> Evaluations<V> {
    /// The sums over all evaluations, added up in their order.
    #[must_use]
    pub fn sum(&self) -> (V, Vec<V>) {
        let value = self.values.iter().fold(V::ZERO, |sum, value| sum + *value);
        let mut gradient = vec![V::ZERO; self.gradients.first().map_or(0, Vec::len)];
        for one in &self.gradients {
            gradient.iter_mut().zip(one).for_each(|(sum, slope)| *sum += *slope);
        }
        (value, gradient)
    }
}

/// Evaluates `f` and its gradient this many times, `N` evaluations in one recording: for different sets of parameters,
/// or different paths of a Monte-Carlo simulation with the same parameters.
///
/// `at(k)` are the inputs of evaluation k, the same number for each; `f` gets the inputs in packs, with the indices of
/// the evaluations in its lanes, by which it finds data or random values. Each evaluation gives the same result as
/// alone, up to the functions of [`Pack`]. With the feature `rayon`, [`par_in_packs`] runs the packs on threads and
/// returns the same bits.
///
/// # Errors
///
/// The errors of [`Tape::gradient`].
///
/// # Panics
///
/// When evaluations have different numbers of inputs, and when `f` does: in particular where it branches on something
/// that lanes disagree on.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::packs::{Pack, in_packs};
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { (x[0] * x[0] * x[1]).into() }
/// let sets = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
/// let found = in_packs::<Jacobian<Pack<8>>, _, 8>(3, |k| &sets[k], |x, _| f(x))?;
/// assert_eq!(found.values, [2.0, 36.0, 150.0]);
/// assert_eq!(found.gradients, [[4.0, 1.0], [24.0, 9.0], [60.0, 25.0]]);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub fn in_packs<'x, S, V, const N: usize>(
    evaluations: usize,
    at: impl Fn(usize) -> &'x [V],
    f: impl Fn(&[Real<S>], Lanes<N>) -> Real<S>,
) -> Result<Evaluations<V>, Error>
where
    S: Reverse<Value = Pack<N, V>>,
    V: Registered,
{
    let mut room = Room::new();
    let packs = (0..evaluations).step_by(N).map(|first| room.run(Lanes { first, count: evaluations }, &at, &f));
    Ok(collect(packs.collect::<Result<Vec<_>, _>>()?))
}

/// [`in_packs`], on the threads of rayon's current pool. The result is the same, bit for bit, for any number of
/// threads.
///
/// # Errors
///
/// The errors of [`in_packs`].
///
/// # Panics
///
/// When [`in_packs`] does.
#[cfg(feature = "rayon")]
pub fn par_in_packs<'x, S, V, const N: usize>(
    evaluations: usize,
    at: impl Fn(usize) -> &'x [V] + Sync,
    f: impl Fn(&[Real<S>], Lanes<N>) -> Real<S> + Sync,
) -> Result<Evaluations<V>, Error>
where
    S: Reverse<Value = Pack<N, V>, Tape: Send>,
    V: Registered,
{
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    let packs = (0..evaluations.div_ceil(N))
        .into_par_iter()
        .map_init(Room::new, |room, pack| room.run(Lanes { first: pack * N, count: evaluations }, &at, &f));
    Ok(collect(packs.collect::<Result<Vec<_>, _>>()?))
}

/// Result of one pack: values, and gradients by lanes.
type Found<V> = (Vec<V>, Vec<Vec<V>>);

fn collect<V>(packs: Vec<Found<V>>) -> Evaluations<V> {
    let mut found = Evaluations { values: Vec::new(), gradients: Vec::new() };
    for (values, gradients) in packs {
        found.values.extend(values);
        found.gradients.extend(gradients);
    }
    found
}

/// A tape, and memory for inputs and gradients in packs.
struct Room<S: Reverse> {
    tape: Tape<S>,
    inputs: Vec<S::Value>,
    gradient: Vec<S::Value>,
}

impl<S: Reverse<Value = Pack<N, V>>, V: Registered, const N: usize> Room<S> {
    fn new() -> Self {
        Self { tape: Tape::new(), inputs: Vec::new(), gradient: Vec::new() }
    }

    fn run<'x>(
        &mut self,
        lanes: Lanes<N>,
        at: &impl Fn(usize) -> &'x [V],
        f: &impl Fn(&[Real<S>], Lanes<N>) -> Real<S>,
    ) -> Result<Found<V>, Error> {
        let sets: [&[V]; N] = core::array::from_fn(|lane| at(lanes.evaluation(lane)));
        let n = sets[0].len();
        for (lane, set) in sets.iter().enumerate() {
            let evaluation = lanes.evaluation(lane);
            assert!(set.len() == n, "evaluation {evaluation} has {} inputs, and {} has {n}", set.len(), lanes.first);
        }
        self.inputs.clear();
        self.inputs.extend((0..n).map(|i| Pack(core::array::from_fn(|lane| sets[lane][i]))));
        self.gradient.clear();
        self.gradient.resize(n, Pack::ZERO);
        let value = self.tape.gradient(|x| f(x, lanes), &self.inputs, &mut self.gradient)?;
        let gradient = |lane: usize| self.gradient.iter().map(|slopes| slopes[lane]).collect();
        Ok((value.0[..lanes.used()].to_vec(), (0..lanes.used()).map(gradient).collect()))
    }
}
