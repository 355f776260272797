//! Kinds of residual blocks, as users write them, and as programs. The code in this file is compiled for each kind; the
//! rest of the module once.

use crate::expr::Real;
use crate::programs::Program;
use core::array::from_fn;
use tapewright_strategies::Strategy;

/// A kind of residual block: a function of `B` parameter blocks and of `D` numbers of data with `M` residuals.
///
/// It is written once, generic over the strategy. It is recorded as a [program](crate::programs) that computes many
/// observations at once, or one by one where that is not possible. Data are variables without derivatives. Comparisons,
/// and the branches and loops that depend on them, may come out differently for different observations: each way is
/// recorded.
///
/// Compute with variables and `f64` literals only. Observations of which the [`value`](crate::Ex::value) of a parameter
/// or datum is read share a recording if they have the same one; beyond 16 recordings they are computed one by one,
/// which is slow: write `t > 1.0`, not `t.value() > 1.0`.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::residuals::Residual;
///
/// /// y = a·exp(b·t), observed at one t.
/// struct Growth;
///
/// impl Residual<1, 2, 1> for Growth {
///     fn sizes(&self) -> [usize; 1] { [2] }
///     fn residuals<S: Strategy>(&self, [p]: [&[Real<S>]; 1], [t, y]: [Real<S>; 2]) -> [Real<S>; 1] {
///         [(p[0] * (p[1] * t).exp() - y).into()]
///     }
/// }
/// ```
pub trait Residual<const B: usize, const D: usize, const M: usize>: Send + Sync + 'static {
    /// Returns the sizes of the parameter blocks that the function takes.
    fn sizes(&self) -> [usize; B];

    /// Computes the residuals of one observation, from its parameter blocks and its data.
    fn residuals<S: Strategy<Value = f64>>(&self, parameters: [&[Real<S>]; B], data: [Real<S>; D]) -> [Real<S>; M];
}

/// Returns the program that computes a kind. The parameters of all its blocks and then the data are the data of a
/// scenario; `count` is the number of observations, `slopes` the number of parameters of one.
pub(super) fn program<K, const B: usize, const D: usize, const M: usize>(
    kind: K,
    count: usize,
    slopes: usize,
) -> Program<'static>
where
    K: Residual<B, D, M>,
{
    let program = Program::new(move |_, numbers| {
        let (sizes, mut rest) = (kind.sizes(), numbers);
        let blocks = from_fn(|k| {
            let (block, others) = rest.split_at(sizes[k]);
            rest = others;
            block
        });
        kind.residuals(blocks, from_fn(|k| rest[k]))
    });
    let program = program.by_first(slopes);
    // Blocks of 64 would mostly be empty.
    if count < 64 { program.in_blocks_of(count.next_power_of_two().max(8)) } else { program }
}
