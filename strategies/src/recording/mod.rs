//! The recordings that are active on this thread, and the tapes that own them.
//!
//! Rust has no generic statics, so there is no "current tape of strategy `S`". Instead one thread-local pointer names
//! the innermost recording, whatever its strategy; the recordings of a thread form a list, innermost first, and every
//! variable carries the id of the recording that made it. A statement of variables of an outer recording is recorded
//! there. A statement panics if its variables belong to two recordings, or to a recording that is not active on this
//! thread.
//!
//! ```text
//! statement ──▶ tape::write ──▶ current::list   the innermost recording, in a few instructions
//!                  └─ else ──▶ resolve          which recording do the arguments belong to?
//! Tape      ──▶ owned          sweeps, replays, positions, bytes: while nothing records
//! ```
//!
//! Rooms, each importing from those before it only: `current`, `resolve`, `owned`. All of the unsafe code is in
//! `current::list`, behind functions that safe code cannot misuse.

pub(crate) mod current;
pub(crate) mod owned;
pub(crate) mod resolve;

pub use current::branch_report::HiddenBranches;
#[doc(hidden)]
pub use current::ids::pretend_drawn;
pub use current::list::{OwnedTape, Running};
pub(crate) use current::list::{admit, innermost_parts, release_unshared};
pub use current::pause::{in_place, isolated, pause};
pub(crate) use current::singular::refuse_singular;
pub use current::state::Place;
pub(crate) use current::state::State;
pub use owned::dependencies::Numbering;
pub(crate) use owned::entries::{are_active, record_external_of};
pub use owned::entries::{keep_input, make_room, place, record_external, record_launch, with_arrays, with_cache};
pub(crate) use owned::trace::note;
pub use owned::trace::{Call, note_nary, note_statement, on_behalf_of, with_inputs};
pub(crate) use resolve::branches::note_moving_branch;
pub use resolve::branches::{TracedBranch, hidden_branches, note_branch};
pub use resolve::guarded::{guards, note_read};
pub(crate) use resolve::guarded::{keeps_guards, length_if_guarded, with_guarded};
pub(crate) use resolve::reuse::{release, share, take_identifier, with_pool};
pub use resolve::statement::{common_number, flow_of, innermost_flow, note_singular, recording_of, with};
