//! The memory of one recording.
//!
//! * `recording`: [`Records`](crate::Records), the segments of records with their counts; the struct that all other rooms
//!   of tapes add methods to.
//! * `identifiers`: which identifiers are in use, and the values beside them.
//! * `guards`: comparisons that a replay checks. `resumed`: where a recording was continued.

pub(crate) mod guards;
pub(crate) mod identifiers;
pub(crate) mod recording;
pub(crate) mod resumed;
