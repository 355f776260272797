//! Source lines of a recording.

use super::Tape;
use crate::error::Error;
use crate::trace::Trace;
use tapewright_strategies::Reverse;
use tapewright_strategies::policy::Traces;

/// # Lines
impl<S: Reverse> Tape<S> {
    /// Lines at which the recording was made, for strategies that are [`Traced`](crate::Traced): statements and bytes
    /// by line, and the first value that is not finite. The call visits the complete recording, so ask only when you
    /// want to look at it.
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::Traced;
    ///
    /// let mut tape = Tape::<Traced<Jacobian>>::new();
    /// let (x, y) = tape.record(|scope| {
    ///     let x = scope.input(0.0);
    ///     let square = (x * x).eval();
    ///     (x, square.sqrt().eval()) // √ has no slope at 0
    /// });
    /// assert!(tape.sweep(&[(&y, 1.0)])?.of(&x)?.is_finite(), "the slope of the square is 0");
    ///
    /// let trace = tape.trace()?;
    /// let found = trace.first_non_finite().expect("a partial is infinite");
    /// assert!(found.to_string().ends_with(": the partial by argument 1 is inf; arguments [0.0]"));
    /// assert!(found.location.is_some_and(|location| location.line() > 0 && location.column() > 0));
    /// println!("{trace}"); // a table
    /// # Ok::<(), tapewright::Error>(())
    /// ```
    ///
    /// Recordings of other strategies know no lines:
    ///
    /// ```compile_fail,E0277
    /// # use tapewright::prelude::*;
    /// let _ = Tape::<Jacobian>::new().trace();
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when records cannot be read back from disk. [`Error::Sweep`] with
    /// [`SweepError::Unsupported`](crate::SweepError::Unsupported) for a strategy of your own that takes the policy
    /// [`Tracing`](crate::policy::Tracing) and notes no lines, or does not let its records be looked at.
    pub fn trace(&self) -> Result<Trace<'_, S>, Error>
    where
        S::Policy: Traces,
    {
        // The bound is one of this function, and not of the block, so that the compiler says what to write.
        Trace::of(&self.owned)
    }

    /// Sets if the time between one record and the next is measured from now on. It is not at first: a look at the
    /// clock takes longer than most statements.
    ///
    /// The time goes to the line of the later record. It is the time in which the line was computed and recorded, with
    /// whatever the program did in between, and some 20 ns to 50 ns for the look at the clock. It is not the time that
    /// the line takes in sweeps. Records that take more than 4 s count as 4.3 s.
    pub fn set_timed(&mut self, timed: bool)
    where
        S::Policy: Traces,
    {
        self.owned.set_timed(timed);
    }
}
