//! Random programs, and everything that can be done with their tapes, against an oracle.
//!
//! `TAPEWRIGHT_FUZZ_SEED` is the first seed, `TAPEWRIGHT_FUZZ_PROGRAMS` the number of programs,
//! `TAPEWRIGHT_FUZZ_SECONDS` the time at most, and `TAPEWRIGHT_FUZZ_FAILURES` the number of failures to stop after.

use std::time::Duration;
use tapewright_fuzz_tests::fuzz::{Amount, fuzz};

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

#[test]
fn random_programs_do_what_the_oracle_says() {
    let (programs, seconds) = (variable("TAPEWRIGHT_FUZZ_PROGRAMS"), variable("TAPEWRIGHT_FUZZ_SECONDS"));
    let amount = Amount {
        seed: variable("TAPEWRIGHT_FUZZ_SEED").unwrap_or(1),
        programs: programs.unwrap_or(if seconds.is_some() { u64::MAX } else { 1000 }),
        time: seconds.map_or(Duration::MAX, Duration::from_secs),
        failures: variable("TAPEWRIGHT_FUZZ_FAILURES").map_or(1, |n| usize::try_from(n).expect("a small number")),
    };
    let report = fuzz(amount);
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    let rate = report.programs as f64 / report.time.as_secs_f64();
    println!("{} programs from seed {} in {:.1?}, {rate:.0} a second", report.programs, amount.seed, report.time);
    println!("{:?}", report.tally);
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
}

/// The oracle took the slope of log₁₀ x at 2⁻¹⁰²⁵ for infinite.
#[test]
fn a_slope_next_to_the_largest_number_is_finite() {
    let report = fuzz(Amount { seed: 1_795_818_522_003_897, programs: 1, time: Duration::MAX, failures: 1 });
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
}
