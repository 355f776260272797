//! Compiled programs: every instruction of a list is monomorphised into SIMD code.

#![allow(
    clippy::cast_possible_truncation,
    reason = "places, operands and shifts have few bits, and `From` cannot be called in constants"
)]

use super::cursor::{ALL, Captures, Cursor};
use crate::Number;
use crate::kernel::ir::access::{Boundary, OUTPUTS, each};
use crate::kernel::ir::instruction::{Op, RULES, opcode};
use crate::kernel::ir::listing::{STEPS, StaticListing, has_result, result};
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::number::simd::dispatch::Registers;
use crate::number::simd::rule::Rule;
use crate::number::simd::vector::{SimdValue, SimdVector};
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Opcode of padding, which does nothing.
const NONE: u8 = 0xFF;

/// Packs instruction `k` into one integer, which can be a constant argument: indices of the arguments in 16 bits each,
/// the operand, the boundary rule, four offsets, the opcode, and which arguments are constants. Padding after the last
/// instruction.
const fn packed<C: StaticListing>(k: usize) -> u128 {
    if k >= C::OPS.len() {
        return (NONE as u128) << 96;
    }
    let op = &C::OPS[k];
    let left = op.arity() > 0 && is_constant(&C::OPS[op.a as usize]);
    let right = op.arity() > 1 && is_constant(&C::OPS[op.b as usize]);
    op.bits() | (op.what as u128) << 96 | (left as u128) << 104 | (right as u128) << 105
}

/// Returns true if all tangents of the result of an instruction are 0.
const fn is_constant(op: &Op) -> bool {
    matches!(op.what, opcode::CONSTANT | opcode::LITERAL | opcode::COORDINATE)
}

/// Results of instructions, which stay in registers after inlining.
pub(crate) struct Results<L: SimdValue> {
    numbers: [MaybeUninit<L>; STEPS],
    masks: [MaybeUninit<L::Mask>; STEPS],
}

impl<L: SimdValue> Results<L> {
    /// Results in this memory, none of them computed yet: `Results::in_memory(&mut MaybeUninit::uninit())`.
    ///
    /// By reference, because they are long, and an unoptimized build would copy them for each group.
    #[inline(always)]
    pub(crate) const fn in_memory(memory: &mut MaybeUninit<Self>) -> &mut Self {
        // SAFETY: the arrays consist of elements that need not be initialized.
        unsafe { memory.assume_init_mut() }
    }

    /// Returns the value of instruction `k`.
    ///
    /// # Safety
    ///
    /// The instruction has been executed, and its result is a value, not a mask.
    #[inline(always)]
    pub(crate) unsafe fn number(&self, k: usize) -> L {
        // SAFETY: promised by the caller.
        unsafe { self.numbers[k].assume_init() }
    }

    /// # Safety
    ///
    /// The instruction has been executed, and its result is a mask.
    #[inline(always)]
    unsafe fn mask(&self, k: usize) -> L::Mask {
        // SAFETY: promised by the caller.
        unsafe { self.masks[k].assume_init() }
    }
}

#[inline(always)]
const fn place(bits: u128, k: usize) -> usize {
    (bits >> (16 * k)) as usize & 0xFFFF
}

#[inline(always)]
const fn shift(bits: u128) -> [isize; 4] {
    [(bits >> 64) as i8 as isize, (bits >> 72) as i8 as isize, (bits >> 80) as i8 as isize, (bits >> 88) as i8 as isize]
}

/// Executes a program at a position, pass by pass, and returns its first results; those that the program does not have
/// are what `others` is.
///
/// # Safety
///
/// Everything that the program reads there can be read.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn results<C: StaticListing, L: SimdVector, const MASK: u8, const K: usize>(
    at: &Cursor<'_, L::Number>,
    others: L,
) -> [L; K] {
    let (mut found, mut pass) = ([others; K], 0);
    while pass < L::PASSES {
        let mut memory = MaybeUninit::uninit();
        let results = Results::in_memory(&mut memory);
        // SAFETY: promised by the caller.
        unsafe { execute::<C, L, MASK>(&Cursor { pass, ..*at }, results) }
        each!(12: N => {
            if const { N < K && has_result::<C>(N) } {
                // SAFETY: the instruction has been executed, and its result is a value.
                found[N].set_pass(pass, unsafe { results.number(const { result::<C>(N) }) });
            }
        });
        pass += 1;
    }
    found
}

/// Executes a pass of a program at a position.
///
/// # Safety
///
/// Everything that the program reads there can be read.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn execute<C: StaticListing, L: SimdVector, const MASK: u8>(
    at: &Cursor<'_, L::Number>,
    results: &mut Results<L::Pass>,
) where
    L::Number: Number,
{
    // SAFETY: promised by the caller.
    unsafe {
        piece::<C, L, MASK, 0>(at, results);
        if let Some(rest) = const { longer::<C, L, MASK>(1, rest::<C, L, MASK>) } {
            rest(at, results);
        }
    }
}

/// Executes what is behind the first piece of a program.
///
/// # Safety
///
/// The conditions of [`execute`], and the first piece has been executed.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn rest<C: StaticListing, L: SimdVector, const MASK: u8>(
    at: &Cursor<'_, L::Number>,
    results: &mut Results<L::Pass>,
) where
    L::Number: Number,
{
    macro_rules! pieces {
        ($($piece:literal)*) => { $(
            if let Some(piece) = const { longer::<C, L, MASK>($piece, piece::<C, L, MASK, $piece>) } {
                // SAFETY: promised by the caller; the pieces before this one have been computed.
                unsafe { piece(at, results) }
            }
        )* };
    }
    pieces! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
    39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 }
}

/// Number of instructions that are compiled as one function.
const PIECE: usize = 32;
const _: () = assert!(64 * PIECE == STEPS, "`rest` has as many pieces");

type Piece<L> = unsafe fn(&Cursor<'_, <L as SimdValue>::Number>, &mut Results<<L as SimdVector>::Pass>);

/// Returns the function that executes a program from piece `first` on, or `None` if the program is shorter.
///
/// A function pointer, because a call under a `const` condition would let the compiler look into every piece that does
/// not exist.
const fn longer<C: StaticListing, L: SimdVector, const MASK: u8>(first: usize, run: Piece<L>) -> Option<Piece<L>>
where
    L::Number: Number,
{
    if C::OPS.len() > first * PIECE { Some(run) } else { None }
}

/// # Safety
///
/// The conditions of [`execute`], and the earlier instructions have been executed.
#[cfg_attr(not(debug_assertions), inline(always))]
#[cfg_attr(debug_assertions, inline(never))]
unsafe fn piece<C: StaticListing, L: SimdVector, const MASK: u8, const FIRST: usize>(
    at: &Cursor<'_, L::Number>,
    results: &mut Results<L::Pass>,
) where
    L::Number: Number,
{
    macro_rules! steps {
        ($($k:literal)*) => { $(
            let all = const { packed::<C>(FIRST * PIECE + $k) };
            // Miri takes long over padding.
            if !cfg!(miri) || (all >> 96) as u8 != NONE {
                // SAFETY: instructions use results of earlier ones only; the caller promises that what is read can be
                // read.
                unsafe { step::<L, MASK>(all, C::RULES, C::ALL_DENSE, FIRST * PIECE + $k, at, results) }
            }
        )* };
    }
    steps! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 }
}

/// Executes instruction `k`. All arguments that describe it are constants at the call, so that after inlining one
/// machine instruction is left, or a few.
///
/// # Safety
///
/// The instructions whose results it uses have been executed, and what it reads can be read.
#[cfg_attr(not(debug_assertions), inline(always))]
#[cfg_attr(debug_assertions, inline(never))]
unsafe fn step<L: SimdVector, const MASK: u8>(
    all: u128,
    rules: &'static [Option<&'static Rule>; RULES],
    all_dense: bool,
    k: usize,
    at: &Cursor<'_, L::Number>,
    results: &mut Results<L::Pass>,
) where
    L::Number: Number,
{
    let (a, b, c) = (place(all, 0), place(all, 1), place(all, 2));
    let (operand, what) = ((all >> 48) as u8 as usize, (all >> 96) as u8);
    let rule = rules[operand];
    // SAFETY: promised by the caller.
    unsafe {
        results.numbers[k] = MaybeUninit::new(match what {
            opcode::READ
            | opcode::ALONG
            | opcode::NUMBER
            | opcode::NEW
            | opcode::CONSTANT
            | opcode::LITERAL
            | opcode::SEED
            | opcode::COORDINATE => brought::<L, MASK>(all, all_dense, at),
            opcode::NEG => -results.number(a),
            opcode::ABS => results.number(a).abs(),
            opcode::SQRT => results.number(a).sqrt(),
            opcode::RULE1 => two(what, [results.number(a), results.number(a)], rule),
            opcode::ADD => results.number(a) + results.number(b),
            opcode::SUB => results.number(a) - results.number(b),
            opcode::MUL | opcode::SEEDED | opcode::DIV => {
                let (left, right) = (results.number(a), results.number(b));
                match what {
                    opcode::DIV if const { L::LOOSE } && all >> 105 & 1 == 1 => left.divided(right),
                    opcode::DIV => left / right,
                    _ if const { L::LOOSE } && all >> 105 & 1 == 1 => left.scaled(right),
                    _ if const { L::LOOSE } && all >> 104 & 1 == 1 => right.scaled(left),
                    _ => left * right,
                }
            }
            opcode::RULE2..=opcode::RIGHT => two(what, [results.number(a), results.number(b)], rule),
            opcode::RULE3..=opcode::THIRD => {
                three(what, [results.number(a), results.number(b), results.number(c)], rule)
            }
            opcode::SELECT => L::Pass::select(results.mask(a), results.number(b), results.number(c)),
            _ => return choose::<L::Pass>(what, k, (a, b), results, rule),
        });
    }
}

/// Calls the part of a rule of one or two arguments that the opcode names.
#[cfg_attr(not(debug_assertions), inline(always))]
fn two<L: SimdValue>(what: u8, [x, y]: [L; 2], rule: Option<&'static Rule>) -> L {
    let rule = rule.expect("a rule has a number");
    x.map2(y, move |x, y| L::Number::call(rule, Op::part(what), x, y))
}

/// Calls the part of a rule of three arguments that the opcode names.
#[cfg_attr(not(debug_assertions), inline(always))]
fn three<L: SimdValue>(what: u8, [x, y, z]: [L; 3], rule: Option<&'static Rule>) -> L {
    let rule = rule.expect("a rule has a number");
    x.map3(y, z, move |arguments| L::Number::call3(rule, Op::part(what), arguments))
}

/// Executes an instruction without arguments: a read, a scalar, a constant or a seed.
///
/// # Safety
///
/// The conditions of [`step`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn brought<L: SimdVector, const MASK: u8>(all: u128, all_dense: bool, at: &Cursor<'_, L::Number>) -> L::Pass
where
    L::Number: Number,
{
    let (c, operand) = (place(all, 2), (all >> 48) as u8 as usize);
    // SAFETY: promised by the caller.
    unsafe {
        match (all >> 96) as u8 {
            opcode::READ => at.read::<L, MASK>(operand, shift(all), (all >> 56) as u8 == Boundary::Zero as u8),
            opcode::ALONG => at.along::<L, MASK>(operand, (all >> 56) as u8, shift(all)),
            opcode::NUMBER => at.splat::<L>(at.memory.numbers[operand]),
            opcode::NEW => at.written::<L, MASK>(operand, shift(all)),
            opcode::CONSTANT => at.splat::<L>(at.captured.get(c)),
            opcode::COORDINATE => at.coordinate::<L, MASK>(c, shift(all)[c]),
            opcode::LITERAL => at.splat::<L>(L::Number::from_f64(f64::from((c as u16).cast_signed()) * 0.5)),
            _ => at.seed::<L, MASK>(operand, shift(all), all_dense),
        }
    }
}

/// Executes instruction `k` if its result is a mask; does nothing for padding.
///
/// # Safety
///
/// The conditions of [`step`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn choose<L: SimdValue>(
    what: u8,
    k: usize,
    (a, b): (usize, usize),
    results: &mut Results<L>,
    rule: Option<&'static Rule>,
) {
    // SAFETY: promised by the caller.
    let mask = unsafe {
        match what {
            opcode::LESS => results.number(a).less(results.number(b)),
            opcode::AT_MOST => results.number(a).at_most(results.number(b)),
            opcode::EQUAL => results.number(a).equal(results.number(b)),
            opcode::DIFFER => L::differ(results.number(a), results.number(b)),
            opcode::BOTH => L::both(results.mask(a), results.mask(b)),
            opcode::EITHER => L::either(results.mask(a), results.mask(b)),
            opcode::TAKES => two(what, [results.number(a), results.number(b)], rule).equal(L::one()),
            _ => return,
        }
    };
    results.masks[k] = MaybeUninit::new(mask);
}

/// Evaluates a program that reads no elements, from the first uniform scalars and a seed.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn alone<V: Number, C: StaticListing>(captured: &Captures<V>, numbers: &[V], seed: V) -> V {
    assert!(const { reads_nothing::<C>() && has_result::<C>(0) }, "these steps read something, or have no result");
    let mut memory = Bindings::nowhere();
    memory.numbers[..numbers.len()].copy_from_slice(numbers);
    let seeds = Seeds::of(Seeds::<V>::NONE.dense, [seed; OUTPUTS]);
    // SAFETY: the program reads nothing from memory.
    let [found] = unsafe {
        results::<Uniform<C>, V::Single, ALL, 1>(&Cursor::nowhere(&memory, &seeds, captured), V::Single::zero())
    };
    number(found)
}

/// Converts a register of one element to that element.
pub(crate) fn number<V: Number>(lane: V::Single) -> V {
    let mut number = V::ZERO;
    // SAFETY: the register holds one element.
    unsafe { lane.store(&raw mut number) };
    number
}

const fn reads_nothing<C: StaticListing>() -> bool {
    let mut k = 0;
    while k < C::OPS.len() {
        if matches!(C::OPS[k].what, opcode::READ | opcode::ALONG | opcode::NEW | opcode::COORDINATE) {
            return false;
        }
        k += 1;
    }
    true
}

/// A program whose adjoints are uniform: [`StaticListing::ALL_DENSE`] is false.
struct Uniform<C>(PhantomData<C>);
impl<C: StaticListing> StaticListing for Uniform<C> {
    const OPS: &'static [Op] = C::OPS;
    const RESULTS: &'static [u16] = C::RESULTS;
    const RULES: &'static [Option<&'static Rule>; RULES] = C::RULES;
    const CONSTANTS: usize = C::CONSTANTS;
    const ALL_DENSE: bool = false;
    const WRAPS: bool = C::WRAPS;
}
