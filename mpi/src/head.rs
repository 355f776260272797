//! The head of a message, by which ranks notice that they make different calls.

use bytemuck::{Pod, Zeroable};
use core::fmt;
use tapewright::strategies::contract::Flow;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Message,
    Broadcast,
    Gather,
    AllGather,
    Scatter,
    Reduce,
    AllReduce,
    Barrier,
    Close,
}

const KINDS: [&str; 9] = [
    "a message",
    "broadcast",
    "gather",
    "all_gather",
    "scatter",
    "reduce",
    "all_reduce",
    "barrier",
    "the end of Ranks",
];

/// The kind of the values in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Phase {
    Values,
    Adjoints,
    Tangents,
    Replay,
}

const PHASES: [&str; 4] = ["values", "adjoints", "tangents", "values of a replay"];

/// Returns the code of a destination of derivatives, which must be the same at both ends.
pub(crate) const fn code_of(flow: Flow) -> u32 {
    match flow {
        Flow::Nowhere => 0,
        Flow::Recorded(_) => 1,
        Flow::Carried => 2,
    }
}

const FLOWS: [&str; 3] = ["is not recorded", "is recorded", "carries tangents"];

/// The bytes in front of the values of a message. All ranks of a call must have the same, except `number` in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Head {
    pub(crate) kind: u32,
    pub(crate) phase: u32,
    pub(crate) flow: u32,
    /// Bytes of one scalar.
    pub(crate) width: u32,
    pub(crate) root: u32,
    /// The reduction, as an integer.
    pub(crate) operation: u32,
    /// The number of the message between its two ranks, or of collective calls before this one.
    pub(crate) number: u64,
    /// Number of scalars in one adjoint vector.
    pub(crate) count: u64,
    /// Number of adjoint vectors.
    pub(crate) lanes: u64,
    /// Digest of what the enclosing time loops have done.
    pub(crate) schedule: u64,
}

impl Head {
    pub(crate) const BYTES: usize = size_of::<Self>();

    /// Describes the first difference to the head of another rank; `None` if they agree.
    pub(crate) fn difference(&self, other: &Self, (here, there): (&str, &str)) -> Option<String> {
        let words = |words: &[&'static str], k: u32| words.get(k as usize).copied().unwrap_or("something unknown");
        let pair = |what: &str, a: &dyn fmt::Display, b: &dyn fmt::Display| {
            Some(format!("{what}: {a} on {here}, {b} on {there}"))
        };
        let Self { kind, phase, flow, width, root, operation, count, lanes, schedule, .. } = *self;
        if kind != other.kind {
            return pair("the calls differ", &words(&KINDS, kind), &words(&KINDS, other.kind));
        }
        if phase != other.phase {
            return pair("the numbers differ in kind", &words(&PHASES, phase), &words(&PHASES, other.phase));
        }
        if flow != other.flow {
            return pair("either all ranks record a call, or none", &words(&FLOWS, flow), &words(&FLOWS, other.flow));
        }
        if width != other.width {
            return pair("the types of numbers differ, in bytes", &width, &other.width);
        }
        if root != other.root {
            return pair("the root ranks differ", &root, &other.root);
        }
        if operation != other.operation {
            return pair("the operations of the reduction differ, by number", &operation, &other.operation);
        }
        if lanes != other.lanes {
            return pair("the numbers of adjoint vectors differ", &lanes, &other.lanes);
        }
        if count != other.count {
            return pair("the counts differ", &count, &other.count);
        }
        if schedule != other.schedule {
            return Some(format!("the time loops around run by different schedules on {here} and {there}"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Head);

    #[test]
    fn every_field_that_differs_is_named() {
        let head = Head::zeroed();
        assert_eq!(head.difference(&head, ("a", "b")), None);
        let changes: [(Change, &str); 9] = [
            (|head| head.kind = Kind::Reduce as u32, "the calls differ: a message on a, reduce on b"),
            (|head| head.phase = Phase::Adjoints as u32, "values on a, adjoints on b"),
            (|head| head.flow = 1, "is not recorded on a, is recorded on b"),
            (|head| head.width = 4, "in bytes: 0 on a, 4 on b"),
            (|head| head.root = 2, "the root ranks differ: 0 on a, 2 on b"),
            (|head| head.operation = 3, "by number: 0 on a, 3 on b"),
            (|head| head.lanes = 8, "the numbers of adjoint vectors differ: 0 on a, 8 on b"),
            (|head| head.count = 5, "the counts differ: 0 on a, 5 on b"),
            (|head| head.schedule = 1, "different schedules on a and b"),
        ];
        for (change, expected) in changes {
            let mut other = head;
            change(&mut other);
            let found = head.difference(&other, ("a", "b")).expect("they differ");
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(head.difference(&Head { number: 7, ..head }, ("a", "b")), None);
    }
}
