//! Places for adjoints of new arrays.

use super::flow::{Dependence, Flow};
use super::taping::Taping;

impl Flow {
    /// What a new array depends on whose derivatives go there: it gets a slot in the recording if there is one.
    ///
    /// # Panics
    ///
    /// As [`Taping::with_arrays`].
    #[must_use]
    #[track_caller]
    pub fn fresh<S: Taping>(self) -> Dependence<S::Value> {
        let Self::Recorded(number) = self else { return Dependence::Nothing };
        let mut slot = 0;
        S::with_arrays(number, &mut |arrays| slot = arrays.slot());
        Dependence::Recorded { number, slot }
    }
}
