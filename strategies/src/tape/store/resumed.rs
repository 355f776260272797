//! The marks at which a recording was resumed.

use crate::Mark;

/// The marks at which a recording was resumed, the only ones to which it can be cut. If it were cut elsewhere, records
/// might be left that have identifiers above the recording's; a mark's numbers alone can come from anywhere.
#[derive(Default)]
pub(crate) struct Resumed(pub(crate) Vec<Mark>);

impl Resumed {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets the marks behind this one.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there.
    #[track_caller]
    pub(crate) fn cut(&mut self, mark: Mark) {
        let at = self.0.iter().position(|resumed| *resumed == mark);
        let at = at.unwrap_or_else(|| panic!("the recording was not resumed at {mark:?}, so it cannot be cut there"));
        self.0.truncate(at + 1);
    }
}
