//! The comparisons and classifications that a recording can note.

use crate::number::parts;
use crate::{Float, Number};
use smallvec::SmallVec;

/// A comparison of two values, or a classification of one, whose outcome a program may branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`, and with the opposite outcome `!=`.
    Equal,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `partial_cmp`.
    Order,
    /// `total_cmp`.
    TotalOrder,
    /// `is_sign_negative` of the left value.
    SignBit,
    /// `classify` of the left value.
    Class,
    /// `is_nan` of the left value.
    IsNan,
    /// `is_infinite` of the left value.
    IsInfinite,
    /// `is_finite` of the left value.
    IsFinite,
    /// `is_normal` of the left value.
    IsNormal,
    /// `is_subnormal` of the left value.
    IsSubnormal,
    /// True if both values are the same, the sign of zeros included; two NaNs count as the same.
    Same,
    /// `value()` of the left value, which is the right one: true if both are the [`Same`](Self::Same), tangents
    /// included, of which a function can make constants, too.
    Read,
    /// True if the right value is `signum` of the left one.
    Sign,
    /// True if the right value is `floor` of the left one.
    Floor,
    /// True if the right value is `ceil` of the left one.
    Ceil,
    /// True if the right value is `round` of the left one.
    Round,
    /// True if the right value is `trunc` of the left one.
    Trunc,
}

impl Comparison {
    /// Returns the outcome in each lane as an integer: 1 or 0 for true or false; −1, 0 or 1 for an order and 2 for
    /// unordered values; for `classify` the discriminant of the class.
    #[inline]
    #[must_use]
    pub fn outcomes<V: Number>(self, left: V, right: V) -> SmallVec<[i8; 8]> {
        (0..V::LANES).map(|k| self.outcome_of_lane(left.lane(k), right.lane(k))).collect()
    }

    /// Returns the outcome in the first lane; see [`outcomes`](Self::outcomes).
    #[inline]
    pub(crate) fn outcome<V: Number>(self, left: V, right: V) -> i8 {
        self.outcome_of_lane(left.lane(0), right.lane(0))
    }

    /// Returns true if it has this outcome for all pairs of numbers.
    pub(crate) fn always<V: Number>(self, outcome: i8, left: &[V], right: &[V]) -> bool {
        // Without a branch, so that it takes a register of numbers at once.
        macro_rules! all {
            (|$x:ident, $y:ident| $holds:expr) => {
                left.iter().zip(right).fold(true, |all, (x, y)| {
                    let ($x, $y) = (x.lane(0), y.lane(0));
                    all & (i8::from($holds) == outcome)
                })
            };
        }
        match self {
            Self::Less => all!(|x, y| x < y),
            Self::LessOrEqual => all!(|x, y| x <= y),
            Self::Greater => all!(|x, y| x > y),
            Self::GreaterOrEqual => all!(|x, y| x >= y),
            _ => left.iter().zip(right).all(|(x, y)| self.outcome(*x, *y) == outcome),
        }
    }

    #[inline]
    fn outcome_of_lane<V: Float>(self, left: V, right: V) -> i8 {
        let equal = |a: V| a.as_f64() == right.as_f64();
        let same = |a: V| equal(a) && a.is_sign_negative() == right.is_sign_negative() || a.is_nan() && right.is_nan();
        match self {
            Self::Equal => i8::from(equal(left)),
            Self::Less => i8::from(left < right),
            Self::LessOrEqual => i8::from(left <= right),
            Self::Greater => i8::from(left > right),
            Self::GreaterOrEqual => i8::from(left >= right),
            Self::Order => left.partial_cmp(&right).map_or(2, |order| order as i8),
            Self::TotalOrder => left.as_f64().total_cmp(&right.as_f64()) as i8,
            Self::SignBit => i8::from(left.is_sign_negative()),
            Self::Class => left.classify() as i8,
            Self::IsNan => i8::from(left.is_nan()),
            Self::IsInfinite => i8::from(left.is_infinite()),
            Self::IsFinite => i8::from(left.is_finite()),
            Self::IsNormal => i8::from(left.is_normal()),
            Self::IsSubnormal => i8::from(left.is_subnormal()),
            Self::Same => i8::from(same(left)),
            Self::Read if V::VARIABLE => i8::from(same(left)),
            Self::Read => i8::from(parts::same(left, right)),
            Self::Sign => i8::from(same(left.signum())),
            Self::Floor => i8::from(same(left.floor())),
            Self::Ceil => i8::from(same(left.ceil())),
            Self::Round => i8::from(same(left.round())),
            Self::Trunc => i8::from(same(left.trunc())),
        }
    }
}
