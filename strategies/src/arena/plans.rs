//! What sweeps other than the scalar reverse one know about records: where each leaf gets its partial from.

use super::layout::Layout;
use super::patterns;
use super::table::{Kind, Table};
use crate::{Float, IndexType};
use smallvec::SmallVec;

/// How records with one code are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Not met yet.
    Unknown,
    /// Each leaf's partial is a stored factor or 1, perhaps negated.
    Partials,
    /// The statement is rebuilt.
    Rerun,
    /// Ask for the record's [`Kind`].
    Special,
}

/// What is known of the records with one code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) how: How,
    /// Bytes of data in front of the tail.
    pub(super) bytes: usize,
    /// Bytes in front of the identifiers.
    pub(super) payload: usize,
    /// Where its leaves begin in the list, and how many there are.
    first: usize,
    pub(super) leaves: usize,
}

/// Where a leaf's partial comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<V> {
    /// Bytes in front of the factor in its record; [`Leaf::ONE`] if the partial is ±1.
    pub(super) offset: usize,
    /// 1 or −1.
    pub(super) sign: V,
}

impl<V: Float> Leaf<V> {
    const ONE: usize = usize::MAX;

    /// The partial.
    ///
    /// # Safety
    ///
    /// A record of the plan that this leaf is of begins there.
    #[inline(always)]
    pub(super) unsafe fn partial(self, record: *const u8, one: &V) -> V {
        // Selected, not branched upon: leaves of one statement differ in this.
        let at =
            if self.offset == Self::ONE { core::ptr::from_ref(one) } else { record.wrapping_add(self.offset).cast() };
        // SAFETY: the record has this factor.
        unsafe { at.read_unaligned() * self.sign }
    }
}

/// Plans for the codes of one tape, made as they are met during a sweep.
pub(super) struct Plans<V> {
    plans: [Plan; 256],
    leaves: Vec<Leaf<V>>,
}

impl<V: Float> Plans<V> {
    pub(super) const fn new() -> Self {
        let plan = Plan { how: How::Unknown, bytes: 0, payload: 0, first: 0, leaves: 0 };
        Self { plans: [plan; 256], leaves: Vec::new() }
    }

    /// The plan for a code.
    #[inline(always)]
    pub(super) fn get<I: IndexType>(&mut self, table: &Table<V>, code: u8) -> Plan {
        let plan = self.plans[code as usize];
        if plan.how == How::Unknown { self.learn::<I>(table, code) } else { plan }
    }

    /// Its leaves.
    #[inline(always)]
    pub(super) fn leaves(&self, plan: Plan) -> &[Leaf<V>] {
        &self.leaves[plan.first..plan.first + plan.leaves]
    }

    #[cold]
    fn learn<I: IndexType>(&mut self, table: &Table<V>, code: u8) -> Plan {
        let first = self.leaves.len();
        let float = size_of::<V>();
        let own = |k: usize| Leaf { offset: k * float, sign: V::one() };
        let partials = |payload: usize, leaves: usize| Plan {
            how: How::Partials,
            bytes: payload * float + leaves * size_of::<I>(),
            payload: payload * float,
            first,
            leaves,
        };
        let plan = match table.kind(code) {
            Kind::Classic(n) => {
                self.leaves.extend((0..n as usize).map(own));
                partials(n as usize, n as usize)
            }
            Kind::Pattern => {
                let (leaves, factors) = patterns::size(code);
                let mut stored = (0..factors).map(own);
                self.leaves.extend(patterns::text(code).iter().map(|sign| match sign {
                    b'+' => Leaf { offset: Leaf::<V>::ONE, sign: V::one() },
                    b'-' => Leaf { offset: Leaf::<V>::ONE, sign: -V::one() },
                    _ => stored.next().expect("a pattern has a factor for each `f`"),
                }));
                partials(factors, leaves)
            }
            Kind::Typed => {
                let layout = table.layout(code);
                if layout.partials {
                    self.leaves.extend(leaves_of::<V, I>(layout));
                    partials(layout.payload, layout.arguments)
                } else {
                    let (bytes, payload) = (layout.bytes, layout.payload * float);
                    Plan { how: How::Rerun, bytes, payload, first, leaves: layout.arguments }
                }
            }
            _ => Plan { how: How::Special, bytes: 0, payload: 0, first, leaves: 0 },
        };
        self.plans[code as usize] = plan;
        plan
    }
}

/// Where the leaves of records of partials get theirs from: found by reversing a record whose factors are 2, 3, 4, ….
fn leaves_of<V: Float, I: IndexType>(layout: &Layout<V>) -> impl Iterator<Item = Leaf<V>> {
    let number = |k: usize| <V as num_traits::NumCast>::from(k).expect("a statement has few factors");
    let factors: SmallVec<[V; 16]> = (2..layout.payload + 2).map(number).collect();
    let values: SmallVec<[V; 32]> = SmallVec::from_elem(V::zero(), layout.arguments);
    layout.expand::<I>(&factors, &values).into_iter().map(|partial| {
        let size = num_traits::ToPrimitive::to_usize(&partial.abs()).expect("it is one of the factors");
        let offset = size.checked_sub(2).map_or(Leaf::<V>::ONE, |k| k * size_of::<V>());
        Leaf { offset, sign: partial.signum() }
    })
}
