//! Tokens: the arguments of a kernel's closure, one for each operand.

use super::functions::{Adds, Subtracts};
use super::term::{Argument, Term};
use tapewright_strategies::kernel::ir::{Along, BinaryNode, Coordinate, Element, New, Node};

/// A view of rank `R`, operand `A` of a launch, in the body of a kernel: [`at`](Field2::at) returns the element
/// relative to the point at which the kernel will be computed.
///
/// All reads see the values from before the launch, also in views that the launch writes.
///
/// ```
/// use tapewright::{kernels::{View, parallel_for}, prelude::*};
///
/// // The element before each place, and what the three rules say lies outside.
/// let x = View::<Passive, 1>::new([3], &[1.0, 2.0, 4.0]);
/// let (mut zero, mut nearest, mut ring) = (View::zeros([3]), View::zeros([3]), View::zeros([3]));
/// parallel_for(x.all(), (&x, &mut zero, &mut nearest, &mut ring), |(x, ..)| {
///     (x.or_zero::<-1>(), x.nearest::<-1>(), x.periodic::<-1>())
/// });
/// assert_eq!(zero.values(), [0.0, 1.0, 2.0]);
/// assert_eq!(nearest.values(), [1.0, 1.0, 2.0]);
/// assert_eq!(ring.values(), [4.0, 1.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Field<const R: usize, const A: usize>(pub(crate) ());

impl<const R: usize, const A: usize> Field<R, A> {
    /// The value that this launch writes to the view at this very point. The expression for it must come before the
    /// expression that uses it.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// // y = x² and z = 3·y, in one pass.
    /// let tripled = |x: &[Real<Jacobian>]| {
    ///     let x = View::of_variables([2], x);
    ///     let (mut y, mut z) = (View::zeros([2]), View::zeros([2]));
    ///     parallel_for(x.all(), (&x, &mut y, &mut z), |(x, y, _)| (x.at::<0>().square(), 3.0 * y.new()));
    ///     assert_eq!((y.values(), z.values()), (&[1.0, 4.0][..], &[3.0, 12.0][..]));
    ///     z.variable([1])
    /// };
    /// assert_eq!(gradient::<Jacobian>(tripled, &[1.0, 2.0]), [0.0, 12.0]);
    /// ```
    #[inline(always)]
    #[must_use]
    #[allow(clippy::new_ret_no_self, clippy::wrong_self_convention, reason = "it is the new value")]
    pub fn new(self) -> Term<New<A>> {
        Term(New)
    }

    /// The coordinate of the point along dimension `D` as a number, counted from 0 in the view: Kokkos' index. It is
    /// the same for all tokens of a launch, and has no derivative. Above 2²⁴ it is rounded in `f32`.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// // 10·i + j, and 0 on the diagonal.
    /// let mut x = View::<Passive, 2>::zeros([2, 3]);
    /// parallel_for(x.all(), &mut x, |x| {
    ///     let (i, j) = (x.index::<0>(), x.index::<1>());
    ///     (i.eq(j).select(0.0, 10.0 * i + j),)
    /// });
    /// assert_eq!(x.values(), [0.0, 1.0, 2.0, 10.0, 0.0, 12.0]);
    /// ```
    ///
    /// Compiles only if the view has such a dimension.
    #[inline(always)]
    #[must_use]
    pub fn index<const D: usize>(self) -> Term<Coordinate<R, D>> {
        const {
            assert!(
                D < R,
                "`index::<D>()` is the coordinate along dimension D of the views, 0 to their rank - 1: use another D"
            );
        };
        Term(Coordinate)
    }

    /// The element at the point plus an expression: `(y.plus(e),)` is `y += e`.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// let (x, mut y) = (View::<Passive, 1>::new([2], &[1.0, 2.0]), View::filled([2], 10.0));
    /// parallel_for(y.all(), (&x, &mut y), |(x, y)| (y.plus(3.0 * x.at::<0>()),));
    /// assert_eq!(y.values(), [13.0, 16.0]);
    /// ```
    #[inline(always)]
    pub fn plus<B: Argument>(self, other: B) -> Term<BinaryNode<Adds, Element<A, 0, 0, 0, 0, 0>, B::Node>> {
        Term(BinaryNode::of(Element, other.into_node()))
    }

    /// The element at the point minus an expression: `(y.minus(e),)` is `y -= e`.
    ///
    /// ```
    /// use tapewright::{kernels::{View, parallel_for}, prelude::*};
    ///
    /// let rest = |x: &[Real<Jacobian>]| {
    ///     let (x, mut y) = (View::of_variables([2], x), View::filled([2], 10.0));
    ///     parallel_for(y.all(), (&x, &mut y), |(x, y)| (y.minus(x.at::<0>().square()),));
    ///     assert_eq!(y.values(), [9.0, 6.0]);
    ///     y.variable([1])
    /// };
    /// assert_eq!(gradient::<Jacobian>(rest, &[1.0, 2.0]), [0.0, -4.0]);
    /// ```
    #[inline(always)]
    pub fn minus<B: Argument>(self, other: B) -> Term<BinaryNode<Subtracts, Element<A, 0, 0, 0, 0, 0>, B::Node>> {
        Term(BinaryNode::of(Element, other.into_node()))
    }
}

/// A view of rank `Q`, operand `A` of a launch of rank `R`, which lies along the first `Q` of the dimensions `D`, `E`
/// and `F` of the launch.
/// Its token has [`at`](Self::at), without shifts: the example of [`View::along`](crate::kernels::View::along) uses it.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<const A: usize, const R: usize, const Q: usize, const D: usize, const E: usize, const F: usize>(
    pub(crate) (),
);

impl<const A: usize, const R: usize, const Q: usize, const D: usize, const E: usize, const F: usize>
    Repeated<A, R, Q, D, E, F>
{
    /// The element for the point.
    #[inline(always)]
    #[must_use]
    pub fn at(self) -> Term<Along<A, R, Q, D, E, F>> {
        Term(Along)
    }
}

/// Implements the tokens of one rank.
macro_rules! fields {
    ($($trait:ident $rank:literal: $($i:ident)*, [$($pad:literal)*], $doc:literal;)*) => { $(
        #[doc = $doc]
        ///
        /// Write helper functions of kernels over this trait; inside a closure its methods can be called directly. A
        /// shift is a constant from −7 to 7 along each dimension, in the order of the view's shape.
        pub trait $trait: Copy {
            /// The coordinate along a dimension.
            type Index<const D: usize>: Node;
            /// The coordinate of the point along dimension `D`: see [`Field::index`].
            #[must_use]
            fn index<const D: usize>(self) -> Term<Self::Index<D>>;
            /// A read with a border rule, by its code, and these shifts.
            type Read<const B: u8, $(const $i: isize),*>: Node;

            /// The element at these shifts. The range of the launch must be such that the element is inside the view.
            #[must_use]
            fn at<$(const $i: isize),*>(self) -> Term<Self::Read<0, $($i),*>>;
            /// The element at these shifts, and 0 outside the view.
            #[must_use]
            fn or_zero<$(const $i: isize),*>(self) -> Term<Self::Read<1, $($i),*>>;
            /// The element at these shifts, and the nearest element of the view outside it.
            #[must_use]
            fn nearest<$(const $i: isize),*>(self) -> Term<Self::Read<2, $($i),*>>;
            /// The element at these shifts, where the view repeats itself outside.
            #[must_use]
            fn periodic<$(const $i: isize),*>(self) -> Term<Self::Read<3, $($i),*>>;
        }

        impl<const A: usize> $trait for Field<$rank, A> {
            type Index<const D: usize> = Coordinate<$rank, D>;
            #[inline(always)]
            fn index<const D: usize>(self) -> Term<Self::Index<D>> { Field::index::<D>(self) }
            type Read<const B: u8, $(const $i: isize),*> = Element<A, B, $($pad,)* $($i),*>;
            #[inline(always)]
            fn at<$(const $i: isize),*>(self) -> Term<Self::Read<0, $($i),*>> { Term(Element) }
            #[inline(always)]
            fn or_zero<$(const $i: isize),*>(self) -> Term<Self::Read<1, $($i),*>> { Term(Element) }
            #[inline(always)]
            fn nearest<$(const $i: isize),*>(self) -> Term<Self::Read<2, $($i),*>> { Term(Element) }
            #[inline(always)]
            fn periodic<$(const $i: isize),*>(self) -> Term<Self::Read<3, $($i),*>> { Term(Element) }
        }

        impl<const A: usize> Field<$rank, A> {
            /// The element at these shifts. The range of the launch must be such that the element is inside the view.
            #[inline(always)]
            #[must_use]
            pub fn at<$(const $i: isize),*>(self) -> Term<Element<A, 0, $($pad,)* $($i),*>> { Term(Element) }
            /// The element at these shifts, and 0 outside the view.
            #[inline(always)]
            #[must_use]
            pub fn or_zero<$(const $i: isize),*>(self) -> Term<Element<A, 1, $($pad,)* $($i),*>> { Term(Element) }
            /// The element at these shifts, and the nearest element of the view outside it.
            #[inline(always)]
            #[must_use]
            pub fn nearest<$(const $i: isize),*>(self) -> Term<Element<A, 2, $($pad,)* $($i),*>> { Term(Element) }
            /// The element at these shifts, where the view repeats itself outside.
            #[inline(always)]
            #[must_use]
            pub fn periodic<$(const $i: isize),*>(self) -> Term<Element<A, 3, $($pad,)* $($i),*>> { Term(Element) }
        }
    )* };
}
fields! {
    Field1 1: I, [0 0 0], "A view of rank 1 in a kernel.";
    Field2 2: I J, [0 0], "A view of rank 2 in a kernel.";
    Field3 3: I J K, [0], "A view of rank 3 in a kernel.";
    Field4 4: I J K M, [], "A view of rank 4 in a kernel.";
}
