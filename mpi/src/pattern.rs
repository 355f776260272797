//! Patterns of calls, which move values from rank to rank forwards and adjoints backwards, and calls on the tape.

use crate::counts::{Counts, Traffic};
use crate::head::{Head, Kind, Phase, code_of};
use crate::link::{Call, Failure, Link};
use crate::ranks::Communicator;
use tapewright::exchange::{Exchange, schedule_digest};
use tapewright::strategies::Number;
use tapewright::variables::Variables;
use tapewright::{External, SweepError, Taping};

/// The pattern by which a call moves values and adjoints. All ranks that take part run its forward direction together,
/// and its reverse direction together.
pub(crate) trait Pattern<V: Number>: Send + Sync + 'static {
    /// Returns true if the forward direction computes values and tangents, false if it computes tangents only.
    fn replays(&self) -> bool {
        true
    }

    /// Writes kind, root, operation and count to the head of a message.
    fn describe(&self, head: &mut Head);

    /// Computes the values of this rank's outputs from those of its inputs; tangents likewise.
    fn forward(&self, at: &Place<'_>, numbers: &[V], results: &mut [V]) -> Result<(), Failure>;

    /// Computes the adjoints of this rank's inputs, which are 0 on entry, from those of its outputs.
    fn reverse(&self, at: &Place<'_>, seeds: &[V], sums: &mut [V]) -> Result<(), Failure>;

    /// Number of bytes that the pattern owns.
    fn owned_bytes(&self) -> usize {
        0
    }
}

/// A call that is being run.
pub(crate) struct Place<'l> {
    pub(crate) link: &'l Link,
    pub(crate) call: Call,
    pub(crate) head: Head,
    pub(crate) phase: Phase,
}

impl Place<'_> {
    /// Counts messages to other ranks.
    pub(crate) fn count(&self, messages: usize, bytes_of_each: usize) {
        traffic(&mut self.link.counts.borrow_mut(), self.phase).add(messages, bytes_of_each);
    }

    /// Number of other ranks.
    pub(crate) fn others(&self) -> usize {
        self.link.size - 1
    }
}

const fn traffic(counts: &mut Counts, phase: Phase) -> &mut Traffic {
    match phase {
        Phase::Values => &mut counts.values,
        Phase::Adjoints => &mut counts.adjoints,
        Phase::Tangents => &mut counts.tangents,
        Phase::Replay => &mut counts.replays,
    }
}

/// A recorded call with its pattern.
pub(crate) struct Recorded<P> {
    pub(crate) pattern: P,
    pub(crate) communicator: Communicator,
    pub(crate) call: Call,
    /// Code of the destination of derivatives in the call.
    pub(crate) flow: u32,
}

/// One phase of a call: a run over all ranks that take part.
pub(crate) struct Round {
    pub(crate) phase: Phase,
    /// Code of the destination of derivatives.
    pub(crate) flow: u32,
    pub(crate) lanes: usize,
}

/// Runs one phase of a call.
pub(crate) fn carry_out<V: Number>(
    link: &Link,
    call: Call,
    Round { phase, flow, lanes }: Round,
    describe: impl FnOnce(&mut Head),
    f: impl FnOnce(&Place<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    link.begin(call);
    let (mut head, schedule) = (<Head as bytemuck::Zeroable>::zeroed(), schedule_digest());
    let width = u32::try_from(size_of::<V>()).expect("a number is small");
    describe(&mut head);
    head = Head { phase: phase as u32, flow, width, lanes: lanes as u64, schedule, ..head };
    let outcome = f(&Place { link, call, head, phase });
    if let Err(Failure(why)) = &outcome {
        link.broken.borrow_mut().get_or_insert_with(|| format!("{call}: {why}"));
    }
    outcome
}

impl<P> Recorded<P> {
    fn run<V: Number>(
        &self,
        (phase, lanes): (Phase, usize),
        f: impl FnOnce(&Place<'_>) -> Result<(), Failure>,
    ) -> Result<(), SweepError>
    where
        P: Pattern<V>,
    {
        let outcome = self.communicator.open().and_then(|link| {
            let round = Round { phase, flow: self.flow, lanes };
            carry_out::<V>(&link, self.call, round, |head| self.pattern.describe(head), f)
        });
        outcome.map_err(|Failure(why)| SweepError::rule(self.call.to_string(), why))
    }
}

impl<V: Number, P: Pattern<V>> External<V> for Recorded<P> {
    fn name(&self) -> String {
        self.call.to_string()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        self.reverse_lanes(1, outputs, inputs)
    }

    fn reverse_lanes(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        self.run((Phase::Adjoints, lanes), |at| self.pattern.reverse(at, outputs, inputs))
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        self.run((Phase::Tangents, 1), |at| self.pattern.forward(at, inputs, outputs))
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        if !self.pattern.replays() {
            return Err(SweepError::NoRule { function: External::<V>::name(self), rule: "replay" });
        }
        self.run((Phase::Replay, 1), |at| self.pattern.forward(at, inputs, outputs))
    }

    fn keeps_zeros(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        self.pattern.owned_bytes()
    }
}

/// Number of scalars in these collections.
pub(crate) fn length<S: Taping, X: Variables<S>>(list: &[X]) -> usize {
    let elements = |x: &X| x.views().iter().map(|view| view.len()).sum::<usize>();
    list.iter().map(|x| x.count() + elements(x)).sum()
}

impl Communicator {
    /// Runs a call by its pattern, and records it. The outputs have the shapes of `shapes`.
    #[track_caller]
    pub(crate) fn carry_out<'y, S, Y, P>(
        self,
        exchange: Exchange<'_, S>,
        shapes: impl IntoIterator<Item = &'y Y>,
        results: usize,
        pattern: P,
        call: Call,
    ) -> Vec<Y>
    where
        S: Taping,
        Y: Variables<S, With<S> = Y> + 'y,
        P: Pattern<S::Value>,
    {
        let (link, flow) = (self.link(), code_of(exchange.flow()));
        let values = exchange.values();
        let mut found = zeros(results);
        let describe = |head: &mut Head| pattern.describe(head);
        let outcome =
            carry_out::<S::Value>(&link, call, Round { phase: Phase::Values, flow, lanes: 1 }, describe, |at| {
                pattern.forward(at, &values, &mut found)
            });
        or_panic(outcome, call);
        exchange.finish(shapes, &found, Recorded { pattern, communicator: self, call, flow })
    }
}

/// Returns the result of a call.
///
/// # Panics
///
/// When the call has failed.
#[track_caller]
pub(crate) fn or_panic<T>(outcome: Result<T, Failure>, call: Call) -> T {
    outcome.unwrap_or_else(|Failure(why)| panic!("{call}: {why}"))
}

/// Returns `count` zeros.
pub(crate) fn zeros<V: Number>(count: usize) -> Vec<V> {
    vec![V::ZERO; count]
}

/// Describes a collective call, of all ranks.
pub(crate) fn of_all(head: &mut Head, kind: Kind, root: usize, count: usize) {
    head.kind = kind as u32;
    head.root = u32::try_from(root).expect("a rank that MPI has");
    head.count = count as u64;
}
