#!/usr/bin/env bash
# Runs the unsafe code of strategies/, with the loops of kernels, under miri, in both borrow models.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "miri: SKIPPED, this machine has no nightly toolchain with miri (rustup +nightly component add miri rust-src)"
    exit 0
fi

# Tests panic on purpose, and the interpreter needs minutes to print where.
export RUST_BACKTRACE=0

# What is compiled serves both borrow models, and stays away from other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"

# Tests of the tapes under one borrow model: these, and the ones named.
under() {
    local name=$1 model=$2
    shift 2
    run() {
        local leaks=$1
        shift
        echo "miri, $name borrows${leaks:+, leaks allowed}: $*"
        MIRIFLAGS="-Zmiri-strict-provenance $model $leaks" cargo +nightly miri test -q -p tapewright-strategies "$@"
    }
    run "" --lib -- segment:: external
    run "" --test miri "$@" -- --skip leaked
    # These leak tapes on purpose.
    run -Zmiri-ignore-leaks --test miri --test continuations leaked
    run -Zmiri-ignore-leaks --test soundness
}

# Tests of the whole library: zero times infinity, variables as numbers, what comparisons leave with a recording, and schedules that lie. They read the system's clock and
# files, and compare numbers of functions whose last bits the interpreter would otherwise change at random.
library() {
    local kit="-p tapewright-kit-tests"
    export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats"
    echo "miri, $name borrows: zero_times_infinity, reverse_over_reverse, replays, faulty schedules"
    cargo +nightly miri test -q $kit --test zero_times_infinity
    cargo +nightly miri test -q $kit --test reverse_over_reverse -- stale_variables primal_value_reuse a_replay_in_another
    cargo +nightly miri test -q $kit --test sweeps -- stale_variables in_a_pause questions
    cargo +nightly miri test -q $kit --test time_loops -- lies_of a_refused_store slots_of the_number_of
}

# Every loop of array kernels, over lanes that are arrays: as many numbers as registers have, and one by one. Nothing is shared with other
# threads there, and to look for races takes long.
kernels() {
    export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats -Zmiri-disable-data-race-detector $1"
    shift
    echo "miri, $name borrows: kernels at every width"
    local found="target/miri-kernels-$name.txt"
    cargo +nightly miri test -q -p tapewright-kernel-tests --features wide --test kernels -- widths:: "$@" | tee "$found"
    # A test that has moved is not a test that has passed.
    ! grep -q "running 0 tests" "$found"
}

# The models run side by side, and share what takes long.
mkdir -p target
{
    under stacked "" --test nested --test reuse --test slab_allocations --test stores
    name=stacked library
    name=stacked kernels ""
} > target/miri-stacked.log 2>&1 &
stacked=$!
{
    under tree -Zmiri-tree-borrows --test nested --test sweeps --test continuations --test captures --test slab_stack --test slab_drops --test shared_stack
    # This model takes twice as long for loops.
    name=tree kernels -Zmiri-tree-borrows --skip stencils --skip border_rules --skip three_dimensions
} > target/miri-tree.log 2>&1 &
tree=$!
status=0
wait "$stacked" || status=1
wait "$tree" || status=1
cat target/miri-stacked.log target/miri-tree.log
exit "$status"
