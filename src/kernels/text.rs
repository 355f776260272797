//! Kernels as text in a dialect of C.

use super::expression::term::Term;
use super::launch::check_expressions;
use super::operands::{Body, Operands};
use tapewright_strategies::Taping;
use tapewright_strategies::kernel::ir::{Assign, Kernel, Node, Reduce};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::kernel::text::{Dialect, NoText, Precision, source};

/// The kernel of a [`parallel_for`](super::parallel_for) in a dialect of C, for a compiler of another device: the loop
/// that would be computed, and its adjoint, which gathers, so that there are no atomic updates. The operands are the
/// same as for [`parallel_for`](super::parallel_for); nothing is computed, and values that the closure captures are
/// literals of the text. [`source`] lists the functions of the text and their parameters.
///
/// ```
/// use tapewright::{kernels::{Dialect, View, parallel_for_text}, prelude::*};
///
/// let (x, mut y) = (View::<Passive, 1>::zeros([8]), View::zeros([8]));
/// let text = parallel_for_text(Dialect::C, "wave", (&x, &mut y), |(x, _)| (x.at::<1>().sin() - x.at::<-1>(),))?;
/// assert!(text.contains("void wave_values(wave_launch a, const TW_REAL *x0, TW_REAL *y1)"));
/// assert!(text.contains("void wave_gather(wave_launch a, const TW_REAL *x0, const TW_REAL *s0, TW_REAL *d0)"));
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
#[track_caller]
pub fn parallel_for_text<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, B: Body>(
    dialect: Dialect,
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
    source(name, &program, dialect, precision::<S>())
}

/// The kernel of a [`parallel_sum`](super::parallel_sum) in a dialect of C, like [`parallel_for_text`]. Its function
/// `NAME_sums` writes partial sums of chunks of points; the caller has to add them up.
///
/// ```
/// use tapewright::{kernels::{Dialect, View, parallel_sum_text}, prelude::*};
///
/// let x = View::<Passive, 1>::zeros([8]);
/// let text = parallel_sum_text(Dialect::C, "energy", &x, |x| x.at::<0>().square())?;
/// assert!(text.contains("void energy_sums(") && text.contains("void energy_gather("));
/// # Ok::<(), tapewright::kernels::NoText>(())
/// ```
/// # Errors
///
/// The errors of [`parallel_for_text`].
///
/// # Panics
///
/// When [`parallel_for_text`] does.
#[track_caller]
pub fn parallel_sum_text<S: Taping, const R: usize, M: Space<S::Value>, O: Operands<S, R, M>, A: Node>(
    dialect: Dialect,
    name: &str,
    operands: O,
    kernel: impl FnOnce(O::Tokens) -> Term<A>,
) -> Result<String, NoText> {
    drop(operands);
    source(name, &Reduce((kernel(O::tokens()).0,)), dialect, precision::<S>())
}

/// Type of the numbers in the text: that of the strategy's values, or of what they consist of.
fn precision<S: Taping>() -> Precision {
    use tapewright_strategies::Number;
    if size_of::<<S::Value as Number>::Lane>() == 4 { Precision::Single } else { Precision::Double }
}
