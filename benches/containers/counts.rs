//! What the same stacks take, in counts that do not depend on the machine: allocations, bytes, instructions.
//!
//! Without arguments it prints tables of allocations and bytes, and of the bytes of all pairs of sizes. `NAME N TIMES`
//! pushes and pops `N` payloads so many times, for `benches/containers.sh`, which has callgrind count the instructions;
//! `names` lists the names.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "counts are far below 2^32")]
#![allow(clippy::cast_sign_loss, reason = "sums of counts")]

#[allow(dead_code, reason = "sums from last to first are timed only")]
mod stacks;

use stacks::{all, checksum, sizes};
use tapewright_test_support::counting::{Counting, allocations, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many payloads of 24 bytes: inline, a slab, many slabs.
const COUNTS: [usize; 4] = [32, 1 << 10, 1 << 16, 1 << 20];

/// Allocations, and the most bytes that the allocator has given at one time, while `n` payloads are pushed and popped.
fn print_allocations() {
    println!("from empty: allocations, and the most bytes at one time, for n payloads of 24 bytes");
    print!("{:<36}", "n");
    COUNTS.iter().for_each(|n| print!(" {n:>18}"));
    println!();
    for mut stack in all() {
        let Some(name) = stack.name.strip_suffix(", from empty") else { continue };
        print!("{name:<36}");
        for n in COUNTS {
            let ((sum, calls), bytes) = peak(|| allocations(|| (stack.run)(n)));
            assert_eq!(sum, checksum(n), "{name}");
            print!(" {calls:>7} {bytes:>10}");
        }
        println!();
    }
}

/// Bytes reserved by `n` payloads of 24 bytes, object and allocator's memory together.
fn print_sizes() {
    let counts = || std::iter::once(0).chain((0..=12).map(|e| 1 << e));
    println!("\nINLINE/SLAB, bytes reserved for n payloads of 24 bytes");
    print!("{:<12}", "n");
    counts().for_each(|n| print!(" {n:>7}"));
    println!();
    for (competitor, reserved) in sizes() {
        print!("{:<12}", competitor.name.trim_end_matches(", from empty"));
        counts().for_each(|n| print!(" {:>7}", reserved(n)));
        println!();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            print_allocations();
            print_sizes();
        }
        ["names"] => all().iter().for_each(|stack| println!("{}", stack.name)),
        [name, n, times] => {
            let [n, times]: [usize; 2] = [n, times].map(|number| number.parse().expect("a number"));
            let mut stack = all().into_iter().find(|stack| stack.name == name).expect("one of `names`");
            (0..times).for_each(|_| assert_eq!((stack.run)(n), checksum(n)));
        }
        _ => panic!("containers_counts [names | NAME N TIMES]"),
    }
}
