//! Vectors, boxed slices, options, arrays and tuples of variables.

use super::{Variables, ViewParts, ViewRef};
use crate::expr::Real;
use tapewright_strategies::Taping;

macro_rules! lists {
    ($($list:ident),*) => {$(
        impl<S: Taping, X: Variables<S>> Variables<S> for $list<X> {
            type With<T: Taping<Value = S::Value>> = $list<X::With<T>>;

            #[inline]
            fn is_numbers_only(&self) -> bool {
                self.iter().all(X::is_numbers_only)
            }

            #[inline]
            fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
            where
                S: 'a,
            {
                X::visit_list(self, f);
            }

            #[inline]
            fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Self::With<T> {
                self.iter().map(|x| x.map(f)).collect()
            }

            fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
            where
                S: 'a,
            {
                self.iter().for_each(|x| x.visit_views(f));
            }

            #[inline]
            fn map_with<T: Taping<Value = S::Value>>(
                &self,
                f: &mut impl FnMut(&Real<S>) -> Real<T>,
                g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
            ) -> Self::With<T> {
                self.iter().map(|x| x.map_with(f, g)).collect()
            }
        }
    )*};
}
type Slice<X> = Box<[X]>;
lists!(Vec, Slice);

impl<S: Taping, X: Variables<S>> Variables<S> for Option<X> {
    type With<T: Taping<Value = S::Value>> = Option<X::With<T>>;

    fn is_numbers_only(&self) -> bool {
        self.iter().all(X::is_numbers_only)
    }

    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        if let Some(x) = self {
            x.visit(f);
        }
    }

    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Self::With<T> {
        self.as_ref().map(|x| x.map(f))
    }

    fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
    where
        S: 'a,
    {
        self.iter().for_each(|x| x.visit_views(f));
    }

    fn map_with<T: Taping<Value = S::Value>>(
        &self,
        f: &mut impl FnMut(&Real<S>) -> Real<T>,
        g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
    ) -> Self::With<T> {
        self.as_ref().map(|x| x.map_with(f, g))
    }
}

impl<S: Taping, X: Variables<S>, const N: usize> Variables<S> for [X; N] {
    type With<T: Taping<Value = S::Value>> = [X::With<T>; N];

    #[inline]
    fn is_numbers_only(&self) -> bool {
        self.iter().all(X::is_numbers_only)
    }

    #[inline]
    fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
    where
        S: 'a,
    {
        X::visit_list(self, f);
    }

    #[inline]
    fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Self::With<T> {
        core::array::from_fn(|k| self[k].map(f))
    }

    fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
    where
        S: 'a,
    {
        self.iter().for_each(|x| x.visit_views(f));
    }

    #[inline]
    fn map_with<T: Taping<Value = S::Value>>(
        &self,
        f: &mut impl FnMut(&Real<S>) -> Real<T>,
        g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
    ) -> Self::With<T> {
        core::array::from_fn(|k| self[k].map_with(f, g))
    }
}

macro_rules! tuples {
    ($(($($x:ident $k:tt),*);)*) => {$(
        impl<S: Taping, $($x: Variables<S>),*> Variables<S> for ($($x,)*) {
            type With<T: Taping<Value = S::Value>> = ($($x::With<T>,)*);

            fn is_numbers_only(&self) -> bool {
                true $(&& self.$k.is_numbers_only())*
            }

            fn visit<'a>(&'a self, f: &mut impl FnMut(&'a [Real<S>]))
            where
                S: 'a,
            {
                let _ = f;
                $(self.$k.visit(f);)*
            }

            #[allow(clippy::unused_unit, reason = "the empty tuple is one of them")]
            fn map<T: Taping<Value = S::Value>>(&self, f: &mut impl FnMut(&Real<S>) -> Real<T>) -> Self::With<T> {
                let _ = f;
                ($(self.$k.map(f),)*)
            }

            fn visit_views<'a>(&'a self, f: &mut impl FnMut(ViewRef<'a, S::Value>))
            where
                S: 'a,
            {
                let _ = f;
                $(self.$k.visit_views(f);)*
            }

            #[allow(clippy::unused_unit, reason = "the empty tuple is one of them")]
            fn map_with<T: Taping<Value = S::Value>>(
                &self,
                f: &mut impl FnMut(&Real<S>) -> Real<T>,
                g: &mut impl FnMut(ViewRef<'_, S::Value>) -> ViewParts<S::Value>,
            ) -> Self::With<T> {
                let _ = (&f, &g);
                ($(self.$k.map_with(f, g),)*)
            }
        }
    )*};
}
tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}
