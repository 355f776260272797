//! Storage of which only a part is in memory.

use tapewright_strategies::{SpillOptions, SpilledStack};

const SLAB: usize = 16 << 10;

#[test]
fn pushed_and_popped() {
    let options = SpillOptions::default().slab(SLAB).memory(8 * SLAB);
    let mut stack = SpilledStack::<u32>::open(options).expect("a file");
    for _ in 0..3 {
        for i in 0..200_000_u32 {
            stack.push(i).expect("room");
        }
        println!("{:?}", stack.usage());
        let mut next = 200_000;
        stack
            .for_each_slab_backwards(|slab| {
                for x in slab.iter().rev() {
                    next -= 1;
                    assert_eq!(*x, next);
                }
            })
            .expect("readable");
        println!("{:?}", stack.usage());
        for i in (0..200_000).rev() {
            assert_eq!(stack.get(usize::try_from(i / 2).expect("small")).expect("readable"), Some(i / 2));
            assert_eq!(stack.pop().expect("readable"), Some(i));
        }
        assert_eq!(stack.pop().expect("empty"), None);
        println!("{:?}", stack.usage());
    }
}
