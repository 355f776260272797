//! The codes of a tape: which byte stands for which type of record.

use super::layout::{HASH_SLOTS, Layout, ReverseFn, Sweep};
use super::patterns::{PATTERNS, PATTERNS_END};
use core::ptr;

/// What a code byte stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An independent variable: no data.
    Input,
    /// Partials and identifiers of this many arguments.
    Classic(u8),
    /// Partials and identifiers, then their number (`u32`).
    Wide,
    /// Identifiers of arguments whose partials are 1, then their number (`u32`).
    Ones,
    /// A record of a listed pattern.
    Pattern,
    /// A typed record; the layout says all.
    Typed,
    /// A typed record with passive arguments: their values, payload, identifiers of which some are 0.
    Mixed,
    /// As `Mixed`, perhaps without passive arguments, followed by the number (`u32`) of the layout among those that found
    /// the table full.
    Explicit,
    /// A function of a slice: constants, identifiers, number of arguments (`u32`).
    Nary,
}

pub(super) const INPUT: u8 = 0;
pub(super) const WIDE: u8 = 1;
pub(super) const ONES: u8 = 2;
pub(super) const EXPLICIT: u8 = 3;
pub(super) const CLASSIC: u8 = 4;
pub(super) const ASSIGNED: u8 = 48;
const _: () = assert!(PATTERNS_END <= ASSIGNED, "listed patterns have codes of their own");
/// The most arguments of a record of partials whose number is in its code.
pub(super) const CLASSIC_MAX: usize = (PATTERNS - 1 - CLASSIC) as usize;

/// How far behind the code of its typed records a layout has that of others.
const MIXED: usize = HASH_SLOTS / 2 + 1;

/// The code of a record of `n` partials, 1 ≤ n ≤ `CLASSIC_MAX`.
#[allow(clippy::cast_possible_truncation, reason = "n is at most CLASSIC_MAX")]
pub(super) const fn classic(n: usize) -> u8 {
    CLASSIC + n as u8
}

/// What the sweep needs of a typed record, in 16 bytes.
pub(super) struct Entry<V> {
    pub(super) reverse: ReverseFn<V>,
    /// Bytes of data, or [`Entry::SPECIAL`].
    pub(super) bytes: usize,
}

impl<V> Entry<V> {
    /// Not a typed record: ask for its [`Kind`].
    pub(super) const SPECIAL: usize = usize::MAX;
}

pub(super) struct Table<V: 'static> {
    /// Hash of a layout → code of its typed records, 0 where there is none yet.
    pub(super) codes: [u8; HASH_SLOTS],
    /// Code → layout; null where none.
    pub(super) layouts: [*const Layout<V>; 256],
    pub(super) entries: [Entry<V>; 256],
    kinds: [Kind; 256],
    assigned: usize,
    /// Layouts without a code, and their numbers by address.
    more: Vec<&'static Layout<V>>,
    /// Their addresses, in order, with their numbers.
    numbers: Vec<(usize, u32)>,
}

impl<V> Table<V> {
    pub(super) fn new() -> Self {
        /// # Safety
        ///
        /// None: special records are not reversed through their entry.
        unsafe fn special<V>(_: *const u8, _: V, _: &mut Sweep<'_, V>) {}
        let mut kinds = [Kind::Input; 256];
        kinds[WIDE as usize] = Kind::Wide;
        kinds[ONES as usize] = Kind::Ones;
        kinds[EXPLICIT as usize] = Kind::Explicit;
        for n in 1..=CLASSIC_MAX {
            kinds[classic(n) as usize] = Kind::Classic(classic(n) - CLASSIC);
        }
        for code in PATTERNS..PATTERNS_END {
            kinds[code as usize] = Kind::Pattern;
        }
        Self {
            codes: [0; HASH_SLOTS],
            layouts: [ptr::null(); 256],
            entries: [const { Entry { reverse: special::<V>, bytes: Entry::<V>::SPECIAL } }; 256],
            kinds,
            assigned: ASSIGNED as usize,
            more: Vec::new(),
            numbers: Vec::new(),
        }
    }

    pub(super) fn kind(&self, code: u8) -> Kind {
        self.kinds[code as usize]
    }

    /// The layout behind a code.
    pub(super) fn layout(&self, code: u8) -> &'static Layout<V> {
        // SAFETY: entries are null or made from `&'static Layout<V>`.
        unsafe { self.layouts[code as usize].as_ref() }.expect("codes of this kind have a layout")
    }

    /// The code for this layout and kind (`Typed`, `Mixed` or `Nary`), assigned if new; `None` when all are taken.
    #[allow(clippy::cast_possible_truncation, reason = "at most 256 codes")]
    pub(super) fn code(&mut self, layout: &'static Layout<V>, kind: Kind) -> Option<u8> {
        if kind == Kind::Typed && layout.code != 0 {
            return Some(layout.code);
        }
        let shift = if kind == Kind::Typed { 0 } else { MIXED };
        let mut slot = (layout.hash + shift) % HASH_SLOTS;
        // At most 208 of 4096 slots are taken, so a free one comes soon.
        while self.codes[slot] != 0 {
            let code = self.codes[slot];
            if ptr::eq(self.layouts[code as usize], layout) && self.kind(code) == kind {
                return Some(code);
            }
            slot = (slot + 1) % HASH_SLOTS;
        }
        if self.assigned == 256 {
            return None;
        }
        let code = self.assigned as u8;
        self.assigned += 1;
        self.codes[slot] = code;
        self.layouts[code as usize] = layout;
        self.kinds[code as usize] = kind;
        if kind == Kind::Typed {
            self.entries[code as usize] = Entry { reverse: layout.reverse, bytes: layout.bytes };
        }
        Some(code)
    }

    /// The code for records of this layout with passive arguments, if it is where it is looked for first.
    pub(super) fn mixed(&self, layout: &'static Layout<V>) -> Option<u8> {
        let code = self.codes[(layout.hash + MIXED) % HASH_SLOTS];
        let right = self.kind(code) == Kind::Mixed && ptr::eq(self.layouts[code as usize], layout);
        right.then_some(code)
    }

    /// The number of a layout that has no code.
    pub(super) fn number(&mut self, layout: &'static Layout<V>) -> u32 {
        let address = ptr::from_ref(layout).addr();
        match self.numbers.binary_search_by_key(&address, |(address, _)| *address) {
            Ok(at) => self.numbers[at].1,
            Err(at) => {
                let number = u32::try_from(self.more.len()).expect("a program has fewer than 2^32 statement types");
                self.more.push(layout);
                self.numbers.insert(at, (address, number));
                number
            }
        }
    }

    /// Bytes obtained from the allocator, beside the table itself.
    pub(super) const fn reserved(&self) -> usize {
        self.more.capacity() * size_of::<&Layout<V>>() + self.numbers.capacity() * size_of::<(usize, u32)>()
    }

    /// The layout with this number.
    pub(super) fn numbered(&self, number: u32) -> &'static Layout<V> {
        self.more[number as usize]
    }

    /// Whether no further layout can get a code.
    pub(super) fn is_full(&self) -> bool {
        self.assigned == 256
    }
}
