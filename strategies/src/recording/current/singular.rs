//! Statements with a singular function, under the policy [`Checked`](crate::Checked).

use crate::SweepError;
use core::panic::Location;

/// A function without a derivative at its arguments, and the statement that called it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Singular {
    /// The name of the function's type.
    pub(crate) function: &'static str,
    /// Source location of the statement.
    pub(crate) location: &'static Location<'static>,
}

impl Singular {
    #[track_caller]
    pub(crate) const fn here(function: &'static str) -> Self {
        Self { function, location: Location::caller() }
    }

    pub(crate) fn error(self) -> SweepError {
        // The last segment of the path, or the complete path if the type is generic, since its parameters have paths,
        // too.
        let last = self.function.rsplit("::").next().filter(|_| !self.function.contains('<'));
        SweepError::Singular {
            function: last.unwrap_or(self.function).to_owned(),
            file: self.location.file().to_owned(),
            line: self.location.line(),
        }
    }
}

/// Panics with the error of a singular function, for evaluations without a recording that could keep the error.
#[cold]
#[track_caller]
pub(crate) fn refuse_singular(function: &'static str) -> ! {
    panic!("{}", Singular::here(function).error())
}
