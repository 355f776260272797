//! Tables, and numbers with units, for the terminal.

pub(crate) mod table;
pub mod units;
