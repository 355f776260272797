//! Messages over MPI that [`tapewright`] differentiates: programs on many ranks whose recordings communicate.
//!
//! The messages themselves are those of MPI, through the crate [`mpi`]. A call of a [`Communicator`] sends the values,
//! and leaves one entry on the tape. A reverse sweep that reaches the entry sends the reverse message: as many
//! adjoints, for each adjoint vector, in the opposite direction.
//!
//! | call | values | adjoints |
//! |---|---|---|
//! | [`send`](Communicator::send), [`receive`](Communicator::receive), immediate or not | from the sender to the receiver | back, added up with what the sender has |
//! | [`broadcast`](Communicator::broadcast) | from the root to all | from all to the root, added in the order of the ranks |
//! | [`gather`](Communicator::gather) | from all to the root | each rank's part back |
//! | [`scatter`](Communicator::scatter) | from the root, a part for each | all parts back |
//! | [`all_gather`](Communicator::all_gather) | from all to all | each rank's part back from all, added in the order of the ranks |
//! | [`reduce`](Communicator::reduce) | from all to the root | back, times the slope for each rank |
//! | [`all_reduce`](Communicator::all_reduce) | from all to all | from all to all, added, times the slope for each rank |
//! | [`barrier`](Communicator::barrier) | none | none; the ranks wait for one another |
//!
//! # What is differentiated
//!
//! The ranks record at the same time, and sweep at the same time. The sweeps together compute the derivative of the
//! *sum of the outputs of all ranks, times their seeds*. A result that all ranks have, such as that of an `all_reduce`,
//! should be seeded on one of them; the other ranks sweep with no seeds.
//!
//! # What takes part
//!
//! A call is recorded in the innermost recording of its strategy on this rank, even if the values that it sends are
//! passive there, and no sweep skips it, because the other ranks wait for the message. Therefore either all ranks that
//! take part in a call record it, or none; the ranks compare this with each message. [Stages and time
//! loops](tapewright::checkpoint::TimeLoop) that contain messages are never left out, either. They run the messages
//! again on all ranks, in the same order: the ranks compare, with each message, what their schedules have done so far.
//!
//! Under [`Tangent`](tapewright::Tangent) a message of tangents for each direction follows that of the values. Under
//! [`Passive`](tapewright::Passive) there are values only.

mod counts;
mod flight;
mod groups;
mod head;
mod link;
mod message;
mod pattern;
mod ranks;
mod reduction;
mod shares;

pub use counts::{Counts, Traffic};
pub use message::{Receiving, Sending};
pub use mpi;
pub use ranks::{Communicator, Ranks};
pub use reduction::Reduction;
pub use shares::Share;

/// The chapter of the book, whose snippets are compiled here: no other crate has MPI.
#[cfg(doctest)]
#[doc = include_str!("../../book/src/across-machines.md")]
mod across_machines {}
