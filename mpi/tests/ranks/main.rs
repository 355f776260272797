//! Programs on 1 to 4 ranks, and programs that go wrong.
//!
//! `cargo test` runs this once, and it starts itself again under `mpirun`. Without that it says so and passes.

mod cases;
mod checks;
mod launcher;
mod loops;
mod memory;
mod misuse;
mod programs;
mod values;

use std::time::Duration;
use tapewright_mpi::Ranks;
use tapewright_test_support::counting::Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// The argument of a program that runs as one of several ranks; the name of the program follows.
const AS_RANK: &str = "--as-rank";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == AS_RANK) {
        Some(at) => as_rank(arguments.get(at + 1).map_or("", String::as_str)),
        None if is_left_out(&arguments) => {}
        None => launcher::run_all(),
    }
}

/// Returns true if these arguments, which test runners pass to all tests, ask for a list, which a program without a
/// harness does not have, or for other tests than `ranks`.
fn is_left_out(arguments: &[String]) -> bool {
    let (mut filters, mut left_out) = (Vec::new(), false);
    for pair in arguments.windows(2) {
        let is_this = "ranks".contains(&pair[1]);
        match pair[0].as_str() {
            "--skip" => left_out |= is_this,
            _ if !pair[1].starts_with('-') => filters.push(is_this),
            _ => left_out |= pair[1] == "--list",
        }
    }
    left_out || !filters.is_empty() && !filters.contains(&true)
}

fn as_rank(program: &str) {
    let universe = mpi::initialize().expect("MPI is initialized once");
    if program != "checks" {
        return misuse::run(&universe, program);
    }
    let ranks = Ranks::new(&universe, Duration::from_mins(1));
    let all = ranks.all();
    values::check(all);
    let checked = checks::all_strategies(all);
    let bits = checks::bits(all) ^ programs::check(all);
    loops::check(all);
    values::parts(&universe);
    memory::check(all);
    misuse::refused(ranks);
    if all.rank() == 0 {
        let ranks = all.size();
        println!("{ranks} ranks: {checked} pairs of an operation and a strategy, bits {bits:016x}");
    }
}
