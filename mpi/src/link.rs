//! Transport of bytes from rank to rank, with a time-out for waiting.

use crate::counts::Counts;
use crate::flight::Flight;
use crate::head::{Head, Kind};
use core::cell::{Cell, RefCell};
use core::fmt;
use core::time::Duration;
use mpi::request::{Request, Scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Equivalence, Root, Source};
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

/// A call of a program, as messages to users name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) what: &'static str,
    pub(crate) with: Option<usize>,
    pub(crate) at: &'static Location<'static>,
}

impl Call {
    /// Makes a call with the caller's source location.
    #[track_caller]
    pub(crate) const fn here(what: &'static str, with: Option<usize>) -> Self {
        Self { what, with, at: Location::caller() }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if let Some(rank) = self.with {
            write!(f, " rank {rank}")?;
        }
        write!(f, " at {}", self.at)
    }
}

/// The reason why a call failed, in words.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// A pending receive; may have completed.
struct Wanted {
    ticket: u64,
    from: usize,
    tag: i32,
    bytes: Option<Vec<u8>>,
    call: Call,
}

/// A communicator on the thread that initialized MPI.
pub(crate) struct Link {
    through: SimpleCommunicator,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    time_out: Duration,
    /// Messages that have not left, with their tickets.
    leaving: RefCell<Vec<(u64, Flight)>>,
    wanted: RefCell<Vec<Wanted>>,
    tickets: Cell<u64>,
    /// For each rank, the number of messages that have been sent to it.
    numbers: RefCell<Vec<u64>>,
    /// Number of collective calls so far.
    calls: Cell<u64>,
    pub(crate) counts: RefCell<Counts>,
    /// The latest call.
    latest: Cell<Option<Call>>,
    /// The first failure, in words.
    pub(crate) broken: RefCell<Option<String>>,
    /// True while `poll` runs.
    polling: Cell<bool>,
}

impl Link {
    pub(crate) fn new(through: SimpleCommunicator, time_out: Duration) -> Self {
        let number = |n: i32| usize::try_from(n).expect("MPI counts ranks from 0");
        let (rank, size) = (number(through.rank()), number(through.size()));
        Self {
            through,
            rank,
            size,
            time_out,
            leaving: RefCell::default(),
            wanted: RefCell::default(),
            tickets: Cell::new(0),
            numbers: RefCell::new(vec![0; size]),
            calls: Cell::new(0),
            counts: RefCell::default(),
            latest: Cell::new(None),
            broken: RefCell::default(),
            polling: Cell::new(false),
        }
    }

    /// Names this rank, for messages to users.
    pub(crate) fn me(&self) -> String {
        format!("rank {} of {}", self.rank, self.size)
    }

    pub(crate) fn begin(&self, call: Call) {
        self.latest.set(Some(call));
    }

    /// Names the latest call.
    pub(crate) fn latest(&self) -> String {
        self.latest.get().map_or_else(|| "before the first call".into(), |call| format!("latest call: {call}"))
    }

    /// Ends all ranks.
    pub(crate) fn abort(&self, why: fmt::Arguments<'_>) -> ! {
        eprintln!("tapewright-mpi: {} {why}; this ends all ranks", self.me());
        self.through.abort(1)
    }

    fn ticket(&self) -> u64 {
        self.tickets.set(self.tickets.get() + 1);
        self.tickets.get()
    }

    /// Takes the number of the next message to this rank.
    pub(crate) fn number(&self, to: usize) -> u64 {
        let number = &mut self.numbers.borrow_mut()[to];
        *number += 1;
        *number
    }

    /// Sends bytes without waiting; returns a ticket.
    pub(crate) fn send(&self, to: usize, tag: i32, bytes: Vec<u8>) -> Result<u64, Failure> {
        fits(bytes.len())?;
        let flight = Flight::start(&self.through, rank_of(to), tag, bytes);
        let ticket = self.ticket();
        self.leaving.borrow_mut().push((ticket, flight));
        self.poll();
        Ok(ticket)
    }

    /// Waits until the message with this ticket has left; until all messages have, if it is `None`.
    pub(crate) fn wait_until_left(&self, ticket: Option<u64>, call: Call) {
        let mut patience = self.patience(call);
        let on_the_way = |(known, _): &(u64, Flight)| ticket.is_none_or(|ticket| ticket == *known);
        while self.leaving.borrow().iter().any(on_the_way) {
            patience.turn();
        }
    }

    /// Requests the next message with this tag, after those that were requested earlier; returns a ticket.
    pub(crate) fn want(&self, from: usize, tag: i32, call: Call) -> u64 {
        let ticket = self.ticket();
        self.wanted.borrow_mut().push(Wanted { ticket, from, tag, bytes: None, call });
        ticket
    }

    /// Waits for the message with this ticket.
    pub(crate) fn take(&self, ticket: u64, call: Call) -> Vec<u8> {
        let mut patience = self.patience(call);
        loop {
            self.poll();
            let mut wanted = self.wanted.borrow_mut();
            let at = wanted.iter().position(|message| message.ticket == ticket).expect("a ticket is used once");
            if wanted[at].bytes.is_some() {
                return wanted.remove(at).bytes.unwrap_or_default();
            }
            drop(wanted);
            patience.turn();
        }
    }

    /// Names a message that was requested and never taken.
    pub(crate) fn forgotten(&self) -> Option<String> {
        self.wanted.borrow().first().map(|message| format!("{} was never waited for", message.call))
    }

    /// Receives the messages that have come, and forgets those that have left.
    fn poll(&self) {
        if self.polling.replace(true) {
            return;
        }
        self.leaving.borrow_mut().retain_mut(|(_, flight)| !flight.has_left());
        let mut wanted = self.wanted.borrow_mut();
        for k in 0..wanted.len() {
            let (from, tag) = (wanted[k].from, wanted[k].tag);
            // Messages with one tag come in the order in which they were sent.
            let is_next = wanted[k].bytes.is_none()
                && !wanted[..k].iter().any(|other| (other.from, other.tag) == (from, tag) && other.bytes.is_none());
            if is_next && let Some((message, status)) = self.probe(from, tag) {
                let length = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0);
                let mut bytes = vec![0_u8; length];
                let call = wanted[k].call;
                mpi::request::scope(|scope| {
                    self.wait(message.immediate_matched_receive_into(scope, &mut bytes[..]), call);
                });
                wanted[k].bytes = Some(bytes);
            }
        }
        self.polling.set(false);
    }

    fn probe(&self, from: usize, tag: i32) -> Option<(mpi::point_to_point::Message, mpi::point_to_point::Status)> {
        self.through.process_at_rank(rank_of(from)).immediate_matched_probe_with_tag(tag)
    }

    /// Waits until a request is complete.
    fn wait<'a, D: ?Sized, S: Scope<'a>>(&self, mut request: Request<'a, D, S>, call: Call) {
        let mut patience = self.patience(call);
        loop {
            match request.test() {
                Ok(_) => return,
                Err(pending) => request = pending,
            }
            patience.turn();
        }
    }

    fn patience(&self, call: Call) -> Patience<'_> {
        Patience { link: self, call, since: Instant::now(), turns: 0 }
    }
}

/// A wait with the user's time-out.
struct Patience<'l> {
    link: &'l Link,
    call: Call,
    since: Instant,
    turns: u32,
}

/// Number of turns that only let other processes run; in later turns the thread sleeps.
const EAGER_TURNS: u32 = 200;
const LONGEST_SLEEP: Duration = Duration::from_micros(500);

impl Patience<'_> {
    /// Waits a little. Ends all ranks after the time-out, because pending requests cannot be taken back.
    fn turn(&mut self) {
        self.link.poll();
        self.turns += 1;
        if self.turns <= EAGER_TURNS {
            return std::thread::yield_now();
        }
        let waited = self.since.elapsed();
        if waited > self.link.time_out {
            let seconds = waited.as_secs_f64();
            self.link.abort(format_args!("has waited {seconds:.1} s in {} for ranks that did not come", self.call));
        }
        std::thread::sleep((waited / 8).min(LONGEST_SLEEP));
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if self.turns > 0 {
            self.link.counts.borrow_mut().waited += self.since.elapsed();
        }
    }
}

fn rank_of(rank: usize) -> i32 {
    i32::try_from(rank).expect("a rank that MPI has")
}

/// Fails for more bytes than MPI can count.
fn fits(bytes: usize) -> Result<(), Failure> {
    i32::try_from(bytes).map(drop).map_err(|_| Failure(format!("{bytes} bytes are more than MPI sends in one message")))
}

/// # Calls of all ranks together
impl Link {
    /// Compares the heads of this call on all ranks.
    pub(crate) fn agree(&self, head: &Head, call: Call) -> Result<(), Failure> {
        let number = self.calls.get();
        self.calls.set(number + 1);
        let mine = Head { number, ..*head };
        let mut heads = vec![0_u8; Head::BYTES * self.size];
        self.all_gather_bytes(bytemuck::bytes_of(&mine), &mut heads, call)?;
        let here = format!("rank {}", self.rank);
        for (rank, bytes) in heads.chunks_exact(Head::BYTES).enumerate() {
            let other: Head = bytemuck::pod_read_unaligned(bytes);
            if let Some(what) = mine.difference(&other, (&here, &format!("rank {rank}"))) {
                return Err(Failure(what));
            }
        }
        Ok(())
    }

    fn all_gather_bytes(&self, from: &[u8], to: &mut [u8], call: Call) -> Result<(), Failure> {
        fits(to.len())?;
        mpi::request::scope(|scope| self.wait(self.through.immediate_all_gather_into(scope, from, to), call));
        Ok(())
    }

    /// Copies each rank's bytes to all ranks, in the order of the ranks.
    pub(crate) fn all_gather(&self, head: &Head, from: &[u8], to: &mut [u8], call: Call) -> Result<(), Failure> {
        self.agree(head, call)?;
        self.all_gather_bytes(from, to, call)
    }

    /// Copies the root's bytes to all ranks.
    pub(crate) fn broadcast(&self, head: &Head, bytes: &mut [u8], call: Call) -> Result<(), Failure> {
        self.agree(head, call)?;
        fits(bytes.len())?;
        let root = self.through.process_at_rank(head.root.cast_signed());
        mpi::request::scope(|scope| self.wait(root.immediate_broadcast_into(scope, bytes), call));
        Ok(())
    }

    /// Copies each rank's bytes to the root, in the order of the ranks; on other ranks `to` is empty.
    pub(crate) fn gather(&self, head: &Head, from: &[u8], to: &mut [u8], call: Call) -> Result<(), Failure> {
        self.agree(head, call)?;
        fits(from.len() * self.size)?;
        let root = self.through.process_at_rank(head.root.cast_signed());
        mpi::request::scope(|scope| {
            if self.is_root(head) {
                self.wait(root.immediate_gather_into_root(scope, from, to), call);
            } else {
                self.wait(root.immediate_gather_into(scope, from), call);
            }
        });
        Ok(())
    }

    /// Copies a part of the root's bytes to each rank; on other ranks `from` is empty.
    pub(crate) fn scatter(&self, head: &Head, from: &[u8], to: &mut [u8], call: Call) -> Result<(), Failure> {
        self.agree(head, call)?;
        fits(to.len() * self.size)?;
        let root = self.through.process_at_rank(head.root.cast_signed());
        mpi::request::scope(|scope| {
            if self.is_root(head) {
                self.wait(root.immediate_scatter_into_root(scope, from, to), call);
            } else {
                self.wait(root.immediate_scatter_into(scope, to), call);
            }
        });
        Ok(())
    }

    /// Copies a part of each rank's bytes to each rank.
    pub(crate) fn all_to_all(&self, head: &Head, from: &[u8], to: &mut [u8], call: Call) -> Result<(), Failure> {
        self.agree(head, call)?;
        fits(to.len())?;
        mpi::request::scope(|scope| self.wait(self.through.immediate_all_to_all_into(scope, from, to), call));
        Ok(())
    }

    pub(crate) const fn is_root(&self, head: &Head) -> bool {
        head.root as usize == self.rank
    }

    /// Ends the use of the communicator, on all ranks. Ends the program if a message has not been taken or received.
    pub(crate) fn close(&self, call: Call) {
        if let Some(what) = self.forgotten() {
            self.abort(format_args!("ends its messages, and {what}"));
        }
        self.wait_until_left(None, call);
        let head = Head { kind: Kind::Close as u32, ..bytemuck::Zeroable::zeroed() };
        if let Err(Failure(what)) = self.agree(&head, call) {
            self.abort(format_args!("ends its messages ({call}), and other ranks do not: {what}"));
        }
        if let Some(status) = self.through.any_process().immediate_probe() {
            self.abort(format_args!("ends its messages, and has not received one from rank {}", status.source_rank()));
        }
    }
}

/// A link that the handles of one communicator share.
pub(crate) type Shared = Rc<Link>;
