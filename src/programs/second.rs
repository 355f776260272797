//! Second derivatives of means: programs over duals.

use super::evaluations::Evaluations;
use super::program::Program;
use super::scenarios::Scenarios;
use crate::error::{Error, same_length};
use tapewright_strategies::{Dual, InRegisters, Number};

impl<V: InRegisters, const N: usize> Program<'_, Dual<V, N>> {
    /// The values of all scenarios, the gradient of the mean of each output by the parameters, and its Hessian matrix
    /// times `N` vectors: entry i of [`Evaluations::mean_gradient`] has the derivative by parameter i as its value, and
    /// entry i of each product as its tangents. `directions[i]` are the entries of the vectors for parameter i.
    ///
    /// Values have as tangents the derivatives of each scenario along the vectors. Data are constants; for derivatives
    /// along directions of data, too, call [`gradient`](Program::gradient) with parameters and data that have tangents.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] when `directions` is not as long as `parameters`, and the errors of
    /// [`values`](Program::values).
    ///
    /// # Panics
    ///
    /// When [`values`](Program::values) does.
    ///
    /// ```
    /// use tapewright::Dual;
    /// use tapewright::programs::Program;
    ///
    /// let program = Program::<Dual<f64, 1>>::new(|p, d| [(p[0] * p[0] * p[1] * d[0]).eval()]);
    /// let found = program.hessian_times(&[3.0, 5.0], &[[1.0], [0.0]], &[[1.0], [3.0]])?;
    /// assert_eq!(found.mean(0).value, 90.0);
    /// let (by_first, by_second) = (found.mean_gradient(0)[0], found.mean_gradient(0)[1]);
    /// assert_eq!((by_first.value, by_second.value), (60.0, 18.0));
    /// assert_eq!((by_first.tangents, by_second.tangents), ([20.0], [12.0])); // the Hessian matrix times (1, 0)
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    pub fn hessian_times(
        &self,
        parameters: &[V],
        directions: &[[V; N]],
        scenarios: impl Scenarios<V>,
    ) -> Result<Evaluations<Dual<V, N>>, Error> {
        same_length(("parameters", parameters.len()), ("entries of directions", directions.len()))?;
        let parameters: Vec<Dual<V, N>> = parameters
            .iter()
            .zip(directions)
            .map(|(value, tangents)| Dual { value: *value, tangents: *tangents })
            .collect();
        self.gradient(&parameters, Constant(scenarios))
    }
}

/// Scenarios whose data have no tangents.
struct Constant<D>(D);

impl<V: Number, const N: usize, D: Scenarios<V>> Scenarios<Dual<V, N>> for Constant<D> {
    fn count(&self) -> usize {
        self.0.count()
    }
    fn columns(&self) -> Result<usize, Error> {
        self.0.columns()
    }
    fn write(&self, scenario: usize, data: &mut [Dual<V, N>]) {
        let mut values = vec![V::ZERO; data.len()];
        self.0.write(scenario, &mut values);
        data.iter_mut().zip(values).for_each(|(to, value)| *to = Dual::constant(value));
    }
}
