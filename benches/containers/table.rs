//! Tables of interleaved medians.

use crate::stacks::Competitor;
use cpu_time::ThreadTime;
use std::hint::black_box;
use std::time::Duration;
use tapewright_test_support::median;

/// The least time that one measurement takes.
const LEAST: Duration = Duration::from_millis(1);

/// Nanoseconds of processor time for one element, from `repetitions` runs in a row.
fn measure(competitor: &mut Competitor, n: usize, repetitions: usize) -> f64 {
    let start = ThreadTime::now();
    for _ in 0..repetitions {
        black_box((competitor.run)(black_box(n)));
    }
    start.elapsed().as_secs_f64() * 1e9 / (repetitions * n) as f64
}

/// How many runs take [`LEAST`]: doubled until they do.
fn repetitions(competitor: &mut Competitor, n: usize) -> usize {
    let mut repetitions = 1;
    while measure(competitor, n, repetitions) * ((repetitions * n) as f64) < LEAST.as_nanos() as f64 {
        repetitions *= 2;
    }
    repetitions
}

/// Nanoseconds for one element, and the ratio to each of the first `bases` competitors: medians.
pub(crate) fn print(title: &str, n: usize, expected: u64, mut competitors: Vec<Competitor>, bases: usize) {
    let rounds = std::env::var("TAPEWRIGHT_ROUNDS").map_or(31, |r| r.parse().expect("TAPEWRIGHT_ROUNDS is a number"));
    for competitor in &mut competitors {
        assert_eq!((competitor.run)(n), expected, "{}", competitor.name);
    }
    let repetitions: Vec<usize> = competitors.iter_mut().map(|c| repetitions(c, n)).collect();
    // Every round begins with another one, so that no competitor always meets the caches of the same other.
    let count = competitors.len();
    let mut times = vec![vec![0.0; count]; rounds];
    for (round, times) in times.iter_mut().enumerate() {
        for k in (0..count).map(|k| (k + round) % count) {
            times[k] = measure(&mut competitors[k], n, repetitions[k]);
        }
    }
    println!("\n{title}: medians of {rounds} rounds");
    print!("{:<36} {:>12}", "", "ns/element");
    competitors.iter().take(bases).for_each(|base| print!(" {:>18}", format!("/ {}", base.name)));
    println!();
    for (k, competitor) in competitors.iter().enumerate() {
        print!("{:<36} {:>12.2}", competitor.name, median(times.iter().map(|round| round[k]).collect()));
        (0..bases)
            .for_each(|base| print!(" {:>18.2}", median(times.iter().map(|round| round[k] / round[base]).collect())));
        println!();
    }
}
