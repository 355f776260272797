//! One record, read back: the one decoder.
//!
//! Only its end says what a record is. Everything that reads records uses [`Records::record`], except the sweep with
//! one adjoint vector, which knows by itself what [fixed](Form::Fixed) records are.

use super::codes::EXPLICIT;
use super::adjoints::Sweep;
use super::data::identifiers;
use super::layout::{Form, Layout};
use super::records::{Content, Records};
use super::usize_of;
use crate::refusal::out_of_memory;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{IndexManager, IndexType, Number, Passed};
use core::marker::PhantomData;
use core::ops::Deref;

/// One record, in place: its bytes stay as they are for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Record<'a, V: Number, I> {
    pub(super) layout: &'static Layout<V>,
    /// Its first byte.
    pub(super) start: *const u8,
    /// Where the identifiers of its arguments end.
    ids_end: *const u8,
    /// Where what it overwrites ends.
    pub(super) tail_end: *const u8,
    /// Where it ends.
    end: *const u8,
    pub(super) arguments: usize,
    /// Numbers in front of the identifiers.
    pub(super) payload: usize,
    /// How many numbers it has: more than one if it is several inputs, or results of an external function.
    pub(super) numbers: usize,
    /// How many values of variables it may read.
    known: usize,
    bytes: PhantomData<(&'a [u8], I)>,
}

impl<'a, V: Number, I: IndexType> Record<'a, V, I> {
    /// Whether it is of a statement, and not of independent variables or of an external function.
    #[inline(always)]
    pub(super) const fn is_statement(&self) -> bool {
        self.layout.form.is_of_statement()
    }

    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.end.addr() - self.start.addr()
    }

    /// Which external function or launch it is of, if it is.
    #[inline(always)]
    pub(super) fn external(&self) -> Option<usize> {
        // SAFETY: such a record begins with the number.
        matches!(self.layout.form, Form::External)
            .then(|| unsafe { self.start.cast::<u32>().read_unaligned() } as usize)
    }

    /// The identifiers of the arguments, 0 for passive ones.
    #[inline(always)]
    pub(super) fn ids(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'a, V, I> {
        // SAFETY: the record has this many.
        unsafe { identifiers::<I>(self.ids_end, self.arguments) }
    }

    /// Appends what the record contributes to the adjoint of each argument, for this seed, at these values of
    /// variables. Only closures of users are asked with seeds other than 1: what others contribute is the seed times
    /// that.
    #[inline(always)]
    pub(super) fn contributions(&self, seed: V, values: &[V], contributions: &mut Vec<V>) {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        unsafe { _ = (self.layout.rerun)(self.ids_end, self.arguments, seed, values, Some(contributions)) }
    }

    /// The value of the statement at these values of variables; `None` if the record does not say how to compute it.
    pub(super) fn value(&self, values: &[V]) -> Option<V> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        unsafe { (self.layout.rerun)(self.ids_end, self.arguments, V::ONE, values, None) }
    }

    /// The name of a function in the statement that is singular at these values of variables, under the policy
    /// [`Checked`](crate::Checked).
    pub(super) fn singular(&self, values: &[V]) -> Option<&'static str> {
        self.check(values);
        // SAFETY: the record lies there, and there are enough values.
        self.layout.singular.and_then(|singular| unsafe { singular(self.ids_end, self.arguments, values) })
    }

    #[inline(always)]
    fn check(&self, values: &[V]) {
        assert!(values.len() >= self.known, "there is a value for each identifier");
    }

    /// Adds seed·∂/∂argument to the adjoint of each argument.
    ///
    /// # Safety
    ///
    /// The sweep is one of the record's recording. The seed is finite.
    #[inline(always)]
    pub(super) unsafe fn reverse(&self, seed: V, sweep: &mut Sweep<'_, V>) {
        // SAFETY: promised by the caller.
        unsafe { _ = (self.layout.reverse)(self.ids_end, self.arguments, V::Passed::of(seed), sweep) }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// The record that ends there.
    ///
    /// # Safety
    ///
    /// One does, of this recording, and its bytes stay as they are for `'a`.
    #[inline]
    pub(super) unsafe fn record<'a>(&self, end: *const u8) -> Record<'a, V, M::Index> {
        // SAFETY: records end in a code or an address, in front of which lies what the layout says.
        unsafe {
            let (layout, tail_end) = self.layout_before(end);
            let data_end = if layout.form.is_of_statement() { tail_end.sub(Self::TAIL) } else { tail_end };
            let count = |k: usize| data_end.sub(k * size_of::<u32>()).cast::<u32>().read_unaligned() as usize;
            let (arguments, payload) = (layout.arguments, layout.payload);
            let known = if K::VALUES { self.len() } else { 0 };
            let of = |counts: usize, arguments: usize, payload: usize| {
                let ids_end = data_end.sub(counts * size_of::<u32>());
                let start = ids_end.sub(arguments * size_of::<M::Index>() + payload * size_of::<V>());
                let (numbers, bytes) = (1, PhantomData);
                Record { layout, start, ids_end, tail_end, end, arguments, payload, numbers, known, bytes }
            };
            match layout.form {
                Form::Fixed => of(0, arguments, payload),
                Form::Passives => {
                    let passive = identifiers::<M::Index>(data_end, arguments).filter(|id| *id == 0).count();
                    of(0, arguments, payload + passive)
                }
                Form::Counted => of(1, count(1), payload * count(1)),
                Form::Object(bytes) => {
                    let record = of(2, count(1), 0);
                    Record { start: record.start.sub(bytes + count(2)), ..record }
                }
                Form::Input => of(0, 0, 0),
                Form::Inputs => Record { numbers: count(1), ..of(1, 0, 0) },
                Form::External => Record { numbers: count(1), ..of(2, 0, 0) },
            }
        }
    }

    /// The layout of the record that ends there, and where what it overwrites ends.
    ///
    /// # Safety
    ///
    /// One does.
    #[inline(always)]
    unsafe fn layout_before(&self, end: *const u8) -> (&'static Layout<V>, *const u8) {
        const ADDRESS: usize = size_of::<*const u8>();
        // SAFETY: promised by the caller; addresses were written as references.
        unsafe {
            if K::BY_ADDRESS {
                let at = end.sub(ADDRESS);
                return (at.cast::<&'static Layout<V>>().read_unaligned(), at);
            }
            let at = end.sub(1);
            if *at == EXPLICIT {
                let at = at.sub(ADDRESS);
                return (at.cast::<&'static Layout<V>>().read_unaligned(), at);
            }
            (self.codes.layout(*at), at)
        }
    }

    /// The identifier of the variable that a statement's record with this number assigns to.
    #[inline(always)]
    pub(super) fn result(record: &Record<'_, V, M::Index>, number: usize) -> usize {
        // SAFETY: what it overwrites ends there.
        unsafe { Self::result_before(record.tail_end, number).0 }
    }

    /// The identifier, and where the data of the record end.
    ///
    /// # Safety
    ///
    /// What a statement's record overwrites ends there.
    #[inline(always)]
    pub(super) unsafe fn result_before(tail_end: *const u8, number: usize) -> (usize, *const u8) {
        if !M::REUSES {
            return (number, tail_end);
        }
        // SAFETY: the tail ends in the identifier.
        unsafe {
            let id = tail_end.sub(size_of::<M::Index>()).cast::<M::Index>().read_unaligned();
            (usize_of(id.widen()), tail_end.sub(Self::TAIL))
        }
    }

    /// The same, and restores the value that the identifier had before.
    ///
    /// # Safety
    ///
    /// As [`result_before`](Self::result_before). Where values have to be restored, `values` has one entry for each
    /// identifier of the recording, and is a copy of the tape's, or nobody else uses it.
    #[inline(always)]
    pub(super) unsafe fn undo_before(tail_end: *const u8, number: usize, values: *mut V) -> (usize, *const u8) {
        // SAFETY: promised by the caller; the tail begins with the value.
        unsafe {
            let (id, data_end) = Self::result_before(tail_end, number);
            if Self::RESTORES {
                values.add(id).write(data_end.cast::<V>().read_unaligned());
            }
            (id, data_end)
        }
    }

    /// Goes back over a record, whatever it is: restores the value that its result's identifier had before, if the
    /// values are those of a time. Returns its result.
    #[inline(always)]
    pub(super) fn undo(record: &Record<'_, V, M::Index>, number: usize, values: &mut Values<'_, V>) -> usize {
        if !record.is_statement() {
            return number;
        }
        let id = Self::result(record, number);
        if let Values::OfTheTime(values) = values {
            // SAFETY: the tail begins with the value.
            values[id] = unsafe { record.tail_end.sub(Self::TAIL).cast::<V>().read_unaligned() };
        }
        id
    }

    /// The values of variables at the end of the recording, for walks over it.
    pub(super) fn walked_values(&self) -> Values<'_, V> {
        if !Self::RESTORES {
            return Values::Lasting(self.values());
        }
        let mut copy = Scratch::<V>::new();
        if copy.try_reserve(self.len()).is_err() {
            out_of_memory(self.len() * size_of::<V>(), "a copy of the values of all variables");
        }
        copy.extend_from_slice(self.values());
        Values::OfTheTime(copy)
    }
}

/// The values of variables, by identifier, as a walk over a recording knows them.
pub(super) enum Values<'a, V: 'static> {
    /// They belong to variables for good, or there are none.
    Lasting(&'a [V]),
    /// Identifiers are reused, so that they have had other values: a walk goes back to them in this copy.
    OfTheTime(Scratch<V>),
}

impl<V: 'static> Deref for Values<'_, V> {
    type Target = [V];
    #[inline(always)]
    fn deref(&self) -> &[V] {
        match self {
            Self::Lasting(values) => values,
            Self::OfTheTime(values) => values,
        }
    }
}
