//! The layouts that have the same code on every tape.

use super::code;
use super::layout::Layout;
use crate::{IndexType, Number};
use core::marker::PhantomData;

/// The layouts that have the same code on every tape.
pub(crate) struct Common<V, I>(PhantomData<(V, I)>);

impl<V: Number, I: IndexType> Common<V, I> {
    pub(crate) const INPUT: &Layout<V> = &Layout::input::<I>();
    pub(crate) const INPUTS: &Layout<V> = &Layout::inputs::<I>();
    pub(crate) const EXTERNAL: &Layout<V> = &Layout::external::<I>();
    pub(crate) const LISTED: &Layout<V> = &Layout::listed::<I>();
    pub(crate) const ONES: &Layout<V> = &Layout::ones::<I>();
    /// Partials, indexed by the number of arguments; counted with 0.
    pub(crate) const CLASSIC: &[Layout<V>; code::CLASSIC_MAX + 1] = &Self::by_number(false);
    /// The same of functions that are linear in these arguments; codes of them are assigned.
    const LINEAR: &[Layout<V>; code::CLASSIC_MAX + 1] = &Self::by_number(true);

    const fn by_number(linear: bool) -> [Layout<V>; code::CLASSIC_MAX + 1] {
        let mut all = [const { Layout::listed::<I>() }; code::CLASSIC_MAX + 1];
        let mut n = if linear { 0 } else { 1 };
        while n <= code::CLASSIC_MAX {
            all[n] = if linear { Layout::linear::<I>(n) } else { Layout::classic::<I>(n) };
            n += 1;
        }
        all
    }

    /// Partials and identifiers of `n` active arguments.
    pub(crate) const fn partials(n: usize) -> &'static Layout<V> {
        if n == 0 || n > code::CLASSIC_MAX { Self::LISTED } else { &Self::CLASSIC[n] }
    }

    /// The same of a function that is linear in them.
    pub(crate) fn linear_partials(n: usize) -> &'static Layout<V> {
        Self::LINEAR.get(n).unwrap_or(&Self::LINEAR[0])
    }
}
