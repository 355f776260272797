//! External functions: functions whose derivatives their author supplies, with many inputs, many outputs and owned
//! data.
//!
//! A recording keeps its external functions and launches in a list, and a record for each of them among its statements:
//! the index in the list ([`Reverse::external`](crate::Reverse::external)). A sweep that reaches such a record passes
//! the adjoints of the outputs to the function's rule, adds the result of the rule to the adjoints of the inputs, and
//! continues. Records therefore know nothing of rules, and every strategy that implements `Reverse::external` has
//! external functions.

mod arrays;
mod entry;
mod function;
mod list;
mod notes;
mod passage;

pub use arrays::Arrays;
pub use entry::Mark;
pub(crate) use entry::{Deed, Entry, Slots};
pub use function::External;
pub(crate) use function::apply;
pub(crate) use list::Externals;
pub use list::TapeCache;
pub(crate) use notes::Notes;
pub use notes::{NonFinite, NonFiniteKind};
pub(crate) use passage::Passage;
