#!/usr/bin/env bash
# Runs the threads of the spilled storage under the thread sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version > /dev/null 2>&1 || [ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then
    echo "tsan: SKIPPED, this machine has no nightly toolchain with the library's source (rustup +nightly component add rust-src)"
    exit 0
fi

# Everything is built anew with the sanitizer, the standard library included; keep it away from other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/tsan"
target=$(rustc +nightly -vV | sed -n 's/^host: //p')
# The sanitizer's allocator ends the program where others have no memory; tests ask for too much on purpose.
export TSAN_OPTIONS="allocator_may_return_null=1"
RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target "$target" -p tapewright-strategies \
    --lib --test spill --test spill_budgets --test spill_memory --test spill_faults
