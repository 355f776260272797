//! Statements of a program that are computed one by one, by the functions that replays use.

use super::listing::{Listing, Step as Listed};
use crate::tape::store::steps::Step;
use crate::{InRegisters, Number};

/// Statements that are computed one by one, with comparisons and calls of external functions between them.
pub(crate) struct Scalars<V: Number> {
    pub(crate) steps: Vec<Step<V, u32>>,
    /// How many steps there are in front of each comparison and each call, and its index in the listing.
    pub(crate) stops: Vec<(usize, usize)>,
    /// The steps through which adjoints pass, and the calls.
    pub(crate) reverse: Vec<Step<V, u32>>,
    pub(crate) reverse_stops: Vec<(usize, usize)>,
    /// True if there are calls.
    pub(crate) has_calls: bool,
}

impl<V: Number> Default for Scalars<V> {
    fn default() -> Self {
        let (stops, reverse_stops) = (Vec::new(), Vec::new());
        Self { steps: Vec::new(), stops, reverse: Vec::new(), reverse_stops, has_calls: false }
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
            Listed::Guard(_) => self.stops.push((self.steps.len(), index)),
            Listed::Call(_) => {
                self.has_calls = true;
                self.stops.push((self.steps.len(), index));
                if is_active {
                    self.reverse_stops.push((self.reverse.len(), index));
                }
            }
            Listed::Statement(statement) => {
                let step = listing.step(statement);
                self.steps.push(step);
                if is_active {
                    self.reverse.push(step);
                }
            }
        }
    }

    /// The identifiers of what is computed.
    pub(crate) fn results(&self, listing: &Listing<V>) -> impl Iterator<Item = usize> {
        let of_calls = self.stops.iter().flat_map(|(_, index)| listing.steps[*index].results().iter().copied());
        self.steps.iter().map(Step::result).chain(of_calls)
    }

    /// Number of statements.
    pub(crate) const fn len(&self) -> usize {
        self.steps.len()
    }

    /// True if nothing is computed or compared.
    pub(crate) const fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.stops.is_empty()
    }
}
