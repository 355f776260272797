//! Expressions of kernels as data: lists of operations that are known when a kernel is compiled.
//!
//! A tree's type has its operations as a constant. Everything that is done with a kernel is made of this list: the
//! loops that are compiled for each level, the derivatives, what is computed at single points, and the text for other
//! compilers.

#![allow(
    clippy::cast_possible_truncation,
    reason = "places, operands and shifts have few bits, and `From` cannot be called in constants"
)]

use super::access::{Access, AccessKind, Boundary};
use crate::number::simd::rule::{Part, Rule};

/// The largest number of operations in the tree of one expression.
pub const NODES: usize = 512;
/// The largest number of operations in all expressions of a kernel.
pub(crate) const FOREST: usize = 1024;
/// The largest number of functions in a kernel that are computed number by number.
pub(crate) const RULES: usize = 64;
/// The largest number of captured numbers in a kernel.
pub(crate) const CONSTANTS: usize = 64;

/// Numbers the operations.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => { $(
        $(#[$doc])*
        pub(crate) const $name: u8 = $number;
    )* };
}
/// What an operation does: `a`, `b` and `c` are results of operations before it.
pub(crate) mod opcode {
    operations! {
        /// Reads an element.
        READ = 0;
        /// A number that all points share.
        NUMBER = 1;
        /// What the launch itself has written to an operand.
        NEW = 2;
        /// A temporary, by its number `c`.
        LOCAL = 3;
        /// A captured number, by its number `c`.
        CONSTANT = 4;
        /// c/2 as a signed number.
        LITERAL = 5;
        /// The adjoint of output `operand`.
        SEED = 6;
        /// The tangent of a leaf.
        TANGENT = 7;
        /// The result of `a` itself.
        SAME = 8;

        /// −a.
        NEG = 16;
        /// |a|.
        ABS = 17;
        /// √a.
        SQRT = 18;
        /// a².
        SQUARE = 19;
        /// Rule number `operand`, of one argument.
        RULE1 = 20;

        /// a + b.
        ADD = 32;
        /// a − b.
        SUB = 33;
        /// a·b.
        MUL = 34;
        /// a/b.
        DIV = 35;
        /// Adjoint a times derivative b.
        SEEDED = 36;
        /// The larger.
        MAX = 37;
        /// The smaller.
        MIN = 38;
        /// Rule number `operand`, of two arguments.
        RULE2 = 39;
        /// The partial of a rule's left argument; of a rule of one argument its derivative, from the argument and the
        /// value.
        LEFT = 40;
        /// The partial of a rule's right argument.
        RIGHT = 41;
        /// Whether a rule returns its left argument.
        TAKES = 42;

        /// a < b.
        LESS = 48;
        /// a ≤ b.
        AT_MOST = 49;
        /// a = b.
        EQUAL = 50;
        /// a ≠ b.
        DIFFER = 51;
        /// Both a and b.
        BOTH = 52;
        /// a or b.
        EITHER = 53;

        /// b where a, else c.
        SELECT = 64;
        /// Rule number `operand`, of three arguments.
        RULE3 = 65;
        /// The partial of a rule's first argument of three.
        FIRST = 66;
        /// The partial of a rule's second argument of three.
        SECOND = 67;
        /// The partial of a rule's third argument.
        THIRD = 68;
    }
}
use opcode::{CONSTANT, LOCAL, NEW, NUMBER, READ, RULE1, RULE2, RULE3, SAME, SEED, SELECT, TANGENT};

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// What it does: see [`does`].
    pub(crate) what: u8,
    /// An operand, an output, or a rule.
    pub(crate) operand: u8,
    /// The number of a read's border rule.
    pub(crate) border: u8,
    /// The shift of a read.
    pub(crate) shift: [i8; 4],
    pub(crate) a: u16,
    pub(crate) b: u16,
    pub(crate) c: u16,
}

impl Op {
    pub(crate) const NONE: Self = Self::of(opcode::LITERAL, 0, 0, 0);

    pub(crate) const fn of(what: u8, a: u16, b: u16, c: u16) -> Self {
        Self { what, operand: 0, border: 0, shift: [0; 4], a, b, c }
    }

    /// A leaf.
    pub(crate) const fn leaf(key: Access) -> Self {
        let op = Self { operand: key.operand() as u8, ..Self::NONE };
        match key.kind() {
            AccessKind::Read => {
                let shift = [key.shift(0) as i8, key.shift(1) as i8, key.shift(2) as i8, key.shift(3) as i8];
                Self { what: READ, border: key.border() as u8, shift, ..op }
            }
            AccessKind::Number => Self { what: NUMBER, ..op },
            AccessKind::New => Self { what: NEW, ..op },
            AccessKind::Local => Self { what: LOCAL, operand: 0, c: op.operand as u16, ..op },
        }
    }

    /// Which leaf it is, if it is one.
    pub(crate) const fn key(&self) -> Option<Access> {
        let s = self.shift;
        Some(match self.what {
            READ => {
                let border = match self.border {
                    0 => Boundary::Inside,
                    1 => Boundary::Zero,
                    2 => Boundary::Nearest,
                    _ => Boundary::Periodic,
                };
                Access::read(
                    self.operand as usize,
                    border,
                    [s[0] as isize, s[1] as isize, s[2] as isize, s[3] as isize],
                )
            }
            NUMBER => Access::number(self.operand as usize),
            NEW => Access::new(self.operand as usize),
            LOCAL => Access::local(self.c as usize),
            _ => return None,
        })
    }

    /// The leaf whose tangent it is.
    pub(crate) const fn moving(self) -> Self {
        Self { what: self.a as u8, ..self }
    }

    /// The number of operations whose results it uses.
    pub(crate) const fn arity(&self) -> usize {
        match self.what {
            SAME | 16..32 => 1,
            ..16 => 0,
            32..SELECT => 2,
            _ => 3,
        }
    }

    /// The part of its rule that an operation with this number calls.
    pub(crate) const fn part(what: u8) -> Part {
        match what {
            RULE1 | RULE2 | RULE3 => Part::Value,
            opcode::LEFT | opcode::FIRST => Part::Left,
            opcode::RIGHT | opcode::SECOND => Part::Right,
            opcode::THIRD => Part::Third,
            opcode::TAKES => Part::TakesLeft,
            _ => unreachable!(),
        }
    }

    /// Whether its result is a yes or no.
    pub(crate) const fn is_mask(&self) -> bool {
        matches!(self.what, 48..64)
    }

    /// With other arguments.
    pub(crate) const fn with(self, a: u16, b: u16, c: u16) -> Self {
        match self.arity() {
            0 => self,
            1 => Self { a, ..self },
            2 => Self { a, b, ..self },
            _ => Self { a, b, c, ..self },
        }
    }

    /// With the places to which its arguments have moved.
    pub(crate) const fn moved(self, moved: &[u16]) -> Self {
        match self.arity() {
            0 => self,
            1 => self.with(moved[self.a as usize], 0, 0),
            2 => self.with(moved[self.a as usize], moved[self.b as usize], 0),
            _ => self.with(moved[self.a as usize], moved[self.b as usize], moved[self.c as usize]),
        }
    }

    /// Marks the operations whose results it uses.
    pub(crate) const fn mark(&self, used: &mut [bool]) {
        let arity = self.arity();
        if arity > 0 {
            used[self.a as usize] = true;
        }
        if arity > 1 {
            used[self.b as usize] = true;
        }
        if arity > 2 {
            used[self.c as usize] = true;
        }
    }

    pub(crate) const fn is(&self, other: &Self) -> bool {
        self.what == other.what && self.bits() == other.bits()
    }

    /// Everything but what it does, in a number.
    pub(crate) const fn bits(&self) -> u128 {
        let s = self.shift;
        let shift = u32::from_ne_bytes([
            s[0].cast_unsigned(),
            s[1].cast_unsigned(),
            s[2].cast_unsigned(),
            s[3].cast_unsigned(),
        ]) as u128;
        let places = (self.a as u128) | (self.b as u128) << 16 | (self.c as u128) << 32;
        places | (self.operand as u128) << 48 | (self.border as u128) << 56 | shift << 64
    }
}

/// The operations of an expression, or of several: each uses results of those before it only.
#[derive(Clone, Copy, Debug)]
pub struct Tree<const N: usize> {
    pub(crate) ops: [Op; N],
    pub(crate) len: usize,
    /// The operation whose result it is.
    pub(crate) result: u16,
    /// The number of captured numbers.
    pub(crate) constants: u16,
    pub(crate) rules: [Option<&'static Rule>; RULES],
    pub(crate) rule_count: u8,
    /// A bit for each temporary that is bound inside.
    pub(crate) binds: u32,
}

/// The operations of one expression.
pub type Code = Tree<NODES>;

impl<const N: usize> Tree<N> {
    pub(crate) const EMPTY: Self =
        Self { ops: [Op::NONE; N], len: 0, result: 0, constants: 0, rules: [None; RULES], rule_count: 0, binds: 0 };

    /// Of one operation.
    #[must_use]
    pub(crate) const fn leaf(op: Op) -> Self {
        let mut tree = Self::EMPTY;
        tree.constants = (op.what == CONSTANT) as u16;
        tree.push(op);
        tree
    }

    pub(crate) const fn push(&mut self, op: Op) {
        assert!(self.len < N, "a kernel's expression has too many operations: at most 512 each, and 1024 together");
        self.ops[self.len] = op;
        self.result = self.len as u16;
        self.len += 1;
    }

    /// The number of a rule in this tree.
    pub(crate) const fn rule(&mut self, rule: &'static Rule) -> u8 {
        assert!(
            (self.rule_count as usize) < RULES,
            "a kernel has at most 64 functions that are computed number by number"
        );
        self.rules[self.rule_count as usize] = Some(rule);
        self.rule_count += 1;
        self.rule_count - 1
    }

    /// Adds the operations of another tree, in which temporary `local.0` is the result of operation `local.1`, and
    /// returns where its result is.
    pub(crate) const fn append<const M: usize>(&mut self, other: &Tree<M>, local: Option<(usize, u16)>) -> u16 {
        let first = self.len as u16;
        let mut k = 0;
        while k < other.len {
            let op = other.ops[k];
            let mut op = op.with(op.a + first, op.b + first, op.c + first);
            match op.what {
                CONSTANT => op.c += self.constants,
                RULE1 | RULE2 | RULE3 => op.operand += self.rule_count,
                LOCAL => {
                    if let Some((number, result)) = local
                        && number == op.c as usize
                    {
                        op = Op::of(SAME, result, 0, 0);
                    }
                }
                _ => {}
            }
            self.push(op);
            k += 1;
        }
        let mut k = 0;
        while k < other.rule_count {
            if let Some(rule) = other.rules[k as usize] {
                self.rule(rule);
            }
            k += 1;
        }
        self.constants += other.constants;
        self.binds |= other.binds;
        self.result = first + other.result;
        self.result
    }

    /// Both trees, and an operation on their results.
    pub(crate) const fn join(left: &Self, right: &Self, op: Op) -> Self {
        let mut tree = *left;
        let a = tree.result;
        let b = tree.append(right, None);
        tree.push(op.with(a, b, 0));
        tree
    }

    /// Whether temporary `k` is used where it is not bound.
    pub(crate) const fn has_local(&self, number: usize) -> bool {
        let mut k = 0;
        while k < self.len {
            if self.ops[k].what == LOCAL && self.ops[k].c as usize == number {
                return true;
            }
            k += 1;
        }
        false
    }
}

const _: () = assert!(SEED < 16 && TANGENT < 16 && SAME < 16, "what stands for itself has a small number");
