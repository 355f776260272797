//! Ready-made rules.

use crate::exchange;
use crate::expr::Real;
use core::fmt;
use tapewright_strategies::{External, Forward, Number, SweepError, Tangent, by_lanes, counts};

type Rule<V> = Box<dyn Fn(&[V], &mut [V]) -> Result<(), SweepError> + Send + Sync>;

/// Rules from closures, for external functions that need no type of their own.
///
/// ```
/// use tapewright::{Rules, external, prelude::*};
///
/// fn norm<S: Reverse<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let values: Vec<f64> = x.iter().map(Real::peek).collect();
///     let norm = values.iter().map(|x| x * x).sum::<f64>().sqrt();
///     let direction: Vec<f64> = values.iter().map(|x| x / norm).collect();
///     let rules = Rules::new("norm", move |outputs, inputs| {
///         inputs.iter_mut().zip(&direction).for_each(|(x, d)| *x += outputs[0] * d);
///         Ok(())
///     });
///     external(x, &[norm], rules).remove(0)
/// }
///
/// assert_eq!(gradient::<PrimalValue>(norm, &[3.0, 4.0]), [0.6, 0.8]);
/// ```
pub struct Rules<V> {
    name: String,
    reverse: Rule<V>,
    forward: Option<Rule<V>>,
    replay: Option<Rule<V>>,
}

impl<V: Number> Rules<V> {
    /// Rules with a reverse rule, which is called with the adjoints of the outputs and zeros for the inputs, to which
    /// it adds: see [`External::reverse`]. The name is for messages.
    pub fn new(
        name: impl Into<String>,
        reverse: impl Fn(&[V], &mut [V]) -> Result<(), SweepError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), reverse: Box::new(reverse), forward: None, replay: None }
    }

    /// Adds a forward rule, called with the tangents of the inputs, and zeros for the outputs: see
    /// [`External::forward`].
    #[must_use]
    pub fn forward(mut self, rule: impl Fn(&[V], &mut [V]) -> Result<(), SweepError> + Send + Sync + 'static) -> Self {
        self.forward = Some(Box::new(rule));
        self
    }

    /// Adds a rule that computes the outputs at new inputs: see [`External::replay`].
    #[must_use]
    pub fn replay(mut self, rule: impl Fn(&[V], &mut [V]) -> Result<(), SweepError> + Send + Sync + 'static) -> Self {
        self.replay = Some(Box::new(rule));
        self
    }

    fn missing(&self, rule: &'static str) -> SweepError {
        SweepError::NoRule { function: self.name.clone(), rule }
    }
}

impl<V: Number> External<V> for Rules<V> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        (self.reverse)(outputs, inputs)
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        self.forward.as_ref().map_or_else(|| Err(self.missing("forward")), |rule| rule(inputs, outputs))
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        self.replay.as_ref().map_or_else(|| Err(self.missing("replay")), |rule| rule(inputs, outputs))
    }

    fn is_instruction(&self) -> bool {
        self.replay.is_some()
    }
}

impl<V> fmt::Debug for Rules<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules of {}", self.name)
    }
}

/// Number of directions that forward mode takes in one run of a rule.
const WIDTH: usize = 8;

/// Rules of a function that is differentiated by forward mode when a sweep gets there: suited to functions of few
/// inputs and many statements, because the function leaves nothing on the tape but its inputs.
///
/// The reverse rule evaluates the function once for every 8 inputs, the forward rule once.
///
/// ```
/// use tapewright::{external, external::ByTangents, prelude::*};
///
/// fn f<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
///     let mut y = x[0];
///     for _ in 0..1000 { y = (y.sin() * x[1]).into() }
///     vec![y]
/// }
///
/// let on_tape = gradient::<Jacobian>(|x| f(x)[0], &[0.5, 1.1]);
/// let in_one_entry = gradient::<Jacobian>(|x| {
///     let values = [x[0].peek(), x[1].peek()];
///     let y = f::<Passive>(Real::wrap_slice(&values))[0].value();
///     external(x, &[y], ByTangents::new(f, &values))[0]
/// }, &[0.5, 1.1]);
/// assert!((on_tape[0] - in_one_entry[0]).abs() <= 1e-12 * on_tape[0].abs());
/// assert!((on_tape[1] - in_one_entry[1]).abs() <= 1e-12 * on_tape[1].abs());
/// ```
#[derive(Debug)]
pub struct ByTangents<F, V = f64> {
    function: F,
    at: Vec<V>,
}

impl<F, V: Number> ByTangents<F, V>
where
    F: Fn(&[Real<Tangent<WIDTH, V>>]) -> Vec<Real<Tangent<WIDTH, V>>> + Send + Sync + 'static,
{
    /// Rules of `function` at these values of its inputs.
    pub fn new(function: F, inputs: &[V]) -> Self {
        Self { function, at: inputs.to_vec() }
    }

    /// Tangents of the outputs for 8 directions: `direction(j, k)` is the tangent of input `j` along direction `k`.
    fn along(&self, direction: impl Fn(usize, usize) -> V) -> Vec<Real<Tangent<WIDTH, V>>> {
        let variable = |(j, value): (usize, &V)| {
            Real::<Tangent<WIDTH, V>>::with_tangent(*value, core::array::from_fn(|k| direction(j, k)))
        };
        Tangent::<WIDTH, V>::evaluate(|| {
            let outputs = (self.function)(&self.at.iter().enumerate().map(variable).collect::<Vec<_>>());
            outputs.iter().for_each(|y| Tangent::<WIDTH, V>::assert_present(y.id()));
            outputs
        })
    }

    /// [`along`](Self::along), with a check that the function returns this number of outputs.
    fn slopes(
        &self,
        outputs: usize,
        direction: impl Fn(usize, usize) -> V,
    ) -> Result<Vec<Real<Tangent<WIDTH, V>>>, SweepError> {
        let (exchanged, found) = exchange::noticed(|| self.along(direction));
        if exchanged {
            let why = "it has exchanged something, with messages say, and what it owes to others would be lost";
            return Err(SweepError::rule(core::any::type_name::<F>(), why));
        }
        returns::<F>(found.len(), outputs)?;
        Ok(found)
    }
}

/// Checks that rules for this number of inputs fit a function with `inputs` inputs.
fn made_for(rules: usize, inputs: usize) -> Result<(), String> {
    if rules == inputs { Ok(()) } else { Err(format!("its rules were made for {rules} inputs, and it has {inputs}")) }
}

/// [`made_for`] with an error of a sweep, for a rule of the function `F`.
fn is_called_with<F>(rules: usize, inputs: usize) -> Result<(), SweepError> {
    made_for(rules, inputs).map_err(|message| SweepError::rule(core::any::type_name::<F>(), message))
}

/// Checks that the function `F` returns as many outputs as it was recorded with.
fn returns<F>(found: usize, outputs: usize) -> Result<(), SweepError> {
    if found == outputs {
        return Ok(());
    }
    let message = format!("it was recorded with {outputs} outputs, and now returns {found}");
    Err(SweepError::rule(core::any::type_name::<F>(), message))
}

impl<F, V: Number> External<V> for ByTangents<F, V>
where
    F: Fn(&[Real<Tangent<WIDTH, V>>]) -> Vec<Real<Tangent<WIDTH, V>>> + Send + Sync + 'static,
{
    fn name(&self) -> String {
        core::any::type_name::<F>().to_owned()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        is_called_with::<F>(self.at.len(), inputs.len())?;
        for (block, adjoints) in inputs.chunks_mut(WIDTH).enumerate() {
            let found = self.slopes(outputs.len(), |j, k| if j == block * WIDTH + k { V::ONE } else { V::ZERO })?;
            for (output, seed) in found.iter().zip(outputs) {
                adjoints.iter_mut().zip(output.tangent()).for_each(|(adjoint, slope)| add(adjoint, *seed, slope));
            }
        }
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        is_called_with::<F>(self.at.len(), inputs.len())?;
        let found = self.slopes(outputs.len(), |j, k| if k == 0 { inputs[j] } else { V::ZERO })?;
        outputs.iter_mut().zip(&found).for_each(|(output, found)| *output = found.tangent()[0]);
        Ok(())
    }

    fn check(&self, inputs: usize, _: usize) -> Result<(), String> {
        made_for(self.at.len(), inputs)
    }

    fn owned_bytes(&self) -> usize {
        self.at.capacity() * size_of::<V>()
    }
}

/// Rules of a black box, by central differences: for code that computes values only.
///
/// The reverse rule evaluates the function twice for each input, the forward rule twice. The step for input x is
/// `relative · max(|x|, 1)`; the error of a slope is about `relative²` times the third derivative plus ε/`relative`
/// times the value, so ∛ε ≈ 6·10⁻⁶ is a good choice for `f64`.
#[derive(Debug)]
pub struct ByFiniteDifferences<F, V = f64> {
    function: F,
    at: Vec<V>,
    relative: V,
}

impl<F, V: Number> ByFiniteDifferences<F, V>
where
    F: Fn(&[V]) -> Vec<V> + Send + Sync + 'static,
{
    /// Rules of `function` at these values of its inputs, with this relative step.
    pub fn new(function: F, inputs: &[V], relative: V) -> Self {
        Self { function, at: inputs.to_vec(), relative }
    }

    /// (f(x + t·d) − f(x − t·d)) / 2t for each output.
    fn slopes(&self, t: V, direction: impl Fn(usize) -> V, outputs: usize) -> Result<Vec<V>, SweepError> {
        let moved = |t: V| -> Vec<V> { self.at.iter().enumerate().map(|(j, x)| *x + t * direction(j)).collect() };
        let (above, below) = ((self.function)(&moved(t)), (self.function)(&moved(-t)));
        returns::<F>(above.len(), outputs)?;
        returns::<F>(below.len(), outputs)?;
        let two = V::ONE + V::ONE;
        Ok(above.iter().zip(below).map(|(above, below)| (*above - below) / (two * t)).collect())
    }
}

/// The largest absolute value, lane by lane.
fn magnitude<V: Number>(numbers: &[V]) -> V {
    let largest = |k: usize| numbers.iter().map(|x| x.lane(k).as_f64().abs()).fold(0.0, f64::max);
    V::from_lanes(|k| Number::from_f64(largest(k)))
}

/// Adds seed·slope, where zero times anything is zero.
fn add<V: Number>(adjoint: &mut V, seed: V, slope: V) {
    if counts(seed, slope) {
        *adjoint += seed.contribution(slope);
    }
}

impl<F, V: Number> External<V> for ByFiniteDifferences<F, V>
where
    F: Fn(&[V]) -> Vec<V> + Send + Sync + 'static,
{
    fn name(&self) -> String {
        core::any::type_name::<F>().to_owned()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        is_called_with::<F>(self.at.len(), inputs.len())?;
        for (j, adjoint) in inputs.iter_mut().enumerate() {
            let step = self.relative * magnitude(&self.at[j..=j]).max(V::ONE);
            let slopes = self.slopes(step, |i| if i == j { V::ONE } else { V::ZERO }, outputs.len())?;
            slopes.iter().zip(outputs).for_each(|(slope, seed)| add(adjoint, *seed, *slope));
        }
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        is_called_with::<F>(self.at.len(), inputs.len())?;
        // Where the direction is 0, any step will do.
        let length = by_lanes(magnitude(inputs), |length| if length == Number::ZERO { Number::ONE } else { length });
        let step = self.relative * (magnitude(&self.at).max(V::ONE) / length);
        let slopes = self.slopes(step, |j| inputs[j], outputs.len())?;
        outputs.copy_from_slice(&slopes);
        Ok(())
    }

    fn replay(&mut self, _: &[V], _: &mut [V]) -> Result<(), SweepError> {
        Err(SweepError::NoRule { function: External::<V>::name(self), rule: "replay" })
    }

    fn check(&self, inputs: usize, _: usize) -> Result<(), String> {
        made_for(self.at.len(), inputs)
    }

    fn owned_bytes(&self) -> usize {
        self.at.capacity() * size_of::<V>()
    }
}
