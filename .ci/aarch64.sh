#!/usr/bin/env bash
# Runs the tests of array kernels on AArch64, which has other registers: in an emulator if this machine is another one.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu

skipped() {
    echo "aarch64: SKIPPED, $1"
    exit 0
}

# These have nothing to do with registers, and the emulator is slow.
others=(--skip loops:: --skip refusals:: --skip spilled:: --skip joined::a_region --skip joined::several --skip joined::launches_over --skip joined::launches_share --skip joined::a_pause --skip scans::groups --skip scans::zeros)
if [ "$(uname -sm)" = "Linux aarch64" ]; then
    echo "aarch64: this is such a machine, and the tests have run"
    exit 0
fi
[ "$(uname -s)" = Linux ] || skipped "the emulator is for Linux"

if ! { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; } > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        # Old lists of packages are good enough as a rule.
        packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
        apt-get install -y -qq "${packages[@]}" > /dev/null 2>&1 \
            || { apt-get update -qq && apt-get install -y -qq "${packages[@]}"; } > /dev/null 2>&1 || true
    fi
fi
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$tool" > /dev/null \
        || skipped "this machine has no $tool (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
done
libraries=$(rustc --print target-libdir --target "$target")
[ -e "$libraries" ] || rustup target add "$target" > /dev/null 2>&1 || true
[ -e "$libraries" ] || skipped "Rust's library for it is missing (rustup target add $target)"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# Tests panic on purpose, and the emulator takes long to print where.
export RUST_BACKTRACE=0
cargo test -q --target "$target" -p tapewright-kernel-tests -- "${others[@]}"
