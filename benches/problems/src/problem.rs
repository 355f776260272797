//! What a workload offers.

use tapewright::advisor::Program;
use tapewright::kernels::{Space, View};
use tapewright::policy::AllowedIn;
use tapewright::{Real, Reverse, Strategy, Taping};

/// A scalar function of many inputs, in three forms.
///
/// Most workloads are one evaluation. Some are a sequence of small ones, each with a gradient of its own: `k` counts
/// them, from 0 to [`evaluations`](Self::evaluations) − 1, and every method that computes takes it.
pub trait Problem {
    /// The name on the command line and in tables.
    fn name(&self) -> &'static str;

    /// The size in words, for tables.
    fn size(&self) -> String;

    /// How many evaluations make the workload.
    fn evaluations(&self) -> usize {
        1
    }

    /// Replaces the contents of `x` by the inputs of evaluation `k`. Their number is the same for every `k`.
    fn inputs_into(&self, k: usize, x: &mut Vec<f64>);

    /// The inputs of evaluation `k`.
    fn inputs(&self, k: usize) -> Vec<f64> {
        let mut x = Vec::new();
        self.inputs_into(k, &mut x);
        x
    }

    /// Evaluation `k` over any strategy.
    fn eval<S: Taping>(&self, k: usize, x: &[Real<S>]) -> Real<S>;

    /// The same arithmetic over `f64`.
    fn plain(&self, k: usize, x: &[f64]) -> f64;

    /// Evaluation `k` in stages that are recorded one at a time when a sweep gets to them, under `Jacobian`; as a whole
    /// if the workload has no stages.
    fn eval_in_stages<S: Reverse<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(k, x)
    }

    /// Evaluation `k` in statements that name their arguments, one for each small block; as it is if the workload has
    /// no blocks.
    fn eval_in_blocks<S: Taping<Value = f64>>(&self, k: usize, x: &[Real<S>]) -> Real<S> {
        self.eval(k, x)
    }

    /// The function as kernels over arrays, if the workload is such: of one evaluation, with all inputs in one view,
    /// in any space.
    ///
    /// # Panics
    ///
    /// If it is not.
    fn eval_by_kernels<S: Taping<Policy: AllowedIn<M>>, M: Space<S::Value>>(&self, x: &View<S, 1, M>) -> Real<S> {
        panic!("{} is not made of kernels over {} numbers", self.name(), x.len())
    }

    /// The evaluations from `first` on in the lanes of packs, if the workload has several; the last evaluation again
    /// where there are no more. The inputs of each lane are those of its evaluation.
    ///
    /// # Panics
    ///
    /// If it has not.
    fn eval_in_lanes<S: Taping>(&self, first: usize, x: &[Real<S>]) -> Real<S> {
        panic!("{} is not written for several evaluations: not for {first}, of {} numbers", self.name(), x.len())
    }

    /// Writes the gradient of evaluation `k` by a hand-written adjoint, and returns the value.
    fn adjoint(&self, k: usize, x: &[f64], gradient: &mut [f64]) -> f64;

    /// The numbers of the whole workload, where other tools have computed them.
    fn checksums(&self) -> Option<Checksums> {
        None
    }
}

/// One evaluation of a problem, the one with k = 0, as a program for the advisor.
pub struct Workload<P>(pub P);

impl<P: Problem> Program for Workload<P> {
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        self.0.eval(0, x)
    }
    fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> {
        Some(self.0.eval(0, x))
    }
}

/// Three numbers that sum up a workload: of a sequence, values and gradients are added up over all evaluations first.
///
/// Those that [`Problem::checksums`] returns came out alike, to the digits given, from plain `double` (the value),
/// `CoDiPack`, XAD, Adept, `CppAD` and ADOL-C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checksums {
    /// The value of the function.
    pub value: f64,
    /// The sum of the gradient's entries.
    pub sum: f64,
    /// The Euclidean norm of the gradient.
    pub norm: f64,
}

impl Checksums {
    /// The checksums of this value and gradient.
    #[must_use]
    pub fn of(value: f64, gradient: &[f64]) -> Self {
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        Self { value, sum: gradient.iter().sum(), norm }
    }

    /// The largest of the three relative differences from `reference`; NaN if one of them is.
    #[must_use]
    pub fn difference(&self, reference: &Self) -> f64 {
        [(self.value, reference.value), (self.sum, reference.sum), (self.norm, reference.norm)]
            .map(|(ours, theirs)| (ours - theirs).abs() / theirs.abs())
            .into_iter()
            .fold(0.0, |worst: f64, d| if d <= worst || worst.is_nan() { worst } else { d })
    }
}

/// Value and gradient summed over all evaluations. `gradient_at(k, x, gradient)` overwrites `gradient` with that of
/// evaluation `k` at the inputs `x`, and returns the value.
pub fn total(problem: &impl Problem, mut gradient_at: impl FnMut(usize, &[f64], &mut [f64]) -> f64) -> (f64, Vec<f64>) {
    let mut x = problem.inputs(0);
    let mut gradient = vec![0.0; x.len()];
    let mut sums = gradient.clone();
    let mut value = 0.0;
    for k in 0..problem.evaluations() {
        problem.inputs_into(k, &mut x);
        value += gradient_at(k, &x, &mut gradient);
        for (sum, entry) in sums.iter_mut().zip(&gradient) {
            *sum += entry;
        }
    }
    (value, sums)
}
