//! Kernels as text in C.

use super::expression::term::Term;
use super::launch::check_expressions;
use super::operands::{Body, Operands};
use core::fmt;
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Assign, Kernel, Node, Reduce};
use tapewright_strategies::kernel::rule::Part;
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::kernel::text;

/// Error: a kernel has a function for which there is no C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoText {
    rule: String,
}

/// Name of a rule of this library, from its type name; `None` if another crate defines the rule.
fn own(rule: &str) -> Option<&str> {
    rule.strip_prefix(tapewright_strategies::rules::PATH)?.strip_prefix("::")?.rsplit("::").next()
}

impl NoText {
    fn of(rule: &str) -> Self {
        Self { rule: own(rule).unwrap_or(rule).to_owned() }
    }

    /// Name of the rule of the function.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

impl fmt::Display for NoText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a kernel with the function {} cannot be written in C, which has no such function", self.rule)
    }
}

impl core::error::Error for NoText {}

/// The kernel of a [`parallel_for`](super::parallel_for) as C, for a compiler of another device: the loop that would be
/// computed, and its adjoint, which gathers, so that there are no atomic updates. The operands are the same as for
/// [`parallel_for`](super::parallel_for); nothing is computed, and values that the closure captures are literals of the
/// text. `nvcc` compiles it to kernels for a device, every other compiler to functions with loops.
///
/// Names of parameters: `xK` are the values of operand K before the launch, `cK` is a uniform scalar, and `yK` receives
/// the new values of operand K. `NAME_adjoint` adds to `dK` the adjoints of operand K, where `sK` are the adjoints of
/// the values that were written to operand K, and `zK` these values. `NAME_slopes` writes to `eK` the terms, point by
/// point, of the adjoint of the uniform scalar `cK`. Only parameters that are needed are present.
///
/// ```
/// use tapewright::{kernels::{View, parallel_for_text}, prelude::*};
///
/// let (x, mut y) = (View::<Passive, 1>::zeros([8]), View::zeros([8]));
/// let text = parallel_for_text("wave", (&x, &mut y), |(x, _)| (x.at::<1>().sin() - x.at::<-1>(),))?;
/// assert!(text.contains("void wave(tw_grid g, const double *x0, double *y1)"));
/// assert!(text.contains("void wave_adjoint(tw_grid g, const double *x0, const double *s1, double *d0)"));
/// # Ok::<(), tapewright::kernels::NoText>(())
/// ```
///
/// # Errors
///
/// [`NoText`] for functions that C does not have, such as `digamma`, and for rules of yours.
///
/// # Panics
///
/// When `name` is not the name of a function in C.
pub fn parallel_for_text<S: Taping<Value = f64>, const R: usize, M: Space<f64>, O: Operands<S, R, M>, B: Body>(
    name: &str,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> B,
) -> Result<String, NoText>
where
    Assign<O::Written, B::Nodes>: Kernel,
{
    const { check_expressions::<O::Written, B, Assign<O::Written, B::Nodes>>() }
    drop(operands);
    let program = Assign::<O::Written, _>::new(kernel(O::tokens()).nodes());
    text(name, &program, c).map_err(|rule| NoText::of(&rule))
}

/// The kernel of a [`parallel_sum`](super::parallel_sum) as C, like [`parallel_for_text`]. Its function writes the
/// terms; the caller has to add them up.
///
/// # Errors
///
/// The errors of [`parallel_for_text`].
///
/// # Panics
///
/// When [`parallel_for_text`] does.
pub fn parallel_sum_text<S: Taping<Value = f64>, const R: usize, M: Space<f64>, O: Operands<S, R, M>, A: Node>(
    name: &str,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Result<String, NoText> {
    drop(operands);
    text(name, &Reduce(kernel(O::tokens()).0), c).map_err(|rule| NoText::of(&rule))
}

/// C text for parts of rules: `$` and `#` stand for the arguments; in the derivative of a function of one argument, for
/// the argument and the value.
const C: &[(&str, Part, &str)] = {
    use Part::{Left, Right, TakesLeft, Value};
    &[
        ("Exp", Value, "exp($)"),
        ("Exp", Left, "#"),
        ("Exp2", Value, "exp2($)"),
        ("Exp2", Left, "isinf(#) ? exp2($ - 1.0) * 1.3862943611198906 : # * 0.6931471805599453"),
        ("ExpM1", Value, "expm1($)"),
        ("ExpM1", Left, "exp($)"),
        ("Ln", Value, "log($)"),
        ("Ln", Left, "$ < 0.0 ? NAN : 1.0 / ($ + 0.0)"),
        ("Log2", Value, "log2($)"),
        ("Log2", Left, "$ < 0.0 ? NAN : 1.4426950408889634 / ($ + 0.0)"),
        ("Log10", Value, "log10($)"),
        ("Log10", Left, "$ < 0.0 ? NAN : 0.4342944819032518 / ($ + 0.0)"),
        ("Ln1p", Value, "log1p($)"),
        ("Ln1p", Left, "1.0 + $ < 0.0 ? NAN : 1.0 / (1.0 + $ + 0.0)"),
        ("Sin", Value, "sin($)"),
        ("Sin", Left, "cos($)"),
        ("Cos", Value, "cos($)"),
        ("Cos", Left, "-sin($)"),
        ("Tan", Value, "tan($)"),
        ("Tan", Left, "1.0 + # * #"),
        ("Asin", Value, "asin($)"),
        ("Asin", Left, "1.0 / sqrt((1.0 - $) * (1.0 + $))"),
        ("Acos", Value, "acos($)"),
        ("Acos", Left, "-(1.0 / sqrt((1.0 - $) * (1.0 + $)))"),
        ("Atan", Value, "atan($)"),
        ("Atan", Left, "fabs($) < 1e15 ? 1.0 / (1.0 + $ * $) : (1.0 / $) * (1.0 / $)"),
        ("Sinh", Value, "sinh($)"),
        ("Sinh", Left, "cosh($)"),
        ("Cosh", Value, "cosh($)"),
        ("Cosh", Left, "sinh($)"),
        ("Tanh", Value, "tanh($)"),
        ("Tanh", Left, "fabs(#) < 0.97 ? (1.0 - #) * (1.0 + #) : (1.0 / cosh($)) * (1.0 / cosh($))"),
        ("Recip", Value, "1.0 / $"),
        ("Recip", Left, "-(# * #)"),
        ("Cbrt", Value, "cbrt($)"),
        ("Cbrt", Left, "1.0 / (3.0 * # * #)"),
        ("Fract", Value, "$ - trunc($)"),
        ("Fract", Left, "tw_one(#)"),
        ("Sigmoid", Value, "tw_sigmoid($)"),
        ("Sigmoid", Left, "# * tw_sigmoid(-$)"),
        ("Softplus", Value, "fmax($, 0.0) + log1p(exp(-fabs($)))"),
        ("Softplus", Left, "tw_sigmoid($)"),
        ("Pow", Value, "pow($, #)"),
        ("Pow", Left, "tw_pow_left($, #)"),
        ("Pow", Right, "tw_pow_right($, #)"),
        ("Powi", Value, "tw_powi($, tw_whole(#))"),
        ("Powi", Left, "tw_powi_left($, tw_whole(#))"),
        ("Hypot", Value, "hypot($, #)"),
        ("SmoothAbs", Value, "hypot($, #)"),
        ("Hypot", Left, "tw_toward($, #)"),
        ("SmoothAbs", Left, "tw_toward($, #)"),
        ("Hypot", Right, "tw_toward(#, $)"),
        ("SmoothAbs", Right, "tw_toward(#, $)"),
        ("Atan2", Value, "atan2($, #)"),
        ("Atan2", Left, "tw_around(#, $)"),
        ("Atan2", Right, "-tw_around($, #)"),
        ("CopySign", Value, "copysign($, #)"),
        ("CopySign", Left, "$ == 0.0 ? 0.0 : isnan($) ? $ : copysign(1.0, $) * copysign(1.0, #)"),
        ("CopySign", Right, "0.0"),
        ("Powi", Right, "0.0"),
        ("AtLeast", Value, "$ < # ? # : $"),
        ("AtLeast", Left, "tw_one($ < # ? # : $)"),
        ("AtLeast", Right, "tw_one($ < # ? # : $)"),
        ("AtLeast", TakesLeft, "$ >= # || isnan($) ? 1.0 : 0.0"),
        ("AtMost", Value, "$ > # ? # : $"),
        ("AtMost", Left, "tw_one($ > # ? # : $)"),
        ("AtMost", Right, "tw_one($ > # ? # : $)"),
        ("AtMost", TakesLeft, "$ <= # || isnan($) ? 1.0 : 0.0"),
    ]
};

fn c(rule: &str, part: Part) -> Option<&'static str> {
    let name = own(rule)?;
    C.iter().find(|row| (row.0, row.1) == (name, part)).map(|row| row.2)
}
