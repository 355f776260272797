//! Tangents of kernels over numbers of one part: an instruction at a time for the points of a segment of a row, in SIMD
//! registers. Elements are read where they lie, and uniform numbers are laid out once.

use super::instructions::Instructions;
use super::points::Point;
use crate::Number;
use crate::kernel::ir::access::AccessKind;
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::listing::NOTHING;
use crate::kernel::ir::program::{List, Programs};
use crate::kernel::targets::bindings::Bindings;
use crate::number::all_finite;
use crate::number::simd::dispatch::{Plain, dispatch_plain};
use crate::number::simd::vector::MOST;
use core::slice;

/// Maximum number of points of a segment: the results of many instructions fit in a cache, and decoding an instruction
/// costs little for each point.
pub(super) const SEGMENT: isize = 128;

/// Number of bytes of a line of the cache.
const LINE: usize = 64;

/// Location of the results of an instruction.
#[derive(Clone, Copy)]
enum Results<V> {
    /// In memory for results, from this index on.
    Room(usize),
    /// In an operand: address of the one for the first element of the views.
    Elements(*const V),
}

/// The list of tangents of a kernel, for segments of rows at which all reads are inside the views.
pub(super) struct Segments<'a, V: Number> {
    instructions: Instructions<'a, V>,
    scripts: &'a Programs,
    memory: &'a Bindings<V>,
    tangents: &'a Bindings<V>,
    /// Maximum number of points of a segment, in complete registers.
    length: usize,
    room: Vec<V>,
    results: Vec<Results<V>>,
    /// Instructions without arguments whose results are evaluated point by point.
    others: Vec<usize>,
    points: Vec<Point>,
}

impl<'a, V: Number> Segments<'a, V> {
    /// Prepares the list for a range. `memory` has the values, and `tangents` the tangents of operands, null where they
    /// are zero.
    pub(super) fn new(
        instructions: Instructions<'a, V>,
        scripts: &'a Programs,
        (memory, tangents): (&'a Bindings<V>, &'a Bindings<V>),
        range: &IndexRange,
    ) -> Self {
        let (results, others, points) = (Vec::new(), Vec::new(), Vec::new());
        let length = (range.hi[3] - range.lo[3]).clamp(0, SEGMENT).unsigned_abs().next_multiple_of(MOST);
        let ops = scripts.list(List::Tangents);
        // Results begin where lines of the cache do, and stay there.
        let mut room = Vec::<V>::with_capacity(LINE / size_of::<V>() + ops.len() * length);
        room.resize(room.as_ptr().align_offset(LINE).min(LINE / size_of::<V>()), V::ZERO);
        let mut all = Self { instructions, scripts, memory, tangents, length, room, results, others, points };
        let (last, mut free) = (last_uses(scripts), Vec::new());
        for (k, op) in ops.iter().enumerate() {
            let result = all.result_of(k, op, &mut free);
            all.results.push(result);
            let arguments = op.arguments();
            for (n, place) in arguments[..op.arity()].iter().enumerate() {
                let (place, is_again) = (usize::from(*place), arguments[..n].contains(place));
                if let Results::Room(at) = all.results[place]
                    && last[place] == k
                    && ops[place].arity() > 0
                    && !is_again
                {
                    free.push(at);
                }
            }
        }
        all
    }

    /// Chooses where the results of an instruction are, and lays them out if they are the same at all points.
    fn result_of(&mut self, k: usize, op: &Op, free: &mut Vec<usize>) -> Results<V> {
        if op.arity() > 0 {
            return Results::Room(free.pop().unwrap_or_else(|| self.laid(V::ZERO)));
        }
        let is_tangent = op.what == opcode::TANGENT;
        let (op, from) = if is_tangent { (op.moving(), self.tangents) } else { (*op, self.memory) };
        let Some(key) = op.key() else {
            return Results::Room(match op.what {
                opcode::CONSTANT => self.laid(self.instructions.constants[op.c as usize]),
                opcode::LITERAL => self.laid(V::from_f64(f64::from(op.c.cast_signed()) * 0.5)),
                _ => self.other(k),
            });
        };
        match key.kind() {
            AccessKind::Number => Results::Room(self.laid(from.numbers[key.operand()])),
            AccessKind::New => Results::Elements(from.new[key.operand()].part(0).cast()),
            _ if from.values[key.operand()].is_null() => Results::Room(self.laid(V::ZERO)),
            AccessKind::Read => {
                let shift = from.shifted([0, 1, 2, 3].map(|d| key.shift(d)));
                Results::Elements(from.values[key.operand()].wrapping_offset(shift).part(0).cast())
            }
            AccessKind::Along | AccessKind::Local => Results::Room(self.other(k)),
        }
    }

    /// Makes room for the results of one more instruction, all of which are this number, and returns its index.
    fn laid(&mut self, number: V) -> usize {
        let at = self.room.len();
        self.room.resize(at + self.length, number);
        at
    }

    fn other(&mut self, k: usize) -> usize {
        self.others.push(k);
        self.laid(V::ZERO)
    }

    /// Evaluates the tangents at some points of a row, at most [`SEGMENT`], and passes those of each expression to
    /// `put`. Returns false, without a call, if some are not finite.
    ///
    /// # Safety
    ///
    /// The operands have been checked for the kernel and its grid, and are still alive; the points are in the range,
    /// and all their reads are inside the views.
    pub(super) unsafe fn tangents(
        &mut self,
        (row, first, count): ([isize; 3], isize, usize),
        expressions: usize,
        mut put: impl FnMut(usize, &[V]),
    ) -> bool {
        assert!(count <= self.length, "there is room for the points of a segment");
        self.fill_others(row, first, count);
        let run = Run {
            instructions: self.instructions,
            ops: self.scripts.list(List::Tangents),
            expressions: &self.scripts.tangents[..expressions],
            results: &self.results,
            room: self.room.as_mut_ptr(),
            start: self.memory.at(row, first),
            count,
            whole: count.next_multiple_of(MOST),
        };
        let is_finite = dispatch_plain(run);
        for (k, place) in run.expressions.iter().enumerate().filter(|_| is_finite) {
            // SAFETY: promised by the caller; the instructions have been executed.
            put(k, &unsafe { run.read(*place) }[..count]);
        }
        is_finite
    }

    fn fill_others(&mut self, [a, b, c]: [isize; 3], first: isize, count: usize) {
        if self.others.is_empty() {
            return;
        }
        self.points.clear();
        self.points.extend((first..).take(count).map(|i| [a, b, c, i]));
        let ops = self.scripts.list(List::Tangents);
        for k in &self.others {
            let Results::Room(at) = self.results[*k] else { continue };
            let to = &mut self.room[at..][..count];
            if ops[*k].what == opcode::TANGENT {
                self.tangents.leaf(&ops[*k].moving(), &self.points, to);
            } else {
                self.memory.leaf(&ops[*k], &self.points, to);
            }
        }
    }
}

/// Index of the last instruction that uses the results of each one; none for those of the expressions.
fn last_uses(scripts: &Programs) -> Vec<usize> {
    let ops = scripts.list(List::Tangents);
    let mut last = vec![usize::MAX; ops.len()];
    for (k, op) in ops.iter().enumerate() {
        op.arguments()[..op.arity()].iter().for_each(|place| last[usize::from(*place)] = k);
    }
    for place in scripts.tangents.iter().filter(|place| **place != NOTHING) {
        last[usize::from(*place)] = usize::MAX;
    }
    last
}

/// Task of [`Segments::tangents`], under whose conditions it may be run.
#[derive(Clone, Copy)]
struct Run<'a, V: Number> {
    instructions: Instructions<'a, V>,
    ops: &'a [Op],
    /// Instructions whose results are the tangents of the expressions.
    expressions: &'a [u16],
    results: &'a [Results<V>],
    room: *mut V,
    /// Number of the element at the first point.
    start: isize,
    /// Number of points.
    count: usize,
    /// Number of points with those that fill the last register.
    whole: usize,
}

impl<'a, V: Number> Run<'a, V> {
    /// Returns the results of an instruction.
    ///
    /// # Safety
    ///
    /// The instruction has been executed, and nobody writes its results while they are borrowed.
    #[inline(always)]
    unsafe fn read(&self, place: u16) -> &'a [V] {
        // SAFETY: promised by the caller.
        unsafe {
            match self.results[usize::from(place)] {
                Results::Room(at) => slice::from_raw_parts(self.room.add(at), self.whole),
                Results::Elements(first) => slice::from_raw_parts(first.wrapping_offset(self.start), self.whole),
            }
        }
    }
}

impl<V: Number> Plain for Run<'_, V> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        for (op, results) in self.ops.iter().zip(self.results) {
            if let Results::Room(at) = results
                && op.arity() > 0
            {
                // SAFETY: instructions use results of earlier ones only, which are in other places until their last
                // use.
                unsafe {
                    // A rule must not be called with numbers beyond the points.
                    let count = if op.calls_rule() { self.count } else { self.whole };
                    let [a, b, c] = op.arguments();
                    let arguments = [&self.read(a)[..count], &self.read(b)[..count], &self.read(c)[..count]];
                    let to = slice::from_raw_parts_mut(self.room.add(*at), count);
                    self.instructions.evaluate(op, arguments, to);
                }
            }
        }
        self.expressions.iter().all(|place| {
            // SAFETY: the instructions have been executed.
            let found = unsafe { self.read(*place) };
            found[..self.count].iter().fold(true, |finite, tangent| finite & all_finite(*tangent))
        })
    }
}
