//! Arrays that are parameters of the functions of a source.

/// An array that is a parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Array {
    /// Values of an operand from before the launch.
    Values(usize),
    /// Values of an operand from after the launch.
    NewValues(usize),
    /// Adjoints of an output, one for each element, or for each row of the range.
    Seeds(usize),
    /// Values of an operand, to be written.
    Output(usize),
    /// Adjoints of an operand, which receive contributions.
    Adjoints(usize),
    /// Tangents of an operand from before the launch; a null pointer if all are zero.
    Tangents(usize),
    /// Tangents of an operand after the launch, to be written; of operand 0 of a launch that writes none, the tangents
    /// of sums of rows.
    NewTangents(usize),
    /// Partial sums of chunks, or the best values of parts of chunks.
    Parts,
    /// Positions among the elements of the best values of parts of chunks: integers of 64 bits.
    Places,
    /// Positions among the elements of the best values of chunks: integers of 64 bits.
    Found,
    /// Sums of chunks or blocks, or the best value of each chunk.
    Sums,
    /// Sums of rows.
    Totals,
}

impl Array {
    /// Name of the parameter.
    pub(super) fn name(self) -> String {
        match self {
            Self::Values(k) => format!("x{k}"),
            Self::NewValues(k) => format!("z{k}"),
            Self::Seeds(k) => format!("s{k}"),
            Self::Output(k) => format!("y{k}"),
            Self::Adjoints(k) => format!("d{k}"),
            Self::Tangents(k) => format!("dx{k}"),
            Self::NewTangents(k) => format!("dy{k}"),
            Self::Parts => String::from("parts"),
            Self::Places => String::from("places"),
            Self::Found => String::from("found"),
            Self::Sums => String::from("sums"),
            Self::Totals => String::from("totals"),
        }
    }

    /// Type of the pointer.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Values(_) | Self::NewValues(_) | Self::Seeds(_) | Self::Tangents(_) => "const TW_REAL *",
            Self::Places | Self::Found => "tw_index *",
            _ => "TW_REAL *",
        }
    }
}
