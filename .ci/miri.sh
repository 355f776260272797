#!/usr/bin/env bash
# Runs the unsafe code of strategies/ under miri, in both borrow models.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "miri: SKIPPED, this machine has no nightly toolchain with miri (rustup +nightly component add miri rust-src)"
    exit 0
fi

# The interpreter has its own sysroot and artefacts; keep them away from those of other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"

run() {
    local model=$1 leaks=$2
    shift 2
    echo "miri: ${model:-stacked borrows} ${leaks:-, no leaks}: $*"
    MIRIFLAGS="-Zmiri-strict-provenance $model $leaks" cargo +nightly miri test -p tapewright-strategies "$@"
}

for model in "" "-Zmiri-tree-borrows"; do
    run "$model" "" --test miri -- --skip leaked
    run "$model" "" --test continuations --test captures -- --skip leaked
    # These leak tapes on purpose.
    run "$model" -Zmiri-ignore-leaks --test miri leaked
    run "$model" -Zmiri-ignore-leaks --test continuations leaked
    run "$model" -Zmiri-ignore-leaks --test soundness
    run "$model" "" --test slab_stack --test slab_drops --test slab_allocations --test slab_transfer --test shared_stack
    run "$model" "" --lib block::
    run "$model" "" --test reuse
done
