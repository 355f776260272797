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

for model in "" "-Zmiri-tree-borrows"; do
    echo "miri: ${model:-stacked borrows}"
    MIRIFLAGS="-Zmiri-strict-provenance $model" cargo +nightly miri test -p tapewright-strategies --test miri --test soundness
done
