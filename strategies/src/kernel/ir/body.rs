//! The body of a kernel: the instructions of all its expressions.

use super::access::{AccessSet, OUTPUTS};
use super::instruction::opcode::{NEW, SAME, SELECT};
use super::instruction::{FOREST, Op, Tree};

/// All expressions of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub(crate) tree: Tree<FOREST>,
    /// The operations whose results the expressions are.
    pub(crate) results: [u16; OUTPUTS],
    pub(crate) count: usize,
    /// The operands that they are written to.
    pub(crate) written: &'static [usize],
}

impl Body {
    pub(crate) const fn new(written: &'static [usize]) -> Self {
        Self { tree: Tree::EMPTY, results: [0; OUTPUTS], count: 0, written }
    }

    /// With one more expression.
    pub(crate) const fn with<const N: usize>(mut self, tree: &Tree<N>) -> Self {
        self.results[self.count] = self.tree.append(tree, None);
        self.count += 1;
        self
    }

    /// The expression that writes this operand, if there is one.
    const fn output(&self, operand: u8) -> Option<usize> {
        let mut k = 0;
        while k < self.count && k < self.written.len() {
            if self.written[k] == operand as usize {
                return Some(k);
            }
            k += 1;
        }
        None
    }

    /// Whether there is an expression for each operand that is written, and none uses its own new value or that of a
    /// later one.
    pub(crate) const fn in_order(&self) -> bool {
        let (mut k, mut op) = (0, 0);
        while k < self.count {
            // An expression's result is the last of its operations.
            while op <= self.results[k] as usize {
                if self.tree.ops[op].what == NEW
                    && let Some(output) = self.output(self.tree.ops[op].operand)
                    && output >= k
                {
                    return false;
                }
                op += 1;
            }
            k += 1;
        }
        self.count == self.written.len()
    }

    /// The operation that `op` stands for, if it stands for another one: a temporary, or what the launch writes.
    pub(crate) const fn stands_for(&self, op: &Op) -> Option<u16> {
        match op.what {
            SAME => Some(op.a),
            NEW => match self.output(op.operand) {
                Some(output) => Some(self.results[output]),
                None => None,
            },
            _ => None,
        }
    }

    /// All leaves, except what the launch itself writes.
    pub(crate) const fn reads(&self) -> AccessSet {
        let (mut keys, mut k) = (AccessSet::NONE, 0);
        while k < self.tree.len {
            let op = &self.tree.ops[k];
            if let Some(key) = op.key()
                && self.stands_for(op).is_none()
            {
                keys = keys.and(AccessSet::of(key));
            }
            k += 1;
        }
        keys
    }

    /// For each operation whether some expression's derivative depends on it.
    pub(crate) const fn moving(&self) -> [bool; FOREST] {
        let (mut moving, mut k) = ([false; FOREST], 0);
        while k < self.count {
            moving[self.results[k] as usize] = true;
            k += 1;
        }
        let mut k = self.tree.len;
        while k > 0 {
            k -= 1;
            let op = &self.tree.ops[k];
            if moving[k] && !op.is_mask() {
                if let Some(other) = self.stands_for(op) {
                    moving[other as usize] = true;
                }
                // Not what a choice depends on.
                let mask = op.what == SELECT && !moving[op.a as usize];
                op.mark(&mut moving);
                moving[op.a as usize] &= !mask;
            }
        }
        moving
    }

    /// The leaves that have a partial.
    pub(crate) const fn used(&self) -> AccessSet {
        let (mut keys, mut k, moving) = (AccessSet::NONE, 0, self.moving());
        while k < self.tree.len {
            let op = &self.tree.ops[k];
            if moving[k]
                && let Some(key) = op.key()
                && self.stands_for(op).is_none()
            {
                keys = keys.and(AccessSet::of(key));
            }
            k += 1;
        }
        keys
    }
}
