#!/usr/bin/env bash
# What crates.io would get: which files are in the packages, and a publication without the upload, which compiles them.
# Arguments are handed to `cargo publish`.
set -euo pipefail
cd "$(dirname "$0")/.."

# A package holds its sources, the licenses, and what is named here; nothing else, and nothing is missing.
holds() {
    local package=$1 folder=$2
    shift 2
    local made_by_cargo=(.cargo_vcs_info.json Cargo.lock Cargo.toml Cargo.toml.orig)
    cargo package -q -p "$package" --list --allow-dirty | sort > target/package.list
    {
        printf '%s\n' "${made_by_cargo[@]}" LICENSE-APACHE LICENSE-MIT "$@"
        (cd "$folder" && git ls-files -co --exclude-standard 'src/*.rs' 'src/*.md')
    } | sort > target/package.expected
    if ! diff -u target/package.expected target/package.list; then
        echo "the package $package: its files are not those expected" >&2
        exit 1
    fi
    echo "$package: $(wc -l < target/package.list) files"
    [ "$folder" = . ] || cmp LICENSE-MIT "$folder/LICENSE-MIT"
    [ "$folder" = . ] || cmp LICENSE-APACHE "$folder/LICENSE-APACHE"
}

mkdir -p target
published=$(cargo metadata --no-deps --format-version 1 | grep -o '"publish":null' | wc -l)
if [ "$published" != 3 ]; then
    echo "packages: $published may be published; say \`publish = false\`, or name the package here" >&2
    exit 1
fi
holds tapewright-strategies strategies README.md
holds tapewright . CHANGELOG.md
holds tapewright-mpi mpi README.md

if ! cargo update --dry-run > target/package.log 2>&1; then
    echo "packages: SKIPPED, the dry run of a publication: the registry's index cannot be reached"
    tail -n 3 target/package.log
    exit 0
fi
# Cargo takes a package of the same name, version and place for the one that it has unpacked before: so another place.
place=$(mktemp -d target/publication.XXXXXX)
trap 'rm -rf "$place"' EXIT
cargo publish --workspace --dry-run --allow-dirty --target-dir "$place" "$@"
