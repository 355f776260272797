//! The stack that threads share: nothing is lost, whatever they do and however they fail.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use tapewright_strategies::storage::{Locked, SharedStack, SlabStack, Unlocked};

/// Pushes of each thread: a million, fewer where every access is watched.
fn pushes() -> u32 {
    if cfg!(miri) { 60 } else { std::env::var("TAPEWRIGHT_PUSHES").map_or(1_000_000, |n| n.parse().expect("a number")) }
}

const THREADS: u32 = 8;

/// Each thread's elements are all there, once, and in the order in which the thread pushed them.
fn assert_complete<'a>(elements: impl Iterator<Item = &'a (u32, u32)>) {
    let mut next = [0; THREADS as usize];
    for (thread, number) in elements {
        let expected = &mut next[*thread as usize];
        assert_eq!(number, expected);
        *expected += 1;
    }
    assert_eq!(next, [pushes(); THREADS as usize]);
}

#[test]
fn c11_eight_threads_lose_nothing() {
    fn check<const I: usize, const S: usize>() {
        let stack = SharedStack::<(u32, u32), Locked, I, S>::new();
        thread::scope(|threads| {
            for thread in 0..THREADS {
                let stack = &stack;
                threads.spawn(move || (0..pushes()).for_each(|k| stack.push((thread, k))));
            }
        });
        assert_eq!(stack.len(), (THREADS * pushes()) as usize);
        assert_complete(stack.into_inner().iter());
    }
    check::<64, 1024>();
    check::<1, 7>();
}

#[test]
fn c11_what_is_popped_by_some_threads_was_pushed_by_others() {
    let stack: SharedStack<Box<u32>, Locked, 3, 7> = SharedStack::new();
    let per_thread = pushes() / 10;
    let mut popped: Vec<u32> = thread::scope(|threads| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let stack = &stack;
                threads.spawn(move || {
                    let mut own = Vec::new();
                    for k in 0..per_thread {
                        stack.push(Box::new(thread * per_thread + k));
                        own.extend((k % 3 == 0).then(|| *stack.pop().expect("at least as many pushes as pops")));
                    }
                    own
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("nothing panics")).collect()
    });
    popped.extend(stack.into_inner().iter().map(|x| **x));
    popped.sort_unstable();
    assert!(popped.into_iter().eq(0..THREADS * per_thread));
}

#[test]
fn c11_several_operations_under_one_lock_are_not_interrupted() {
    let stack: SharedStack<u32> = SharedStack::new();
    thread::scope(|threads| {
        for thread in 0..THREADS {
            let stack = &stack;
            threads.spawn(move || {
                for _ in 0..pushes() / 100 {
                    stack.with(|s| s.extend([thread; 5]));
                }
            });
        }
    });
    let elements: Vec<u32> = stack.into_inner().iter().copied().collect();
    assert!(elements.chunks(5).all(|five| five.iter().all(|x| *x == five[0])));
    assert_eq!(elements.len(), (5 * THREADS * (pushes() / 100)) as usize);
}

#[test]
fn c11_a_panic_under_the_lock_leaves_the_stack_usable() {
    let mut stack: SharedStack<Box<u32>, Locked, 1, 2> = SharedStack::new();
    for k in 0..10 {
        stack.push(Box::new(k));
        let failed = thread::scope(|threads| threads.spawn(|| stack.push_with(|| panic!("no element"))).join());
        assert!(failed.is_err());
        let failed =
            catch_unwind(AssertUnwindSafe(|| stack.with(|s| drop((s.pop(), s.last().map(|_| panic!("later")))))));
        assert_eq!(failed.is_err(), k > 0);
        stack.push(Box::new(k));
    }
    assert_eq!((stack.len(), stack.is_empty()), (10, false));
    assert_eq!((stack.get_mut().pop(), stack.pop()), (Some(Box::new(9)), Some(Box::new(8))));
    assert_eq!(stack.memory().used, 8 * 8);
    stack.clear();
    assert_eq!((stack.pop(), stack.into_inner().len()), (None, 0));
}

#[test]
fn c11_both_forms_have_the_same_methods() {
    macro_rules! check {
        ($lock:ty) => {{
            #[allow(unused_mut, reason = "one of the two needs no exclusive access")]
            let mut stack: SharedStack<u32, $lock, 2, 3> = SlabStack::from_iter([1, 2, 3]).into();
            stack.push(4);
            stack.push_with(|| 5);
            assert_eq!((stack.pop(), stack.len(), stack.is_empty()), (Some(5), 4, false));
            assert_eq!(stack.with(|s| s.iter().sum::<u32>()), 10);
            assert_eq!(stack.memory().used, 16);
            assert!(stack.memory().reserved > size_of_val(&stack));
            assert!(format!("{stack:?}").contains("[1, 2, 3, 4]"));
            stack.clear();
            assert_eq!((stack.is_empty(), stack.pop()), (true, None));
        }};
    }
    check!(Locked);
    check!(Unlocked);
}

#[test]
fn c11_threads_may_share_what_may_be_sent() {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    // A cell may be sent to another thread, not shared; behind the lock it may be both.
    shared::<SharedStack<Cell<u8>, Locked>>();
    sent::<SharedStack<Cell<u8>, Unlocked>>();
    shared::<SharedStack<u8, Unlocked>>();
}

/// What a panic said.
#[track_caller]
fn message(outcome: thread::Result<()>) -> String {
    let panic = outcome.expect_err("a panic");
    panic
        .downcast_ref::<&str>()
        .map_or_else(|| panic.downcast_ref::<String>().expect("a text").clone(), |text| (*text).into())
}

/// An element whose destructor pushes another onto its own stack.
struct Pushing(Option<Arc<SharedStack<Pushing, Locked, 1, 2>>>);

impl Drop for Pushing {
    fn drop(&mut self) {
        if let Some(stack) = self.0.take() {
            stack.push(Self(None));
        }
    }
}

#[test]
fn c11_using_a_stack_under_its_own_lock_panics_and_does_not_wait_for_ever() {
    type Small = SharedStack<u32, Locked, 1, 2>;
    let stack: Small = SlabStack::from_iter([1, 2, 3]).into();
    let inside: [fn(&Small); 8] = [
        |stack| stack.push(7),
        |stack| stack.push_with(|| 7),
        |stack| _ = stack.pop(),
        |stack| _ = stack.len(),
        |stack| _ = stack.is_empty(),
        |stack| stack.clear(),
        |stack| _ = stack.memory(),
        |stack| stack.with(|_| ()),
    ];
    for use_it in inside {
        let in_closure = || stack.with(|_| use_it(&stack));
        let in_constructor = || {
            stack.push_with(|| {
                use_it(&stack);
                7
            });
        };
        for outcome in [catch_unwind(AssertUnwindSafe(in_closure)), catch_unwind(AssertUnwindSafe(in_constructor))] {
            let found = message(outcome);
            assert!(found.contains("must not use the stack that it runs for"), "{found}");
        }
    }
    // Debug output does not wait.
    assert!(stack.with(|_| format!("{stack:?}")).contains("<locked>"));
    assert_eq!(stack.into_inner().iter().copied().collect::<Vec<_>>(), [1, 2, 3], "as it was");
}

#[test]
fn c11_a_destructor_that_uses_its_own_stack_panics_under_the_lock_and_may_do_so_elsewhere() {
    let stack = Arc::new(SharedStack::new());
    stack.push(Pushing(None));
    stack.push(Pushing(Some(Arc::clone(&stack))));
    stack.push(Pushing(None));
    let found = message(catch_unwind(AssertUnwindSafe(|| stack.clear())));
    assert!(found.contains("an element's constructor or destructor"), "{found}");
    assert_eq!(stack.len(), 0, "all have been dropped");
    // The element that `pop` returns is dropped when the lock is free again.
    stack.push(Pushing(Some(Arc::clone(&stack))));
    drop(stack.pop());
    assert_eq!(stack.len(), 1);
}

#[test]
fn c11_one_stack_may_be_used_under_the_lock_of_another_and_by_others_meanwhile() {
    let (outer, inner): (SharedStack<u32>, SharedStack<u32>) = (SharedStack::new(), SharedStack::new());
    let began = Barrier::new(2);
    thread::scope(|threads| {
        threads.spawn(|| {
            outer.with(|stack| {
                began.wait();
                // The other thread waits for the lock, and does not panic.
                thread::sleep(Duration::from_millis(if cfg!(miri) { 1 } else { 50 }));
                inner.push(1);
                inner.with(|_| stack.push(2));
            });
            assert!(catch_unwind(AssertUnwindSafe(|| outer.with(|_| outer.len()))).is_err());
        });
        threads.spawn(|| {
            began.wait();
            outer.push(3);
        });
    });
    assert_eq!((outer.into_inner().iter().sum::<u32>(), inner.len()), (5, 1));
}

#[test]
#[cfg_attr(miri, ignore = "the interpreter has no limit of memory to refuse by")]
fn c11_missing_memory_under_the_lock_is_a_panic_that_loses_nothing() {
    let stack: SharedStack<u64, Locked, 4, 16> = (0..100).collect::<SlabStack<_, 4, 16>>().into();
    let found = message(catch_unwind(AssertUnwindSafe(|| stack.with(|stack| stack.reserve(1 << 55)))));
    assert!(found.contains("has no 288230376151711744 bytes for 2251799813685248 slabs of 16 elements"), "{found}");
    stack.push(100);
    assert!(stack.into_inner().iter().copied().eq(0..101));
}
