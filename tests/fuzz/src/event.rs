//! What is seen when something is done, and what should be.

use crate::oracle::number::Num;

/// Something that was seen.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// A number.
    Number(f64),
    /// How something came out.
    Word(&'static str),
    /// Facts.
    Facts(Vec<bool>),
}

/// What should be seen.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// A number.
    Number(Num),
    /// One of two numbers, which are the same but for rounding.
    Either(Num, Num),
    /// One of these words.
    Words(Vec<&'static str>),
    /// These facts.
    Facts(Vec<bool>),
    /// Anything.
    Any,
}

/// What was seen of one thing that was done; nothing where a strategy cannot do it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) what: String,
    pub(crate) seen: Option<Vec<Seen>>,
    /// The values of all variables that were assigned.
    pub(crate) trace: Vec<f64>,
}

/// Numbers that were compared with the oracle's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// With a bound on the error.
    pub bounded: u64,
    /// That had to be exact: infinities, NaNs and zeros among them.
    pub exact: u64,
    /// Of which the oracle knew nothing.
    pub unknown: u64,
}

impl Tally {
    /// Adds another one.
    pub const fn add(&mut self, other: Self) {
        self.bounded += other.bounded;
        self.exact += other.exact;
        self.unknown += other.unknown;
    }
}

impl Seen {
    /// Whether two strategies saw the same, bit for bit; those of a NaN do not matter.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Word(a), Self::Word(b)) => a == b,
            (Self::Facts(a), Self::Facts(b)) => a == b,
            _ => false,
        }
    }
}

impl Want {
    fn agrees(&self, seen: &Seen, tally: &mut Tally) -> bool {
        match (self, seen) {
            (Self::Any, _) => true,
            (Self::Number(want), Seen::Number(seen)) => {
                match want {
                    want if want.is_unknown() => tally.unknown += 1,
                    want if want.is_exact() => tally.exact += 1,
                    _ => tally.bounded += 1,
                }
                want.agrees(*seen)
            }
            (Self::Either(a, b), Seen::Number(seen)) => {
                tally.bounded += 1;
                a.agrees(*seen) || b.agrees(*seen)
            }
            (Self::Words(words), Seen::Word(word)) => words.contains(word),
            (Self::Facts(want), Seen::Facts(seen)) => want == seen,
            _ => false,
        }
    }
}

/// The first difference from what should be seen.
pub(crate) fn contradiction(seen: &[Event], wants: &[Option<Vec<Want>>], tally: &mut Tally) -> Option<String> {
    for (event, want) in seen.iter().zip(wants) {
        let (Some(seen), Some(want)) = (&event.seen, want) else { continue };
        if seen.len() != want.len() {
            return Some(format!("{}: saw {seen:?}, expected {want:?}", event.what));
        }
        let at = want.iter().zip(seen).position(|(want, seen)| !want.agrees(seen, tally));
        if let Some(at) = at {
            return Some(format!("{}, item {at}: saw {:?}, expected {:?}", event.what, seen[at], want[at]));
        }
    }
    None
}
