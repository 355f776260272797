//! Stacks that a tape can be made of: push n payloads and pop them; read them from last to first. What they take in
//! bytes, allocations and instructions, `benches/containers.sh` counts.
//!
//! `cargo bench --bench containers` runs criterion; a filter such as `stacks/1024/` chooses.
//!
//! With `TAPEWRIGHT_TABLE=1` tables of ratios are printed instead. In each round all competitors run one after the
//! other, each for at least a millisecond, and medians over the rounds of ratios within a round are shown, so that what
//! else the machine does meets all of them. `TAPEWRIGHT_ROUNDS` (31) is the number of rounds, `TAPEWRIGHT_SIZES`
//! (0,2,…,22) lists the exponents of n.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "counts are far below 2^32")]
#![allow(clippy::cast_sign_loss, reason = "sums of counts")]

mod stacks;
mod table;

use criterion::{BenchmarkId, Criterion, Throughput};
use stacks::{Competitor, all, checksum, reverse_sums, sizes};
use std::env::var;
use std::hint::black_box;
use std::time::Duration;

/// The exponents of n.
fn exponents() -> Vec<u32> {
    let list = var("TAPEWRIGHT_SIZES").unwrap_or_else(|_| "0,2,4,6,8,10,12,14,16,18,20,22".into());
    list.split(',')
        .map(|x| x.trim().parse().expect("TAPEWRIGHT_SIZES is a list of exponents, such as 10,16,22"))
        .collect()
}

/// The sum of the numbers below `n`.
fn triangular(n: usize) -> u64 {
    (n as u64 * (n as u64 - 1)) / 2
}

fn group(criterion: &mut Criterion, name: &str, n: usize, expected: u64, competitors: Vec<Competitor>) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(n as u64));
    for Competitor { name, mut run } in competitors {
        assert_eq!(run(n), expected, "{name}");
        group.bench_function(BenchmarkId::new(n.to_string(), name), |b| b.iter(|| run(black_box(n))));
    }
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    for n in exponents().into_iter().map(|e| 1_usize << e) {
        group(criterion, "stacks", n, checksum(n), all());
        group(criterion, "reverse_sums", n, triangular(n), reverse_sums(n));
    }
    // Memory is what the sizes decide about; time is for the pairs that are no good.
    for n in [16, 256, 4096] {
        group(criterion, "sizes", n, checksum(n), sizes().into_iter().map(|(competitor, _)| competitor).collect());
    }
}

fn tables() {
    for n in exponents().into_iter().map(|e| 1_usize << e) {
        table::print(&format!("push and pop, n = {n}"), n, checksum(n), all(), 2);
        table::print(&format!("sum from last to first, n = {n}"), n, triangular(n), reverse_sums(n), 1);
    }
    for n in [16, 256, 4096] {
        let (competitors, _) = sizes().into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let vec = all().into_iter().take(1);
        table::print(
            &format!("INLINE/SLAB, push and pop, n = {n}"),
            n,
            checksum(n),
            vec.chain(competitors).collect(),
            1,
        );
    }
}

fn main() {
    // Cargo runs benchmarks as tests, too; that is criterion's affair.
    if var("TAPEWRIGHT_TABLE").is_ok_and(|on| on == "1") {
        return tables();
    }
    let warm_up = Duration::from_millis(100);
    let config =
        Criterion::default().sample_size(15).warm_up_time(warm_up).measurement_time(Duration::from_millis(500));
    let mut criterion = config.configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
}
