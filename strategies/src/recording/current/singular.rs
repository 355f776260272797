//! Singular functions in statements, under the policy [`Checked`](crate::Checked).

use crate::SweepError;
use core::panic::Location;

/// A function that has no derivative at its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Singular {
    /// The name of the rule's type.
    pub(crate) function: &'static str,
    /// The statement.
    pub(crate) location: &'static Location<'static>,
}

impl Singular {
    #[track_caller]
    pub(crate) const fn here(function: &'static str) -> Self {
        Self { function, location: Location::caller() }
    }

    pub(crate) fn error(self) -> SweepError {
        // Without the path, unless it is generic: its parameters have paths, too.
        let last = self.function.rsplit("::").next().filter(|_| !self.function.contains('<'));
        SweepError::Singular {
            function: last.unwrap_or(self.function).to_owned(),
            file: self.location.file().to_owned(),
            line: self.location.line(),
        }
    }
}

/// Panics, because there is no recording to keep it.
#[cold]
#[track_caller]
pub(crate) fn refuse_singular(function: &'static str) -> ! {
    panic!("{}", Singular::here(function).error())
}
