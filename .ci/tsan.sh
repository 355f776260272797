#!/usr/bin/env bash
# Runs what threads share under the thread sanitizer, which finds data races.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
sources="$(rustc +nightly --print sysroot 2>/dev/null || true)/lib/rustlib/src/rust/library/Cargo.lock"
if [ ! -e "$sources" ] || [[ "$(rustc +nightly -vV)" != *"host: $target"* ]]; then
    echo "tsan: SKIPPED, needs a nightly toolchain with rust-src on $target (rustup +nightly component add rust-src)"
    exit 0
fi

# The standard library is built with the sanitizer, too; keep it away from other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/tsan"
# Every access is watched, so fewer pushes do.
export TAPEWRIGHT_PUSHES="${TAPEWRIGHT_PUSHES:-20000}"
export RUSTFLAGS="-Zsanitizer=thread" RUSTDOCFLAGS="-Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=1 allocator_may_return_null=1"
# (Some tests ask for more memory than there is, on purpose.)
# The stacks and stores that threads share, and threads that share out a kernel, with one standard library and one set of
# flags, so that nothing is compiled twice. Duals are in registers without debug assertions only.
cargo +nightly test -Zbuild-std --target "$target" -p tapewright-strategies -p tapewright-kernel-tests \
    --features tapewright-kernel-tests/threads \
    --lib --test shared_stack --test stores --test spill --test spill_budgets --test spill_faults --test races \
    --config profile.test.debug-assertions=false --config profile.test.opt-level=1
