//! Records of independent variables and of external functions.

use crate::error::Refusal;
use crate::identifier::LinearId;
use crate::storage::Layer;
use crate::tape::format::layout::Common;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, recording};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Registers an independent variable for each value, and gives them consecutive identifiers.
    #[inline]
    pub(crate) fn inputs(
        &mut self,
        values: &[V],
    ) -> Result<impl Iterator<Item = LinearId<M::Index>> + use<V, M, L, K>, Refusal> {
        let (first, end) = self.new_variables(values)?;
        let number = self.number;
        let ids = (0..values.len()).map(move |k| LinearId::pack(number, first + k as u64));
        if M::REUSES {
            self.fresh = end;
        } else if self.inputs == first {
            (self.next, self.inputs) = (end, end);
            self.lower_end();
        } else {
            self.push_inputs(values.len())?;
        }
        Ok(ids)
    }

    /// Reserves identifiers and memory for variables with these values, and stores the values. Returns the first
    /// identifier, and the one behind the last.
    #[inline(always)]
    fn new_variables(&mut self, values: &[V]) -> Result<(u64, u64), Refusal> {
        let first = self.len() as u64;
        let end = first + values.len() as u64;
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        if values.is_empty() {
            return Ok((first, end));
        }
        if end > self.limit || M::REUSES && end > recording::with_pool(self.number, |pool| pool.len()) as u64 {
            self.grow(end)?;
        }
        self.note_values(first, values);
        Ok((first, end))
    }

    /// Makes a record of an external function or a launch, and registers a variable for each of its results.
    pub(crate) fn external(
        &mut self,
        external: u32,
        results: &[V],
        mut each: impl FnMut(LinearId<M::Index>),
    ) -> Result<(), Refusal> {
        if M::REUSES {
            for value in results {
                // Its record keeps the value that it overwrites.
                each(self.constant(*value)?);
            }
            return self.push_counts(Common::<V, M::Index>::EXTERNAL, [external, 1], 1);
        }
        // Without results, the record takes a number all the same.
        let nothing = [V::ZERO];
        let values = if results.is_empty() { &nothing } else { results };
        let (first, end) = self.new_variables(values)?;
        let count = u32::try_from(values.len()).expect("an external function has fewer than 2^32 results");
        self.push_counts(Common::<V, M::Index>::EXTERNAL, [external, count], count)?;
        (first..end).take(results.len()).for_each(|k| each(LinearId::pack(self.number, k)));
        Ok(())
    }

    /// Appends records of this many independent variables.
    fn push_inputs(&mut self, count: usize) -> Result<(), Refusal> {
        let mut left = count;
        while left > 0 {
            match u32::try_from(left).unwrap_or(u32::MAX) {
                1 => self.push_counts(Common::<V, M::Index>::INPUT, [], 1)?,
                some => self.push_counts(Common::<V, M::Index>::INPUTS, [some], some)?,
            }
            left = left.saturating_sub(u32::MAX as usize);
        }
        Ok(())
    }
}
