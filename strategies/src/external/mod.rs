//! Functions whose derivatives their author supplies: many inputs, many outputs, owned data.
//!
//! A recording keeps them beside its records, each with its place among them. A sweep goes through the records down to
//! that place, hands the adjoints of the outputs to the function's rule, adds what the rule leaves to those of the
//! inputs, and goes on. So records know nothing of them, and every strategy that has marks
//! ([`Reverse::mark`](crate::Reverse::mark)) has external functions.

mod arrays;
mod entry;
mod error;
mod function;
mod list;

pub use arrays::Arrays;
pub use entry::Mark;
pub(crate) use entry::{Deed, Entry, Slots};
pub use error::SweepError;
pub use function::External;
pub(crate) use function::apply;
pub use list::Companion;
pub(crate) use list::Externals;
