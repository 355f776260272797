#!/usr/bin/env bash
# How long programs of many statements, and array kernels, take to compile: default release profile, CPU seconds (user + system) and wall
# seconds beyond an empty program, as comma-separated values on standard output.
#
#   benches/compile_time.sh                    the curve: 100, 300, 1000, 3000 statements
#   benches/compile_time.sh 300                these sizes only
#   benches/compile_time.sh --gate             300 statements; fails beyond the limits below
#
# CI machines differ, so the gate is relative: it allows, as multiples of the CPU time that the libraries themselves and their
# dependencies take to compile on the same machine, about half more than was measured (results/compile_time.csv).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
gate=no
[ "${1:-}" = --gate ] && { gate=yes; shift; set -- 300; }
[ $# -gt 0 ] || set -- 100 300 1000 3000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
cat > "$work/Cargo.toml" <<TOML
[package]
name = "many-statements"
version = "0.0.0"
edition = "2024"
[dependencies]
tapewright = { path = "$root" }
[workspace]
TOML
cp "$root/Cargo.lock" "$work/Cargo.lock"
rustc -O --edition 2024 -o "$work/generate" "$root/benches/compile_time/generate.rs"
export CARGO_TARGET_DIR="$work/target"

# Builds the generated program and sets `wall` and `cpu` to the seconds it took.
build() {
    "$work/generate" "$1" "$2" > "$work/src/main.rs"
    local times
    times=$( { TIMEFORMAT='%R %U %S'; time cargo build --release --quiet --manifest-path "$work/Cargo.toml" > "$work/log" 2>&1; } 2>&1 ) \
        || { cat "$work/log" >&2; exit 1; }
    read -r wall user system <<< "$times"
    cpu=$(awk "BEGIN { print $user + $system }")
}

build 1 Jacobian # the libraries and their dependencies
libraries=$cpu
build 0 Jacobian
empty_wall=$wall empty_cpu=$cpu
echo "# compiling the libraries and their dependencies took $libraries CPU seconds"
echo "statements,strategy,wall_s,cpu_s"
failed=no
for statements in "$@"; do
    for strategy in Jacobian PrimalValue; do
        build "$statements" "$strategy"
        wall=$(awk "BEGIN { printf \"%.2f\", $wall - $empty_wall }")
        cpu=$(awk "BEGIN { printf \"%.2f\", $cpu - $empty_cpu }")
        echo "$statements,$strategy,$wall,$cpu"
        limit=$([ "$strategy" = Jacobian ] && echo 0.36 || echo 0.5)
        if [ $gate = yes ] && awk "BEGIN { exit !($cpu > $limit * $libraries) }"; then
            echo "compiling $statements statements under $strategy took $cpu CPU seconds, more than $limit times the \
$libraries of the libraries" >&2
            failed=yes
        fi
    done
done
# One statement. Sweeps over kernels are compiled where kernels are launched, and nowhere else.
build 1 Jacobian
cpu=$(awk "BEGIN { printf \"%.2f\", $cpu - $empty_cpu }")
echo "one,Jacobian,,$cpu"
if [ $gate = yes ] && awk "BEGIN { exit !($cpu > 0.08 * $libraries) }"; then
    echo "compiling one statement took $cpu CPU seconds, more than 0.08 times the $libraries of the libraries" >&2
    failed=yes
fi
if nm -C "$work/target/release/many-statements" | grep -E "lanes::(recorded|interpret|operands)"; then
    echo "these functions of kernels are in a program that has none" >&2
    failed=yes
fi
# The second to the fifth kernel of the size of Burgers' equation, forward and reverse, for three levels of registers.
build 1 kernels
first=$cpu
build 5 kernels
# An operation of registers that was not inlined would pass them through memory, and take ten times as long.
if nm -C "$work/target/release/many-statements" | grep -E "core_arch::x86::(avx|sse)"; then
    echo "these operations are called in the loops of kernels" >&2
    failed=yes
fi
cpu=$(awk "BEGIN { printf \"%.2f\", ($cpu - $first) / 4 }")
echo "a kernel,Jacobian,,$cpu"
if [ $gate = yes ] && awk "BEGIN { exit !($cpu > 0.07 * $libraries) }"; then
    echo "compiling a kernel took $cpu CPU seconds, more than 0.07 times the $libraries of the libraries" >&2
    failed=yes
fi
[ $failed = no ]
