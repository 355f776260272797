//! Forward mode: derivatives are computed together with the values.

use super::directions::Directions;
use super::launches::{carry, level_of_launch};
use super::sum::{Sum, Term, listed_with_care, with_care};
use crate::contract::{Branch, Dependence, Flow, Given, Sink, Taped, Variable};
use crate::external::apply;
use crate::kernel::launch::Launch;
use crate::level::{self, Common, PASSIVE};
use crate::policy::{Policy, Strict};
use crate::recording::{note_moving_branch, refuse_singular};
use crate::shape::Shape;
use crate::singular::{given, partials_of_slice, refuses_singular, singular_function};
use crate::{External, Nary, Number, Scratch, Statement, Strategy, Taping};
use core::marker::PhantomData;
use generic_array::{GenericArray, sequence::GenericSequence};

/// Forward mode: a variable carries its derivatives along `N` directions, and nothing is taped.
///
/// A statement computes Σ partial·tangent over its arguments, for all `N` directions in registers, without allocation.
/// A variable takes `N` + 1 values of memory and 8 bytes more; with `N` = 8 and `f64`, the directions are one AVX-512
/// vector or two of AVX2. One evaluation gives `N` directional derivatives of every output, so forward mode is the
/// better choice for few inputs, and reverse mode for few outputs.
///
/// `V` is the value type, `P` the policy for derivatives at singular points. Under [`Checked`](crate::Checked) a
/// statement of moving variables that is singular panics with its source location, since there is no sweep that could
/// return an error.
///
/// # Zero times infinity
///
/// The convention is that of reverse mode: **an argument contributes nothing along a direction where its partial or its
/// tangent is exactly 0**, even if the other factor is infinite or NaN.
///
/// * A tangent of 0 is a passive variable, or one that does not depend on this direction. So √p at a passive p = 0
///   turns no finite derivative into NaN.
/// * A partial of 0 means that an argument has no influence: one that a maximum did not select, or r in `x·r` at x = 0,
///   where r is a statement of its own with a NaN tangent.
///
/// Inside a statement, partials are products by the chain rule in both modes, and 0·∞ is NaN: x·√(x² + y²) at (0, 0) is
/// NaN as one statement. The two modes differ only where contributions cancel: r − r with an infinite tangent of r is
/// ∞ − ∞ here, and 0 in reverse mode; √(x − x), in two statements, is 0 here, and NaN in reverse mode.
///
/// # Derivatives inside derivatives
///
/// Each call of a forward driver is an *evaluation*, and its variables carry its number, the level. A statement that
/// combines variables of two evaluations panics, with both levels in the message: the derivatives would be confused.
/// Variables that are made by hand, outside all drivers, belong to one evaluation.
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

/// A strategy whose variables carry derivatives along a fixed number of directions: what forward drivers need.
#[diagnostic::on_unimplemented(
    message = "the variables of `{Self}` carry no tangents",
    label = "a strategy of forward mode is needed here",
    note = "use `Tangent<N>`, which computes derivatives along `N` directions at once"
)]
pub trait Forward: Strategy {
    /// The number of directions that one evaluation serves.
    const DIRECTIONS: usize;

    /// Returns the identifier of a variable of the running evaluation whose derivative along direction `k` is
    /// `derivative(k)`.
    fn directions(derivative: impl FnMut(usize) -> Self::Value) -> Self::Id;

    /// Returns the derivative along direction `k` of a variable of the running evaluation, or of a passive variable.
    ///
    /// # Panics
    ///
    /// When the variable belongs to another evaluation, and unless `k` < [`DIRECTIONS`](Self::DIRECTIONS).
    #[track_caller]
    fn derivative(id: &Self::Id, k: usize) -> Self::Value;

    /// Writes the derivatives along the first directions of a variable of the running evaluation, or of a passive
    /// variable.
    ///
    /// # Panics
    ///
    /// When the variable belongs to another evaluation, and when there are more than [`DIRECTIONS`](Self::DIRECTIONS).
    #[inline]
    #[track_caller]
    fn derivatives(id: &Self::Id, to: &mut [Self::Value]) {
        for (k, to) in to.iter_mut().enumerate() {
            *to = Self::derivative(id, k);
        }
    }

    /// Returns variables of the running evaluation with these values, of which variable `k` has the derivative 1 along
    /// direction `k` and 0 along the others.
    ///
    /// [`Tangent`] returns an array. Where the function that takes it is inlined, the compiler knows these derivatives
    /// and leaves out the products with them. The default returns a vector.
    ///
    /// # Panics
    ///
    /// Unless there are [`DIRECTIONS`](Self::DIRECTIONS) values.
    #[inline]
    #[track_caller]
    fn axes(values: &[Self::Value]) -> impl AsRef<[Self::Variable]> {
        assert_axes(values.len(), Self::DIRECTIONS);
        let unit = |k: usize| Self::directions(|lane| if lane == k { Number::ONE } else { Number::ZERO });
        values.iter().enumerate().map(|(k, value)| Variable::new(*value, unit(k))).collect::<Vec<_>>()
    }

    /// Runs `f` as an evaluation of its own, whose variables must not be combined with variables of other evaluations.
    /// The default, for strategies that do not tell evaluations apart, only runs `f`.
    #[inline]
    fn evaluate<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// Panics unless there are as many values as directions.
#[track_caller]
fn assert_axes(values: usize, directions: usize) {
    assert_eq!(values, directions, "there must be a value for each of {directions} directions, and there are {values}");
}

impl<const N: usize, V: Number, P: Policy> Tangent<N, V, P> {
    /// Checks that a variable belongs to the evaluation that runs on this thread, or is passive.
    ///
    /// # Panics
    ///
    /// When it belongs to another evaluation.
    #[inline]
    #[track_caller]
    pub fn assert_present(id: &Directions<V, N>) {
        level::assert_present(id.level);
    }
}

impl<const N: usize, V: Number, P: Policy> Forward for Tangent<N, V, P> {
    const DIRECTIONS: usize = N;

    #[inline(always)]
    fn directions(derivative: impl FnMut(usize) -> V) -> Directions<V, N> {
        Directions::from(core::array::from_fn(derivative))
    }

    #[inline(always)]
    fn derivative(id: &Directions<V, N>, k: usize) -> V {
        level::assert_present(id.level);
        id[k]
    }

    #[inline(always)]
    fn derivatives(id: &Directions<V, N>, to: &mut [V]) {
        level::assert_present(id.level);
        if let Ok(all) = <&mut [V; N]>::try_from(&mut *to) {
            *all = id.copied().derivatives;
        } else {
            to.copy_from_slice(&id.derivatives[..to.len()]);
        }
    }

    #[inline(always)]
    fn axes(values: &[V]) -> impl AsRef<[Self::Variable]> {
        assert_axes(values.len(), N);
        let zeros = Directions { derivatives: [V::ZERO; N], level: level::present() };
        let mut axes = [Taped::new(V::ZERO, zeros); N];
        for (k, axis) in axes.iter_mut().enumerate() {
            axis.value = values[k];
            axis.id.derivatives[k] = V::ONE;
        }
        axes
    }

    #[inline]
    fn evaluate<R>(f: impl FnOnce() -> R) -> R {
        level::evaluate(f)
    }
}

impl<const N: usize, V: Number, P: Policy> Taping for Tangent<N, V, P> {
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
    #[track_caller]
    fn record<S: Statement<Self>>(statement: &S) -> Directions<V, N> {
        if <S::Shape as Shape>::LEAVES == 0 {
            return Directions::default();
        }
        let mut sum = Sum::new();
        statement.backward(V::ONE, &mut sum);
        // Where all partials are 1 or −1, no product with zero can go wrong.
        let tangent = if let Some(tangent) = sum.done(<S::Shape as Shape>::FACTORS > 0) {
            tangent
        } else {
            let mut terms: GenericArray<_, S::Args> = GenericArray::generate(|_| Term::passive());
            statement.backward(V::ONE, &mut Sum::listing(&mut terms));
            listed_with_care(&terms).copied()
        };
        if refuses_singular::<Self>()
            && let Some(function) = singular_function(statement, |id: &Directions<V, N>| id.level > level::paused())
        {
            refuse_singular(function);
        }
        tangent
    }

    #[inline(always)]
    fn can_hide(id: &Directions<V, N>) -> bool {
        // By the level, not by the tangents: those of |ω|² at ω = 0 are all 0, and a test of it hides the slope of ω.
        id.level > level::paused()
    }

    fn note_branch(branch: &Branch<'_, V, Directions<V, N>>) {
        note_moving_branch::<Self>(branch, branch.leaves.map(|side| side.iter().any(Self::can_hide)));
    }

    #[track_caller]
    fn is_active(inputs: &[(V, &Directions<V, N>)]) -> bool {
        let level = common_level(inputs);
        let moves = |tangent: &Directions<V, N>| tangent.derivatives.iter().any(|slope| !slope.is_nought());
        level != PASSIVE && inputs.iter().any(|(_, tangent)| tangent.level == level && moves(tangent))
    }

    #[track_caller]
    fn flow(arrays: &[&Dependence<V>], inputs: &[(V, &Directions<V, N>)]) -> Flow {
        let level = level_of_launch(arrays, inputs.iter().map(|(_, id)| *id));
        let array = |array: &&Dependence<V>| array.tangents_at(level).is_some();
        let variable = |(_, id): &(V, &Directions<V, N>)| {
            id.level == level && id.derivatives.iter().any(|slope| !slope.is_nought())
        };
        let moves = level != PASSIVE && (arrays.iter().any(array) || inputs.iter().any(variable));
        if moves { Flow::Carried } else { Flow::Nowhere }
    }

    fn innermost() -> Flow {
        if level::runs() { Flow::Carried } else { Flow::Nowhere }
    }

    /// Panics when the launch fails: forward mode has no sweep that could return an error.
    #[track_caller]
    fn carry_launch(
        launch: &dyn Launch<V>,
        arrays: &[&Dependence<V>],
        inputs: &[(V, &Directions<V, N>)],
        outputs: &[V],
        each: &mut dyn FnMut(V, Directions<V, N>),
    ) -> Vec<Dependence<V>> {
        carry(launch, arrays, inputs, outputs, each)
    }

    /// Panics when the rule fails: forward mode has no sweep that could return an error.
    #[track_caller]
    fn record_external(
        inputs: &[(V, &Directions<V, N>)],
        outputs: &[V],
        rule: Box<dyn External<V>>,
        each: &mut dyn FnMut(V, Directions<V, N>),
    ) {
        let level = common_level(inputs);
        let mut results = vec![Directions { derivatives: [V::ZERO; N], level }; outputs.len()];
        let mut slopes = vec![V::ZERO; outputs.len()];
        let slope = |tangent: &Directions<V, N>, lane: usize| {
            if tangent.level == level { tangent.derivatives[lane] } else { V::ZERO }
        };
        // A rule runs as an evaluation of its own: tangents that it makes itself must not be combined with tangents of
        // variables that it captured.
        let mut forward = |inputs: &[V], outputs: &mut [V]| level::evaluate(|| rule.forward(inputs, outputs));
        for lane in 0..N {
            let tangents: Vec<V> = inputs.iter().map(|(_, tangent)| slope(tangent, lane)).collect();
            slopes.fill(V::ZERO);
            if tangents.iter().any(|tangent| !tangent.is_nought())
                && let Err(error) = apply(rule.keeps_zeros(), &tangents, &mut slopes, &mut forward)
            {
                panic!("{error}");
            }
            results.iter_mut().zip(&slopes).for_each(|(result, slope)| result.derivatives[lane] = *slope);
        }
        outputs.iter().zip(results).for_each(|(value, tangent)| each(*value, tangent));
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Taped<V, Directions<V, N>>]], constants: &[V], _: V) -> Directions<V, N> {
        let count: usize = arguments.iter().map(|piece| piece.len()).sum();
        assert!(
            Some(constants.len()) == R::CONSTANTS.checked_mul(count),
            "a function of slices with {} constants for each argument got {}",
            R::CONSTANTS,
            constants.len()
        );
        match (given::<P, R, V>(), arguments) {
            _ if R::UNIT => weighted_sum(arguments, core::iter::repeat_n(V::ONE, count)),
            (Given::Constants, _) => weighted_sum(arguments, constants.iter().copied()),
            (Given::OtherHalf, [x, y]) if x.len() == y.len() => {
                weighted_sum(arguments, y.iter().chain(*x).map(Variable::value))
            }
            _ => {
                let mut partials = Scratch::<V>::new();
                partials.resize(count, V::ZERO);
                let (values, moves) = values_and_movement::<V, N, P>(arguments);
                let singular = partials_of_slice::<P, R, V>(&values, constants, &mut partials, &moves);
                let tangent = weighted_sum(arguments, partials.iter().copied());
                if singular {
                    refuse_singular(core::any::type_name::<R>());
                }
                tangent
            }
        }
    }
}

/// Returns the level that the active variables have in common; `PASSIVE` if all are passive. Panics when they have two.
#[track_caller]
fn common_level<V: Number, const N: usize>(inputs: &[(V, &Directions<V, N>)]) -> u64 {
    let mut common = Common::new();
    inputs.iter().for_each(|(_, tangent)| _ = common.meet(tangent.level));
    common.get()
}

/// The values of these arguments, one after the other, and where singular partials are refused, for each argument, true
/// if its tangents may differ from 0.
fn values_and_movement<V: Number, const N: usize, P: Policy>(
    arguments: &[&[Taped<V, Directions<V, N>>]],
) -> (Scratch<V>, Vec<bool>) {
    let all = || arguments.iter().copied().flatten();
    let values = Scratch::of(all().map(Variable::value));
    let moves = if refuses_singular::<Tangent<N, V, P>>() {
        all().map(|x| x.id.level > level::paused()).collect()
    } else {
        Vec::new()
    };
    (values, moves)
}

/// The sum of the tangents of these arguments, each times its partial.
#[track_caller]
fn weighted_sum<V: Number, const N: usize>(
    arguments: &[&[Taped<V, Directions<V, N>>]],
    partials: impl Iterator<Item = V> + Clone,
) -> Directions<V, N> {
    let terms = || arguments.iter().copied().flatten().zip(partials.clone()).map(|(x, partial)| (partial, &x.id));
    let mut sum = Sum::new();
    terms().for_each(|(partial, tangent)| sum.add(partial, tangent));
    sum.done(true).unwrap_or_else(|| with_care(terms()))
}

impl<const N: usize, V: Number, P: Policy> Sink<Tangent<N, V, P>> for Sum<'_, V, N> {
    #[inline(always)]
    fn factor(&mut self, _: V) {}
    #[inline(always)]
    fn leaf(&mut self, partial: V, tangent: Directions<V, N>) {
        self.add(partial, &tangent);
    }
}
