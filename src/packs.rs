//! Many evaluations of one function, several to a recording, as packs.
//!
//! Views of packs are in the space `Host`: devices compute with `f64` and `f32`, and other spaces are refused.
//!
//! ```compile_fail,E0277
//! use tapewright::kernels::{Registers, Space, View, targets::Target};
//! use tapewright::{packs::Pack, prelude::*};
//!
//! struct Device;
//! impl Space<f64> for Device {
//!     fn target() -> &'static dyn Target<f64> {
//!         &Registers
//!     }
//! }
//! let x = View::<Passive, 1>::zeros([3]).in_space::<Device>();
//! let y = View::<Passive<Pack<8>>, 1>::zeros([3]).in_space::<Device>();
//! ```

use crate::error::Error;
use crate::expr::{Ex, Literal, Real, ex};
use crate::tape::Tape;
use tapewright_strategies::{Number, Reverse, Taping};

pub use tapewright_strategies::{Pack, Registered};

mod sealed {
    /// Implemented for packs.
    pub trait Sealed {}
    impl<V: tapewright_strategies::Registered, const N: usize> Sealed for tapewright_strategies::Pack<N, V> {}
}

/// Packs of `N` lanes. No other type can implement it.
pub trait Packed<const N: usize>: Number + sealed::Sealed {
    /// The numbers in the lanes.
    type Element: Registered;

    /// A pack with the number `of(lane)` in each lane.
    #[must_use]
    fn of_elements(of: impl FnMut(usize) -> Self::Element) -> Self;

    /// Returns the number in this lane.
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    #[must_use]
    fn element(&self, lane: usize) -> Self::Element;
}

impl<V: Registered, const N: usize> Packed<N> for Pack<N, V> {
    type Element = V;

    fn of_elements(of: impl FnMut(usize) -> V) -> Self {
        Self(core::array::from_fn(of))
    }

    fn element(&self, lane: usize) -> V {
        self.0[lane]
    }
}

/// The numbers in the lanes of the packs of a strategy.
type LaneOf<S, const N: usize> = <<S as Taping>::Value as Packed<N>>::Element;

/// A number for each lane as an operand of arithmetic with variables that is not a variable; made by [`Lanes::datum`].
/// `.into()` makes a variable of it, for functions that take only variables.
pub type Datum<S> = Ex<S, Literal<S>>;

/// Makes data of a value, to call a function of data outside packs.
///
/// ```
/// use tapewright::packs::datum;
/// use tapewright::{Closed, prelude::*};
///
/// assert_eq!(gradient::<Jacobian>(|x| (x[0] * datum(5.0) - datum(1.0)).into(), &[2.0]), [5.0]);
///
/// fn product<T: std::ops::Mul<Output = T>>(x: T, y: T) -> T { x * y }
/// let f = |x: &[Real<Jacobian>]| product(Closed::from(x[0]), Closed::from(datum(5.0))).open();
/// assert_eq!(gradient::<Jacobian>(f, &[2.0]), [5.0]);
/// assert_eq!(Real::<Passive>::from(datum(5.0)).value(), 5.0);
/// ```
#[inline(always)]
pub const fn datum<S: Taping>(value: S::Value) -> Datum<S> {
    ex(Literal(value))
}

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

    /// Number of the pack, counted from 0: the evaluations in its lanes begin with the `N`-th of it.
    #[must_use]
    pub const fn number(&self) -> usize {
        self.first / N
    }

    /// The data of the evaluations, one number for each, as an operand of arithmetic with variables that is not a
    /// variable: as an `f64` in a function of one evaluation, it takes no record and has no derivative.
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::packs::{Pack, in_packs};
    ///
    /// let weights = [1.0, 2.0, 3.0];
    /// let found = in_packs::<Jacobian<Pack<4>>, _, 4>(3, |_| &[5.0], |x, lanes| {
    ///     let weight = lanes.datum(|k| weights[k]);
    ///     (x[0] * x[0] * weight).eval()
    /// })?;
    /// assert_eq!(found.gradients, [[10.0], [20.0], [30.0]]);
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    #[must_use]
    pub fn datum<S: Taping<Value: Packed<N>>>(&self, mut of: impl FnMut(usize) -> LaneOf<S, N>) -> Datum<S> {
        datum(Packed::of_elements(|lane| of(self.evaluation(lane))))
    }

    /// Number of lanes that have an evaluation of their own.
    fn used(&self) -> usize {
        N.min(self.count - self.first)
    }
}

pub use crate::programs::Evaluations;

/// Evaluates `f` and its gradient this many times, `N` evaluations in one recording: for different sets of parameters,
/// or different paths of a Monte-Carlo simulation with the same parameters.
///
/// `at(k)` are the inputs of evaluation k, the same number for each; `f` gets the inputs in packs, with the indices of
/// the evaluations in its lanes, by which it finds data or random values. It returns a variable, or several as an array
/// or a vector; the values of an evaluation are then adjacent in the result, and so are its gradients. Each evaluation
/// gives the same result as alone, up to the functions of [`Pack`]. With the feature `rayon`, `par_in_packs` runs the
/// packs on threads and returns the same bits.
///
/// # Errors
///
/// The errors of [`Tape::gradient`].
///
/// # Panics
///
/// When evaluations have different numbers of inputs or outputs, and when `f` does: in particular where it branches on
/// something that lanes disagree on.
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
///
/// let found = in_packs::<Jacobian<Pack<8>>, _, 8>(3, |k| &sets[k], |x, _| [f(x), x[1]])?;
/// assert_eq!(found.of(1).collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub fn in_packs<'x, S, O, const N: usize>(
    evaluations: usize,
    at: impl Fn(usize) -> &'x [LaneOf<S, N>],
    f: impl Fn(&[Real<S>], Lanes<N>) -> O,
) -> Result<Evaluations<LaneOf<S, N>>, Error>
where
    S: Reverse<Value: Packed<N>>,
    O: AsRef<[Real<S>]>,
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
pub fn par_in_packs<'x, S, O, const N: usize>(
    evaluations: usize,
    at: impl Fn(usize) -> &'x [LaneOf<S, N>] + Sync,
    f: impl Fn(&[Real<S>], Lanes<N>) -> O + Sync,
) -> Result<Evaluations<LaneOf<S, N>>, Error>
where
    S: Reverse<Value: Packed<N>, Tape: Send>,
    O: AsRef<[Real<S>]>,
{
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    let packs = (0..evaluations.div_ceil(N))
        .into_par_iter()
        .map_init(Room::new, |room, pack| room.run(Lanes { first: pack * N, count: evaluations }, &at, &f));
    Ok(collect(packs.collect::<Result<Vec<_>, _>>()?))
}

/// Results of one pack.
struct Found<V> {
    outputs: usize,
    /// For each evaluation the values of all outputs, and their gradients.
    values: Vec<V>,
    gradients: Vec<Vec<V>>,
}

fn collect<V: Number>(packs: Vec<Found<V>>) -> Evaluations<V> {
    let mut found = Evaluations::new(Vec::new(), Vec::new());
    found.outputs = packs.first().map_or(1, |pack| pack.outputs);
    for (number, pack) in packs.into_iter().enumerate() {
        let (first, outputs) = (found.outputs, pack.outputs);
        assert!(first == outputs, "pack {number} has {outputs} outputs, and pack 0 has {first}");
        found.values.extend(pack.values);
        found.gradients.extend(pack.gradients);
    }
    found
}

/// A tape, and memory for inputs and gradients in packs.
struct Room<S: Reverse> {
    tape: Tape<S>,
    inputs: Vec<S::Value>,
    values: Vec<S::Value>,
    gradients: Vec<S::Value>,
}

impl<S: Reverse> Room<S> {
    fn new() -> Self {
        Self { tape: Tape::new(), inputs: Vec::new(), values: Vec::new(), gradients: Vec::new() }
    }

    fn run<'x, O: AsRef<[Real<S>]>, const N: usize>(
        &mut self,
        lanes: Lanes<N>,
        at: &impl Fn(usize) -> &'x [LaneOf<S, N>],
        f: &impl Fn(&[Real<S>], Lanes<N>) -> O,
    ) -> Result<Found<LaneOf<S, N>>, Error>
    where
        S::Value: Packed<N>,
    {
        let sets: [&[LaneOf<S, N>]; N] = core::array::from_fn(|lane| at(lanes.evaluation(lane)));
        let n = sets[0].len();
        for (lane, set) in sets.iter().enumerate() {
            let evaluation = lanes.evaluation(lane);
            assert!(set.len() == n, "evaluation {evaluation} has {} inputs, and {} has {n}", set.len(), lanes.first);
        }
        self.inputs.clear();
        self.inputs.extend((0..n).map(|i| S::Value::of_elements(|lane| sets[lane][i])));
        let outputs = self.sweep(|x| f(x, lanes))?;
        let all = (0..lanes.used()).flat_map(|lane| (0..outputs).map(move |output| (lane, output)));
        let value = |(lane, output): (usize, usize)| self.values[output].element(lane);
        let gradient = |(lane, output): (usize, usize)| {
            self.gradients[output * n..][..n].iter().map(|slopes| slopes.element(lane)).collect()
        };
        Ok(Found { outputs, values: all.clone().map(value).collect(), gradients: all.map(gradient).collect() })
    }

    /// Records `f` at the inputs, and writes values and gradients of its outputs; returns how many there are.
    fn sweep<O: AsRef<[Real<S>]>>(&mut self, f: impl FnOnce(&[Real<S>]) -> O) -> Result<usize, Error> {
        let found = self.tape.record_stored(&self.inputs, f)?;
        let outputs = found.as_ref();
        self.values.clear();
        self.values.extend(outputs.iter().map(Real::value));
        self.gradients.clear();
        self.gradients.resize(outputs.len() * self.inputs.len(), S::Value::ZERO);
        match outputs {
            [output] => self.tape.sweep_out(output, &mut self.gradients)?,
            outputs => self.tape.sweep_whole(outputs, &mut self.values, &mut self.gradients)?,
        }
        Ok(outputs.len())
    }
}
