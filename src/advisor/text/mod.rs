//! Tables, and numbers with units, for the terminal.

pub(crate) mod table;
pub(crate) mod units;
