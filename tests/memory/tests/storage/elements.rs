//! Tapes as containers of records: sizes of slabs, alignment, destructors, what can be done with them, and how many
//! stay in memory.

use super::skipped;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Spills;
use tapewright::tape::{AdjointVector, Position};
use tapewright::{Spilled, continuation};

/// Sines, products and sums of many statements, several segments of them.
fn walk<S: Taping<Value = f64>>(x: &[Real<S>], statements: usize) -> Real<S> {
    (0..statements / 2).fold(x[0].clone(), |y, _| {
        let z: Real<S> = (y.sin() * &x[1]).into();
        (&z + &x[0]).into()
    })
}

/// The gradient on this tape, bit for bit.
fn gradient_on<S: Reverse<Value = f64>>(tape: &mut Tape<S>, statements: usize) -> [u64; 3] {
    let mut gradient = [0.0; 2];
    let value = tape.gradient(|x| walk(x, statements), &[0.5, 0.9], &mut gradient).expect("lengths agree");
    [value, gradient[0], gradient[1]].map(f64::to_bits)
}

#[test]
fn slabs_of_every_size_hold_the_same_tape() {
    fn holds<M: Reverse<Value = f64>, S: Spills<Value = f64>>() {
        let expected = gradient_on(&mut Tape::<M>::new(), 40_000);
        for pages in [1_usize, 2, 3, 4, 8, 16, 32, 64, 128, 256] {
            let slab = 4096 * pages;
            let options = SpillOptions::default().slab(slab).memory(4 * (slab + 4096));
            let mut tape = Tape::<S>::spilled(options).expect("a temporary directory");
            assert_eq!(gradient_on(&mut tape, 40_000), expected, "slabs of {slab} bytes");
        }
    }
    holds::<Jacobian, Jacobian<f64, Linear, Spilled>>();
    holds::<PrimalValue<f64, Reuse>, PrimalValue<f64, Reuse, Spilled>>();
}

#[test]
fn buffer_and_slabs_in_memory_are_parameters_of_the_type() {
    fn holds<M: Reverse<Value = f64>, S: Reverse<Value = f64>>(buffer: usize, slab: usize) {
        let (mut usual, mut tape) = (Tape::<M>::new(), Tape::<S>::new());
        for statements in [10, 40_000, 1000] {
            assert_eq!(gradient_on(&mut tape, statements), gradient_on(&mut usual, statements));
        }
        // From the first statement on, memory comes in steps of one slab.
        let mut tape = Tape::<S>::new();
        let mut reserved = |statements| {
            gradient_on(&mut tape, statements);
            let report = tape.memory();
            report.total().reserved
                - ["adjoints", "values", "tables"].map(|s| report.usage(s).reserved).iter().sum::<usize>()
        };
        let (few, many) = (reserved(10), reserved(10_000));
        let used = tape.memory().total().used;
        assert!((buffer..buffer + 4096).contains(&few), "{few} bytes for a buffer of {buffer}");
        // bumpalo rounds up what it takes.
        assert!(many < 2 * (buffer + slab + used), "{many} bytes for {used} in slabs of {slab}");
    }
    holds::<Jacobian, Jacobian<f64, Linear, InMemory<0, 300>>>(300, 300);
    holds::<PrimalValue<f64, Reuse>, PrimalValue<f64, Reuse, InMemory<20_000, 4096>>>(20_000, 4096);
    holds::<Jacobian, Jacobian<f64, Linear, Shared<512, 5000>>>(512, 5000);
}

/// What a cache line holds, and a page: more than the eight bytes to which segments are aligned.
#[repr(align(64))]
struct Line(f64);
#[repr(align(4096))]
struct Page(f64);

#[test]
fn over_aligned_captures_lie_in_the_stream_as_their_type_asks() {
    thread_local!(static SEEN: Cell<usize> = const { Cell::new(0) });
    fn check<T>(kept: &T) {
        assert!((&raw const *kept).addr().is_multiple_of(align_of::<T>()));
        SEEN.set(SEEN.get() + 1);
    }
    const CLOSURES: usize = 20_000;
    let (is_line, is_page) = (|k| k % 3 == 1, |k| k % 192 == 2);
    let f = |x: &[Real<Continuation>]| {
        (0..CLOSURES).fold(x[0], |y, k| {
            let (line, page) = (Line(0.5), Page(2.0));
            if is_line(k) {
                return continuation(&[&y], line.0 * y.value(), move |seed, to| {
                    check(&line);
                    to[0] = seed * line.0;
                });
            }
            if is_page(k) {
                return continuation(&[&y, &x[1]], page.0 * y.value() * x[1].value(), move |seed, to| {
                    check(&page);
                    (to[0], to[1]) = (seed * page.0, seed);
                });
            }
            (y * if k % 3 == 0 { 2.0 } else { 1.0 }).into() // nothing that has to be aligned
        })
    };
    let mut found = [0.0; 2];
    Tape::<Continuation>::new().gradient(f, &[1.0, 1.0], &mut found).expect("lengths agree");
    // Powers of two, exact.
    let mut expected = [1.0, 0.0];
    for k in (0..CLOSURES).rev() {
        expected[1] += if is_page(k) { expected[0] } else { 0.0 };
        expected[0] *= if is_line(k) {
            0.5
        } else if is_page(k) || k % 3 == 0 {
            2.0
        } else {
            1.0
        };
    }
    assert_eq!(found, expected);
    assert_eq!(SEEN.get(), (0..CLOSURES).filter(|k| is_line(*k) || is_page(*k)).count());
}

/// Counts how often it is dropped, and panics when it is told to.
struct Counted {
    drops: &'static AtomicUsize,
    panics: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        assert!(!self.panics, "a destructor fails");
    }
}

/// So many closures that own something, of which number `bomb` panics when it is dropped.
fn owners(y: &Real<Continuation>, count: usize, drops: &'static AtomicUsize, bomb: usize) -> Real<Continuation> {
    (0..count).fold(*y, |y, k| {
        let owned = Counted { drops, panics: k == bomb };
        continuation(&[&y], y.value(), move |seed, to| {
            let _ = &owned;
            to[0] = seed;
        })
    })
}

fn fails() -> f64 {
    panic!("no value today")
}

#[test]
fn what_records_own_is_dropped_once_when_it_is_forgotten() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    const FEW: usize = 1000;
    let count = || DROPS.swap(0, Relaxed);
    let mut tape = Tape::<Continuation>::new();
    let x = tape.record(|scope| owners(&scope.input(1.0), FEW, &DROPS, usize::MAX));
    assert_eq!((tape.sweep(&[(&x, 1.0)]).map(|_| ()), count()), (Ok(()), 0));
    // Taken off the end, several segments of them.
    let start = tape.position();
    let more = 100 * FEW;
    tape.resume(|scope| owners(&scope.renew(&x).expect("its own"), more, &DROPS, usize::MAX));
    assert_eq!((tape.reset_to(&start), count()), (Ok(()), more));
    // A destructor that panics keeps none of the others.
    tape.resume(|scope| owners(&scope.renew(&x).expect("its own"), FEW, &DROPS, FEW / 2));
    let forgotten = catch_unwind(AssertUnwindSafe(|| tape.reset_to(&start)));
    assert!(forgotten.is_err());
    assert_eq!(count(), FEW);
    // A constructor that panics adds nothing: what was recorded before it stays, and is dropped with the recording.
    let failed = catch_unwind(AssertUnwindSafe(|| {
        tape.resume(|scope| {
            let y = owners(&scope.renew(&x).expect("its own"), 3, &DROPS, usize::MAX);
            let _: Real<Continuation> = continuation(&[&y], fails(), |_, _| ());
        });
    }));
    assert!(failed.is_err());
    assert_eq!(count(), 0);
    tape.reset();
    assert_eq!(count(), FEW + 3);
    tape.record(|scope| owners(&scope.input(1.0), FEW, &DROPS, usize::MAX));
    drop(tape);
    assert_eq!(count(), FEW);
}

/// Numbers that only look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("below `end`")
    }
}

/// A tape beside the vector that it has to be: the factors of its statements, in parts that can be taken off.
struct Model<S: Reverse> {
    tape: Tape<S>,
    factors: Vec<f64>,
    /// Where each part ends: the position, the variable there, and how many factors lie before.
    parts: Vec<(Position, Real<S>, usize)>,
    input: Real<S>,
}

/// The product, in which powers of two are exact.
fn product(factors: &[f64]) -> f64 {
    factors.iter().product()
}

impl<S: Reverse<Value = f64>> Model<S> {
    fn new(mut tape: Tape<S>) -> Self {
        let input = tape.record(|scope| scope.input(1.0));
        let parts = vec![(tape.position(), input.clone(), 0)];
        Self { tape, factors: Vec::new(), parts, input }
    }

    fn push(&mut self, more: Vec<f64>) {
        let (_, last, _) = self.parts.last().expect("the input");
        let end = self.tape.resume(|scope| {
            let y = scope.renew(last).expect("of this recording");
            more.iter().fold(y, |y, factor| (&y * *factor).into())
        });
        self.factors.extend(more);
        self.parts.push((self.tape.position(), end, self.factors.len()));
    }

    fn pop(&mut self, kept: usize) {
        self.parts.truncate(kept + 1);
        let (position, _, count) = &self.parts[kept];
        self.tape.reset_to(position).expect("readable");
        self.factors.truncate(*count);
    }

    /// The last one, all of them backwards, and those between two places.
    fn check(&mut self, random: &mut Random) {
        let (_, last, count) = self.parts.last().expect("the input");
        assert_eq!((self.tape.memory().statements, *count), (self.factors.len(), self.factors.len()));
        assert_eq!(last.value(), product(&self.factors));
        let slope = self.tape.sweep(&[(last, 1.0)]).and_then(|found| found.of(&self.input));
        assert_eq!(slope, Ok(product(&self.factors)));
        let to = random.below(self.parts.len());
        let from = to + random.below(self.parts.len() - to);
        let [(later, y, n), (earlier, x, m)] = [&self.parts[from], &self.parts[to]];
        let mut adjoints = AdjointVector::new();
        self.tape.seed(&mut adjoints, &[(y, 1.0)]).expect("of this recording");
        let found = self.tape.sweep_between(&mut adjoints, later, earlier).and_then(|found| found.of(x));
        assert_eq!(found, Ok(product(&self.factors[*m..*n])), "from part {from} to {to}");
    }

    fn run(mut self, seed: u64) {
        let mut random = Random(seed);
        for _ in 0..120 {
            // Mostly few statements, sometimes several segments of them.
            let count = [0, 1, 3, 64, 700, 20_000][random.below(6)];
            let more = (0..count).map(|k| [0.5, 2.0, 1.0, -1.0][(k + random.below(2)) % 4]).collect();
            match random.below(5) {
                0 | 1 => self.push(more),
                2 => self.pop(random.below(self.parts.len())),
                _ => self.check(&mut random),
            }
        }
        self.check(&mut random);
        let tape = self.tape;
        self = Self::new(tape);
        self.check(&mut random);
    }
}

#[test]
fn a_tape_is_a_vector_of_statements() {
    fn holds<S: Reverse<Value = f64>>() {
        (1..=3).for_each(|seed| Model::new(Tape::<S>::new()).run(seed));
    }
    fn spilled<S: Spills<Value = f64>>() {
        let options = SpillOptions::default().slab(4096).memory(8 * 8192);
        Model::new(Tape::<S>::spilled(options).expect("a temporary directory")).run(4);
    }
    holds::<Jacobian>();
    holds::<Jacobian<f64, Reuse>>();
    holds::<Jacobian<f64, Linear, Shared>>();
    holds::<PrimalValue>();
    holds::<PrimalValue<f64, Reuse>>();
    holds::<Hybrid<f64, Reuse>>();
    holds::<Continuation>();
    spilled::<Jacobian<f64, Linear, Spilled>>();
    spilled::<PrimalValue<f64, Reuse, Spilled>>();
}

/// Records and sweeps a tape whose records take at least so many bytes, and looks at its memory all the while.
fn stays_within<S: Spills<Value = f64>>(bytes: usize, slab: usize, memory: usize) {
    let taken = slab + 4096;
    let mut tape =
        Tape::<S>::spilled(SpillOptions::default().slab(slab).memory(memory)).expect("a temporary directory");
    let part = slab / 8; // statements in several slabs
    let x = tape.record(|scope| scope.input(1.0));
    let (mut y, mut statements) = (x.clone(), 0);
    while tape.memory().total().used < bytes {
        y = tape.resume(|scope| {
            let y = scope.renew(&y).expect("of this recording");
            (0..part).fold(y, |y, k| (&y * if k % 2 == 0 { 2.0 } else { 0.5 }).into())
        });
        statements += part;
        let usage = tape.spill_usage();
        assert!(usage.resident <= memory + usage.in_flight_limit, "{usage:?} after {statements} statements");
    }
    let slope = tape.sweep(&[(&y, 1.0)]).and_then(|found| found.of(&x));
    assert_eq!(slope, Ok(1.0));
    let usage = tape.spill_usage();
    // One slab that a sweep has to itself.
    assert!(usage.peak_resident <= memory + taken + usage.in_flight_limit, "{usage:?}");
    let left = usize::try_from(usage.written).expect("it has been in memory") + memory;
    assert!(left >= statements * 5, "{usage:?}: all but the last slabs have been written");
}

#[test]
fn a_tape_keeps_its_last_slabs_in_memory_and_no_more_at_any_moment() {
    stays_within::<Jacobian<f64, Reuse, Spilled>>(20 << 20, 64 << 10, 1 << 20);
    stays_within::<Jacobian<f64, Linear, Spilled>>(4 << 20, 4096, 8 * 8192);
    stays_within::<PrimalValue<f64, Reuse, Spilled>>(4 << 20, 16 << 10, 2 * (20 << 10));
}

#[test]
fn a_tape_of_a_billion_bytes_keeps_its_last_slabs_in_memory() {
    if std::env::var_os("TAPEWRIGHT_BIG").is_none() {
        skipped("writes 1 GB to disk; set TAPEWRIGHT_BIG=1");
        return;
    }
    stays_within::<Jacobian<f64, Reuse, Spilled>>(1_000_000_000, 1 << 20, 64 << 20);
}
