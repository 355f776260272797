//! Kinds of records with any number of arguments: lists of partials, sums, functions of slices, closures of users.

use super::kind::{Data, Kind, Target};
use crate::contract::Given;
use crate::identifier::IndexType;
use crate::policy::Policy;
use crate::scratch::{Scratch, with_row};
use crate::singular::{given, partials_of_slice};
use crate::{Nary, Number};
use core::marker::PhantomData;

/// Partials, whose number each record gives.
pub(crate) struct Listed;

impl<V: Number, I: IndexType> Kind<V, I> for Listed {
    const ARGUMENTS: Option<usize> = None;
    const NUMBERS: usize = 1;
    type Object = ();

    #[inline(always)]
    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>) {
        to.take_all(data.numbers().map(|partial| seed.contribution(partial)));
    }
}

/// A sum, whose number of arguments each record gives.
pub(crate) struct Ones;

impl<V: Number, I: IndexType> Kind<V, I> for Ones {
    const ARGUMENTS: Option<usize> = None;
    const NUMBERS: usize = 0;
    type Object = ();

    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>) {
        to.take_all(core::iter::repeat_n(seed, data.arguments()));
    }
}

/// A function of a slice, with the values of its arguments.
pub(crate) struct OfSlice<P, R>(PhantomData<(P, R)>);

impl<P: Policy, R: Nary<V>, V: Number, I: IndexType> Kind<V, I> for OfSlice<P, R> {
    const ARGUMENTS: Option<usize> = None;
    const NUMBERS: usize = R::CONSTANTS;
    type Object = ();

    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>) {
        let n = data.arguments();
        match given::<P, R, V>() {
            _ if R::UNIT => to.take_all(core::iter::repeat_n(seed, n)),
            Given::Constants => to.take_all(data.numbers().map(|constant| seed.contribution(constant))),
            Given::OtherHalf if n.is_multiple_of(2) => {
                for first in [n / 2, 0] {
                    let mut other = data.arguments_from(first);
                    (0..n / 2).for_each(|_| to.take(seed.contribution(other.read().0)));
                }
            }
            _ => with_row(V::ZERO, n * (2 + R::CONSTANTS), |row| {
                let (partials, all) = row.split_at_mut(n);
                let numbers = data.arguments_with_values().map(|(value, _)| value).chain(data.numbers());
                all.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
                partials_of_slice::<P, R, V>(&all[..n], &all[n..], partials, &[]);
                to.take_all(partials.iter().map(|partial| seed.contribution(*partial)));
            }),
        }
    }

    fn value(data: Data<'_, Self, V, I>) -> Option<V> {
        let (all, n) = Self::all(data);
        Some(R::value(&all[..n], &all[n..]))
    }

    fn singular(data: Data<'_, Self, V, I>) -> Option<&'static str> {
        let (all, n) = Self::all(data);
        let mut partials = vec![V::ZERO; n];
        let active = vec![true; n]; // others have no such records
        let singular = partials_of_slice::<P, R, V>(&all[..n], &all[n..], &mut partials, &active);
        singular.then(core::any::type_name::<R>)
    }
}

impl<P: Policy, R> OfSlice<P, R> {
    /// Returns the values of the arguments, followed by the constants, and the number of arguments.
    fn all<V: Number, I: IndexType>(data: Data<'_, Self, V, I>) -> (Scratch<V>, usize)
    where
        R: Nary<V>,
    {
        let values = data.arguments_with_values().map(|(value, _)| value);
        (Scratch::of(values.chain(data.numbers())), data.arguments())
    }
}

/// A closure of a user.
pub(crate) struct Called<F>(PhantomData<F>);

impl<F: Fn(V, &mut [V]) + 'static, V: Number, I: IndexType> Kind<V, I> for Called<F> {
    const ARGUMENTS: Option<usize> = None;
    const NUMBERS: usize = 0;
    type Object = F;

    fn reverse(data: Data<'_, Self, V, I>, seed: V, to: &mut impl Target<V>) {
        // A seed of several parts has parts that are 0, and the closure only multiplies: it is called with seed 1.
        let (asked, factor) = if V::PARTS == 1 { (seed, None) } else { (V::ONE, Some(seed)) };
        let mut contributions = Scratch::of(core::iter::repeat_n(V::ZERO, data.arguments()));
        data.object()(asked, &mut contributions);
        to.take_all(contributions.iter().map(|found| factor.map_or(*found, |seed| seed.contribution(*found))));
    }
}
