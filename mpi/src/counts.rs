//! Counts of messages and bytes that a rank has sent.

use core::time::Duration;

/// Messages that a rank has sent to other ranks, and their bytes without the head of each message.
///
/// Messages are counted as the call defines them: a broadcast among four ranks is three messages of the root, however
/// MPI sends it. A message of a rank to itself is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Traffic {
    pub(crate) const fn add(&mut self, messages: usize, bytes_of_each: usize) {
        self.messages += messages as u64;
        self.bytes += (messages * bytes_of_each) as u64;
    }
}

/// The messages that a rank has sent since its [`Ranks`](crate::Ranks) were made, and the time for which it has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values that the program has sent.
    pub values: Traffic,
    /// Adjoints that reverse sweeps have sent: one message for each recorded message from another rank to this one,
    /// with as many bytes for each adjoint vector.
    pub adjoints: Traffic,
    /// Tangents, in forward mode and in forward sweeps: a message for each direction.
    pub tangents: Traffic,
    /// Values that replays have sent.
    pub replays: Traffic,
    /// Wall-clock time in which the rank waited for other ranks.
    pub waited: Duration,
}
