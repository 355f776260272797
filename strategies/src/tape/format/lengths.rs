//! Lengths of records, without the functions that read them.

use super::code::CLASSIC_MAX;
use super::layout::Layout;
use crate::{IndexType, Number};

/// What decides how many bytes a record of a statement takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// [`Layout::arguments`].
    pub(crate) arguments: usize,
    /// [`Layout::bytes`]: data, without passive arguments.
    pub(crate) bytes: usize,
    /// [`Layout::partials`].
    pub(crate) partials: bool,
    /// [`Layout::hybrid`].
    pub(crate) hybrid: bool,
    /// Whether each tape assigns a code, because there is none that all tapes have.
    pub(crate) assigned: bool,
}

impl<V: Number> Layout<V> {
    /// What decides the bytes of its records.
    pub(crate) const fn lengths(&self) -> Lengths {
        let Self { arguments, bytes, partials, hybrid, code, .. } = *self;
        Lengths { arguments, bytes, partials, hybrid, assigned: code == 0 }
    }
}

impl Lengths {
    /// Whether a statement with this many passive arguments is written as a list of partials, and not as its layout
    /// says, in `bytes` bytes. `coded` says whether the layout has a code, and gives it one if it can.
    #[inline]
    pub(crate) fn lists<V: Number, I>(self, passives: usize, bytes: usize, coded: impl FnOnce() -> bool) -> bool {
        let listed = (self.arguments - passives) * (size_of::<V>() + size_of::<I>());
        if passives > 0 {
            return if self.hybrid { listed < bytes } else { self.partials };
        }
        // Without a code, partials are listed unless an address takes less.
        let with_address = bytes + size_of::<&Layout<V>>();
        self.partials && (!self.hybrid || listed <= with_address) && !coded()
    }

    /// Bytes of data of a list of this many partials.
    pub(crate) const fn of_partials<V, I: IndexType>(active: usize) -> usize {
        let counted = active == 0 || active > CLASSIC_MAX;
        active * (size_of::<V>() + size_of::<I>()) + if counted { size_of::<u32>() } else { 0 }
    }
}
