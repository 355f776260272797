//! Checks of derivatives, for users' own functions.

use crate::drivers::vjp;
use crate::error::Error;
use crate::expr::Real;
use crate::forward::jvp;
use crate::variables::Variables;
use core::fmt;
use tapewright_strategies::{Passive, Reverse, Tangent, Taping};

/// One step size of a Taylor test along a direction v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaylorRow {
    /// t.
    pub step: f64,
    /// |f(x + t·v) − f(x)|, which goes down like t.
    pub zeroth: f64,
    /// |f(x + t·v) − f(x) − t·J·v|, which goes down like t² if the derivative is right.
    pub first: f64,
}

/// The figures of [`check_gradient`] where everything agrees.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientCheck {
    /// wᵀ·(J·v) by forward mode and (Jᵀ·w)·v by reverse mode.
    pub products: (f64, f64),
    /// The Taylor test of each output, largest step first. Steps at which an output is not finite are left out.
    pub taylor: Vec<Vec<TaylorRow>>,
    /// The lowest order with which the first remainder of an output goes down, where it is above rounding error: about
    /// 2; more if the function is nearly linear, and infinite if all remainders are rounding errors.
    pub order: f64,
}

/// A disagreement that [`check_gradient`] found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GradientMismatch {
    /// The derivative of this output with respect to this input is not the same in forward and in reverse mode.
    Modes {
        /// The input.
        input: usize,
        /// The output.
        output: usize,
        /// ∂output/∂input by forward mode.
        forward: f64,
        /// ∂output/∂input by reverse mode.
        reverse: f64,
    },
    /// Both modes agree, and differ from the difference quotient: the rule of some function is wrong, or the function
    /// has no derivative there.
    Difference {
        /// The input.
        input: usize,
        /// The output.
        output: usize,
        /// ∂output/∂input as it is computed.
        derivative: f64,
        /// The central difference quotient.
        quotient: f64,
    },
    /// The function gives another value under the strategy than under `Passive`.
    Value {
        /// The output.
        output: usize,
        /// Under `Passive`.
        plain: f64,
        /// Under the strategy.
        taped: f64,
    },
    /// Both modes agree, and the remainder of an output does not go down like t², but no single derivative stands out:
    /// the function has no derivative there, or the inputs are far from order 1.
    Taylor {
        /// The output.
        output: usize,
        /// The order with which it goes down.
        order: f64,
    },
    /// A value or derivative is NaN or infinite, or the value is at most of the points of the Taylor test.
    NotFinite {
        /// The output.
        output: usize,
    },
    /// The function cannot be swept.
    Failed(Error),
}

impl fmt::Display for GradientMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Modes { input, output, forward, reverse } => write!(
                f,
                "the derivative of output {output} with respect to input {input} is {forward:e} in forward mode and {reverse:e} in \
                 reverse mode"
            ),
            Self::Difference { input, output, derivative, quotient } => write!(
                f,
                "the derivative of output {output} with respect to input {input} is {derivative:e}, but the difference quotient is \
                 {quotient:e}"
            ),
            Self::Value { output, plain, taped } => {
                write!(f, "output {output} is {plain:e} without, and {taped:e} with recording")
            }
            Self::Taylor { output, order } => write!(
                f,
                "the first-order remainder of output {output} goes down with order {order:.2} where it should be 2, but no single \
                 derivative stands out"
            ),
            Self::NotFinite { output } => write!(f, "output {output}, or one of its derivatives, is not finite"),
            Self::Failed(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for GradientMismatch {}

impl From<Error> for GradientMismatch {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Numbers between ½ and 1, with either sign, always the same: an additive recurrence with the golden ratio.
fn scattered(k: usize, salt: f64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let u = (k as f64).mul_add(0.618_033_988_749_894_9, salt).fract();
    if u < 0.5 { -(0.5 + u) } else { u }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Σ |aₖ·bₖ|: what rounding errors of the sum are measured by.
fn scale(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

/// The first number that is NaN or infinite.
fn not_finite(values: &[f64]) -> Option<usize> {
    values.iter().position(|value| !value.is_finite())
}

/// Halvings of the step.
const STEPS: i32 = 24;
/// How far a central difference may be from a derivative, relative to the largest of them.
const TOLERANCE: f64 = 1e-5;
/// How far above the noise of values a difference has to be to count: errors of a few values add up in it.
const ABOVE: f64 = 32.0;

/// Checks the derivatives of a function at `x`: use [`check_gradient!`](macro@crate::check_gradient), which compiles
/// one generic function for the three strategies that this takes.
///
/// Two tests, each with fixed scattered weights and direction:
///
/// * *Dot product*: wᵀ·(J·v) by forward mode equals (Jᵀ·w)·v by reverse mode, up to rounding.
/// * *Taylor remainder*: for each output, f(x + t·v) − f(x) − t·J·v goes down like t² as t is halved 24 times, until
///   rounding errors take over. This finds rules that are wrong in both modes alike.
///
/// Rounding errors are told from mistakes by how much the values scatter at neighboring points, for which `plain` runs
/// 45 times more. So a derivative that is 0, or nearly 0, raises no alarm; one of order 1 that is off by 10⁻⁶ is found.
///
/// Where one fails, single derivatives are compared to find an input and an output that disagree. The inputs should be
/// of order 1, and the function smooth near `x`.
///
/// # Errors
///
/// [`GradientMismatch`] names what disagrees.
///
/// # Panics
///
/// When `f` does.
pub fn check_gradient<S: Reverse<Value = f64>>(
    plain: impl Fn(&[Real<Passive>]) -> Vec<Real<Passive>>,
    tangent: impl Fn(&[Real<Tangent>]) -> Vec<Real<Tangent>>,
    taped: impl Fn(&[Real<S>]) -> Vec<Real<S>>,
    x: &[f64],
) -> Result<GradientCheck, GradientMismatch> {
    let values = |x: &[f64]| -> Vec<f64> { plain(Real::wrap_slice(x)).iter().map(Real::value).collect() };
    let at = values(x);
    let direction: Vec<f64> = (0..x.len()).map(|k| scattered(k, 0.3)).collect();
    let weights: Vec<f64> = (0..at.len()).map(|k| scattered(k, 0.7)).collect();
    let along = |direction: &[f64]| jvp::<Tangent>(&tangent, x, direction).map(|(_, slopes)| slopes);
    let slopes = along(&direction)?;
    let (taped_at, gradient) = vjp::<S>(&taped, x, &weights)?;
    same_values(&at, &taped_at)?;
    let products = (dot(&weights, &slopes), dot(&gradient, &direction));
    if let Some(output) = not_finite(&at).or(not_finite(&slopes)) {
        return Err(GradientMismatch::NotFinite { output });
    }
    let points: Vec<(f64, Vec<f64>)> = steps(x, &direction).map(|(step, point)| (step, values(&point))).collect();
    let noise = noise(&values, x, &direction, &at, &points);
    let rounding = 1e-11 * scale(&weights, &slopes).max(scale(&gradient, &direction)) + ABOVE * scale(&weights, &noise);
    let agree = not_finite(&gradient).is_none() && (products.0 - products.1).abs() <= rounding;
    if !agree && let Some(mismatch) = find(&taped, &along, &values, x, &noise)? {
        return Err(mismatch);
    }
    let mut check = GradientCheck { products, taylor: Vec::new(), order: f64::INFINITY };
    for output in 0..at.len() {
        let (rows, order) = taylor(&points, output, at[output], slopes[output], noise[output]);
        if rows.len() < 5 {
            return Err(GradientMismatch::NotFinite { output });
        }
        if order < 1.5 {
            return Err(find(&taped, &along, &values, x, &noise)?.unwrap_or(GradientMismatch::Taylor { output, order }));
        }
        check.order = check.order.min(order);
        check.taylor.push(rows);
    }
    Ok(check)
}

/// The values of a function with and without recording differ by rounding errors at most.
fn same_values(plain: &[f64], taped: &[f64]) -> Result<(), GradientMismatch> {
    for (output, (plain, taped)) in plain.iter().copied().zip(taped.iter().copied()).enumerate() {
        if (plain - taped).abs() > 1e-10 * plain.abs().max(1.0) {
            return Err(GradientMismatch::Value { output, plain, taped });
        }
    }
    Ok(())
}

/// The points of the Taylor test, with their steps.
fn steps(x: &[f64], direction: &[f64]) -> impl Iterator<Item = (f64, Vec<f64>)> {
    (0..STEPS).map(move |k| {
        let step = 0.01 * 0.5_f64.powi(k);
        (step, along_line(x, direction, step))
    })
}

fn along_line(x: &[f64], direction: &[f64], step: f64) -> Vec<f64> {
    x.iter().zip(direction).map(|(x, v)| step.mul_add(*v, *x)).collect()
}

/// How large rounding errors are in the values of each output, about.
///
/// They are never below ε times the value. Where large numbers cancel on the way to it they are more, and that shows in
/// the values at neighboring points: sixth differences of a smooth function vanish like the sixth power of the
/// distance between the points, and differences of rounding errors stay. So the distance is made smaller until the
/// differences stop going down. At a kink they go down like the distance, which is far enough from staying.
fn noise(
    values: &dyn Fn(&[f64]) -> Vec<f64>,
    x: &[f64],
    direction: &[f64],
    at: &[f64],
    points: &[(f64, Vec<f64>)],
) -> Vec<f64> {
    // `x` itself is not among the points: a kink or a jump there is no rounding error.
    let line = |distance: f64| -> Vec<Vec<f64>> {
        (1..=9).map(|k| values(&along_line(x, direction, f64::from(k) * distance))).collect()
    };
    let lines: Vec<Vec<Vec<f64>>> = [-10, -16, -22, -28, -34].map(|power| line(2.0_f64.powi(power))).into();
    let of_output = |output: usize| {
        let scatter: Vec<f64> = lines.iter().map(|line| sixth_difference(line, output)).collect();
        let stays = scatter.windows(2).position(|pair| pair[1] > pair[0] / 16.0).unwrap_or(scatter.len() - 1);
        let scatter = scatter[stays..].iter().copied().filter(|size| size.is_finite()).fold(0.0, f64::max);
        let sizes = points.iter().map(|(_, values)| values[output].abs()).filter(|size| size.is_finite());
        scatter.max(f64::EPSILON * sizes.fold(at[output].abs(), f64::max)).max(f64::MIN_POSITIVE)
    };
    (0..at.len()).map(of_output).collect()
}

/// The largest sixth difference of an output at nine points in a line, relative to that of independent errors of size
/// 1; infinite if a value is not finite.
fn sixth_difference(line: &[Vec<f64>], output: usize) -> f64 {
    let mut column: Vec<f64> = line.iter().map(|values| values[output]).collect();
    for _ in 0..6 {
        column = column.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    let largest = |most: f64, size: &f64| if size.is_finite() { most.max(size.abs()) } else { f64::INFINITY };
    column.iter().fold(0.0, largest) / 924.0_f64.sqrt()
}

/// The Taylor test of one output, and the order of its first remainder where it is above this noise.
fn taylor(points: &[(f64, Vec<f64>)], output: usize, at: f64, slope: f64, noise: f64) -> (Vec<TaylorRow>, f64) {
    let row = |(step, values): &(f64, Vec<f64>)| {
        let change = values[output] - at;
        TaylorRow { step: *step, zeroth: change.abs(), first: step.mul_add(-slope, change).abs() }
    };
    let rows: Vec<TaylorRow> = points.iter().map(row).filter(|row| row.first.is_finite()).collect();
    // The smallest steps are those where the expansion holds best. A wrong derivative leaves a remainder of order 1 at
    // all of them, a right one sinks below rounding error after half of them. The first rows below it need not be the
    // end: a remainder of order 1 and one of order 2 may cancel at one step.
    let above = rows.windows(4).rfind(|four| four.iter().all(|row| row.first > ABOVE * noise));
    let order = above.map_or(f64::INFINITY, |four| (four[0].first / four[3].first).log2() / 3.0);
    (rows, order)
}

/// The derivative that disagrees most, if one does by more than rounding errors.
#[allow(clippy::type_complexity, reason = "functions of vectors")]
fn find<S: Reverse<Value = f64>>(
    taped: &impl Fn(&[Real<S>]) -> Vec<Real<S>>,
    along: &dyn Fn(&[f64]) -> Result<Vec<f64>, Error>,
    values: &dyn Fn(&[f64]) -> Vec<f64>,
    x: &[f64],
    noise: &[f64],
) -> Result<Option<GradientMismatch>, Error> {
    let outputs = noise.len();
    let unit = |k: usize, n: usize| -> Vec<f64> { (0..n).map(|i| if i == k { 1.0 } else { 0.0 }).collect() };
    let rows: Result<Vec<Vec<f64>>, Error> =
        (0..outputs).map(|i| vjp::<S>(taped, x, &unit(i, outputs)).map(|(_, row)| row)).collect();
    let rows = rows?;
    let mut worst: (f64, Option<GradientMismatch>) = (-1.0, None);
    for input in 0..x.len() {
        let forward = along(&unit(input, x.len()))?;
        let step = f64::EPSILON.cbrt() * x[input].abs().max(1.0);
        let moved = |t: f64| {
            let mut moved = x.to_vec();
            moved[input] += t;
            values(&moved)
        };
        let (above, below) = (moved(step), moved(-step));
        for output in 0..outputs {
            let (forward, reverse) = (forward[output], rows[output][input]);
            let quotient = (above[output] - below[output]) / (2.0 * step);
            let pair = Compared { input, output, forward, reverse, quotient };
            if let Some((weight, mismatch)) = pair.mismatch(ABOVE * noise[output], step)
                && weight > worst.0
            {
                worst = (weight, Some(mismatch));
            }
        }
    }
    Ok(worst.1)
}

/// One derivative by three ways.
struct Compared {
    input: usize,
    output: usize,
    forward: f64,
    reverse: f64,
    quotient: f64,
}

impl Compared {
    /// Returns what disagrees by more than rounding errors, and how much that weighs. `noise` is the rounding error of
    /// the output's values; since inputs are of order 1, errors of derivatives are as large.
    fn mismatch(&self, noise: f64, step: f64) -> Option<(f64, GradientMismatch)> {
        let Self { input, output, forward, reverse, quotient } = *self;
        let size = forward.abs().max(reverse.abs()).max(quotient.abs()).max(f64::MIN_POSITIVE);
        let (between, beside) = ((forward - reverse).abs(), (forward - quotient).abs());
        // Between the modes there is only rounding, so a difference there counts for more.
        if !reverse.is_finite() {
            Some((f64::INFINITY, GradientMismatch::Modes { input, output, forward, reverse }))
        } else if between > 1e-9 * size + noise {
            Some((1.0 + between / size, GradientMismatch::Modes { input, output, forward, reverse }))
        } else if beside > TOLERANCE * size + noise / step {
            Some((beside / size, GradientMismatch::Difference { input, output, derivative: forward, quotient }))
        } else {
            None
        }
    }
}

/// The outputs of a function as a list, whatever collection of variables it returns.
#[doc(hidden)]
pub fn with_listed_outputs<S: Taping, Y: Variables<S>>(
    f: impl Fn(&[Real<S>]) -> Y,
) -> impl Fn(&[Real<S>]) -> Vec<Real<S>> {
    move |x| {
        let outputs = f(x);
        assert!(
            outputs.views().is_empty(),
            "`check_gradient!` compares variables: return the elements of views as such"
        );
        outputs.list().into_iter().cloned().collect()
    }
}

/// Checks the derivatives of a generic function of `&[Real<S>]` at some inputs: see
/// [`check_gradient`](fn@crate::check_gradient). The function returns a `Real<S>`, or any other collection of
/// [`Variables`](crate::variables::Variables).
///
/// ```
/// use tapewright::{check_gradient, prelude::*};
///
/// fn f<S: Strategy<Value = f64>>(x: &[Real<S>]) -> [Real<S>; 2] {
///     [(x[0] * x[1].exp()).into(), x[0].sin().into()]
/// }
///
/// let report = check_gradient!(Jacobian, f, &[0.7, 1.3])?;
/// assert!((report.order - 2.0).abs() < 0.1);
/// # Ok::<(), tapewright::check::GradientMismatch>(())
/// ```
#[macro_export]
macro_rules! check_gradient {
    ($strategy:ty, $f:expr, $x:expr) => {
        $crate::check_gradient::<$strategy>(
            $crate::with_listed_outputs::<$crate::Passive, _>($f),
            $crate::with_listed_outputs::<$crate::Tangent, _>($f),
            $crate::with_listed_outputs::<$strategy, _>($f),
            $x,
        )
    };
}
