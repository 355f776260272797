//! The body of a kernel: the instructions of all its expressions.

use super::access::{AccessSet, OUTPUTS};
use super::instruction::opcode::{NEW, SAME, SELECT};
use super::instruction::{FOREST, Op, Tree};

/// Instructions of all expressions of a kernel, in one list.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub(crate) tree: Tree<FOREST>,
    /// Index of the instruction that computes each expression's result.
    pub(crate) results: [u16; OUTPUTS],
    pub(crate) count: usize,
    /// Operands that the expressions are written to, in order.
    pub(crate) written: &'static [usize],
}

impl Body {
    pub(crate) const fn new(written: &'static [usize]) -> Self {
        Self { tree: Tree::EMPTY, results: [0; OUTPUTS], count: 0, written }
    }

    /// Appends one more expression.
    pub(crate) const fn with<const N: usize>(mut self, tree: &Tree<N>) -> Self {
        self.results[self.count] = self.tree.append(tree, None);
        self.count += 1;
        self
    }

    /// Returns the index of the expression that writes this operand, or `None`.
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

    /// Returns true if there is an expression for each written operand, and no expression reads its own new value or
    /// that of a later expression.
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

    /// Returns the instruction that `op` is an alias of: that of a bound temporary, or of an output that the launch
    /// itself writes. `None` for any other instruction.
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

    /// Collects all accesses of the expressions, except reads of outputs that the launch itself writes.
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

    /// Marks the instructions that the derivative of some expression depends on.
    pub(crate) const fn moving(&self) -> [bool; FOREST] {
        let (mut moving, mut k) = ([false; FOREST], 0);
        while k < self.count {
            moving[self.results[k] as usize] = true;
            k += 1;
        }
        // Instructions use results of earlier ones only, so one backward pass marks all that move.
        let mut k = self.tree.len;
        while k > 0 {
            k -= 1;
            let op = &self.tree.ops[k];
            if moving[k] && !op.is_mask() {
                if let Some(other) = self.stands_for(op) {
                    moving[other as usize] = true;
                }
                // The condition of a select is piecewise constant: no derivative passes through it.
                let mask = op.what == SELECT && !moving[op.a as usize];
                op.mark(&mut moving);
                moving[op.a as usize] &= !mask;
            }
        }
        moving
    }

    /// Collects the accesses that have a partial derivative.
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
