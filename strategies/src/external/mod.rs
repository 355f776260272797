//! Functions whose derivatives their author supplies: many inputs, many outputs, owned data.
//!
//! A recording keeps them in a list, and a record of each among its statements: its number in the list
//! ([`Reverse::external`](crate::Reverse::external)). A sweep that comes to such a record hands the adjoints of the
//! outputs to the function's rule, adds what the rule leaves to the adjoints of the inputs, and goes on. So records
//! know nothing of rules, and every strategy that implements this method has external functions.

mod arrays;
mod entry;
mod function;
mod list;
mod notes;

pub use arrays::Arrays;
pub use entry::Mark;
pub(crate) use entry::{Deed, Entry, Slots};
pub use function::External;
pub(crate) use function::apply;
pub(crate) use list::Externals;
pub use list::TapeCache;
pub(crate) use notes::Notes;
pub use notes::{NonFinite, NonFiniteKind};
