//! The competitors: what a tape could keep its records in.

use std::collections::{LinkedList, VecDeque};
use std::hint::black_box;
use tapewright::strategies::storage::{Locked, SharedStack, SlabStack, Unlocked};

/// Three words that the compiler knows nothing about.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Payload([u64; 3]);

/// Where payloads go to and come from.
pub(crate) trait Stack: Default {
    fn push(&mut self, value: Payload);
    fn pop(&mut self) -> Option<Payload>;
}

/// One row for each type that has it all, with the names of its methods.
macro_rules! stacks {
    ($($push:ident $pop:ident: $type:ty $(, $size:ident)*;)*) => { $(
        impl<$(const $size: usize),*> Stack for $type {
            #[inline(always)]
            fn push(&mut self, value: Payload) {
                <$type>::$push(self, value);
            }
            #[inline(always)]
            fn pop(&mut self) -> Option<Payload> {
                <$type>::$pop(self)
            }
        }
    )* };
}
stacks! {
    push pop: Vec<Payload>;
    push_back pop_back: VecDeque<Payload>;
    push_back pop_back: LinkedList<Payload>;
    push pop: SlabStack<Payload, INLINE, SLAB>, INLINE, SLAB;
    push pop: SharedStack<Payload, Unlocked, INLINE, SLAB>, INLINE, SLAB;
    push pop: SharedStack<Payload, Locked, INLINE, SLAB>, INLINE, SLAB;
}

/// The tape before slabs: one buffer of 32 elements, then of twice as many, to which all elements are moved.
pub(crate) struct Doubling(Vec<Payload>);

impl Default for Doubling {
    fn default() -> Self {
        Self(Vec::with_capacity(32))
    }
}

impl Stack for Doubling {
    #[inline(always)]
    fn push(&mut self, value: Payload) {
        if self.0.len() == self.0.capacity() {
            self.double();
        }
        self.0.push(value);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Payload> {
        self.0.pop()
    }
}

impl Doubling {
    #[cold]
    fn double(&mut self) {
        let mut wider = Vec::with_capacity(2 * self.0.capacity());
        wider.append(&mut self.0);
        self.0 = wider;
    }
}

/// The stack of the programs that Tapenade generates: bytes in blocks of 64 KiB, and what does not fit is split.
#[derive(Default)]
pub(crate) struct Bytes {
    blocks: Vec<Box<[u8]>>,
    block: usize,
    used: usize,
}

const BLOCK: usize = 1 << 16;

impl Stack for Bytes {
    #[inline(always)]
    fn push(&mut self, value: Payload) {
        let bytes = bytemuck::bytes_of(&value);
        let to = self.used + bytes.len();
        match self.blocks.get_mut(self.block) {
            Some(block) if to <= BLOCK => block[self.used..to].copy_from_slice(bytes),
            _ => return self.push_split(bytes),
        }
        self.used = to;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Payload> {
        let mut value = Payload([0; 3]);
        let bytes = bytemuck::bytes_of_mut(&mut value);
        match self.used.checked_sub(bytes.len()) {
            Some(from) => {
                bytes.copy_from_slice(self.blocks.get(self.block)?.get(from..self.used)?);
                self.used = from;
            }
            None => self.pop_split(bytes)?,
        }
        Some(value)
    }
}

impl Bytes {
    #[cold]
    #[inline(never)]
    fn push_split(&mut self, bytes: &[u8]) {
        if self.blocks.is_empty() {
            self.blocks.push(vec![0; BLOCK].into());
        }
        let (here, there) = bytes.split_at(bytes.len().min(BLOCK - self.used));
        self.blocks[self.block][self.used..][..here.len()].copy_from_slice(here);
        self.used += here.len();
        if !there.is_empty() {
            self.block += 1;
            if self.block == self.blocks.len() {
                self.blocks.push(vec![0; BLOCK].into());
            }
            self.blocks[self.block][..there.len()].copy_from_slice(there);
            self.used = there.len();
        }
    }

    #[cold]
    #[inline(never)]
    fn pop_split(&mut self, bytes: &mut [u8]) -> Option<()> {
        let (there, here) = bytes.split_at_mut(bytes.len() - self.used);
        let before = self.block.checked_sub(1)?;
        here.copy_from_slice(&self.blocks[self.block][..self.used]);
        there.copy_from_slice(&self.blocks[before][BLOCK - there.len()..]);
        (self.block, self.used) = (before, BLOCK - there.len());
        Some(())
    }
}

/// Pushes `n` payloads and pops them all; returns a checksum, which is [`checksum`] if the stack is one.
#[inline(never)]
pub(crate) fn cycle<S: Stack>(stack: &mut S, n: usize) -> u64 {
    let stack = black_box(stack);
    let Payload([a, b, _]) = black_box(Payload([3, 5, 0]));
    for k in 0..n as u64 {
        stack.push(Payload([a + k, b, k]));
    }
    let stack = black_box(stack);
    let mut sum = 0_u64;
    while let Some(Payload([x, y, z])) = stack.pop() {
        sum = sum.wrapping_mul(3).wrapping_add(x ^ y ^ z);
    }
    sum
}

/// What [`cycle`] returns.
pub(crate) fn checksum(n: usize) -> u64 {
    (0..n as u64).rev().fold(0_u64, |sum, k| sum.wrapping_mul(3).wrapping_add((3 + k) ^ 5 ^ k))
}

/// A competitor: what it does with `n`, again and again, and what that must return.
pub(crate) struct Competitor {
    pub(crate) name: String,
    pub(crate) run: Box<dyn FnMut(usize) -> u64>,
}

impl Competitor {
    fn new(name: impl Into<String>, run: impl FnMut(usize) -> u64 + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A new stack each time.
    pub(crate) fn cold<S: Stack>(name: &str) -> Self {
        Self::new(format!("{name}, from empty"), |n| cycle(&mut S::default(), n))
    }

    /// The same stack each time: after the first time it has all the memory that it needs.
    pub(crate) fn warm<S: Stack + 'static>(name: &str) -> Self {
        let mut stack = Box::<S>::default();
        Self::new(format!("{name}, warm"), move |n| cycle(&mut *stack, n))
    }
}

/// All kinds of stacks; the first is what the others are compared with.
pub(crate) fn all() -> Vec<Competitor> {
    vec![
        Competitor::cold::<Vec<Payload>>("Vec"),
        Competitor::warm::<Vec<Payload>>("Vec"),
        Competitor::cold::<SlabStack<Payload>>("SlabStack"),
        Competitor::warm::<SlabStack<Payload>>("SlabStack"),
        Competitor::cold::<SharedStack<Payload, Unlocked>>("SharedStack<Unlocked>"),
        Competitor::warm::<SharedStack<Payload, Unlocked>>("SharedStack<Unlocked>"),
        Competitor::warm::<SharedStack<Payload, Locked>>("SharedStack<Locked>"),
        Competitor::cold::<Doubling>("doubling from 32"),
        Competitor::cold::<VecDeque<Payload>>("VecDeque"),
        Competitor::warm::<VecDeque<Payload>>("VecDeque"),
        Competitor::cold::<LinkedList<Payload>>("LinkedList"),
        Competitor::cold::<Bytes>("bytes, Tapenade"),
        Competitor::warm::<Bytes>("bytes, Tapenade"),
    ]
}

/// How many bytes so many payloads reserve.
pub(crate) type Reserved = fn(usize) -> usize;

/// The stacks of all pairs of sizes, from empty.
pub(crate) fn sizes() -> Vec<(Competitor, Reserved)> {
    fn reserved<const INLINE: usize, const SLAB: usize>(n: usize) -> usize {
        let mut stack = SlabStack::<Payload, INLINE, SLAB>::new();
        stack.extend((0..n).map(|_| Payload([0; 3])));
        stack.memory().reserved
    }
    let mut all: Vec<(Competitor, Reserved)> = Vec::new();
    macro_rules! pairs {
        ($([$($inline:literal)*] $slabs:tt)*) => { $( $( pairs! { @ $inline $slabs } )* )* };
        (@ $inline:literal [$($slab:literal)*]) => { $( all.push((
            Competitor::cold::<SlabStack<Payload, $inline, $slab>>(concat!($inline, "/", $slab)),
            reserved::<$inline, $slab>,
        )); )* };
    }
    pairs! { [0 1 8 32 64 256 1024 4096] [1 8 32 128 512 1024 4096] }
    all
}

/// Sums of `n` numbers from the last to the first; the first is what the others are compared with.
pub(crate) fn reverse_sums(n: usize) -> Vec<Competitor> {
    let numbers = || (0..n as u32).map(f64::from);
    let vec: Vec<f64> = numbers().collect();
    let slabs: SlabStack<f64> = numbers().collect();
    let elements = slabs.clone();
    vec![
        Competitor::new("Vec, reversed", move |_| black_box(&vec).iter().rev().fold(0.0, |s, x| s + x) as u64),
        Competitor::new("SlabStack, slab by slab", move |_| {
            let slabs = black_box(&slabs).slabs().rev();
            slabs.fold(0.0, |sum, slab| slab.iter().rev().fold(sum, |s, x| s + x)) as u64
        }),
        Competitor::new("SlabStack, reversed", move |_| {
            black_box(&elements).iter().rev().fold(0.0, |s, x| s + x) as u64
        }),
    ]
}
