//! The slab stack against `Vec`, for many sizes.

#[macro_use]
#[path = "common/slabs.rs"]
mod slabs;

use slabs::scaled;
use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Instant;
use tapewright_strategies::storage::SlabStack;
use tapewright_strategies::storage::slab_stack::{Iter, IterMut, Slabs, SlabsMut};

/// A linear congruential generator (Knuth's MMIX constants); the upper half of its state is returned.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }
}

fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a message")
}

/// Every way to read the stack gives the elements of the vector.
fn assert_same<T: PartialEq + Debug, const I: usize, const S: usize>(stack: &mut SlabStack<T, I, S>, vec: &[T]) {
    assert_eq!((stack.len(), stack.is_empty()), (vec.len(), vec.is_empty()));
    assert!(stack.capacity() >= vec.len());
    assert_eq!((stack.last(), stack.get(vec.len())), (vec.last(), None));
    assert!(stack.iter().eq(vec) && stack.iter().rev().eq(vec.iter().rev()));
    assert_eq!(stack.iter().len(), vec.len());
    assert!(stack.slabs().all(|slab| !slab.is_empty()));
    assert_eq!(stack.slabs().len(), stack.slabs().count());
    assert!(stack.slabs().flatten().eq(vec) && stack.slabs().rev().flat_map(|s| s.iter().rev()).eq(vec.iter().rev()));
    assert!(stack.iter_mut().map(|x| &*x).eq(vec));
    assert!(stack.slabs_mut().rev().flat_map(|s| s.iter().rev()).eq(vec.iter().rev()));
    assert!(vec.iter().enumerate().step_by(vec.len() / 50 + 1).all(|(k, x)| stack[k] == *x));
}

/// One random operation on both; `make` returns the same value twice.
fn step<T: PartialEq + Debug, const I: usize, const S: usize>(
    random: &mut Random,
    stack: &mut SlabStack<T, I, S>,
    vec: &mut Vec<T>,
    make: impl Fn(usize) -> T,
) {
    let value = random.below(scaled(1000, 100));
    match random.below(40) {
        0..=15 => {
            stack.push(make(value));
            vec.push(make(value));
        }
        16..=20 => {
            stack.push_with(|| make(value));
            vec.push(make(value));
        }
        21..=30 => assert_eq!(stack.pop(), vec.pop()),
        31 => {
            stack.extend((0..value).map(&make));
            vec.extend((0..value).map(&make));
        }
        32 => (0..random.below(vec.len() / 2 + 2)).for_each(|_| assert_eq!(stack.pop(), vec.pop())),
        33 => {
            let len = vec.len() - random.below(vec.len() / 4 + 1);
            stack.truncate(len);
            vec.truncate(len);
        }
        34 if value < 20 => {
            stack.clear();
            vec.clear();
        }
        35 => stack.reserve(value),
        36 => stack.shrink_to_fit(),
        37 if !vec.is_empty() => {
            let index = random.below(vec.len());
            stack[index] = make(value);
            vec[index] = make(value);
        }
        38 => assert_eq!(stack.last_mut(), vec.last_mut()),
        _ => assert_eq!(stack.get_mut(value), vec.get_mut(value)),
    }
}

#[test]
fn c10_the_stack_behaves_as_a_vector_does() {
    fn check<const I: usize, const S: usize>() {
        for seed in 0..scaled(20, 1) as u64 {
            let mut random = Random(seed);
            let (mut stack, mut vec) = (SlabStack::<Box<usize>, I, S>::new(), Vec::new());
            for k in 0..scaled(2000, 60) {
                step(&mut random, &mut stack, &mut vec, Box::new);
                if k % 20 == 0 {
                    assert_same(&mut stack, &vec);
                }
            }
            assert_same(&mut stack, &vec);
        }
    }
    for_sizes!(check);
}

#[test]
fn c10_slices_are_copied_across_slabs() {
    fn check<const I: usize, const S: usize>() {
        let (mut stack, mut vec, mut random) = (SlabStack::<usize, I, S>::new(), Vec::new(), Random(5));
        for k in 0..scaled(60, 12) {
            let values: Vec<usize> = (0..random.below(scaled(3000, 100))).map(|x| x * k).collect();
            stack.extend_from_slice(&values);
            vec.extend_from_slice(&values);
            (0..random.below(50)).for_each(|_| assert_eq!(stack.pop(), vec.pop()));
            assert_eq!(stack.len(), vec.len());
        }
        stack.extend_from_slice(&[]);
        assert_same(&mut stack, &vec);
    }
    for_sizes!(check);
}

#[test]
fn c10_iterators_meet_in_the_middle() {
    fn check<const I: usize, const S: usize>() {
        let stack: SlabStack<usize, I, S> = (0..scaled(5000, 100)).collect();
        let (mut iter, mut random) = (stack.iter(), Random(1));
        let (mut front, mut back) = (0, stack.len());
        while front < back {
            assert_eq!(iter.len(), back - front);
            if random.below(2) == 0 {
                assert_eq!(iter.next(), Some(&front));
                front += 1;
            } else {
                back -= 1;
                assert_eq!(iter.next_back(), Some(&back));
            }
        }
        assert_eq!((iter.next(), iter.next_back(), iter.len()), (None, None, 0));
        let (mut slabs, mut elements) = (stack.slabs(), 0);
        while let Some(slab) = if random.below(2) == 0 { slabs.next() } else { slabs.next_back() } {
            elements += slab.len();
        }
        assert_eq!((elements, slabs.next_back()), (stack.len(), None));
    }
    for_sizes!(check);
}

#[test]
fn c10_elements_may_be_arrays() {
    let mut stack = SlabStack::<[f64; 3], 2, 4>::new();
    (0..100).for_each(|k| stack.push([f64::from(k), 1.0, 2.0]));
    stack[57][1] = 5.0;
    assert_eq!((stack[57], stack.pop()), ([57.0, 5.0, 2.0], Some([99.0, 1.0, 2.0])));
}

#[test]
fn c10_elements_change_in_place() {
    let mut stack: SlabStack<u64, 3, 7> = (0..100).collect();
    stack.iter_mut().for_each(|x| *x *= 2);
    (&mut stack).into_iter().rev().for_each(|x| *x += 1);
    stack.slabs_mut().for_each(|slab| slab[0] = 0);
    *stack.last_mut().expect("not empty") = 7;
    let expected = |k: u64| {
        if k == 99 {
            7
        } else if k == 0 || (k >= 3 && (k - 3).is_multiple_of(7)) {
            0
        } else {
            2 * k + 1
        }
    };
    assert!(stack.iter().copied().eq((0..100).map(expected)));
    let copy = stack.clone();
    assert_eq!(copy, stack);
    stack[50] = 1;
    assert_ne!(copy, stack);
    assert_eq!(format!("{:?}", SlabStack::<u8, 1, 1>::from_iter([1, 2, 3])), "[1, 2, 3]");
}

#[test]
fn c10_an_index_out_of_range_is_refused() {
    let stack: SlabStack<u8, 1, 4> = [1, 2, 3].into_iter().collect();
    let refused = catch_unwind(AssertUnwindSafe(|| stack[3])).expect_err("three elements");
    assert_eq!(message(refused), "there is no element 3 in a stack of 3");
}

#[test]
fn c2_elements_never_move() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<u64, I, S>::new();
        let count = scaled(1_000_000, 300);
        let mut places = Vec::with_capacity(count);
        for k in 0..count {
            stack.push(k as u64);
            places.push(&raw const *stack.last().expect("just pushed"));
        }
        assert!(stack.iter().zip(&places).all(|(x, place)| std::ptr::eq(x, *place)));
        // Neither do places change by pops, pushes, reservations, or what is given back.
        stack.truncate(count / 2);
        stack.shrink_to_fit();
        stack.reserve(count);
        stack.extend((0..count).map(|k| k as u64));
        assert!(stack.iter().zip(&places).take(count / 2).all(|(x, place)| std::ptr::eq(x, *place)));
        // Elements in slabs stay even when the object moves.
        let moved = Box::new(stack);
        assert!(moved.iter().zip(&places).take(count / 2).skip(I).all(|(x, place)| std::ptr::eq(x, *place)));
    }
    for_sizes!(check);
}

#[test]
fn c4_all_sizes_from_one_to_four_million() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<u32, I, S>::new();
        for exponent in 0..=scaled(22, 8) {
            let count = 1_u32 << exponent;
            (0..count).for_each(|k| stack.push(k));
            assert_eq!((stack.len(), stack[stack.len() / 2]), (count as usize, count / 2));
            assert!((0..count).rev().all(|k| stack.pop() == Some(k)));
            assert_eq!(stack.pop(), None);
        }
    }
    for_sizes!(check);
    let defaults: SlabStack<u32> = SlabStack::new();
    assert_eq!(defaults.capacity(), 64);
    let one: SlabStack<u64> = (0..65).collect();
    assert_eq!(one.slabs().map(<[u64]>::len).collect::<Vec<_>>(), [64, 1]);
    let two: SlabStack<u64> = (0..1089).collect();
    assert_eq!(two.slabs().map(<[u64]>::len).collect::<Vec<_>>(), [64, 1024, 1]);
}

/// 64 bytes of alignment, more than what bumpalo gives by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Line(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(4096))]
struct Page(u8);

#[test]
fn c5_over_aligned_elements_are_aligned() {
    const fn low_byte(k: usize) -> u8 {
        k.to_le_bytes()[0]
    }
    fn check<T: Copy + PartialEq + Debug, const I: usize, const S: usize>(make: impl Fn(u8) -> T) {
        let mut stack = SlabStack::<T, I, S>::new();
        let count = scaled(3000, 40);
        for k in 0..count {
            stack.push(make(low_byte(k)));
            if k % 97 == 13 {
                stack.reserve(k % 7 * S);
            }
        }
        assert!(stack.iter().all(|x| (&raw const *x).addr().is_multiple_of(align_of::<T>())));
        assert!((0..count).rev().all(|k| stack.pop() == Some(make(low_byte(k)))));
    }
    fn lines<const I: usize, const S: usize>() {
        check::<_, I, S>(Line);
        check::<_, I, S>(u128::from);
        check::<_, I, S>(|k| k);
    }
    for_sizes!(lines);
    check::<_, 0, 1>(Page);
    check::<_, 3, 5>(Page);
}

#[test]
#[cfg_attr(miri, ignore = "the interpreter has no limit of memory to refuse by")]
fn the_allocator_s_refusal_names_the_bytes() {
    let mut stack: SlabStack<u64, 4, 16> = (0..100).collect();
    for (additional, expected) in [
        // 96 + 4 places are taken or there; the slabs are whole ones of 16 elements.
        (1_usize << 55, "has no 288230376151711744 bytes for 2251799813685248 slabs of 16 elements"),
        (usize::MAX - 100, "slabs of 16 elements"),
        (usize::MAX, "a stack has at most usize::MAX elements"),
    ] {
        let refused = message(catch_unwind(AssertUnwindSafe(|| stack.reserve(additional))).expect_err("too much"));
        assert!(refused.contains(expected), "{refused}");
        assert!(stack.iter().copied().eq(0..100));
    }
    stack.push(1);
    assert_eq!(stack.len(), 101);
}

#[test]
#[cfg_attr(miri, ignore = "measures time")]
fn c19_random_access_does_not_depend_on_the_number_of_slabs() {
    // 30 000 slabs against three: a walk along the slabs would take thousands of times as long. The best of many rounds
    // is compared, with a wide margin.
    let small: SlabStack<u64, 0, 1> = (0..3).collect();
    let large: SlabStack<u64, 0, 1> = (0..30_000).collect();
    let time = |stack: &SlabStack<u64, 0, 1>| {
        let middle = stack.len() / 2;
        let round = || {
            let start = Instant::now();
            (0..1000).for_each(|_| assert_eq!(std::hint::black_box(stack)[middle], middle as u64));
            start.elapsed()
        };
        (0..50).map(|_| round()).min().expect("50 rounds")
    };
    let (few, many) = (time(&small), time(&large));
    assert!(many < 50 * few, "{many:?} against {few:?} for 1000 accesses");
}

/// Implemented twice for types that have the marker, so that the call below is ambiguous for them.
macro_rules! assert_lacks {
    ($marker:ident: $($type:ty),*) => {{
        trait Ambiguous<A> { const WITNESS: () = (); }
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $marker> Ambiguous<u8> for T {}
        $( let () = <$type as Ambiguous<_>>::WITNESS; )*
    }};
}

#[test]
fn threads_may_have_a_stack_if_they_may_have_its_elements() {
    const fn send<T: Send>() {}
    const fn sync<T: Sync>() {}
    send::<SlabStack<Box<u8>>>();
    send::<SlabStack<Cell<u8>>>();
    sync::<SlabStack<Box<u8>>>();
    send::<(Slabs<u8, 1>, SlabsMut<Cell<u8>, 1>, Iter<u8, 1>, IterMut<Cell<u8>, 1>)>();
    sync::<(Slabs<u8, 1>, SlabsMut<u8, 1>, Iter<u8, 1>, IterMut<u8, 1>)>();
    assert_lacks!(Send: SlabStack<Rc<u8>>, Slabs<'_, Cell<u8>, 1>, Iter<'_, Cell<u8>, 1>, IterMut<'_, Rc<u8>, 1>);
    assert_lacks!(Sync: SlabStack<Cell<u8>>, SlabsMut<'_, Cell<u8>, 1>, IterMut<'_, Cell<u8>, 1>);
    // What is moved to another thread, and read from several, is still the same.
    let stack: SlabStack<Box<usize>, 3, 7> = (0..100).map(Box::new).collect();
    let stack = std::thread::spawn(move || stack).join().expect("nothing panics");
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| assert!(stack.iter().map(|x| **x).eq(0..100) && stack.memory().used == 800));
        }
    });
}
