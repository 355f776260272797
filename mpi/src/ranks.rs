//! The ranks of a program, and the handle for their messages.

use crate::counts::Counts;
use crate::flight;
use crate::head::{Kind, Phase};
use crate::link::{Call, Failure, Link, Shared};
use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use mpi::environment::Universe;
use mpi::traits::Communicator as Endpoint;
use std::rc::Rc;

thread_local! {
    /// The open links, with the ids of their handles; and the latest id.
    static OPEN: RefCell<(u32, Vec<(u32, Shared)>)> = const { RefCell::new((0, Vec::new())) };
}

/// The ranks of a program that exchange messages, while this value lives.
///
/// All ranks make this value together, and all drop it together, after their last sweep. It has a communicator of its
/// own, so that other messages of the program are never mixed up with its messages.
///
/// # How it ends
///
/// No rank waits for ever, and no rank continues with wrong values:
///
/// * A rank whose function panics drops this value while unwinding. It prints the call in which it panicked, and ends
///   all ranks with `MPI_Abort`.
/// * A rank that has waited for longer than the time-out does the same: because other ranks are not in this call, have
///   ended, or do not sweep. A receive for which MPI has the memory cannot be taken back, so there is no error to
///   return.
/// * Ranks that make different calls, or calls with different counts, panic (in a sweep: return
///   [`SweepError::Rule`](tapewright::SweepError::Rule)) where a message shows it. A rank that has returned such an
///   error ends all ranks when it drops this value.
/// * When this value is dropped, all ranks must drop theirs, and all messages must have been received.
///
/// ```no_run
/// use std::time::Duration;
/// use tapewright::prelude::*;
/// use tapewright_mpi::{Ranks, Reduction};
///
/// let universe = mpi::initialize().expect("MPI is initialized once");
/// let ranks = Ranks::new(&universe, Duration::from_secs(60));
/// let all = ranks.all();
///
/// let mine = 1.0 + all.rank() as f64;
/// let gradient = gradient::<Jacobian>(|x| all.all_reduce(&[(x[0] * x[0]).eval()], Reduction::Sum)[0], &[mine]);
/// // Each rank is asked for the slope of a sum that all ranks have: of as many copies as there are ranks.
/// assert_eq!(gradient, [2.0 * mine * all.size() as f64]);
/// ```
pub struct Ranks<'u> {
    id: u32,
    universe: PhantomData<(&'u Universe, *const ())>,
}

impl<'u> Ranks<'u> {
    /// Makes a value for all ranks of the program. They wait for one another for `time_out` at most, which must be
    /// longer than the longest time for which one rank computes while another rank waits.
    ///
    /// # Panics
    ///
    /// On another thread than the one that initialized MPI.
    #[must_use]
    #[track_caller]
    pub fn new(universe: &'u Universe, time_out: Duration) -> Self {
        Self::of(universe, &universe.world(), time_out)
    }

    /// Makes a value for the ranks of this communicator, which all of them call together.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`new`](Self::new).
    #[must_use]
    #[track_caller]
    pub fn of(_: &'u Universe, communicator: &impl Endpoint, time_out: Duration) -> Self {
        assert!(flight::is_the_thread(), "{WRONG_THREAD}");
        let link = Rc::new(Link::new(communicator.duplicate(), time_out));
        let id = OPEN.with_borrow_mut(|(last, open)| {
            *last += 1;
            open.push((*last, link));
            *last
        });
        Self { id, universe: PhantomData }
    }

    /// Returns the handle for messages.
    #[must_use]
    #[allow(clippy::missing_panics_doc, reason = "it is open")]
    pub fn all(&self) -> Communicator {
        let link = find(self.id).expect("it is open until it is dropped");
        Communicator { id: self.id, rank: link.rank, size: link.size, tag: 0 }
    }
}

impl fmt::Debug for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.all(), f)
    }
}

impl Drop for Ranks<'_> {
    #[track_caller]
    fn drop(&mut self) {
        let Some(link) = find(self.id) else { return };
        if std::thread::panicking() {
            link.abort(format_args!("has panicked ({})", link.latest()));
        }
        if let Some(what) = link.broken.take() {
            link.abort(format_args!("has failed: {what}"));
        }
        link.close(Call::here(name_of(Kind::Close), None));
        OPEN.with_borrow_mut(|(_, open)| open.retain(|(id, _)| *id != self.id));
    }
}

const WRONG_THREAD: &str = "messages are sent, and recordings with messages swept, on the thread that initialized MPI \
                            only, and this is another one";

/// Returns the open link with this id, if this is its thread.
fn find(id: u32) -> Option<Shared> {
    OPEN.with_borrow(|(_, open)| open.iter().find(|(known, _)| *known == id).map(|(_, link)| Rc::clone(link)))
}

/// The handle for messages between [`Ranks`]. It can be copied to any code, also into stages and time loops, and works
/// on the thread that initialized MPI, until the ranks are dropped.
///
/// Every call is one message, or one pattern of messages, and one entry on the tape: see the crate's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communicator {
    id: u32,
    rank: usize,
    size: usize,
    tag: u16,
}

impl Communicator {
    /// The index of this rank, counted from 0.
    #[must_use]
    pub const fn rank(self) -> usize {
        self.rank
    }

    /// Number of ranks.
    #[must_use]
    pub const fn size(self) -> usize {
        self.size
    }

    /// Returns a handle to these ranks for messages from one rank to another with this tag, which keeps them apart from
    /// other messages.
    ///
    /// # Panics
    ///
    /// When the tag is larger than 8191.
    #[must_use]
    pub fn tagged(self, tag: u16) -> Self {
        assert!(tag < TAGS, "the tag {tag} is beyond {}", TAGS - 1);
        Self { tag, ..self }
    }

    /// Returns the counts of messages that this rank has sent so far.
    ///
    /// # Panics
    ///
    /// On another thread, and when the ranks have been dropped.
    #[must_use]
    #[track_caller]
    pub fn counts(self) -> Counts {
        *self.link().counts.borrow()
    }

    /// Returns the link, for a call of the program. Panics if it is not open on this thread.
    #[track_caller]
    pub(crate) fn link(self) -> Shared {
        self.open().unwrap_or_else(|Failure(why)| panic!("{why}"))
    }

    pub(crate) fn open(self) -> Result<Shared, Failure> {
        find(self.id).ok_or_else(|| {
            let had_some = OPEN.with_borrow(|(last, _)| *last > 0);
            let why = if had_some { "the ranks of this communicator have been dropped" } else { WRONG_THREAD };
            Failure(why.to_owned())
        })
    }

    #[track_caller]
    pub(crate) fn assert_rank(self, rank: usize) {
        assert!(rank < self.size, "there is no rank {rank}: they are numbered from 0 to {}", self.size - 1);
    }

    /// The MPI tag of a message to which the program has given this handle's tag.
    pub(crate) fn tag(self) -> i32 {
        i32::from(self.tag) * CLASSES
    }
}

/// Number of tags of the program, and number of messages of a sweep that are told apart.
const TAGS: u16 = 1 << 13;
const CLASSES: i32 = 4;

/// The MPI tag of a message of a sweep or a replay, for the message of the program with this number.
pub(crate) fn tag_of(phase: Phase, number: u64) -> i32 {
    let place = i32::try_from(number % u64::from(TAGS)).expect("it is below 8192");
    place * CLASSES + phase as i32
}

/// The name of a collective call, for messages to users.
pub(crate) const fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Message => "a message",
        Kind::Broadcast => "broadcast from",
        Kind::Gather => "gather to",
        Kind::AllGather => "all_gather",
        Kind::Scatter => "scatter from",
        Kind::Reduce => "reduce to",
        Kind::AllReduce => "all_reduce",
        Kind::Barrier => "barrier",
        Kind::Close => "the end of Ranks",
    }
}
