//! The recordings that are active on this thread.
//!
//! * `list`: the thread's list of recordings, innermost first, and [`OwnedTape`](crate::recording::OwnedTape), which
//!   puts a tape into it. All unsafe code of recordings is there; its header has the invariants.
//! * `state`: the data of a recording apart from its tape. `ids`: the ids of recordings, which variables carry.
//! * `pause`: recordings that ignore statements, and recordings that are hidden.
//! * `announced`: recordings of all threads that keep guards.
//! * `singular` and `branch_report`: the first singular point, and the first hidden branches, of a recording.
//!
//! Called by `resolve` and `owned`; imports from neither.

pub(crate) mod announced;
pub(crate) mod branch_report;
pub(crate) mod ids;
pub(crate) mod list;
pub(crate) mod pause;
pub(crate) mod singular;
pub(crate) mod state;
