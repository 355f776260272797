//! Execution of lists of instructions at up to 32 points: at boundaries, where values are not finite, and for tangents
//! that `segments` does not compute. Compiled once for each type of number, not for each kernel.

use crate::Number;
use crate::kernel::ir::instruction::{Op, RULES, opcode};
use crate::number::by_lanes2;
use crate::number::simd::rule::Rule;
use core::cell::RefCell;

/// Number of points that are evaluated together, so that decoding an instruction costs little for each.
pub(crate) const WIDTH: usize = 32;

/// Scalar rules and constants of the instructions to interpret.
#[derive(Clone, Copy)]
pub(crate) struct Instructions<'a, V> {
    pub(crate) rules: &'a [Option<&'static Rule>; RULES],
    pub(crate) constants: &'a [V],
}

thread_local! {
    /// Scratch memory for results.
    static ROOM: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with scratch memory for this number of values.
fn with_room<V: Number, T>(numbers: usize, f: impl FnOnce(&mut [V]) -> T) -> T {
    // If a user's rule runs a kernel itself, the nested call finds no scratch memory here and allocates its own.
    let mut room = ROOM.take();
    let words = (numbers * size_of::<V>()).div_ceil(8);
    if room.len() < words {
        room.resize(words, 0);
    }
    let found = f(&mut bytemuck::cast_slice_mut(&mut room[..words])[..numbers]);
    ROOM.set(room);
    found
}

impl<V: Number> Instructions<'_, V> {
    /// Executes the instructions at `count` points, and passes all results to `found`, `WIDTH` for each instruction.
    /// `leaf` evaluates instructions without arguments, except constants and literals.
    pub(crate) fn run<T>(
        self,
        ops: &[Op],
        count: usize,
        mut leaf: impl FnMut(&Op, &mut [V]),
        found: impl FnOnce(&[V]) -> T,
    ) -> T {
        with_room(ops.len() * WIDTH, |room| {
            for (k, op) in ops.iter().enumerate() {
                let (before, behind) = room.split_at_mut(k * WIDTH);
                let to = &mut behind[..count];
                match op.what {
                    opcode::CONSTANT => to.fill(self.constants[op.c as usize]),
                    opcode::LITERAL => to.fill(V::from_f64(f64::from(op.c.cast_signed()) * 0.5)),
                    _ if op.arity() == 0 => leaf(op, to),
                    _ => self.compute(op, before, to),
                }
            }
            found(room)
        })
    }

    fn compute(self, op: &Op, before: &[V], to: &mut [V]) {
        let at = |place: u16| &before[usize::from(place) * WIDTH..][..to.len()];
        self.evaluate(op, op.arguments().map(at), to);
    }

    /// Executes an instruction with arguments, which are as many as the results.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn evaluate(self, op: &Op, [a, b, c]: [&[V]; 3], to: &mut [V]) {
        let yes = |yes: bool| if yes { V::Lane::ONE } else { V::Lane::ZERO };
        macro_rules! each {
            (|$x:ident, $y:ident| $value:expr) => {
                for ((to, x), y) in to.iter_mut().zip(a).zip(b) {
                    let ($x, $y) = (*x, *y);
                    *to = $value;
                }
            };
        }
        match op.what {
            opcode::NEG => each!(|x, _y| -x),
            opcode::ABS => each!(|x, _y| x.abs()),
            opcode::SQRT => each!(|x, _y| x.sqrt()),
            opcode::ADD => each!(|x, y| x + y),
            opcode::SUB => each!(|x, y| x - y),
            opcode::MUL | opcode::BOTH => each!(|x, y| x * y),
            // An adjoint or derivative of 0 contributes 0, even if the other factor is not finite.
            opcode::SEEDED => each!(|x, y| if x.is_nought() || y.is_nought() { V::ZERO } else { x.contribution(y) }),
            opcode::DIV => each!(|x, y| x / y),
            opcode::LESS => each!(|x, y| by_lanes2(x, y, |x, y| yes(x < y))),
            opcode::AT_MOST => each!(|x, y| by_lanes2(x, y, |x, y| yes(x <= y))),
            opcode::EQUAL => each!(|x, y| by_lanes2(x, y, |x, y| yes(x.as_f64() == y.as_f64()))),
            opcode::DIFFER => each!(|x, y| by_lanes2(x, y, |x, y| yes(x.as_f64() != y.as_f64()))),
            opcode::EITHER => each!(|x, y| x.max(y)),
            opcode::SELECT => {
                for (((to, mask), yes), no) in to.iter_mut().zip(a).zip(b).zip(c) {
                    // Copies, since a loop that reads one or the other cannot be vectorized.
                    let (mask, yes, no) = (*mask, *yes, *no);
                    *to = V::from_lanes(|k| if mask.lane(k).is_nought() { no.lane(k) } else { yes.lane(k) });
                }
            }
            opcode::RULE3..=opcode::THIRD => self.call3(op, [a, b, c], to),
            _ => self.call(op, (a, b), to),
        }
    }

    /// Calls the part of a rule of one or two arguments that the opcode names.
    #[inline(never)]
    fn call(self, op: &Op, (a, b): (&[V], &[V]), to: &mut [V]) {
        let part = Op::part(op.what);
        let rule = self.rules[usize::from(op.operand)].expect("a rule has a number");
        to.iter_mut().zip(a).zip(b).for_each(|((to, x), y)| *to = V::call(rule, part, *x, *y));
    }

    #[inline(never)]
    fn call3(self, op: &Op, arguments: [&[V]; 3], to: &mut [V]) {
        let rule = self.rules[usize::from(op.operand)].expect("a rule has a number");
        for (k, to) in to.iter_mut().enumerate() {
            *to = V::call3(rule, Op::part(op.what), arguments.map(|x| x[k]));
        }
    }
}
