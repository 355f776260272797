//! Variables: values with identifiers.

use crate::Number;

/// A variable: a value with an identifier, in the memory layout that a strategy chooses.
pub trait Variable<V, I>: Clone {
    /// Makes a variable of a value and an identifier.
    fn new(value: V, id: I) -> Self;
    /// The value.
    fn value(&self) -> V;
    /// The identifier.
    fn id(&self) -> &I;
}

/// Returns the values and identifiers of one list of variables that is cut in pieces.
pub(crate) fn listed<'v, V: 'v, I: 'v, T: Variable<V, I>>(pieces: &[&'v [T]]) -> Vec<(V, &'v I)> {
    pieces.iter().copied().flatten().map(|variable| (variable.value(), variable.id())).collect()
}

/// The variable of strategies that need an identifier. It takes 16 bytes for `f64` with
/// [`LinearId`](crate::identifier::LinearId).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Taped<V, I> {
    /// The value.
    pub value: V,
    /// The identifier.
    pub id: I,
}

impl<V: Number, I: Clone> Variable<V, I> for Taped<V, I> {
    #[inline(always)]
    fn new(value: V, id: I) -> Self {
        Self { value: value.by_registers(), id }
    }
    #[inline(always)]
    fn value(&self) -> V {
        self.value.by_registers()
    }
    #[inline(always)]
    fn id(&self) -> &I {
        &self.id
    }
}
