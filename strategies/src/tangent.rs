//! Derivatives beside the values: forward mode.

use crate::{
    External, Float, Nary, Policy, Scratch, Shape, Sink, Statement, Strategy, Strict, Taped, Taping, Variable,
};
use core::marker::PhantomData;
use core::ops::Index;

/// Forward mode: a variable carries its derivatives along `N` directions, and nothing is taped.
///
/// A statement computes Σ partial·tangent over its arguments, `N` numbers at once, in registers. It allocates nothing. A
/// variable takes `N` + 1 numbers of memory; with `N` = 8 and `f64`, the directions are one AVX-512 vector or two of AVX2.
/// One evaluation gives `N` directional derivatives of every output, so forward mode is the better choice for few inputs,
/// and reverse mode for few outputs.
///
/// `V` is the value type, `P` what derivatives are at singular points.
///
/// # Zero times infinity
///
/// Reverse mode has the convention that a statement whose adjoint is exactly 0 contributes nothing, whatever its partials.
/// Here the convention is that **an argument contributes nothing along a direction where its partial or its tangent is
/// exactly 0**, whatever the other of the two: infinite or NaN.
///
/// * A tangent of 0 is a passive variable, or one that does not depend on this direction. So √p at a passive p = 0 turns no
///   finite derivative into NaN.
/// * A partial of 0 is, in reverse mode, an adjoint of 0 for the statement above. So `x·r` at x = 0, where r is a statement
///   of its own with a NaN tangent, has the derivative that reverse mode gives, and an argument that a maximum did not
///   select has no influence.
///
/// Inside a statement, partials are products by the chain rule in both modes, and 0·∞ is NaN: x·√(x² + y²) at (0, 0) is NaN as
/// one statement. The two modes differ where an adjoint is 0 by cancellation only: r − r with an infinite tangent of r is
/// ∞ − ∞ here.
///
/// ```
/// use tapewright_strategies::{Directions, Forward, Tangent};
///
/// let id = <Tangent<2> as Forward>::directions(|k| if k == 0 { 1.0 } else { 0.0 });
/// assert_eq!(*id.as_array(), [1.0, 0.0]);
/// assert_eq!(id, Directions::from([1.0, 0.0]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tangent<const N: usize = 1, V = f64, P = Strict>(PhantomData<(V, P)>);

/// Derivatives along `N` directions: what a variable of [`Tangent`] carries.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Directions<V, const N: usize>([V; N]);

impl<V, const N: usize> Directions<V, N> {
    /// The derivatives, in the order of the directions.
    #[inline(always)]
    #[must_use]
    pub const fn as_array(&self) -> &[V; N] {
        &self.0
    }
}

impl<V, const N: usize> From<[V; N]> for Directions<V, N> {
    #[inline(always)]
    fn from(derivatives: [V; N]) -> Self {
        Self(derivatives)
    }
}

impl<V, const N: usize> From<Directions<V, N>> for [V; N] {
    #[inline(always)]
    fn from(directions: Directions<V, N>) -> Self {
        directions.0
    }
}

impl<V: Float, const N: usize> Default for Directions<V, N> {
    /// Zeros.
    #[inline(always)]
    fn default() -> Self {
        Self([V::zero(); N])
    }
}

impl<V, const N: usize> Index<usize> for Directions<V, N> {
    type Output = V;
    #[inline(always)]
    fn index(&self, direction: usize) -> &V {
        &self.0[direction]
    }
}

/// A strategy whose variables carry derivatives along a fixed number of directions: what forward drivers need.
#[diagnostic::on_unimplemented(
    message = "the variables of `{Self}` carry no tangents",
    label = "a strategy of forward mode is needed here",
    note = "use `Tangent<N>`, which computes derivatives along `N` directions at once"
)]
pub trait Forward: Strategy {
    /// How many directions one evaluation serves.
    const DIRECTIONS: usize;

    /// The identifier of a variable whose derivative along direction `k` is `derivative(k)`.
    fn directions(derivative: impl FnMut(usize) -> Self::Value) -> Self::Id;

    /// The derivative of a variable along direction `k`.
    ///
    /// # Panics
    ///
    /// Unless `k` < [`DIRECTIONS`](Self::DIRECTIONS).
    fn derivative(id: &Self::Id, k: usize) -> Self::Value;
}

impl<const N: usize, V: Float, P: Policy> Forward for Tangent<N, V, P> {
    const DIRECTIONS: usize = N;

    #[inline(always)]
    fn directions(derivative: impl FnMut(usize) -> V) -> Directions<V, N> {
        Directions(core::array::from_fn(derivative))
    }

    #[inline(always)]
    fn derivative(id: &Directions<V, N>, k: usize) -> V {
        id[k]
    }
}

impl<const N: usize, V: Float, P: Policy> Taping for Tangent<N, V, P> {
    type Value = V;
    type Id = Directions<V, N>;
    type Raw = Directions<V, N>;
    type Variable = Taped<V, Directions<V, N>>;
    type Policy = P;

    #[inline(always)]
    fn passive() -> Directions<V, N> {
        Directions::default()
    }

    #[inline(always)]
    fn raw(id: &Directions<V, N>) -> Directions<V, N> {
        *id
    }

    #[inline(always)]
    fn record<S: Statement<Self>>(statement: &S) -> Directions<V, N> {
        if <S::Shape as Shape>::LEAVES == 0 {
            return Directions::default();
        }
        let mut sum = Plain([V::neg_zero(); N]);
        statement.backward(V::one(), &mut sum);
        if !has_nan(&sum.0) {
            return Directions(sum.0);
        }
        let mut sum = Careful([V::zero(); N]);
        statement.backward(V::one(), &mut sum);
        Directions(sum.0)
    }

    fn is_active(inputs: &[(V, &Directions<V, N>)]) -> bool {
        inputs.iter().any(|(_, tangent)| tangent.0.iter().any(|slope| *slope != V::zero()))
    }

    /// Panics when the rule fails: forward mode has no sweep that could return an error.
    #[track_caller]
    fn record_external(
        inputs: &[(V, &Directions<V, N>)],
        outputs: &[V],
        rule: Box<dyn External<V>>,
        each: &mut dyn FnMut(V, Directions<V, N>),
    ) {
        let mut results = vec![Directions::<V, N>::default(); outputs.len()];
        let mut slopes = vec![V::zero(); outputs.len()];
        for lane in (0..N).filter(|lane| inputs.iter().any(|(_, tangent)| tangent.0[*lane] != V::zero())) {
            let tangents: Vec<V> = inputs.iter().map(|(_, tangent)| tangent.0[lane]).collect();
            slopes.fill(V::zero());
            if let Err(error) = rule.forward(&tangents, &mut slopes) {
                panic!("{error}");
            }
            results.iter_mut().zip(&slopes).for_each(|(result, slope)| result.0[lane] = *slope);
        }
        outputs.iter().zip(results).for_each(|(value, tangent)| each(*value, tangent));
    }

    fn record_nary<R: Nary<V>>(arguments: &[&[Taped<V, Directions<V, N>>]], constants: &[V], _: V) -> Directions<V, N> {
        let all = || arguments.iter().copied().flatten();
        let count = all().count();
        assert!(
            Some(constants.len()) == R::CONSTANTS.checked_mul(count),
            "a function of slices with {} constants for each argument got {}",
            R::CONSTANTS,
            constants.len()
        );
        let mut partials = Scratch::<V>::new();
        partials.resize(count, V::one());
        if !R::UNIT {
            let mut values = Scratch::<V>::new();
            values.extend(all().map(Variable::value));
            R::partials(&values, constants, &mut partials);
        }
        let mut sum = Plain([V::zero(); N]);
        all().zip(partials.iter()).for_each(|(x, partial)| sum.add(*partial, &x.id));
        if !has_nan(&sum.0) {
            return Directions(sum.0);
        }
        let mut sum = Careful([V::zero(); N]);
        all().zip(partials.iter()).for_each(|(x, partial)| sum.add(*partial, &x.id));
        Directions(sum.0)
    }
}

/// Whether a sum has to be done with care. An infinite or NaN partial, or tangent, that meets a 0 gives NaN, and a NaN stays
/// to the end. So one test after all the multiplications finds what a test before each would find.
#[inline(always)]
fn has_nan<V: Float, const N: usize>(sum: &[V; N]) -> bool {
    // The halves are compared with one another and there is no early exit: together this is one comparison of vectors.
    let (low, high) = sum.split_at(N / 2);
    let middle = N % 2 == 1 && high[N / 2].is_nan();
    low.iter().zip(high).fold(middle, |found, (a, b)| found | (a.is_nan() | b.is_nan()))
}

/// Σ partial·tangent by plain arithmetic. It begins with −0, which is neutral in sums, so that the first term is not added
/// but taken.
struct Plain<V, const N: usize>([V; N]);

impl<V: Float, const N: usize> Plain<V, N> {
    #[inline(always)]
    fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        for (sum, tangent) in self.0.iter_mut().zip(&tangent.0) {
            *sum += partial * *tangent;
        }
    }
}

/// Σ partial·tangent where 0 times anything is 0.
struct Careful<V, const N: usize>([V; N]);

impl<V: Float, const N: usize> Careful<V, N> {
    #[cold]
    #[inline(never)]
    fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        for (sum, tangent) in self.0.iter_mut().zip(&tangent.0) {
            if partial != V::zero() && *tangent != V::zero() {
                *sum += partial * *tangent;
            }
        }
    }
}

/// Lets a sum be the sink of a walk. The row `Plain` becomes `impl Sink<Tangent<N, V, P>> for Plain<V, N> { … }`.
macro_rules! sinks {
    ($($sum:ident)*) => { $(
        impl<const N: usize, V: Float, P: Policy> Sink<Tangent<N, V, P>> for $sum<V, N> {
            #[inline(always)]
            fn factor(&mut self, _: V) {}
            #[inline(always)]
            fn leaf(&mut self, partial: V, tangent: Directions<V, N>) {
                self.add(partial, &tangent);
            }
        }
    )* };
}
sinks!(Plain Careful);
