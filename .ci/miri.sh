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

# Tests of the tapes under one borrow model: modules of the kit's tests of the contract, and the tests of containers
# that are named behind them.
under() {
    local name=$1 model=$2 modules=$3
    shift 3
    run() {
        local leaks=$1
        shift
        echo "miri, $name borrows${leaks:+, leaks allowed}: $*"
        MIRIFLAGS="-Zmiri-strict-provenance $model $leaks" cargo +nightly miri test -q -p "$@"
    }
    run "" tapewright-strategies --lib -- segment:: external
    run "" tapewright-strategies "$@"
    run "" tapewright-kit-tests --test contract -- $modules --skip leaked
    # These leak tapes on purpose.
    run -Zmiri-ignore-leaks tapewright-kit-tests --test contract -- soundness:: leaked
}

# Scenarios of the conformance kit under a model, for the strategies that are named.
conformance() {
    local name=$1 model=$2 what leaks
    shift 2
    # The second run leaks tapes on purpose.
    for what in scenarios leaked; do
        leaks=""
        [ "$what" = scenarios ] || leaks=-Zmiri-ignore-leaks
        echo "miri, $name borrows${leaks:+, leaks allowed}: the conformance kit for $*"
        MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats $model $leaks" \
            cargo +nightly miri test -q -p tapewright-kit-tests --test interpreted -- --exact "${@/%/::$what}"
    done
}

# Tests of the whole library: zero times infinity, programs, variables as numbers, what comparisons leave with a recording, and schedules that lie. They read the system's clock and
# files, and compare numbers of functions whose last bits the interpreter would otherwise change at random.
library() {
    local kit="-p tapewright-kit-tests"
    export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats"
    echo "miri, $name borrows: zero_times_infinity, programs, replays, faulty schedules, lanes of passive arguments"
    cargo +nightly miri test -q $kit --test zero_times_infinity
    cargo +nightly miri test -q $kit --test programs -- twice used_later passive_arguments not_finite_in after_panics may_be_inputs_or_constants
    cargo +nightly miri test -q $kit --test sweeps -- stale_variables in_a_pause questions has_become statements_of_all_kinds::jacobian
    cargo +nightly miri test -q $kit --test time_loops -- lies_of a_refused_store slots_of the_number_of
}

# Numbers that are variables of another recording: these tests, and the ones named.
nested() {
    export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats $1"
    shift
    echo "miri, $name borrows: reverse_over_reverse"
    cargo +nightly miri test -q -p tapewright-kit-tests --test reverse_over_reverse -- stale_variables primal_value_reuse bytes "$@"
}

# Every loop of array kernels, over lanes that are arrays: as many numbers as registers have, and one by one. Nothing is shared with other
# threads there, and to look for races takes long.
kernels() {
    export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-deterministic-floats -Zmiri-disable-data-race-detector $1"
    shift
    echo "miri, $name borrows: kernels at every width"
    local found="target/miri-kernels-$name.txt"
    cargo +nightly miri test -q -p tapewright-kernel-tests --features wide --test kernels -- widths:: wrapped::few_points "$@" | tee "$found"
    # A test that has moved is not a test that has passed.
    ! grep -q "running 0 tests" "$found"
}

# The models run side by side, and share what takes long.
mkdir -p target
{
    under stacked "" records:: --test slab_allocations --test stores
    conformance stacked "" jacobian hybrid_reuse
    name=stacked library
    name=stacked nested "" running_out a_replay_in_another
    name=stacked kernels ""
} > target/miri-stacked.log 2>&1 &
stacked=$!
{
    under tree -Zmiri-tree-borrows "records:: continuations::" --test slab_stack --test slab_drops --test shared_stack
    conformance tree -Zmiri-tree-borrows primal_value_shared continuation_reuse
    name=tree nested -Zmiri-tree-borrows
    # This model takes twice as long for loops.
    name=tree kernels -Zmiri-tree-borrows --skip stencils --skip border_rules --skip three_dimensions
} > target/miri-tree.log 2>&1 &
tree=$!
status=0
wait "$stacked" || status=1
wait "$tree" || status=1
cat target/miri-stacked.log target/miri-tree.log
exit "$status"
