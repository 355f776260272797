//! The expected size of a recording.

use core::fmt;

/// The expected size of a recording, by which a tape reserves memory.
///
/// ```
/// use tapewright_strategies::Capacity;
/// let capacity = Capacity { inputs: 2, statements: 1000, arguments: 3000 };
/// assert_eq!(capacity.bytes(1, 1, 12), 37_002);
/// assert_eq!(capacity.to_string(), "2 inputs, 1000 statements and 3000 arguments");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Independent variables.
    pub inputs: usize,
    /// Statements: assignments with at least one active argument.
    pub statements: usize,
    /// Argument uses, over all statements.
    pub arguments: usize,
}

impl Capacity {
    /// Number of bytes of a recording of this size, given the bytes of one input, one statement and one argument.
    ///
    /// # Panics
    ///
    /// When the number of bytes exceeds `isize::MAX`, the largest size of an allocation.
    #[must_use]
    #[track_caller]
    pub fn bytes(self, input: usize, statement: usize, argument: usize) -> usize {
        let sum = || {
            let inputs = self.inputs.checked_mul(input)?;
            let statements = self.statements.checked_mul(statement)?;
            inputs.checked_add(statements)?.checked_add(self.arguments.checked_mul(argument)?)
        };
        let Some(bytes) = sum().filter(|bytes| isize::try_from(*bytes).is_ok()) else {
            panic!("a capacity of {self} cannot be reserved: it takes more bytes than there can be")
        };
        bytes
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, statements, arguments } = self;
        write!(f, "{inputs} inputs, {statements} statements and {arguments} arguments")
    }
}
