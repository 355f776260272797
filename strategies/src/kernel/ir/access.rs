//! Accesses of a kernel: the operand, the offset and the boundary rule of each read, as constants.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands, shifts and numbers of temporaries have four bits"
)]

/// One access of a kernel: an element of an operand at an offset from the point, an element of an operand of lower
/// rank, a uniform scalar, a new value of the launch, or a temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(u32);

/// Kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// An element of an operand.
    Read,
    /// A uniform scalar, shared by all points.
    Number,
    /// Value that the launch itself writes to an operand at the point.
    New,
    /// A temporary.
    Local,
    /// An element of an operand of lower rank, which lies along some dimensions of the launch and is constant along the
    /// others.
    Along,
}

/// Set of dimensions of a launch: bit d stands for dimension d of four, of which the last one is contiguous.
pub type DimensionBits = u8;
/// The contiguous dimension.
pub(crate) const LAST: DimensionBits = 1 << 3;

/// Value of a read outside the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// No value: a launch whose range would read outside the view is refused.
    Inside,
    /// 0.
    Zero,
    /// The nearest element of the view.
    Nearest,
    /// The element at the opposite side: the view is continued periodically.
    Periodic,
}

/// Maximum offset of a read along a dimension.
pub const RADIUS: isize = 7;
/// Maximum number of operands of a launch.
pub const OPERANDS: usize = 12;
/// Maximum number of outputs of a launch.
pub const OUTPUTS: usize = 6;
/// Set of operands: bit k stands for operand k.
pub type OperandBits = u16;
const _: () = assert!(OPERANDS <= OperandBits::BITS as usize && OPERANDS <= 16, "an operand is four bits of an access");

/// Repeats a block with each index below the first number as a constant: `each!(12: K => { … })`.
macro_rules! each {
    (6: $k:ident => $block:block) => { each!(@ $k $block 0 1 2 3 4 5) };
    (12: $k:ident => $block:block) => { each!(@ $k $block 0 1 2 3 4 5 6 7 8 9 10 11) };
    (32: $k:ident => $block:block) => {
        each!(@ $k $block 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@ $k:ident $block:block $($number:literal)*) => { $( { const $k: usize = $number; $block } )* };
}
pub(crate) use each;

impl Access {
    /// Builds a read of this operand at these offsets. The last dimension is the contiguous one.
    ///
    /// # Panics
    ///
    /// When an offset is beyond [`RADIUS`] or the operand beyond [`OPERANDS`], which stops the compilation of a kernel.
    #[must_use]
    pub const fn read(operand: usize, border: Boundary, shifts: [isize; 4]) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 12 operands");
        let mut bits = (border as u32) << 20 | (operand as u32) << 16;
        let mut d = 0;
        while d < 4 {
            assert!(shifts[d] >= -RADIUS && shifts[d] <= RADIUS, "a read is shifted by at most 7 along each dimension");
            bits |= ((shifts[d] + 8) as u32) << (4 * d);
            d += 1;
        }
        Self(bits)
    }

    /// Builds an access to this operand as a uniform scalar.
    ///
    /// # Panics
    ///
    /// When the operand is beyond [`OPERANDS`].
    #[must_use]
    pub const fn number(operand: usize) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 12 operands");
        Self(1 << 24 | (operand as u32) << 16)
    }

    /// Builds an access to the value that the launch writes to this operand.
    ///
    /// # Panics
    ///
    /// When the operand is beyond [`OPERANDS`].
    #[must_use]
    pub const fn new(operand: usize) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 12 operands");
        Self(2 << 24 | (operand as u32) << 16)
    }

    /// Builds an access to the temporary with this index.
    ///
    /// # Panics
    ///
    /// When the index is not below 16.
    #[must_use]
    pub const fn local(k: usize) -> Self {
        assert!(k < 16, "temporaries have numbers below 16");
        Self(3 << 24 | (k as u32) << 16)
    }

    /// Builds an access to this operand of lower rank, which lies along these dimensions.
    ///
    /// # Panics
    ///
    /// When the operand is beyond [`OPERANDS`], or there are no such dimensions.
    #[must_use]
    pub const fn along(operand: usize, dimensions: DimensionBits) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 12 operands");
        assert!(dimensions < 16, "a launch has at most four dimensions");
        Self(4 << 24 | (operand as u32) << 16 | dimensions as u32)
    }

    /// Kind of the access.
    #[must_use]
    pub const fn kind(self) -> AccessKind {
        match self.0 >> 24 {
            0 => AccessKind::Read,
            1 => AccessKind::Number,
            2 => AccessKind::New,
            3 => AccessKind::Local,
            _ => AccessKind::Along,
        }
    }

    /// Index of the operand, or of the temporary.
    #[must_use]
    pub const fn operand(self) -> usize {
        (self.0 >> 16 & 15) as usize
    }

    /// Boundary rule of a read.
    #[must_use]
    pub const fn border(self) -> Boundary {
        match self.0 >> 20 & 3 {
            0 => Boundary::Inside,
            1 => Boundary::Zero,
            2 => Boundary::Nearest,
            _ => Boundary::Periodic,
        }
    }

    /// Dimensions of the launch that an operand of lower rank lies along.
    #[must_use]
    pub const fn dimensions(self) -> DimensionBits {
        (self.0 & 15) as DimensionBits
    }

    /// Offset of a read along this dimension.
    #[must_use]
    #[inline(always)]
    pub const fn shift(self, dimension: usize) -> isize {
        (self.0 >> (4 * dimension) & 15) as isize - 8
    }

    /// Returns true if this is a read at a non-zero offset.
    #[must_use]
    pub const fn is_beside(self) -> bool {
        self.0 >> 24 == 0 && self.0 & 0xFFFF != 0x8888
    }

    pub(crate) const fn is(self, other: Self) -> bool {
        self.0 == other.0
    }
}

/// Maximum number of distinct accesses of a kernel.
pub const LEAVES: usize = 32;

/// Set of accesses, in the order in which they were inserted.
#[derive(Clone, Copy, Debug)]
pub struct AccessSet {
    count: usize,
    keys: [Access; LEAVES],
}

impl AccessSet {
    /// The empty set.
    pub const NONE: Self = Self { count: 0, keys: [Access(0); LEAVES] };

    /// The set of one access.
    #[must_use]
    pub const fn of(key: Access) -> Self {
        Self::NONE.with(key)
    }

    /// Number of accesses.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns access `k`; the first entry if there are fewer.
    #[must_use]
    pub const fn get(&self, k: usize) -> Access {
        self.keys[if k < self.count { k } else { 0 }]
    }

    /// Returns true if the set has this access.
    #[must_use]
    pub const fn has(&self, key: Access) -> bool {
        let mut k = 0;
        while k < self.count {
            if self.keys[k].is(key) {
                return true;
            }
            k += 1;
        }
        false
    }

    const fn with(mut self, key: Access) -> Self {
        if !self.has(key) {
            assert!(self.count < LEAVES, "a kernel reads at most 32 different elements and numbers");
            self.keys[self.count] = key;
            self.count += 1;
        }
        self
    }

    /// Union of both sets.
    #[must_use]
    pub const fn and(mut self, other: Self) -> Self {
        let mut k = 0;
        while k < other.count {
            self = self.with(other.keys[k]);
            k += 1;
        }
        self
    }

    /// Returns this set if the condition holds, else the empty set.
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// Returns the set without this access.
    #[must_use]
    pub const fn without(&self, key: Access) -> Self {
        let (mut rest, mut k) = (Self::NONE, 0);
        while k < self.count {
            if !self.keys[k].is(key) {
                rest = rest.with(self.keys[k]);
            }
            k += 1;
        }
        rest
    }

    /// Returns true if the set has an access of this kind to this operand.
    #[must_use]
    pub const fn has_kind(&self, kind: AccessKind, operand: usize) -> bool {
        let mut k = 0;
        while k < self.count {
            if self.keys[k].kind() as u8 == kind as u8 && self.keys[k].operand() == operand {
                return true;
            }
            k += 1;
        }
        false
    }
}

/// Facts about a set of accesses that loops and launches use, as constants of a kernel.
#[allow(clippy::struct_excessive_bools, reason = "they are facts of their own")]
#[derive(Clone, Copy, Debug)]
pub struct AccessSummary {
    /// A bit for each operand of which an element is read.
    pub views: OperandBits,
    /// A bit for each operand of which an element at a non-zero offset is read.
    pub beside: OperandBits,
    /// A bit for each operand of lower rank.
    pub along: OperandBits,
    /// Dimensions that each operand of lower rank lies along.
    pub dimensions: [DimensionBits; OPERANDS],
    /// A bit for each operand that is read as a uniform scalar.
    pub numbers: OperandBits,
    /// A bit for each operand whose new value is read.
    pub new: OperandBits,
    /// True if a temporary is read.
    pub locals: bool,
    /// Smallest and largest offset along each dimension, 0 included.
    pub shifts: [(isize, isize); 4],
    /// Smallest and largest offset along each dimension, 0 included, of reads without a boundary rule.
    pub inside: [(isize, isize); 4],
    /// Largest offset along each dimension but the last, 0 included, of reads ahead along the last one.
    pub(crate) ahead: [isize; 4],
    /// Smallest offset along each dimension but the last, 0 included, of reads behind along the last one.
    pub(crate) behind: [isize; 4],
    /// True if some read has a boundary rule.
    pub borders: bool,
    /// True if one read may reach the same element from several points, because its boundary rule repeats elements.
    pub repeats: bool,
    /// True if some read has a boundary rule, and all that have one are periodic.
    pub(crate) wraps: bool,
}

impl AccessSummary {
    /// Summarizes a set of accesses.
    #[must_use]
    pub const fn of(keys: &AccessSet) -> Self {
        let mut facts = Self {
            views: 0,
            beside: 0,
            along: 0,
            dimensions: [0; OPERANDS],
            numbers: 0,
            new: 0,
            locals: false,
            shifts: [(0, 0); 4],
            inside: [(0, 0); 4],
            ahead: [0; 4],
            behind: [0; 4],
            borders: false,
            repeats: false,
            wraps: true,
        };
        let mut k = 0;
        while k < keys.count {
            let key = keys.keys[k];
            let bit = 1 << (key.operand() % OPERANDS);
            match key.kind() {
                AccessKind::Read => facts.add_read(key, bit),
                AccessKind::Number => facts.numbers |= bit,
                AccessKind::New => facts.new |= bit,
                AccessKind::Local => facts.locals = true,
                AccessKind::Along => facts.add_along(key, bit),
            }
            k += 1;
        }
        facts.wraps &= facts.borders;
        facts
    }

    const fn add_along(&mut self, key: Access, bit: OperandBits) {
        let (of_operand, found) = (&mut self.dimensions[key.operand() % OPERANDS], key.dimensions());
        assert!(
            self.along & bit == 0 || *of_operand == found,
            "a token of another launch is used: it lies along other dimensions"
        );
        self.along |= bit;
        *of_operand = found;
    }

    const fn add_read(&mut self, key: Access, bit: OperandBits) {
        self.views |= bit;
        if key.is_beside() {
            self.beside |= bit;
        }
        let ruled = !matches!(key.border(), Boundary::Inside);
        self.borders |= ruled;
        self.repeats |= ruled && !matches!(key.border(), Boundary::Zero);
        self.wraps &= !ruled || matches!(key.border(), Boundary::Periodic);
        let mut d = 0;
        while d < 4 {
            self.shifts[d] = hull(self.shifts[d], key.shift(d));
            if !ruled {
                self.inside[d] = hull(self.inside[d], key.shift(d));
            }
            if d < 3 && key.shift(3) > 0 {
                self.ahead[d] = hull((0, self.ahead[d]), key.shift(d)).1;
            }
            if d < 3 && key.shift(3) < 0 {
                self.behind[d] = hull((self.behind[d], 0), key.shift(d)).0;
            }
            d += 1;
        }
    }

    /// Returns true if the operand's bit is set.
    #[must_use]
    #[inline(always)]
    pub const fn has(bits: OperandBits, operand: usize) -> bool {
        bits >> operand & 1 == 1
    }
}

const fn hull((least, most): (isize, isize), shift: isize) -> (isize, isize) {
    (if shift < least { shift } else { least }, if shift > most { shift } else { most })
}

/// Values that partial derivatives need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Operands whose values from before the launch are needed.
    pub views: OperandBits,
    /// Operands whose values from after the launch are needed.
    pub new: OperandBits,
}

impl Needs {
    /// No values.
    pub(crate) const NONE: Self = Self { views: 0, new: 0 };

    /// Returns the values that are needed here and not there.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self { views: self.views & !other.views, new: self.new & !other.new }
    }
}
