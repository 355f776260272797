//! `+ − × ÷ %` and negation with complex numbers, closed variables, variables and `f64`.

use super::Complex;
use crate::closed::Closed;
use crate::expr::Real;
use bytemuck::TransparentWrapper;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use tapewright_strategies::Taping;

impl<S: Taping> Complex<S> {
    #[track_caller]
    fn plus(&self, other: &Self) -> Self {
        Self { re: &self.re + &other.re, im: &self.im + &other.im }
    }

    #[track_caller]
    fn minus(&self, other: &Self) -> Self {
        Self { re: &self.re - &other.re, im: &self.im - &other.im }
    }

    /// The product, two statements of four arguments each.
    #[track_caller]
    fn product(&self, other: &Self) -> Self {
        let (x, y, u, v) = (self.re.as_real(), self.im.as_real(), other.re.as_real(), other.im.as_real());
        Self { re: (x * u - y * v).into(), im: (x * v + y * u).into() }
    }

    /// The remainder of a division whose quotient has both parts rounded towards 0 to whole numbers.
    #[track_caller]
    fn remainder(&self, other: &Self) -> Self {
        let quotient = self.over(other);
        self.minus(&other.product(&Self { re: quotient.re.trunc(), im: quotient.im.trunc() }))
    }
}

/// A variable as a closed one, borrowed.
fn closed<S: Taping>(real: &Real<S>) -> &Closed<S> {
    TransparentWrapper::wrap_ref(real)
}

/// Implements operators for all kinds of operands. A row has the names, as `Add add += AddAssign add_assign`, and what
/// is done with two complex numbers, with a complex and a real number, and with a real and a complex one; a real number
/// `t` is a `&Closed` or an `f64`.
macro_rules! operators {
    ($(
        $trait:ident $method:ident $assign:ident $assign_method:ident,
        |$z:ident, $w:ident, $t:ident| $both:expr, $left:expr, $right:expr;
    )*) => { $(
        operators! { @ $trait $method
            Complex<S>, Complex<S>, |$z, $w| $both, &$z, &$w;
            Complex<S>, &Complex<S>, |$z, $w| $both, &$z, $w;
            &Complex<S>, Complex<S>, |$z, $w| $both, $z, &$w;
            &Complex<S>, &Complex<S>, |$z, $w| $both, $z, $w;
            Complex<S>, Closed<S>, |$z, $t| $left, &$z, &$t;
            Complex<S>, &Closed<S>, |$z, $t| $left, &$z, $t;
            &Complex<S>, Closed<S>, |$z, $t| $left, $z, &$t;
            &Complex<S>, &Closed<S>, |$z, $t| $left, $z, $t;
            Complex<S>, Real<S>, |$z, $t| $left, &$z, closed(&$t);
            Complex<S>, &Real<S>, |$z, $t| $left, &$z, closed($t);
            &Complex<S>, Real<S>, |$z, $t| $left, $z, closed(&$t);
            &Complex<S>, &Real<S>, |$z, $t| $left, $z, closed($t);
            Complex<S>, f64, |$z, $t| $left, &$z, $t;
            &Complex<S>, f64, |$z, $t| $left, $z, $t;
            Closed<S>, Complex<S>, |$t, $z| $right, &$t, &$z;
            Closed<S>, &Complex<S>, |$t, $z| $right, &$t, $z;
            &Closed<S>, Complex<S>, |$t, $z| $right, $t, &$z;
            &Closed<S>, &Complex<S>, |$t, $z| $right, $t, $z;
            f64, Complex<S>, |$t, $z| $right, $t, &$z;
            f64, &Complex<S>, |$t, $z| $right, $t, $z;
        }
        operators! { = $assign $assign_method $trait $method
            Self; &Self; Closed<S>; &Closed<S>; Real<S>; &Real<S>; f64;
        }
    )* };
    (@ $trait:ident $method:ident $($l:ty, $r:ty, |$x:ident, $y:ident| $operation:expr, $a:expr, $b:expr;)*) => { $(
        impl<S: Taping> $trait<$r> for $l {
            type Output = Complex<S>;
            #[track_caller]
            fn $method(self, $y: $r) -> Complex<S> {
                let $x = self;
                let ($x, $y) = ($a, $b);
                $operation
            }
        }
    )* };
    (= $assign:ident $assign_method:ident $trait:ident $method:ident $($r:ty;)*) => { $(
        impl<S: Taping> $assign<$r> for Complex<S> {
            #[track_caller]
            fn $assign_method(&mut self, right: $r) { *self = $trait::$method(&*self, right); }
        }
    )* };
}

/// The complex number with these parts.
fn of<S: Taping>(re: Closed<S>, im: Closed<S>) -> Complex<S> {
    Complex::new(re, im)
}

operators! {
    Add add AddAssign add_assign, |z, w, t| z.plus(w), of(&z.re + t, z.im.clone()), of(t + &z.re, z.im.clone());
    Sub sub SubAssign sub_assign, |z, w, t| z.minus(w), of(&z.re - t, z.im.clone()), of(t - &z.re, -&z.im);
    Mul mul MulAssign mul_assign, |z, w, t| z.product(w), of(&z.re * t, &z.im * t), of(t * &z.re, t * &z.im);
    Div div DivAssign div_assign, |z, w, t| z.over(w), of(&z.re / t, &z.im / t), Complex::from(t).over(z);
    Rem rem RemAssign rem_assign, |z, w, t| z.remainder(w), of(&z.re % t, &z.im % t), Complex::from(t).remainder(z);
}

impl<S: Taping> Neg for Complex<S> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        -&self
    }
}

impl<S: Taping> Neg for &Complex<S> {
    type Output = Complex<S>;
    #[track_caller]
    fn neg(self) -> Complex<S> {
        of(-&self.re, -&self.im)
    }
}

/// Folds an iterator, beginning with its first item.
macro_rules! iterator_folds {
    ($($trait:ident $method:ident $op:tt $unit:literal;)*) => { $(
        impl<S: Taping> $trait for Complex<S> {
            fn $method<I: Iterator<Item = Self>>(items: I) -> Self {
                items.reduce(|total, item| total $op item).unwrap_or_else(|| Self::from($unit))
            }
        }

        impl<'a, S: Taping> $trait<&'a Self> for Complex<S> {
            fn $method<I: Iterator<Item = &'a Self>>(mut items: I) -> Self {
                let Some(first) = items.next() else { return Self::from($unit) };
                items.fold(first.clone(), |total, item| total $op item)
            }
        }
    )* };
}

iterator_folds! {
    Sum sum + 0.0;
    Product product * 1.0;
}
