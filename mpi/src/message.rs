//! Messages from one rank to another.

use crate::head::{Head, Kind, Phase, code_of};
use crate::link::{Call, Failure};
use crate::pattern::{Pattern, Place, Recorded, Round, carry_out, length, or_panic, zeros};
use crate::ranks::{Communicator, tag_of};
use core::fmt;
use tapewright::exchange::Exchange;
use tapewright::strategies::Number;
use tapewright::variables::Variables;
use tapewright::{Real, Taping};

/// A message that this rank sends to another rank, or receives from it.
struct Message {
    other: usize,
    /// The number of the message among those from the sender to the receiver.
    number: u64,
    count: usize,
}

impl Message {
    fn describe(&self, head: &mut Head) {
        head.kind = Kind::Message as u32;
        (head.number, head.count) = (self.number, self.count as u64);
    }

    /// Sends values; returns a ticket.
    fn post<V: Number>(&self, at: &Place<'_>, tag: i32, numbers: &[V]) -> Result<u64, Failure> {
        let numbers: &[u8] = bytemuck::cast_slice(numbers);
        let mut bytes = Vec::with_capacity(Head::BYTES + numbers.len());
        bytes.extend_from_slice(bytemuck::bytes_of(&at.head));
        bytes.extend_from_slice(numbers);
        at.count(usize::from(self.other != at.link.rank), numbers.len());
        at.link.send(self.other, tag, bytes)
    }

    /// Sends values or adjoints of a sweep.
    fn answer<V: Number>(&self, at: &Place<'_>, numbers: &[V]) -> Result<(), Failure> {
        self.post(at, tag_of(at.phase, self.number), numbers).map(drop)
    }

    /// Receives values or adjoints of a sweep.
    fn await_answer<V: Number>(&self, at: &Place<'_>, numbers: &mut [V]) -> Result<(), Failure> {
        let ticket = at.link.want(self.other, tag_of(at.phase, self.number), at.call);
        self.fetch(at, ticket, numbers).map(drop)
    }

    /// Receives values, and returns the number of the message.
    fn fetch<V: Number>(&self, at: &Place<'_>, ticket: u64, numbers: &mut [V]) -> Result<u64, Failure> {
        let bytes = at.link.take(ticket, at.call);
        let Some((head, payload)) = bytes.split_at_checked(Head::BYTES) else {
            return Err(Failure(format!("a message of {} bytes, too short to be one of this crate", bytes.len())));
        };
        let head: Head = bytemuck::pod_read_unaligned(head);
        let (here, there) = (format!("rank {}", at.link.rank), format!("rank {}", self.other));
        if let Some(what) = at.head.difference(&head, (&here, &there)) {
            return Err(Failure(what));
        }
        if at.phase != Phase::Values && head.number != self.number {
            let (found, expected) = (head.number, self.number);
            return Err(Failure(format!("{there} answers its message {found}, and message {expected} was expected")));
        }
        bytemuck::cast_slice_mut(numbers).copy_from_slice(payload);
        Ok(head.number)
    }
}

/// A message on the rank that sends it.
struct Sent(Message);

impl<V: Number> Pattern<V> for Sent {
    fn describe(&self, head: &mut Head) {
        self.0.describe(head);
    }

    fn forward(&self, at: &Place<'_>, numbers: &[V], _: &mut [V]) -> Result<(), Failure> {
        self.0.answer(at, numbers)
    }

    fn reverse(&self, at: &Place<'_>, _: &[V], sums: &mut [V]) -> Result<(), Failure> {
        self.0.await_answer(at, sums)
    }
}

/// A message on the rank that receives it.
struct Received(Message);

impl<V: Number> Pattern<V> for Received {
    fn describe(&self, head: &mut Head) {
        self.0.describe(head);
    }

    fn forward(&self, at: &Place<'_>, _: &[V], results: &mut [V]) -> Result<(), Failure> {
        self.0.await_answer(at, results)
    }

    fn reverse(&self, at: &Place<'_>, seeds: &[V], _: &mut [V]) -> Result<(), Failure> {
        self.0.answer(at, seeds)
    }
}

/// # Messages from one rank to another
///
/// One rank receives what another rank sends: as many scalars, in the order of the calls among messages with the same
/// [tag](Self::tagged). In a reverse sweep the receiver sends as many adjoints back.
impl Communicator {
    /// Sends variables, views, or collections of them. The values are copied, and the call does not wait until they are
    /// received.
    ///
    /// # Panics
    ///
    /// When there is no such rank; on another thread than the one that initialized MPI; in the cases listed at
    /// [`Exchange::of`].
    #[track_caller]
    pub fn send<S: Taping, X: Variables<S>>(self, x: &[X], to: usize) {
        let call = Call::here("send to", Some(to));
        self.start(x, to, call);
    }

    /// Sends like [`send`](Self::send), and returns a handle that can wait until the message has left.
    ///
    /// # Panics
    ///
    /// In the cases listed at `send`.
    #[track_caller]
    pub fn immediate_send<S: Taping, X: Variables<S>>(self, x: &[X], to: usize) -> Sending {
        let call = Call::here("immediate_send to", Some(to));
        Sending { ticket: self.start(x, to, call), communicator: self, call }
    }

    #[track_caller]
    fn start<S: Taping, X: Variables<S>>(self, x: &[X], to: usize, call: Call) -> u64 {
        self.assert_rank(to);
        let link = self.link();
        let exchange = Exchange::of(x);
        let (flow, values) = (code_of(exchange.flow()), exchange.values());
        let message = Message { other: to, number: link.number(to), count: values.len() };
        let (mut ticket, describe) = (0, |head: &mut Head| message.describe(head));
        let outcome =
            carry_out::<S::Value>(&link, call, Round { phase: Phase::Values, flow, lanes: 1 }, describe, |at| {
                ticket = message.post(at, self.tag(), &values)?;
                Ok(())
            });
        or_panic(outcome, call);
        let nothing: &[Real<S>] = &[];
        exchange.finish(nothing, &[], Recorded { pattern: Sent(message), communicator: self, call, flow });
        ticket
    }

    /// Receives variables or views with the shapes of these ones, whose values are ignored.
    ///
    /// # Panics
    ///
    /// When the other rank has sent another number of scalars, or something else differs; in the cases listed at
    /// [`send`](Self::send).
    #[track_caller]
    #[must_use]
    pub fn receive<S, Y>(self, shapes: &[Y], from: usize) -> Vec<Y>
    where
        S: Taping,
        Y: Variables<S, With<S> = Y>,
    {
        let call = Call::here("receive from", Some(from));
        self.assert_rank(from);
        let ticket = self.link().want(from, self.tag(), call);
        self.end(shapes, from, ticket, call)
    }

    /// Requests variables or views with the shapes of these ones, without waiting; [`Receiving::wait`] returns them.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`send`](Self::send).
    #[track_caller]
    pub fn immediate_receive<S, Y>(self, shapes: &[Y], from: usize) -> Receiving<'_, Y>
    where
        S: Taping,
        Y: Variables<S, With<S> = Y>,
    {
        let call = Call::here("immediate_receive from", Some(from));
        self.assert_rank(from);
        Receiving { ticket: self.link().want(from, self.tag(), call), shapes, from, communicator: self, call }
    }

    #[track_caller]
    fn end<S, Y>(self, shapes: &[Y], from: usize, ticket: u64, call: Call) -> Vec<Y>
    where
        S: Taping,
        Y: Variables<S, With<S> = Y>,
    {
        let link = self.link();
        let exchange = Exchange::<S>::of::<Y>(&[]);
        let flow = code_of(exchange.flow());
        let mut message = Message { other: from, number: 0, count: length(shapes) };
        let mut values = zeros::<S::Value>(message.count);
        let (mut number, describe) = (0, |head: &mut Head| message.describe(head));
        let outcome =
            carry_out::<S::Value>(&link, call, Round { phase: Phase::Values, flow, lanes: 1 }, describe, |at| {
                number = message.fetch(at, ticket, &mut values)?;
                Ok(())
            });
        or_panic(outcome, call);
        message.number = number;
        exchange.finish(shapes, &values, Recorded { pattern: Received(message), communicator: self, call, flow })
    }

    /// Sends to one rank, and receives values of the same shape from another rank.
    ///
    /// ```no_run
    /// use tapewright::{kernels::View, prelude::*};
    /// use tapewright_mpi::Communicator;
    ///
    /// /// The borders of a strip of rows, from the strips above and below, on a torus.
    /// fn exchange_halos<S: Taping<Value = f64>>(all: Communicator, u: &mut View<S, 2>) {
    ///     let [rows, columns] = u.shape();
    ///     let (above, below) = ((all.rank() + all.size() - 1) % all.size(), (all.rank() + 1) % all.size());
    ///     let row = |i| [i..i + 1, 0..columns];
    ///     let from_below = all.tagged(0).sendrecv(&[u.slice(row(1))], above, below);
    ///     let from_above = all.tagged(1).sendrecv(&[u.slice(row(rows - 2))], below, above);
    ///     u.set(row(rows - 1), &from_below[0]);
    ///     u.set(row(0), &from_above[0]);
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// In the cases listed at [`send`](Self::send) and [`receive`](Self::receive).
    #[track_caller]
    #[must_use]
    pub fn sendrecv<S, X>(self, x: &[X], to: usize, from: usize) -> Vec<X>
    where
        S: Taping,
        X: Variables<S, With<S> = X>,
    {
        self.assert_rank(from);
        self.start(x, to, Call::here("sendrecv to", Some(to)));
        let call = Call::here("sendrecv from", Some(from));
        let ticket = self.link().want(from, self.tag(), call);
        self.end(x, from, ticket, call)
    }
}

/// A message that has been sent and may not have left; returned by [`Communicator::immediate_send`].
#[derive(Debug)]
pub struct Sending {
    ticket: u64,
    communicator: Communicator,
    call: Call,
}

impl Sending {
    /// Waits until the message has left: a large one leaves when the other rank receives it. Waiting is optional.
    ///
    /// # Panics
    ///
    /// On another thread than the one that sent the message.
    #[track_caller]
    pub fn wait(self) {
        self.communicator.link().wait_until_left(Some(self.ticket), self.call);
    }
}

/// A message that has been requested; returned by [`Communicator::immediate_receive`]. It must be waited for.
#[must_use = "the message must be waited for"]
pub struct Receiving<'y, Y> {
    ticket: u64,
    shapes: &'y [Y],
    from: usize,
    communicator: Communicator,
    call: Call,
}

impl<Y> Receiving<'_, Y> {
    /// Waits for the message, and records it at this position.
    ///
    /// # Panics
    ///
    /// In the cases listed at [`Communicator::receive`].
    #[track_caller]
    #[must_use]
    pub fn wait<S>(self) -> Vec<Y>
    where
        S: Taping,
        Y: Variables<S, With<S> = Y>,
    {
        self.communicator.end(self.shapes, self.from, self.ticket, self.call)
    }
}

impl<Y> fmt::Debug for Receiving<'_, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiving, {}", self.call)
    }
}
