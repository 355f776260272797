//! Accesses of a kernel: which operand it reads, at which offset and with which boundary rule, as constants.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands, shifts and numbers of temporaries have four bits"
)]

/// What stands at a leaf of a kernel's tree: a place in an operand relative to the point, a number, or something that
/// the kernel itself has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(u32);

/// What kind of leaf it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// An element of an operand.
    Read,
    /// A number that all points share.
    Number,
    /// What the launch itself writes to an operand at the point.
    New,
    /// A temporary.
    Local,
}

/// What a read gives where it would lie outside the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// There is no such place: launches whose range leads there are refused.
    Inside,
    /// 0.
    Zero,
    /// The nearest element of the view.
    Nearest,
    /// The element at the opposite side, as if the view were repeated.
    Periodic,
}

/// The largest shift of a read along a dimension.
pub const RADIUS: isize = 7;
/// The largest number of operands of a launch.
pub const OPERANDS: usize = 8;
/// The largest number of outputs of a launch.
pub const OUTPUTS: usize = 4;

/// `each!(8: K => { … })` with every number below that one as a constant.
macro_rules! each {
    (4: $k:ident => $block:block) => { each!(@ $k $block 0 1 2 3) };
    (8: $k:ident => $block:block) => { each!(@ $k $block 0 1 2 3 4 5 6 7) };
    (32: $k:ident => $block:block) => {
        each!(@ $k $block 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@ $k:ident $block:block $($number:literal)*) => { $( { const $k: usize = $number; $block } )* };
}
pub(crate) use each;

impl Access {
    /// A read of this operand with these shifts, the last along the dimension in which elements are neighbours.
    ///
    /// # Panics
    ///
    /// When a shift is beyond [`RADIUS`], or there cannot be as many operands, which stops the compilation of a kernel.
    #[must_use]
    pub const fn read(operand: usize, border: Boundary, shifts: [isize; 4]) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 8 operands");
        let mut bits = (border as u32) << 20 | (operand as u32) << 16;
        let mut d = 0;
        while d < 4 {
            assert!(shifts[d] >= -RADIUS && shifts[d] <= RADIUS, "a read is shifted by at most 7 along each dimension");
            bits |= ((shifts[d] + 8) as u32) << (4 * d);
            d += 1;
        }
        Self(bits)
    }

    /// The number of this operand.
    ///
    /// # Panics
    ///
    /// When there cannot be as many operands.
    #[must_use]
    pub const fn number(operand: usize) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 8 operands");
        Self(1 << 24 | (operand as u32) << 16)
    }

    /// What the launch writes to this operand.
    ///
    /// # Panics
    ///
    /// When there cannot be as many operands.
    #[must_use]
    pub const fn new(operand: usize) -> Self {
        assert!(operand < OPERANDS, "a launch has at most 8 operands");
        Self(2 << 24 | (operand as u32) << 16)
    }

    /// The temporary with this number.
    ///
    /// # Panics
    ///
    /// When the number is not below 16.
    #[must_use]
    pub const fn local(k: usize) -> Self {
        assert!(k < 16, "temporaries have numbers below 16");
        Self(3 << 24 | (k as u32) << 16)
    }

    /// The kind of leaf.
    #[must_use]
    pub const fn kind(self) -> AccessKind {
        match self.0 >> 24 {
            0 => AccessKind::Read,
            1 => AccessKind::Number,
            2 => AccessKind::New,
            _ => AccessKind::Local,
        }
    }

    /// The operand, or the number of the temporary.
    #[must_use]
    pub const fn operand(self) -> usize {
        (self.0 >> 16 & 15) as usize
    }

    /// What a read gives outside the view.
    #[must_use]
    pub const fn border(self) -> Boundary {
        match self.0 >> 20 & 3 {
            0 => Boundary::Inside,
            1 => Boundary::Zero,
            2 => Boundary::Nearest,
            _ => Boundary::Periodic,
        }
    }

    /// The shift of a read along this dimension.
    #[must_use]
    #[inline(always)]
    pub const fn shift(self, dimension: usize) -> isize {
        (self.0 >> (4 * dimension) & 15) as isize - 8
    }

    /// Whether it is a read that is not at the point itself.
    #[must_use]
    pub const fn is_beside(self) -> bool {
        self.0 >> 24 == 0 && self.0 & 0xFFFF != 0x8888
    }

    pub(crate) const fn is(self, other: Self) -> bool {
        self.0 == other.0
    }
}

/// The largest number of different leaves of a kernel.
pub const LEAVES: usize = 32;

/// Different leaves, in the order in which they were found.
#[derive(Clone, Copy, Debug)]
pub struct AccessSet {
    count: usize,
    keys: [Access; LEAVES],
}

impl AccessSet {
    /// Of nothing.
    pub const NONE: Self = Self { count: 0, keys: [Access(0); LEAVES] };

    /// Of one leaf.
    #[must_use]
    pub const fn of(key: Access) -> Self {
        Self::NONE.with(key)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number `k`; some key if there are not that many.
    #[must_use]
    pub const fn get(&self, k: usize) -> Access {
        self.keys[if k < self.count { k } else { 0 }]
    }

    /// Whether this leaf is among them.
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

    /// All of both.
    #[must_use]
    pub const fn and(mut self, other: Self) -> Self {
        let mut k = 0;
        while k < other.count {
            self = self.with(other.keys[k]);
            k += 1;
        }
        self
    }

    /// These, if the condition holds.
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// All but this leaf.
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

    /// Whether there is a leaf of this kind for this operand.
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

/// What loops and launches ask about leaves, as constants of a program.
#[derive(Clone, Copy, Debug)]
pub struct AccessSummary {
    /// A bit for each operand with an element among the leaves.
    pub views: u8,
    /// A bit for each operand with an element that is not at the point.
    pub beside: u8,
    /// A bit for each operand that is a number which all points share.
    pub numbers: u8,
    /// A bit for each operand whose new value is a leaf.
    pub new: u8,
    /// Whether a temporary is a leaf.
    pub locals: bool,
    /// The smallest and the largest shift along each dimension; 0 and 0 without any.
    pub shifts: [(isize, isize); 4],
    /// The same of reads without a border rule.
    pub inside: [(isize, isize); 4],
    /// Whether there are reads with a border rule.
    pub borders: bool,
    /// Whether an element may be read from several points by one read.
    pub repeats: bool,
}

impl AccessSummary {
    /// Of these leaves.
    #[must_use]
    pub const fn of(keys: &AccessSet) -> Self {
        let mut facts = Self {
            views: 0,
            beside: 0,
            numbers: 0,
            new: 0,
            locals: false,
            shifts: [(0, 0); 4],
            inside: [(0, 0); 4],
            borders: false,
            repeats: false,
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
            }
            k += 1;
        }
        facts
    }

    const fn add_read(&mut self, key: Access, bit: u8) {
        self.views |= bit;
        if key.is_beside() {
            self.beside |= bit;
        }
        let ruled = !matches!(key.border(), Boundary::Inside);
        self.borders |= ruled;
        self.repeats |= ruled && !matches!(key.border(), Boundary::Zero);
        let mut d = 0;
        while d < 4 {
            self.shifts[d] = hull(self.shifts[d], key.shift(d));
            if !ruled {
                self.inside[d] = hull(self.inside[d], key.shift(d));
            }
            d += 1;
        }
    }

    /// Whether an operand has a bit among these.
    #[must_use]
    #[inline(always)]
    pub const fn has(bits: u8, operand: usize) -> bool {
        bits >> operand & 1 == 1
    }
}

const fn hull((least, most): (isize, isize), shift: isize) -> (isize, isize) {
    (if shift < least { shift } else { least }, if shift > most { shift } else { most })
}
