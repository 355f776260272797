//! Functions of complex numbers as rules: one for the real part of the result, one for the imaginary part.
//!
//! If f′(z) = a + bi, the real part of f has the slopes a and −b for the real and the imaginary part of z, and the
//! imaginary part of f the slopes b and a (the equations of Cauchy and Riemann).

use super::parts::{Parts, Point, parts};
use core::marker::PhantomData;
use smallvec::SmallVec;
use tapewright_strategies::{Binary, Float, Nary, Number};

/// A holomorphic function of one complex number.
pub(super) trait Holomorphic: 'static {
    /// A number that tells the function from others: see [`Binary::HASH`].
    const HASH: u32;
    /// The function.
    fn value(z: Point) -> Point;
    /// The complex derivative. It is made of functions that [`Parts::apply`] applies, so it has derivatives itself.
    fn derivative<V: Float>(z: Parts<V>) -> Parts<V>;
    /// Returns true where the derivative is infinite or undefined.
    fn singular(z: Point) -> bool;
}

/// The real part of a function.
#[derive(Debug)]
pub(super) struct RealPart<F>(PhantomData<F>);
/// The imaginary part of a function.
#[derive(Debug)]
pub(super) struct ImaginaryPart<F>(PhantomData<F>);

/// The derivative, computed in double precision and rounded.
fn slope<F: Holomorphic, V: Float>(x: V, y: V) -> Parts<V> {
    Parts::narrow(F::derivative(parts(x, y).widen()))
}

/// Makes rules of the two parts. Numbers with derivatives come back to the rule through [`Number::binary`], so that
/// values are computed from plain numbers alone.
macro_rules! part_rules {
    ($($rule:ident $part:ident, $hash:literal, |$s:ident| $left:expr, $right:expr;)*) => { $(
        impl<F: Holomorphic> Binary for $rule<F> {
            const HASH: u32 = F::HASH.wrapping_add($hash);
            fn value<V: Float>(x: V, y: V) -> V {
                if V::PARTS > 1 {
                    x.binary::<Self>(y)
                } else {
                    V::from_f64(F::value(parts(x.as_f64(), y.as_f64())).$part)
                }
            }
            fn partial_left<V: Float>(x: V, y: V, _: V) -> V {
                let $s = slope::<F, V>(x, y);
                $left
            }
            fn partial_right<V: Float>(x: V, y: V, _: V) -> V {
                let $s = slope::<F, V>(x, y);
                $right
            }
            fn singular<V: Float>(x: V, y: V) -> bool {
                F::singular(parts(x.as_f64(), y.as_f64()))
            }
        }
    )* };
}

part_rules! {
    RealPart re, 0, |slope| slope.re, -slope.im;
    ImaginaryPart im, 1, |slope| slope.im, slope.re;
}

/// A holomorphic function of two complex numbers.
pub(super) trait HolomorphicOfTwo: 'static {
    /// The function with its derivatives.
    fn value<V: Float>(z: Parts<V>, w: Parts<V>) -> Parts<V>;
    /// The derivatives by z and by w, which have derivatives themselves.
    fn partials<V: Float>(z: Parts<V>, w: Parts<V>) -> (Parts<V>, Parts<V>);
    /// Returns true where a derivative is infinite or undefined.
    fn singular(z: Point, w: Point) -> bool;
}

/// One lane of the arguments of a function of two complex numbers.
fn two<V: Number>(arguments: &[V], k: usize) -> [Parts<V::Lane>; 2] {
    let at = |i: usize| arguments[i].lane(k);
    [parts(at(0), at(1)), parts(at(2), at(3))]
}

/// The derivatives by z and by w, lane by lane.
type Slopes<V> = SmallVec<[[Parts<<V as Number>::Lane>; 2]; 1]>;

fn slopes<F: HolomorphicOfTwo, V: Number>(arguments: &[V]) -> Slopes<V> {
    let of_lane = |k: usize| {
        let [z, w] = two(arguments, k);
        let (for_z, for_w) = F::partials(z.widen(), w.widen());
        [Parts::narrow(for_z), Parts::narrow(for_w)]
    };
    (0..V::LANES).map(of_lane).collect()
}

/// Makes functions of slices of the two parts.
macro_rules! part_functions {
    ($($rule:ident $part:ident, |$s:ident| $even:expr, $odd:expr;)*) => { $(
        impl<V: Number, F: HolomorphicOfTwo> Nary<V> for $rule<F> {
            fn value(arguments: &[V], _: &[V]) -> V {
                V::from_lanes(|k| {
                    let [z, w] = two(arguments, k);
                    V::Lane::narrow(F::value(z.widen(), w.widen()).$part)
                })
            }
            fn partials(arguments: &[V], _: &[V], partials: &mut [V]) {
                let slopes = slopes::<F, V>(arguments);
                for (i, pair) in partials.chunks_exact_mut(2).enumerate() {
                    pair[0] = V::from_lanes(|k| { let $s = slopes[k][i]; $even });
                    pair[1] = V::from_lanes(|k| { let $s = slopes[k][i]; $odd });
                }
            }
            fn singular(arguments: &[V], _: &[V]) -> bool {
                (0..V::LANES).any(|k| {
                    let [z, w] = two(arguments, k);
                    F::singular(z.point(), w.point())
                })
            }
        }
    )* };
}

part_functions! {
    RealPart re, |slope| slope.re, -slope.im;
    ImaginaryPart im, |slope| slope.im, slope.re;
}

impl<V: Float> Parts<V> {
    /// The function `F` with its derivatives: where `V` has tangents, they come from `F`'s complex derivative.
    pub(super) fn apply<F: Holomorphic>(self) -> Self {
        parts(self.re.binary::<RealPart<F>>(self.im), self.re.binary::<ImaginaryPart<F>>(self.im))
    }
}
