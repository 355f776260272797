//! From the arguments of a statement to its recording.
//!
//! * `statement`: the one recording to which the arguments of a statement belong, or a panic that names both.
//! * `guarded`: the recording of a comparison that replays must repeat. `branches`: comparisons that may have hidden a
//!   derivative.
//! * `reuse`: identifiers of recordings that reuse them. `messages`: the texts of the panics.
//!
//! Called by tapes and strategies for each statement that is not recorded on the fast path; imports from `current`.

pub(crate) mod branches;
pub(crate) mod guarded;
pub(crate) mod messages;
pub(crate) mod reuse;
pub(crate) mod statement;
