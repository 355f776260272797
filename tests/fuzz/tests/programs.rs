//! Random functions as programs, beside tapes.
//!
//! `TAPEWRIGHT_FUZZ_SEED` is the first seed, `TAPEWRIGHT_FUZZ_PROGRAMS` the number of functions, and
//! `TAPEWRIGHT_FUZZ_SECONDS` the time at most.

use std::time::{Duration, Instant};
use tapewright_fuzz_tests::programs::fault_of_program;

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

#[test]
fn programs_find_what_tapes_find() {
    let (programs, seconds) = (variable("TAPEWRIGHT_FUZZ_PROGRAMS"), variable("TAPEWRIGHT_FUZZ_SECONDS"));
    let (first, start) = (variable("TAPEWRIGHT_FUZZ_SEED").unwrap_or(1), Instant::now());
    let most = programs.unwrap_or(if seconds.is_some() { u64::MAX } else { 600 });
    let time = seconds.map_or(Duration::MAX, Duration::from_secs);
    let seeds = (0..most).map_while(|k| (start.elapsed() < time).then_some(first.wrapping_add(k)));
    let mut count = 0_u64;
    let fault = seeds.inspect(|_| count += 1).find_map(fault_of_program);
    println!("{count} programs from seed {first} in {:.1?}", start.elapsed());
    assert!(fault.is_none(), "{}", fault.unwrap_or_default());
}
