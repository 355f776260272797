//! Expressions of kernels as data: lists of instructions that are known when a kernel is compiled.
//!
//! The instructions of an expression are a constant of its type. Everything else about a kernel is derived from this
//! list: the loops compiled for each instruction set, the derivatives, the interpreter for single points, and the C
//! source.

#![allow(
    clippy::cast_possible_truncation,
    reason = "places, operands and shifts have few bits, and `From` cannot be called in constants"
)]

use super::access::{Access, AccessKind, Boundary};
use crate::number::simd::rule::{Part, Rule};

/// Maximum number of instructions of one expression.
pub const NODES: usize = 512;
/// Maximum number of instructions of all expressions of a kernel together.
pub(crate) const FOREST: usize = 1024;
/// Maximum number of calls of scalar rules in a kernel.
pub(crate) const RULES: usize = 64;
/// Maximum number of captured constants in a kernel.
pub(crate) const CONSTANTS: usize = 64;

/// Defines the opcodes as constants.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => { $(
        $(#[$doc])*
        pub(crate) const $name: u8 = $number;
    )* };
}
/// Opcodes. `a`, `b` and `c` are the indices of earlier instructions whose results are the arguments.
pub(crate) mod opcode {
    operations! {
        /// Reads an element.
        READ = 0;
        /// Reads a uniform scalar: one value shared by all points.
        NUMBER = 1;
        /// Reads an operand's new value, written by the launch itself.
        NEW = 2;
        /// Reads the temporary with index `c`.
        LOCAL = 3;
        /// Reads the captured constant with index `c`.
        CONSTANT = 4;
        /// The literal c/2, with c as a signed integer.
        LITERAL = 5;
        /// Reads the adjoint of output `operand`.
        SEED = 6;
        /// Reads the tangent of an access; `a` holds the opcode of the access.
        TANGENT = 7;
        /// Alias of the result of `a`.
        SAME = 8;
        /// Coordinate along dimension `c` of the point, moved by `shift`, as a number.
        COORDINATE = 9;
        /// Reads an element of an operand of lower rank.
        ALONG = 10;

        /// −a.
        NEG = 16;
        /// |a|.
        ABS = 17;
        /// √a.
        SQRT = 18;
        /// a².
        SQUARE = 19;
        /// Calls the rule with index `operand`, of one argument.
        RULE1 = 20;

        /// a + b.
        ADD = 32;
        /// a − b.
        SUB = 33;
        /// a·b.
        MUL = 34;
        /// a/b.
        DIV = 35;
        /// Adjoint a times derivative b. The interpreter takes 0 where either is 0, even if the other is not finite.
        SEEDED = 36;
        /// The larger of a and b.
        MAX = 37;
        /// The smaller of a and b.
        MIN = 38;
        /// Calls the rule with index `operand`, of two arguments.
        RULE2 = 39;
        /// Partial derivative of a rule with respect to its left argument; for a rule of one argument, its derivative
        /// from argument a and value b.
        LEFT = 40;
        /// Partial derivative of a rule with respect to its right argument.
        RIGHT = 41;
        /// Mask that is true where a rule returns its left argument.
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
        /// Either of a and b.
        EITHER = 53;

        /// b where mask a is true, else c.
        SELECT = 64;
        /// Calls the rule with index `operand`, of three arguments.
        RULE3 = 65;
        /// Partial derivative of a rule with respect to the first of three arguments.
        FIRST = 66;
        /// Partial derivative of a rule with respect to the second of three arguments.
        SECOND = 67;
        /// Partial derivative of a rule with respect to the third of three arguments.
        THIRD = 68;
    }
}
use opcode::{ALONG, CONSTANT, LOCAL, NEW, NUMBER, READ, RULE1, RULE2, RULE3, SAME, SEED, SELECT, TANGENT};

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Operation to carry out: one of the constants in [`opcode`].
    pub(crate) what: u8,
    /// Index of an operand, an output or a rule, depending on the opcode.
    pub(crate) operand: u8,
    /// Boundary rule of a read, as an integer; of an operand of lower rank, the dimensions that it lies along.
    pub(crate) border: u8,
    /// Offset of a read along each dimension.
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

    /// Builds the instruction that returns the point's coordinate along one of the four dimensions.
    pub(crate) const fn coordinate(dimension: usize) -> Self {
        Self::of(opcode::COORDINATE, 0, 0, dimension as u16)
    }

    /// Builds the instruction that reads an access.
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
            AccessKind::Along => Self { what: ALONG, border: key.dimensions(), ..op },
        }
    }

    /// Returns the access that this instruction reads, or `None` if it computes something.
    pub(crate) const fn key(&self) -> Option<Access> {
        let s = self.shift;
        Some(match self.what {
            READ => Access::read(
                self.operand as usize,
                self.boundary(),
                [s[0] as isize, s[1] as isize, s[2] as isize, s[3] as isize],
            ),
            NUMBER => Access::number(self.operand as usize),
            NEW => Access::new(self.operand as usize),
            LOCAL => Access::local(self.c as usize),
            ALONG => Access::along(self.operand as usize, self.border),
            _ => return None,
        })
    }

    /// Returns what lies outside the view that this instruction reads.
    pub(crate) const fn boundary(&self) -> Boundary {
        match self.border {
            0 => Boundary::Inside,
            1 => Boundary::Zero,
            2 => Boundary::Nearest,
            _ => Boundary::Periodic,
        }
    }

    /// Moves what the instruction reads at a point by this offset, away from it.
    pub(crate) const fn moved_by(mut self, key: Access) -> Self {
        let mut d = 0;
        while d < 4 {
            // An operand of lower rank is constant along the dimensions that it does not have.
            let varies = match self.what {
                READ | NEW | SEED => true,
                ALONG => self.border >> d & 1 == 1,
                opcode::COORDINATE => self.c as usize == d,
                _ => false,
            };
            if varies {
                self.shift[d] -= key.shift(d) as i8;
            }
            d += 1;
        }
        self
    }

    /// Turns a tangent into the read of the access whose tangent it is.
    pub(crate) const fn moving(self) -> Self {
        Self { what: self.a as u8, ..self }
    }

    /// Number of arguments.
    pub(crate) const fn arity(&self) -> usize {
        match self.what {
            SAME | 16..32 => 1,
            ..16 => 0,
            32..SELECT => 2,
            _ => 3,
        }
    }

    /// Indices of the arguments; the first one in the place of those that the instruction does not have.
    pub(crate) const fn arguments(&self) -> [u16; 3] {
        match self.arity() {
            0 | 1 => [self.a; 3],
            2 => [self.a, self.b, self.a],
            _ => [self.a, self.b, self.c],
        }
    }

    /// Part of a rule that an instruction with this opcode evaluates.
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

    /// Returns true if the instruction evaluates a part of a rule.
    pub(crate) const fn calls_rule(&self) -> bool {
        matches!(self.what, RULE1 | RULE2..=opcode::TAKES | RULE3..=opcode::THIRD)
    }

    /// Returns true if the result is a mask rather than a value.
    pub(crate) const fn is_mask(&self) -> bool {
        matches!(self.what, 48..64)
    }

    /// Replaces the arguments, as many as the instruction has.
    pub(crate) const fn with(self, a: u16, b: u16, c: u16) -> Self {
        match self.arity() {
            0 => self,
            1 => Self { a, ..self },
            2 => Self { a, b, ..self },
            _ => Self { a, b, c, ..self },
        }
    }

    /// Renumbers the arguments: index `k` becomes `moved[k]`.
    pub(crate) const fn moved(self, moved: &[u16]) -> Self {
        match self.arity() {
            0 => self,
            1 => self.with(moved[self.a as usize], 0, 0),
            2 => self.with(moved[self.a as usize], moved[self.b as usize], 0),
            _ => self.with(moved[self.a as usize], moved[self.b as usize], moved[self.c as usize]),
        }
    }

    /// Marks the instructions whose results are arguments of this one.
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

    /// Packs all fields except the opcode into one integer, for hashing and comparison.
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

/// Instructions of one or more expressions. Each uses results of earlier instructions only.
#[derive(Clone, Copy, Debug)]
pub struct Tree<const N: usize> {
    pub(crate) ops: [Op; N],
    pub(crate) len: usize,
    /// Index of the instruction that computes the result.
    pub(crate) result: u16,
    /// Number of captured constants.
    pub(crate) constants: u16,
    pub(crate) rules: [Option<&'static Rule>; RULES],
    pub(crate) rule_count: u8,
    /// A bit for each temporary that is bound in the expression.
    pub(crate) binds: u32,
}

/// Instructions of one expression.
pub type Code = Tree<NODES>;

impl<const N: usize> Tree<N> {
    pub(crate) const EMPTY: Self =
        Self { ops: [Op::NONE; N], len: 0, result: 0, constants: 0, rules: [None; RULES], rule_count: 0, binds: 0 };

    /// Builds a list of one instruction.
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

    /// Adds a rule and returns its index.
    pub(crate) const fn rule(&mut self, rule: &'static Rule) -> u8 {
        assert!(
            (self.rule_count as usize) < RULES,
            "a kernel has at most 64 functions that are computed number by number"
        );
        self.rules[self.rule_count as usize] = Some(rule);
        self.rule_count += 1;
        self.rule_count - 1
    }

    /// Appends the instructions of another list and returns the index of its result. With `local` = `(k, result)`,
    /// temporary `k` of the other list becomes an alias of instruction `result` of this one.
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

    /// Concatenates two lists and applies `op` to their results.
    pub(crate) const fn join(left: &Self, right: &Self, op: Op) -> Self {
        let mut tree = *left;
        let a = tree.result;
        let b = tree.append(right, None);
        tree.push(op.with(a, b, 0));
        tree
    }

    /// Returns true if temporary `number` is read but not bound in this list.
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
