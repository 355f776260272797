//! What has been sent.

use core::time::Duration;

/// Messages that a rank has sent to other ranks, and their bytes without what goes ahead of the numbers.
///
/// Messages are counted as the call means them: a broadcast among four ranks is three messages of the root, whatever
/// MPI makes of it. A message to the rank itself is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Traffic {
    pub(crate) const fn add(&mut self, messages: usize, bytes_of_each: usize) {
        self.messages += messages as u64;
        self.bytes += (messages * bytes_of_each) as u64;
    }
}

/// What a rank has sent since its [`Ranks`](crate::Ranks) were made, and how long it has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values that the program has sent.
    pub values: Traffic,
    /// Adjoints that reverse sweeps have sent: as many messages as the other ranks have sent to this one that were
    /// recorded, and as many bytes for each adjoint vector.
    pub adjoints: Traffic,
    /// Tangents, in forward mode and in forward sweeps: a message for each direction.
    pub tangents: Traffic,
    /// Values that replays have sent.
    pub replays: Traffic,
    /// Time on the clock in which the rank could not go on because others had not come so far.
    pub waited: Duration,
}
