//! What the slab stack does with elements whose constructors and destructors count, or panic.

#[macro_use]
#[path = "common/slabs.rs"]
mod slabs;

use slabs::scaled;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright_strategies::storage::SlabStack;

/// Counts how often element `id` was dropped, and panics when `bomb` is dropped.
struct Tracked<'a> {
    id: usize,
    drops: &'a RefCell<Vec<u32>>,
    bomb: usize,
}

impl Drop for Tracked<'_> {
    fn drop(&mut self) {
        self.drops.borrow_mut()[self.id] += 1;
        assert!(self.id != self.bomb, "the destructor of {}", self.id);
    }
}

#[test]
fn c9_every_element_is_dropped_once() {
    fn check<const I: usize, const S: usize>() {
        let count = scaled(3000, 50);
        let drops = RefCell::new(vec![0; count]);
        let all = |range: std::ops::Range<usize>, times| drops.borrow()[range].iter().all(|n| *n == times);
        let mut stack = SlabStack::<Tracked, I, S>::new();
        (0..count).for_each(|id| stack.push(Tracked { id, drops: &drops, bomb: usize::MAX }));
        assert_eq!(stack.pop().expect("not empty").id, count - 1);
        assert!(all(count - 1..count, 1) && all(0..count - 1, 0));
        stack.truncate(count / 3);
        assert!(all(count / 3..count, 1) && all(0..count / 3, 0));
        stack.shrink_to_fit();
        assert!(all(0..count / 3, 0));
        stack.truncate(count / 4);
        stack.truncate(count);
        assert_eq!(stack.len(), count / 4);
        stack.clear();
        assert!(all(0..count, 1) && stack.is_empty());
        (0..count).for_each(|id| stack.push(Tracked { id, drops: &drops, bomb: usize::MAX }));
        stack[count / 2] = Tracked { id: count / 2, drops: &drops, bomb: usize::MAX };
        drop(stack);
        drops.borrow_mut()[count / 2] -= 1;
        assert!(all(0..count, 2));
    }
    for_sizes!(check);
}

#[test]
fn c9_a_destructor_that_panics_loses_and_repeats_nothing() {
    fn check<const I: usize, const S: usize>() {
        let count = scaled(2500, 25);
        for bomb in [0, 1, I.saturating_sub(1), I, I + S - 1, I + S, count - 1] {
            // Bombs in elements that are kept go off nowhere.
            for kept in [0, 1, I, I + 1] {
                let drops = RefCell::new(vec![0; count]);
                let make = |id| Tracked { id, drops: &drops, bomb };
                let mut stack: SlabStack<Tracked, I, S> = (0..count).map(make).collect();
                let result = catch_unwind(AssertUnwindSafe(|| stack.truncate(kept)));
                let gone = kept.min(count);
                assert_eq!(result.is_err(), (gone..count).contains(&bomb));
                assert_eq!(stack.len(), gone);
                assert!(drops.borrow().iter().enumerate().all(|(id, n)| *n == u32::from(id >= gone)));
                // The stack works, and its own destructor drops the rest.
                stack.push(Tracked { id: count - 1, drops: &drops, bomb: usize::MAX });
                let result = catch_unwind(AssertUnwindSafe(|| drop(stack)));
                assert_eq!(result.is_err(), (0..gone).contains(&bomb));
                assert!(drops.borrow()[..count - 1].iter().all(|n| *n == 1));
            }
        }
    }
    for_sizes!(check);
}

/// A constructor that fails, where elements may lie: nothing is added, and the next one works.
#[test]
fn c9_a_constructor_that_panics_adds_nothing() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<Box<usize>, I, S>::new();
        let fails = |stack: &mut SlabStack<Box<usize>, I, S>| {
            let failed = catch_unwind(AssertUnwindSafe(|| stack.push_with(|| panic!("no element today"))));
            assert!(failed.is_err());
        };
        // Up to the third slab.
        let count = scaled(I + 2 * S + 40, 40);
        for k in 0..count {
            fails(&mut stack);
            assert_eq!((stack.len(), stack.last().map(|x| **x)), (k, k.checked_sub(1)));
            stack.push(Box::new(k));
        }
        for k in (0..count).rev() {
            fails(&mut stack);
            assert_eq!((stack.pop(), stack.len()), (Some(Box::new(k)), k));
            fails(&mut stack);
            assert!(stack.iter().rev().map(|x| **x).take(5).eq((0..k).rev().take(5)));
        }
        assert_eq!(stack.pop(), None);
    }
    for_sizes!(check);
}

#[test]
fn an_iterator_that_panics_leaves_what_it_gave() {
    let mut stack = SlabStack::<Box<u32>, 2, 3>::new();
    let failing = (0..10).map(|x| if x == 7 { panic!("the iterator fails") } else { Box::new(x) });
    assert!(catch_unwind(AssertUnwindSafe(|| stack.extend(failing))).is_err());
    assert!(stack.iter().map(|x| **x).eq(0..7));
}

#[test]
fn elements_without_a_size_are_counted() {
    thread_local!(static DROPS: Cell<usize> = const { Cell::new(0) });
    struct Zero;
    impl Drop for Zero {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    let mut stack = SlabStack::<Zero, 0, 1>::new();
    (0..5000).for_each(|_| stack.push(Zero));
    assert_eq!((stack.len(), stack.capacity(), stack.slabs().count()), (5000, usize::MAX, 1));
    assert_eq!((stack.iter().count(), stack.iter_mut().rev().count()), (5000, 5000));
    assert_eq!(stack.memory().reserved, size_of_val(&stack));
    drop(stack.pop());
    stack.truncate(4000);
    assert_eq!((stack.len(), DROPS.get()), (4000, 1000));
    drop(stack);
    assert_eq!(DROPS.get(), 5000);
    // Copied from a slice, to the end of what can be counted.
    let mut units = SlabStack::<(), 1, 1>::new();
    units.extend_from_slice(&[(); usize::MAX]);
    assert_eq!((units.len(), units.get(usize::MAX - 1)), (usize::MAX, Some(&())));
    let refused = catch_unwind(AssertUnwindSafe(|| units.push(()))).expect_err("no number for it");
    assert_eq!(refused.downcast_ref(), Some(&"a stack has at most usize::MAX elements"));
    assert_eq!(units.pop(), Some(()));
}
