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
    /// The links that are open, with the numbers of their handles.
    static OPEN: RefCell<(u32, Vec<(u32, Shared)>)> = const { RefCell::new((0, Vec::new())) };
}

/// The ranks of a program that exchange messages, from when this is made until it is dropped.
///
/// All ranks make it together, and all drop it together, after their last sweep. It keeps a communicator of its own, so
/// that other messages of the program never meet these.
///
/// # How it ends
///
/// Nothing waits for ever, and no rank goes on with wrong numbers:
///
/// * A rank whose function panics drops this on its way out. It says in which call, and ends all ranks with
///   `MPI_Abort`.
/// * A rank that has waited for longer than the time-out does the same: because others are not in this call, have
///   ended, or do not sweep. A message that MPI is to write to cannot be taken back, so there is no error to return.
/// * Ranks that call different things, or with different counts, panic (in a sweep: return
///   [`SweepError::Rule`](tapewright::SweepError::Rule)) where a message shows it. A rank that has returned such an
///   error ends all ranks when it drops this.
/// * When it is dropped, all ranks must be at their ends, and all messages received.
///
/// ```no_run
/// use std::time::Duration;
/// use tapewright::prelude::*;
/// use tapewright_mpi::{Ranks, Reduction};
///
/// let universe = mpi::initialize().expect("MPI is initialised once");
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
    /// All ranks of the program. They wait for one another for as long as `time_out` at most: longer than the longest
    /// time that one of them computes while another one waits.
    ///
    /// # Panics
    ///
    /// On another thread than the one that initialised MPI.
    #[must_use]
    #[track_caller]
    pub fn new(universe: &'u Universe, time_out: Duration) -> Self {
        Self::of(universe, &universe.world(), time_out)
    }

    /// The ranks of this communicator, which all of them call together.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
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

    /// The handle for messages.
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

const WRONG_THREAD: &str = "messages are sent, and recordings with messages swept, on the thread that initialised MPI \
                            only, and this is another one";

/// The open link with this number, if this is its thread.
fn find(id: u32) -> Option<Shared> {
    OPEN.with_borrow(|(_, open)| open.iter().find(|(known, _)| *known == id).map(|(_, link)| Rc::clone(link)))
}

/// The handle for messages between [`Ranks`]: a copy of it can go anywhere, also into stages and time loops. It works
/// on the thread that initialised MPI, until the ranks are dropped.
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
    /// The number of this rank, from 0.
    #[must_use]
    pub const fn rank(self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    #[must_use]
    pub const fn size(self) -> usize {
        self.size
    }

    /// The same ranks, for messages from one rank to another that are kept apart from others by this tag.
    ///
    /// # Panics
    ///
    /// When the tag is beyond 8191.
    #[must_use]
    pub fn tagged(self, tag: u16) -> Self {
        assert!(tag < TAGS, "the tag {tag} is beyond {}", TAGS - 1);
        Self { tag, ..self }
    }

    /// What this rank has sent so far.
    ///
    /// # Panics
    ///
    /// On another thread, and when the ranks have been dropped.
    #[must_use]
    #[track_caller]
    pub fn counts(self) -> Counts {
        *self.link().counts.borrow()
    }

    /// The link, for a call of the program.
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

    /// The tag of a message that the program names by its tag.
    pub(crate) fn tag(self) -> i32 {
        i32::from(self.tag) * CLASSES
    }
}

/// Tags of the program, and numbers of messages that are told apart.
const TAGS: u16 = 1 << 13;
const CLASSES: i32 = 4;

/// The tag of a message of a sweep or a replay, for the message of the program with this number.
pub(crate) fn tag_of(phase: Phase, number: u64) -> i32 {
    let place = i32::try_from(number % u64::from(TAGS)).expect("it is below 8192");
    place * CLASSES + phase as i32
}

/// The kind of a call of all ranks, in words.
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
