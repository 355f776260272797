//! Collections of variables, of any shape.

mod collections;

use crate::expr::Real;
use tapewright_strategies::contract::Dependence;
use tapewright_strategies::kernel::memory::{Elements, SharedArray};
use tapewright_strategies::{Number, Taping};

/// A collection of variables, such as a stage of a computation takes and returns.
///
/// Provided for [`Real`], [`Closed`](crate::Closed), [`Complex`](crate::Complex) and
/// [`View`](crate::kernels::View), for vectors, boxed slices, arrays, options and tuples of such, and for structs by
/// [`variables!`](crate::variables!). [`visit`](Self::visit) and [`map`](Self::map) use the order of the adjoints.
///
/// # Implementing it by hand
///
/// `visit` and `map` must pass the same variables in the same order, each once, and always the same variables as long
/// as the collection is not changed; `map` must put the variable that `f` makes at the position where `visit` of the
/// new collection finds it. Stages, time loops and preaccumulated blocks panic with the name of the type where they
/// find a violation. They compare numbers of variables, values and, in recordings, identifiers: an exchange of two
/// outputs with equal values by `map` may stay unnoticed.
///
/// ```
/// use tapewright::{prelude::*, variables::Variables};
///
/// struct Fluid<S: Taping> { velocity: Vec<Real<S>>, time: Real<S> }
/// tapewright::variables!(Fluid { velocity, time });
///
/// let velocity = vec![Real::constant(1.0), Real::constant(2.0)];
/// let state = Fluid::<Passive> { velocity, time: Real::constant(0.0) };
/// assert_eq!(state.values(), [1.0, 2.0, 0.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no collection of variables of strategy `{S}`",
    note = "`.eval()` makes a variable of an expression, and `variables!` a collection of a struct of your own"
)]
pub trait Variables<S: Taping>: Sized {
    /// Type of this collection under another strategy.
    type With<T: Taping<Value = S::Value>>: Variables<T>;

    /// True if the collection consists of its variables and their number: nothing else is lost when it is made again
    /// from their values. If false, and the rest changes from step to step, snapshots of the collection cannot go to
    /// disk. A collection that consists of collections asks them, too.
    #[inline]
    fn is_numbers_only(&self) -> bool {
        true
    }

    /// Calls `f` with all variables, in slices as long as the memory layout allows.
    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a;

    /// [`visit`](Self::visit) for each element of a list; a list of variables is passed as one slice.
    #[inline]
    fn visit_list<'a>(list: &'a [Self], f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        list.iter().for_each(|x| x.visit(f));
    }

    /// Returns a collection of the same shape, of the variables that `f` makes from the variables of this collection,
    /// in the order of `visit`. Views become constants, in the space where they are; under a strategy whose policy is
    /// not [allowed](crate::policy::AllowedIn) there, launches that would be differentiated panic.
    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Self::With<T>;

    /// Calls `f` with all views. A collection without views need not implement it.
    #[inline]
    fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
    where
        S: 'a,
    {
        let _ = f;
    }

    /// [`map`](Self::map), with the views that `g` makes from the views of this collection, in the order of
    /// `visit_views`. A collection without views need not implement it.
    #[inline]
    fn map_with<T: Taping<Value = S::Value>>(
        &self,
        f: &mut impl FnMut(&Real<S>) -> Real<T>,
        g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
    ) -> Self::With<T> {
        let _ = g;
        self.map(f)
    }

    /// Number of variables.
    fn count(&self) -> usize {
        let mut n = 0;
        self.visit(&mut |slice| n += slice.len());
        n
    }

    /// Values of the variables, in order.
    fn values(&self) -> Vec<S::Value> {
        let mut values = Vec::new();
        self.visit(&mut |slice| values.extend(slice.iter().map(Real::peek)));
        values
    }

    /// Values and identifiers of the variables, in order, in the form that [`Taping::record_external`] takes.
    fn arguments(&self) -> Vec<(S::Value, &S::Id)> {
        let mut arguments = Vec::new();
        self.visit(&mut |slice| arguments.extend(slice.iter().map(|x| (x.peek(), x.id()))));
        arguments
    }

    /// The views, in order.
    fn views(&self) -> Vec<ViewRef<'_, S::Value>> {
        let mut views = Vec::new();
        self.visit_views(&mut |view| views.push(view));
        views
    }

    /// The variables, in order.
    fn list(&self) -> Vec<&Real<S>> {
        let mut list = Vec::new();
        self.visit(&mut |slice| list.extend(slice));
        list
    }
}

/// A view in a collection, whatever its rank.
#[derive(Debug)]
pub struct ViewRef<'a, V: 'static> {
    pub(crate) shape: &'a [usize],
    pub(crate) values: &'a SharedArray<V>,
    pub(crate) dependence: &'a Dependence<V>,
}

impl<V> Clone for ViewRef<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for ViewRef<'_, V> {}

impl<'a, V: Number> ViewRef<'a, V> {
    /// The length along each dimension.
    #[must_use]
    pub const fn shape(self) -> &'a [usize] {
        self.shape
    }

    /// The values of all elements.
    #[must_use]
    pub fn values(self) -> Elements<'a, V> {
        self.values.elements()
    }

    /// The number of elements.
    #[must_use]
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// Returns true if there are no elements, which is never so.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.values.is_empty()
    }

    /// A constant view with the same elements.
    #[must_use]
    pub fn constant(self) -> ViewParts<V> {
        ViewParts { values: self.values.clone(), dependence: Dependence::Nothing, shares: false }
    }
}

/// Parts of a view, except its shape.
#[derive(Debug)]
pub struct ViewParts<V: 'static> {
    pub(crate) values: SharedArray<V>,
    pub(crate) dependence: Dependence<V>,
    /// True if other views have the same slot, among them the one that this was made from.
    pub(crate) shares: bool,
}

impl<S: Taping> Variables<S> for Real<S> {
    type With<T: Taping<Value = S::Value>> = Real<T>;

    #[inline]
    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        f(core::slice::from_ref(self));
    }

    #[inline]
    fn visit_list<'a>(list: &'a [Self], f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        f(list);
    }

    #[inline]
    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Real<T> {
        f(self)
    }
}

/// Implements [`Variables`] for a struct that is generic over the strategy, and nothing else: name its fields that hold
/// variables, then, after a semicolon, those that are cloned as they are.
///
/// ```
/// use tapewright::{prelude::*, variables::Variables};
///
/// struct Cell<S: Taping> { pressure: Real<S>, fluxes: [Real<S>; 2], wet: bool }
/// tapewright::variables!(Cell { pressure, fluxes; wet });
///
/// let cell = Cell::<Passive> { pressure: 1.0.into(), fluxes: [2.0.into(), 3.0.into()], wet: true };
/// assert_eq!(cell.count(), 3);
/// ```
///
/// Where the struct asks for more than `S: Taping`, repeat its bound; the compiler says that `S::Value` is not `f64` if
/// it is missing:
///
/// ```
/// use tapewright::{prelude::*, variables::Variables};
///
/// struct Fluid<S: Taping<Value = f64>> { velocity: Real<S> }
/// tapewright::variables!(Fluid<S: Taping<Value = f64>> { velocity });
///
/// assert_eq!(Fluid::<Passive> { velocity: 2.0.into() }.values(), [2.0]);
/// ```
///
/// ```compile_fail,E0271
/// # use tapewright::prelude::*;
/// struct Fluid<S: Taping<Value = f64>> { velocity: Real<S> }
/// tapewright::variables!(Fluid { velocity }); // Fluid<S: Taping<Value = f64>>
/// ```
///
/// A struct that is generic over its number, as types of other libraries often are, has the number as its parameter,
/// without a bound. It is then a collection for `Real<S>` and [`Closed<S>`](crate::Closed) in its place, and not for
/// `f64`:
///
/// ```
/// use tapewright::{prelude::*, preaccumulate_by_reverse};
///
/// struct State<T> { density: T, momentum: [T; 2] }
/// tapewright::variables!(State<T> { density, momentum });
///
/// fn energy<S: Strategy>(state: &State<Real<S>>) -> Real<S> {
///     let [x, y] = &state.momentum;
///     ((x * x + y * y) / (2.0 * state.density)).eval()
/// }
/// let by_state = |x: &[Real<Jacobian>]| {
///     preaccumulate_by_reverse::<Jacobian, _, _, _>(&State { density: x[0], momentum: [x[1], x[2]] }, energy)
/// };
/// assert_eq!(gradient::<Jacobian>(by_state, &[2.0, 3.0, 4.0]), [-3.125, 1.5, 2.0]);
/// ```
///
/// A struct of views in any space has that space as its second parameter:
///
/// ```
/// use tapewright::kernels::{Space, View};
/// use tapewright::{prelude::*, variables::Variables};
///
/// struct Plate<S: Taping, M: Space<S::Value>> { temperature: View<S, 2, M>, time: Real<S> }
/// tapewright::variables!(Plate<S: Taping, M: Space<S::Value>> { temperature, time });
///
/// let plate = Plate { temperature: View::<Passive, 2>::zeros([3, 4]), time: 0.5.into() };
/// assert_eq!((plate.values(), plate.views().len()), (vec![0.5], 1));
/// ```
#[macro_export]
macro_rules! variables {
    ($name:ident { $($fields:tt)* }) => { $crate::variables!($name<S: $crate::Taping> { $($fields)* }); };
    ($name:ident<$number:ident> { $($fields:tt)* }) => {
        $crate::variables!(
            @implementation [Taped: $crate::Taping, $number: $crate::variables::Variables<Taped>] Taped,
            $name<$number>, $name<<$number as $crate::variables::Variables<Taped>>::With<Other>>,
            $name { $($fields)* }
        );
    };
    ($name:ident<$s:ident: $bound:path $(, $m:ident: $space:path)?> { $($fields:tt)* }) => {
        $crate::variables!(
            @implementation [$s: $bound $(, $m: $space)?] $s, $name<$s $(, $m)?>, $name<Other $(, $m)?>,
            $name { $($fields)* }
        );
    };
    (@implementation [$($generics:tt)*] $s:ident, $this:ty, $with:ty, $name:ident {
        $($field:ident),* $(; $($other:ident),*)? $(,)?
    }) => {
        impl<$($generics)*> $crate::variables::Variables<$s> for $this {
            type With<Other: $crate::Taping<Value = $s::Value>> = $with;

            fn is_numbers_only(&self) -> bool {
                let other: &[&str] = &[$($(stringify!($other)),*)?];
                other.is_empty() $(&& $crate::variables::Variables::<$s>::is_numbers_only(&self.$field))*
            }

            fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [$crate::Real<$s>]))
            where
                $s: 'a,
            {
                $($crate::variables::Variables::<$s>::visit(&self.$field, f);)*
            }

            fn map<Other: $crate::Taping<Value = $s::Value>>(
                &self,
                f: &mut impl FnMut(&$crate::Real<$s>) -> $crate::Real<Other>,
            ) -> Self::With<Other> {
                $name {
                    $($field: $crate::variables::Variables::<$s>::map(&self.$field, f),)*
                    $($($other: ::core::clone::Clone::clone(&self.$other),)*)?
                }
            }

            fn visit_views<'a>(&'a self, f: &mut impl FnMut($crate::variables::ViewRef<'a, $s::Value>))
            where
                $s: 'a,
            {
                $($crate::variables::Variables::<$s>::visit_views(&self.$field, f);)*
            }

            fn map_with<Other: $crate::Taping<Value = $s::Value>>(
                &self,
                f: &mut impl FnMut(&$crate::Real<$s>) -> $crate::Real<Other>,
                g: &mut impl FnMut(
                    $crate::variables::ViewRef<'_, $s::Value>,
                ) -> $crate::variables::ViewParts<$s::Value>,
            ) -> Self::With<Other> {
                $name {
                    $($field: $crate::variables::Variables::<$s>::map_with(&self.$field, f, g),)*
                    $($($other: ::core::clone::Clone::clone(&self.$other),)*)?
                }
            }
        }
    };
}
