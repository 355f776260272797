#!/usr/bin/env bash
# Checks the library for systems that this machine is not, and with the oldest compiler that it supports.
set -euo pipefail
cd "$(dirname "$0")/.."
library=(-p tapewright -p tapewright-strategies)
# Those of which the code depends on the system or on its registers; the others take long.
features=(--features tapewright/conformance,tapewright/rayon,tapewright/packs)

# The compiler's own library for a target, or its source under the nightly toolchain that miri uses.
for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
    installed=$(rustc --print target-libdir --target "$target")
    [ -e "$installed" ] || rustup target add "$target" > /dev/null 2>&1 || true
    if [ -e "$installed" ]; then
        echo "$target"
        cargo clippy "${library[@]}" "${features[@]}" --target "$target" -- -D warnings
    elif [ -e "$(rustc +nightly --print sysroot 2> /dev/null || true)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        echo "$target, with the standard library from source"
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/targets" \
            cargo +nightly check -Zbuild-std "${library[@]}" "${features[@]}" --target "$target"
    else
        echo "$target: SKIPPED, Rust's library for it is missing (rustup target add $target)"
    fi
done

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
cargo "+$oldest" --version > /dev/null 2>&1 || rustup toolchain install "$oldest" --profile minimal > /dev/null 2>&1 || true
if cargo "+$oldest" --version > /dev/null 2>&1; then
    echo "Rust $oldest"
    cargo "+$oldest" check "${library[@]}" --all-features
else
    echo "Rust $oldest: SKIPPED, this machine has no such toolchain (rustup toolchain install $oldest --profile minimal)"
fi
