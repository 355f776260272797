//! Complex numbers of closed variables, with rules of their own.

mod conversions;
mod functions;
mod methods;
mod number;
mod operators;
mod parts;
mod rules;
mod values;

use crate::closed::Closed;
use tapewright_strategies::{Strategy, Taping};

/// A complex number made of two [`Closed`] variables. Values and derivatives of its functions are right everywhere,
/// also on the axes and beside branch cuts.
///
/// Operators and functions have the names that they have in `num_complex`. Do not use
/// `num_complex::Complex<Closed<S>>`: where one part is 0, its code often just copies the other one, which is right for
/// values and wrong for derivatives. The imaginary part of its `√z`, for example, has the slope 1 on the whole positive
/// real axis.
///
/// ```
/// use tapewright::{Closed, Complex, prelude::*};
///
/// // The imaginary part of √z at z = 4, where √z has the derivative 1/4: slopes 0 and 1/4 for the two parts of z.
/// let slopes = gradient::<Jacobian>(|x| Complex::from((x[0], x[1])).sqrt().im.open(), &[4.0, 0.0]);
/// assert_eq!(slopes, [0.0, 0.25]);
///
/// // The operators are closed: z·w + c is a complex number.
/// fn orbit<S: Strategy>(x: &[Real<S>]) -> Real<S> {
///     let c = Complex::new(Closed::from(x[0]), Closed::from(x[1]));
///     (c * c + c).norm_sqr().open()
/// }
/// assert_eq!(gradient::<PrimalValue>(orbit, &[1.0, 1.0]), [18.0, 14.0]);
/// ```
///
/// # Cuts and special points
///
/// On a branch cut, a function has the limit from the side that the sign of zero selects, as in annex G of the C
/// standard and in W. Kahan, *Branch cuts for complex elementary functions* (1987): `√(−4 + 0i)` is 2i and `√(−4 − 0i)`
/// is −2i. Derivatives are limits from the same side. The cuts are the ones of the Digital Library of Mathematical
/// Functions, chapter 4:
///
/// | functions | cut | branch points |
/// |---|---|---|
/// | `sqrt` `cbrt` `ln` `log2` `log10` `log`, powers | the negative real axis | 0 |
/// | `asin` `acos` `atanh` | the real axis beyond −1 and 1 | −1, 1 |
/// | `acosh` | the real axis below 1 | −1, 1 |
/// | `asinh` `atan` | the imaginary axis beyond −i and i | −i, i |
///
/// At a branch point, and at the pole of 1/z, derivatives are infinite or NaN, and the strategy's
/// [`Policy`](crate::policy::Policy) decides as it does for the root of a real number: they are 0 under
/// [`Subgradient`](crate::Subgradient), and sweeps fail under [`Checked`](crate::Checked).
///
/// # Accuracy
///
/// Values and derivatives are accurate to a few roundings, relative to their absolute value. Each part of a function's
/// value is accurate by itself, however small it is beside the other part; parts of derivatives, products, quotients
/// and powers may lose digits to cancellation. No intermediate result overflows where the result is finite, except in
/// products. At infinite arguments values follow annex G where it gives a number.
///
/// # Cost
///
/// Each operation and each function records at most two statements, one for each part, and each of the two evaluates
/// the function by itself. A function of two complex numbers is recorded as a function of a slice.
///
/// # Panics
///
/// Operations panic in the same cases as operations of [`Closed`].
#[repr(C)]
pub struct Complex<S: Taping> {
    /// The real part.
    pub re: Closed<S>,
    /// The imaginary part.
    pub im: Closed<S>,
}

crate::variables!(Complex { re, im });

impl<S: Taping> Clone for Complex<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self { re: self.re.clone(), im: self.im.clone() }
    }
}
impl<S: Strategy> Copy for Complex<S> {}
