//! The tapes that are recording on this thread.
//!
//! Rust has no generic statics, so there is no "current tape of strategy `S`". Instead one thread-local pointer names
//! the innermost recording, whatever its strategy; the recordings of a thread form a list, innermost first, and every
//! variable carries the number of the recording that made it. A statement of variables of an outer recording is
//! recorded there; a statement of variables of two recordings, or of none that is active on this thread, panics.
//!
//! All of the unsafe code is in `recorders.rs`, behind what safe code cannot misuse.

mod announced;
mod branch_report;
mod branches;
mod common;
mod dependences;
mod external;
mod guarded;
mod hidden;
mod identifiers;
mod messages;
mod numbers;
mod owned;
mod recorders;
mod replay;
mod singular;
mod state;
mod sweeps;
mod trace;
mod watch;

pub use branch_report::HiddenBranches;
pub(crate) use branches::note_moving_branch;
pub use branches::{TracedBranch, hidden_branches, note_branch};
pub use common::{common_number, flow_of, innermost_flow, note_singular, recording_of, with};
pub use dependences::Numbering;
pub(crate) use external::{are_active, record_external_of};
pub use external::{keep_input, make_room, place, record_external, record_launch, with_arrays, with_cache};
pub(crate) use guarded::{guards, keeps_guards, with_guarded};
pub use hidden::{isolated, pause};
pub(crate) use identifiers::{release, share, take_identifier, with_pool};
#[doc(hidden)]
pub use numbers::pretend_drawn;
pub use recorders::{OwnedTape, Running};
pub(crate) use recorders::{admit, innermost_parts, release_unshared};
pub(crate) use singular::refuse_singular;
pub use state::Place;
pub(crate) use state::State;
pub(crate) use trace::note;
pub use trace::{Call, note_nary, note_statement, on_behalf_of, with_inputs};
