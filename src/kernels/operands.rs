//! The operands of a launch.

use super::expression::term::Term;
use super::expression::token::{Field, Repeated};
use super::views::view::View;
use crate::expr::Real;
use crate::variables::ViewRef;
use core::marker::PhantomData;
use tapewright_strategies::Taping;
use tapewright_strategies::contract::Dependence;
use tapewright_strategies::kernel::ir::{Node, Number, OPERANDS, Written};
use tapewright_strategies::kernel::memory::SharedArray;
use tapewright_strategies::kernel::targets::Space;

/// One operand in the form that the launch uses.
pub enum Slot<'a, S: Taping, const R: usize, M: Space<S::Value>> {
    /// A view that is read.
    Read(&'a View<S, R, M>),
    /// A view that is written.
    Write(WrittenView<'a, S, R, M>),
    /// A view of lower rank that is read.
    Along(AlongSlot<'a, S::Value>),
    /// A uniform scalar: a variable whose value all points use.
    Number(&'a Real<S>),
}

/// A view of lower rank that is read.
#[derive(Clone, Copy)]
pub struct AlongSlot<'a, V: 'static> {
    pub(super) view: ViewRef<'a, V>,
    /// Dimensions of the launch that the view lies along, counted from 0, as many as it has dimensions.
    pub(super) named: [usize; 3],
}

/// A view that is written.
pub struct WrittenView<'a, S: Taping, const R: usize, M: Space<S::Value>> {
    pub(super) view: &'a mut View<S, R, M>,
    /// Buffer for the new values, unless they replace the old values in place.
    pub(super) apart: Option<SharedArray<S::Value>>,
    /// Values from before the launch, if they are kept.
    pub(super) old: Option<SharedArray<S::Value>>,
    /// Dependence of the new values.
    pub(super) dependence: Dependence<S::Value>,
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Slot<'_, S, R, M> {
    /// The view; `None` if the operand is a variable.
    #[must_use]
    pub const fn view(&self) -> Option<&View<S, R, M>> {
        match self {
            Self::Read(view) => Some(view),
            Self::Write(to) => Some(to.view),
            Self::Along(_) | Self::Number(_) => None,
        }
    }
}

/// One operand of a kernel: `&view`, which is read; `&mut view`, which is written and may be read; `&variable`, a
/// uniform scalar; or a view of lower rank that lies [`Along`] some dimensions of the launch, which is read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of a kernel",
    note = "operands are `&view`, `&mut view`, `view.along::<1>()` and `&variable`, of one strategy and, for views, of \
            one rank and one space"
)]
pub trait Operand<S: Taping, const R: usize, M: Space<S::Value>> {
    /// Token that the kernel's closure gets for the operand, as operand `A`.
    type Token<const A: usize>;
    /// [`Writes`] if the operand is written, else [`Reads`].
    type Mode: Mode;
    /// Makes the token.
    fn token<const A: usize>() -> Self::Token<A>;
    /// Converts the operand to the form that the launch uses.
    fn slot<'a>(self) -> Slot<'a, S, R, M>
    where
        Self: 'a;
}

/// Access of a launch to an operand: [`Reads`] or [`Writes`].
pub trait Mode: Copy + Send + Sync + 'static {
    /// True if the operand is written.
    const WRITES: bool;
}

/// An operand that is read.
#[derive(Clone, Copy, Debug)]
pub struct Reads;
impl Mode for Reads {
    const WRITES: bool = false;
}
/// An operand that is written.
#[derive(Clone, Copy, Debug)]
pub struct Writes;
impl Mode for Writes {
    const WRITES: bool = true;
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Operand<S, R, M> for &View<S, R, M> {
    type Token<const A: usize> = Field<R, A>;
    type Mode = Reads;
    fn token<const A: usize>() -> Field<R, A> {
        Field(())
    }
    fn slot<'a>(self) -> Slot<'a, S, R, M>
    where
        Self: 'a,
    {
        Slot::Read(self)
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Operand<S, R, M> for &mut View<S, R, M> {
    type Token<const A: usize> = Field<R, A>;
    type Mode = Writes;
    fn token<const A: usize>() -> Field<R, A> {
        Field(())
    }
    fn slot<'a>(self) -> Slot<'a, S, R, M>
    where
        Self: 'a,
    {
        Slot::Write(WrittenView { view: self, apart: None, old: None, dependence: Dependence::Nothing })
    }
}

impl<S: Taping, const R: usize, M: Space<S::Value>> Operand<S, R, M> for &Real<S> {
    type Token<const A: usize> = Term<Number<A>>;
    type Mode = Reads;
    fn token<const A: usize>() -> Term<Number<A>> {
        Term(Number)
    }
    fn slot<'a>(self) -> Slot<'a, S, R, M>
    where
        Self: 'a,
    {
        Slot::Number(self)
    }
}

/// A view of rank `Q` as an operand of launches of higher rank: it lies along the first `Q` of the dimensions `D`, `E`
/// and `F` of the launch, and is constant along the others. Made by [`View::along`], [`View::along2`] and
/// [`View::along3`].
#[derive(Clone, Copy)]
pub struct Along<
    'a,
    S: Taping,
    const Q: usize,
    M: Space<S::Value>,
    const D: usize,
    const E: usize = 0,
    const F: usize = 0,
>(pub(super) ViewRef<'a, S::Value>, pub(super) PhantomData<fn() -> (S, M)>);

impl<S: Taping, const R: usize, const Q: usize, M: Space<S::Value>, const D: usize, const E: usize, const F: usize>
    Operand<S, R, M> for Along<'_, S, Q, M, D, E, F>
{
    type Token<const A: usize> = Repeated<A, R, Q, D, E, F>;
    type Mode = Reads;
    fn token<const A: usize>() -> Repeated<A, R, Q, D, E, F> {
        Repeated(())
    }
    fn slot<'a>(self) -> Slot<'a, S, R, M>
    where
        Self: 'a,
    {
        Slot::Along(AlongSlot { view: self.0, named: [D, E, F] })
    }
}

macro_rules! along {
    ($($(#[$doc:meta])* $rank:literal $name:ident [$($d:ident)*];)*) => { $(
        impl<S: Taping, M: Space<S::Value>> View<S, $rank, M> {
            $(#[$doc])*
            ///
            /// # Panics
            ///
            /// When the view is half written.
            #[must_use]
            #[track_caller]
            pub fn $name<$(const $d: usize),*>(&self) -> Along<'_, S, $rank, M, $($d),*> {
                Along(self.as_leaf(), PhantomData)
            }
        }
    )* };
}
along! {
    /// The view as an operand of launches of higher rank: its elements belong to dimension `D` of the launch, counted
    /// from 0, and are repeated along the others. The launch reads it; nothing of the launch's size is made.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_row_sums}, prelude::*};
    ///
    /// // y = A·x.
    /// let a = View::<Passive, 2>::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// let x = View::<Passive, 1>::new([3], &[1.0, 0.0, -1.0]);
    /// let y: View<Passive, 1> = parallel_row_sums(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at());
    /// assert_eq!(y.values(), [-2.0, -2.0]);
    ///
    /// // The gradient of the second element is the second row.
    /// let second = |x: &[Real<Jacobian>]| {
    ///     let (a, x) = (View::new([2, 3], &a.values()), View::of_variables([3], x));
    ///     let y: View<_, 1> = parallel_row_sums(a.all(), (&a, x.along::<1>()), |(a, x)| a.at::<0, 0>() * x.at());
    ///     y.variable([1])
    /// };
    /// assert_eq!(gradient::<Jacobian>(second, &[1.0, 0.0, -1.0]), [4.0, 5.0, 6.0]);
    /// ```
    1 along [D];
    /// The view as an operand of launches of higher rank, lying along two dimensions of the launch, in order.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// // Σ tᵢⱼₖ·mᵢₖ: its gradient with respect to m is the sum of t over j.
    /// let sum = |m: &[Real<Jacobian>]| {
    ///     let t = View::new([2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    ///     let m = View::of_variables([2, 2], m);
    ///     let sum = parallel_sum(t.all(), (&t, m.along2::<0, 2>()), |(t, m)| t.at::<0, 0, 0>() * m.at());
    ///     assert_eq!(sum.value(), 36.0);
    ///     sum
    /// };
    /// assert_eq!(gradient::<Jacobian>(sum, &[1.0; 4]), [4.0, 6.0, 12.0, 14.0]);
    /// ```
    2 along2 [D E];
    /// The view as an operand of launches of rank 4, lying along three dimensions of the launch, in order.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_sum}, prelude::*};
    ///
    /// // Σ tᵢⱼₖₗ·mⱼₖₗ: its gradient with respect to m is the sum of t over i.
    /// let sum = |m: &[Real<Jacobian>]| {
    ///     let t = View::new([2, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    ///     let m = View::of_variables([1, 2, 2], m);
    ///     let sum = parallel_sum(t.all(), (&t, m.along3::<1, 2, 3>()), |(t, m)| t.at::<0, 0, 0, 0>() * m.at());
    ///     assert_eq!(sum.value(), 36.0);
    ///     sum
    /// };
    /// assert_eq!(gradient::<Jacobian>(sum, &[1.0; 4]), [6.0, 8.0, 10.0, 12.0]);
    /// ```
    3 along3 [D E F];
}

/// Access to each operand of a tuple.
pub struct Modes<T>(PhantomData<fn() -> T>);
impl<T> Clone for Modes<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Modes<T> {}

/// The operands of a kernel: one, or a tuple of up to twelve.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no operands of a kernel",
    note = "operands are a view, or a tuple of up to twelve: `&view`, `&mut view`, `view.along::<1>()`, `&variable`, \
            of one strategy and, for views, of one space and, except for `along`, one rank; a single operand that is \
            neither `&view` nor `&mut view` needs a comma: `(&variable,)`"
)]
pub trait Operands<S: Taping, const R: usize, M: Space<S::Value>> {
    /// Tokens that the kernel's closure gets.
    type Tokens;
    /// List of the operands that are written.
    type Written: Written;
    /// The operands in the form that the launch uses, in order.
    type Slots<'a>: AsMut<[Slot<'a, S, R, M>]>
    where
        Self: 'a;
    /// Makes the tokens.
    fn tokens() -> Self::Tokens;
    /// Converts the operands to the form that the launch uses.
    fn slots<'a>(self) -> Self::Slots<'a>
    where
        Self: 'a;
}

/// Implements [`Operands`] for a single one.
macro_rules! single {
    ($($type:ty, $mode:ty;)*) => { $(
        impl<S: Taping, const R: usize, M: Space<S::Value>> Operands<S, R, M> for $type {
            type Tokens = Field<R, 0>;
            type Written = Modes<($mode,)>;
            type Slots<'a>
                = [Slot<'a, S, R, M>; 1]
            where
                Self: 'a;
            fn tokens() -> Self::Tokens {
                Field(())
            }
            fn slots<'a>(self) -> Self::Slots<'a>
            where
                Self: 'a,
            {
                [self.slot()]
            }
        }
    )* };
}
single! {
    &View<S, R, M>, Reads;
    &mut View<S, R, M>, Writes;
}

/// The indices of the true elements, and their number.
const fn places<const N: usize>(written: [bool; N]) -> ([usize; OPERANDS], usize) {
    let (mut places, mut count, mut k) = ([0; OPERANDS], 0, 0);
    while k < N {
        if written[k] {
            places[count] = k;
            count += 1;
        }
        k += 1;
    }
    (places, count)
}

/// Implements [`Operands`] for tuples, and the list of the operands that are written.
macro_rules! tuples {
    ($($count:literal: $($name:ident $k:tt)*;)*) => { $(
        impl<S: Taping, const R: usize, M: Space<S::Value>, $($name: Operand<S, R, M>),*> Operands<S, R, M>
            for ($($name,)*)
        {
            type Tokens = ($($name::Token<$k>,)*);
            type Written = Modes<($($name::Mode,)*)>;
            type Slots<'a> = [Slot<'a, S, R, M>; $count] where Self: 'a;
            fn tokens() -> Self::Tokens { ($($name::token::<$k>(),)*) }
            fn slots<'a>(self) -> Self::Slots<'a> where Self: 'a {
                [$(self.$k.slot()),*]
            }
        }
        impl<$($name: Mode),*> Written for Modes<($($name,)*)> {
            const OPERANDS: &'static [usize] = {
                let all: &'static ([usize; OPERANDS], usize) = &places([$($name::WRITES),*]);
                all.0.split_at(all.1).0
            };
        }
    )* };
}
tuples! {
    1: A 0;
    2: A 0 B 1;
    3: A 0 B 1 C 2;
    4: A 0 B 1 C 2 D 3;
    5: A 0 B 1 C 2 D 3 E 4;
    6: A 0 B 1 C 2 D 3 E 4 F 5;
    7: A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
    9: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8;
    10: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9;
    11: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10;
    12: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11;
}

/// Return value of the closure of [`parallel_for`](super::parallel_for): a tuple with one expression for each operand
/// that is written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a kernel returns",
    note = "a kernel returns a tuple with one expression for each operand that is written (`&mut`), in their order, at \
            most six; a single one needs a comma too: `(expression,)`"
)]
pub trait Body {
    /// Nodes of the expressions.
    type Nodes: Copy;
    /// Number of expressions.
    const COUNT: usize;
    /// Array of a result for each expression.
    type Results<T>: AsMut<[T]>;
    /// Returns the nodes.
    fn nodes(self) -> Self::Nodes;
    /// Makes a result for each expression.
    fn results<T>(each: impl FnMut() -> T) -> Self::Results<T>;
}

/// Implements [`Body`] for tuples.
macro_rules! bodies {
    ($($($name:ident $k:tt)*;)*) => { $(
        impl<$($name: Node),*> Body for ($(Term<$name>,)*) {
            type Nodes = ($($name,)*);
            const COUNT: usize = [$($k),*].len();
            type Results<T> = [T; [$($k),*].len()];
            fn nodes(self) -> Self::Nodes { ($(self.$k.0,)*) }
            fn results<T>(mut each: impl FnMut() -> T) -> Self::Results<T> { core::array::from_fn(|_| each()) }
        }
    )* };
}
bodies! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}
