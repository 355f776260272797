//! Slots for the adjoints of new arrays.

use super::flow::{Dependence, Flow};
use super::taping::Taping;

impl Flow {
    /// Returns the dependence of a new array whose derivatives go to this destination: a new slot if it is a recording,
    /// and no dependence otherwise.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`Taping::with_arrays`].
    #[must_use]
    #[track_caller]
    pub fn fresh<S: Taping>(self) -> Dependence<S::Value> {
        let Self::Recorded(number) = self else { return Dependence::Nothing };
        let mut slot = 0;
        S::with_arrays(number, &mut |arrays| slot = arrays.slot());
        Dependence::Recorded { number, slot }
    }
}
