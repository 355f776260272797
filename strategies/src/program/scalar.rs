//! Statements of a program that are computed one by one, by the functions that replays use.

use super::listing::{Listing, Step as Listed};
use crate::tape::store::steps::Step;
use crate::{InRegisters, Number};

/// Statements that are computed one by one, and the comparisons between them.
pub(crate) struct Scalars<V: Number> {
    pub(crate) steps: Vec<Step<V, u32>>,
    /// Comparisons, by their index in the listing, and how many steps there are in front of each.
    pub(crate) guards: Vec<(usize, usize)>,
    /// The steps through which adjoints pass.
    pub(crate) reverse: Vec<Step<V, u32>>,
}

impl<V: Number> Default for Scalars<V> {
    fn default() -> Self {
        Self { steps: Vec::new(), guards: Vec::new(), reverse: Vec::new() }
    }
}

impl<V: InRegisters> Scalars<V> {
    /// The comparisons of a listing, and all statements in front of the last one.
    pub(crate) fn of_comparisons(listing: &Listing<V>) -> Self {
        let last = listing.steps.iter().rposition(|step| matches!(step, Listed::Guard(_)));
        let mut scalars = Self::default();
        (0..last.map_or(0, |last| last + 1)).for_each(|index| scalars.push(listing, index, false));
        scalars
    }

    /// Appends the step of a listing with this index.
    pub(crate) fn push(&mut self, listing: &Listing<V>, index: usize, is_active: bool) {
        match &listing.steps[index] {
            Listed::Guard(_) => self.guards.push((self.steps.len(), index)),
            Listed::Statement(statement) => {
                let step = listing.step(statement);
                self.steps.push(step);
                if is_active {
                    self.reverse.push(step);
                }
            }
        }
    }

    /// Number of statements.
    pub(crate) const fn len(&self) -> usize {
        self.steps.len()
    }
}
