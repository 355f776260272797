//! Formulas of several arguments as single statements.

use crate::closed::Closed;
use crate::expr::note_singular_point;
use crate::nary::nary;
use core::marker::PhantomData;
use nalgebra::RealField;
use smallvec::SmallVec;
use tapewright_strategies::singular::refuses_singular;
use tapewright_strategies::{Dual, Float, Nary, Number, Taping};

/// A smooth function of `N` arguments with several results, over every number.
///
/// Each result is one statement, and all branches are inside of it: none is a comparison of variables.
pub trait Formula<const N: usize>: 'static {
    /// The result `k` at these arguments.
    fn value<V: Float>(x: &[V; N], k: usize) -> V;

    /// Returns true if the formula has a value at these arguments and no derivative.
    fn breaks(x: &[f64; N]) -> bool {
        let _ = x;
        false
    }
}

/// A result, whose slope by each argument is NaN where the formula has no derivative.
fn result<F: Formula<N>, V: Float, const N: usize>(x: &[V; N], k: usize) -> V {
    let value = F::value(x, k);
    if V::PARTS == 1 || !F::breaks(&x.map(Number::as_f64)) {
        return value;
    }
    let step = |x: &V| (*x - V::from_f64(x.as_f64())).contribution(V::nan());
    x.iter().map(step).fold(value, |sum, step| sum + step)
}

/// The result `K` of a formula as a function of slices. Its partials are tangents of the formula.
struct Component<F, const N: usize, const K: usize>(PhantomData<F>);

impl<V: Number, F: Formula<N>, const N: usize, const K: usize> Nary<V> for Component<F, N, K> {
    fn value(x: &[V], _: &[V]) -> V {
        V::from_lanes(|lane| V::Lane::narrow(result::<F, _, N>(&in_lane(x, lane), K)))
    }

    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        let gradient = |lane: usize| {
            let x = in_lane::<V, N>(x, lane);
            let direction = |i: usize| core::array::from_fn(|k| if k == i { Number::ONE } else { Number::ZERO });
            let moving = core::array::from_fn(|i| Dual { value: x[i], tangents: direction(i) });
            result::<F, Dual<_, N>, N>(&moving, K).tangents
        };
        let gradients: SmallVec<[[_; N]; 1]> = (0..V::LANES).map(gradient).collect();
        for (i, partial) in partials.iter_mut().enumerate() {
            *partial = V::from_lanes(|lane| V::Lane::narrow(gradients[lane][i]));
        }
    }
}

/// The arguments of one lane, in double precision.
fn in_lane<V: Number, const N: usize>(x: &[V], lane: usize) -> [<V::Lane as Float>::Wide; N] {
    core::array::from_fn(|i| x[i].lane(lane).widen())
}

/// The numbers that rotations may be made of: `f64`, `f32`, and [`Closed`] variables of every strategy.
///
/// Code that is generic over them says `T: RotationScalar`, which includes nalgebra's `RealField`. For numbers with
/// tangents or lanes take variables over these: `Closed<Passive<Dual<f64, N>>>` computes with duals and records
/// nothing.
///
/// ```
/// use nalgebra::{UnitQuaternion, Vector3};
/// use tapewright::rotations::{self, RotationScalar};
/// use tapewright::{Closed, Dual, Passive};
///
/// /// The height of a point after a turn.
/// fn height<T: RotationScalar>(turn: &Vector3<T>, point: &Vector3<T>) -> T {
///     (rotations::exp::<UnitQuaternion<T>>(turn) * point).z.clone()
/// }
///
/// let of = |x: f64, tangent: f64| Closed::<Passive<Dual<f64, 1>>>::constant(Dual { value: x, tangents: [tangent] });
/// let turn = Vector3::new(of(0.0, 1.0), of(0.0, 0.0), of(0.0, 0.0));
/// let point = Vector3::new(of(0.0, 0.0), of(3.0, 0.0), of(0.0, 0.0));
/// assert_eq!(height(&turn, &point).value().tangents, [3.0]);
/// ```
///
/// The trait is sealed.
pub trait RotationScalar: RealField + Sealed {
    /// The result `K` of a formula, as one statement.
    #[doc(hidden)]
    #[track_caller]
    fn result<F: Formula<N>, const N: usize, const K: usize>(x: &[&Self; N]) -> Self;
}

pub trait Sealed {}

macro_rules! floats {
    ($($t:ty)*) => { $(
        impl Sealed for $t {}
        impl RotationScalar for $t {
            fn result<F: Formula<N>, const N: usize, const K: usize>(x: &[&Self; N]) -> Self {
                Component::<F, N, K>::value(&x.map(|x| *x), &[])
            }
        }
    )* };
}
floats! { f64 f32 }

impl<S: Taping> Sealed for Closed<S> {}
impl<S: Taping> RotationScalar for Closed<S> {
    #[track_caller]
    fn result<F: Formula<N>, const N: usize, const K: usize>(x: &[&Self; N]) -> Self {
        let number = |lane: usize| x.map(|x| x.peek().lane(lane).as_f64());
        if const { !refuses_singular::<S>() } && (0..S::Value::LANES).any(|lane| F::breaks(&number(lane))) {
            note_singular_point::<S>(x[0].peek(), &x.map(|x| x.number().1));
        }
        Self(nary::<S, Component<F, N, K>>(&[&x.map(|x| x.0.clone())], &[]))
    }
}
