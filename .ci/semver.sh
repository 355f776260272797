#!/usr/bin/env bash
# Compares the public items with those of the last tag: what breaks programs needs another version.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-semver-checks > /dev/null; then
    echo "semver: SKIPPED, this machine has no cargo-semver-checks (cargo install cargo-semver-checks --locked)"
    exit 0
fi
if ! tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD 2> /dev/null); then
    echo "semver: SKIPPED, this repository has no tag of a version to compare with (git fetch --tags)"
    exit 0
fi
echo "the public items since $tag"
cargo semver-checks -p tapewright -p tapewright-strategies --all-features --baseline-rev "$tag"
