//! Identifiers of variables, and ids of the recordings to which variables belong.

use core::fmt;

/// The id of a recording. No two recordings of a process have the same id until some 2³² recordings have been made,
/// however many threads and tapes made them (2²⁴ tapes that are alive at the same time use ids up faster, 256 each).
/// From then on ids repeat, among recordings of one strategy only: a variable of a finished recording is then no longer
/// recognized with certainty.
///
/// The default, 0, belongs to no recording: passive variables carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordingId(
    /// The id in the upper half, where identifiers of 32 bits keep it.
    u64,
);

impl RecordingId {
    /// Returns the id as it appears in messages.
    #[must_use]
    pub const fn get(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The id of no recording, which passive variables carry.
    pub const NONE: Self = Self(0);

    /// The bits of the identifier with index 1 and 32 bits of this recording.
    #[inline(always)]
    pub(crate) const fn first_bits(self) -> u64 {
        self.0 + 1
    }

    #[inline(always)]
    pub(crate) const fn of(number: u32) -> Self {
        Self((number as u64) << 32)
    }
}

impl fmt::Display for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.get())
    }
}

/// The width of identifiers: `u32` (up to 2³² − 1 per recording) or `u64`.
pub trait IndexType: sealed::Sealed + Copy + Send + Sync + fmt::Debug + 'static {
    /// Index and recording id, as a variable stores them.
    #[doc(hidden)]
    type Packed: Copy + Send + Sync + 'static;
    /// The largest identifier.
    const LARGEST: u64;
    #[doc(hidden)]
    fn pack(number: RecordingId, index: u64) -> Self::Packed;
    #[doc(hidden)]
    fn number(packed: Self::Packed) -> RecordingId;
    #[doc(hidden)]
    fn index(packed: Self::Packed) -> u64;
    /// Returns true if the recording id is `number` and the index is below `next`.
    #[doc(hidden)]
    fn within(packed: Self::Packed, number: RecordingId, next: u64) -> bool;
    /// Returns a number whose highest bit is 0 if the identifier is [`within`](Self::within), so that many can be
    /// checked at once; `next` is at most [`LARGEST`](Self::LARGEST) + 1.
    #[doc(hidden)]
    #[inline(always)]
    fn beyond(packed: Self::Packed, number: RecordingId, next: u64) -> u64 {
        u64::from(!Self::within(packed, number, next)) << 63
    }
    #[doc(hidden)]
    fn narrow(index: u64) -> Self;
    #[doc(hidden)]
    fn widen(self) -> u64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl IndexType for u32 {
    /// The recording id in the upper half, so that one subtraction and one comparison check both.
    type Packed = u64;
    const LARGEST: u64 = u32::MAX as u64;
    #[inline(always)]
    fn pack(number: RecordingId, index: u64) -> u64 {
        number.0 | index
    }
    #[inline(always)]
    fn number(packed: u64) -> RecordingId {
        RecordingId(packed & !Self::LARGEST)
    }
    #[inline(always)]
    fn index(packed: u64) -> u64 {
        packed & Self::LARGEST
    }
    #[inline(always)]
    fn within(packed: u64, number: RecordingId, next: u64) -> bool {
        packed.wrapping_sub(number.0) < next
    }
    #[inline(always)]
    fn beyond(packed: u64, number: RecordingId, next: u64) -> u64 {
        let index = packed.wrapping_sub(number.0);
        // The difference is negative from `next` on, unless the index is so large that its own highest bit is 1.
        index | next.wrapping_sub(1).wrapping_sub(index)
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "indices are at most LARGEST")]
    fn narrow(index: u64) -> u32 {
        index as u32
    }
    #[inline(always)]
    fn widen(self) -> u64 {
        u64::from(self)
    }
}

impl IndexType for u64 {
    type Packed = (u64, u32);
    const LARGEST: u64 = u64::MAX >> 8;
    #[inline(always)]
    fn pack(number: RecordingId, index: u64) -> (u64, u32) {
        (index, number.get())
    }
    #[inline(always)]
    fn number(packed: (u64, u32)) -> RecordingId {
        RecordingId::of(packed.1)
    }
    #[inline(always)]
    fn index(packed: (u64, u32)) -> u64 {
        packed.0
    }
    #[inline(always)]
    fn within(packed: (u64, u32), number: RecordingId, next: u64) -> bool {
        packed.1 == number.get() && packed.0 < next
    }
    #[inline(always)]
    fn narrow(index: u64) -> u64 {
        index
    }
    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }
}

/// The identifier of a variable under linear index management: its index in the recording that made it, and the id of
/// that recording. Takes 8 bytes with `u32` indices, 16 with `u64`.
pub struct LinearId<I: IndexType = u32>(I::Packed);

#[allow(clippy::expl_impl_clone_on_copy, reason = "a derive would put bounds on `I::Packed`'s owner")]
impl<I: IndexType> Clone for LinearId<I> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<I: IndexType> Copy for LinearId<I> {}

impl LinearId<u32> {
    /// The identifier of passive variables.
    pub const PASSIVE: Self = Self(0);

    /// Returns the bits: the recording id in the upper half, the index in the lower.
    #[inline(always)]
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl<I: IndexType> LinearId<I> {
    /// Makes the identifier with this index in this recording, counted from 1; `None` when the index is 0 or too large,
    /// or when `number` belongs to no recording.
    #[must_use]
    pub fn new(number: RecordingId, index: u64) -> Option<Self> {
        let valid = number != RecordingId::NONE && (1..=I::LARGEST).contains(&index);
        valid.then(|| Self::pack(number, index))
    }

    #[inline(always)]
    pub(crate) fn pack(number: RecordingId, index: u64) -> Self {
        Self(I::pack(number, index))
    }

    #[inline(always)]
    pub(crate) fn passive() -> Self {
        Self(I::pack(RecordingId::NONE, 0))
    }

    /// Returns the identifier under another id of its recording, which has `length` identifiers.
    ///
    /// # Panics
    ///
    /// When the recording has no such identifier.
    #[track_caller]
    pub(crate) fn renewed(self, number: RecordingId, length: usize) -> Self {
        if !self.is_active() {
            return Self::passive();
        }
        let known = number != RecordingId::NONE && (1..length as u64).contains(&self.index());
        assert!(known, "recording {number} never made the variable {self:?}");
        Self::pack(number, self.index())
    }

    #[inline(always)]
    pub(crate) fn within(self, number: RecordingId, next: u64) -> bool {
        I::within(self.0, number, next)
    }

    #[inline(always)]
    pub(crate) fn beyond(self, number: RecordingId, next: u64) -> u64 {
        I::beyond(self.0, number, next)
    }

    /// Returns true if the variable depends on an input.
    #[inline(always)]
    #[must_use]
    pub fn is_active(self) -> bool {
        self.number() != RecordingId::NONE
    }

    /// Returns the id of the recording that made the variable.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> RecordingId {
        I::number(self.0)
    }

    /// Returns the index in the recording, counted from 1; 0 if the variable is passive.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> u64 {
        I::index(self.0)
    }
}

impl<I: IndexType> fmt::Debug for LinearId<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_active() { write!(f, "{}@{}", self.index(), self.number()) } else { f.write_str("passive") }
    }
}
