#!/usr/bin/env bash
# How long programs of many statements, and array kernels, take to compile: default release profile, CPU seconds (user + system) and wall
# seconds beyond an empty program, as comma-separated values on standard output.
#
#   benches/compile_time.sh                    the curve: 100, 300, 1000, 3000 statements
#   benches/compile_time.sh 300                these sizes only
#   benches/compile_time.sh --gate             300 statements; fails beyond the limits below
#
# CI machines differ, so the gate is relative: it allows, as multiples of the CPU time that the libraries themselves and their
# dependencies take to compile on the same machine, half as much again as was measured (results/compile_time.csv), and for one
# statement and for a kernel, which take little, up to twice as much.
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

# Sets `cpu` to what it is beyond $1.
beyond() { cpu=$(awk "BEGIN { printf \"%.2f\", $cpu - $1 }"); }

# With --gate, fails if compiling $1 took more than $2 times what the libraries took.
limit() {
    if [ $gate = yes ] && awk "BEGIN { exit !($cpu > $2 * $libraries) }"; then
        echo "compiling $1 took $cpu CPU seconds, more than $2 times the $libraries of the libraries" >&2
        failed=yes
    fi
}

# Fails if functions like $1 are in the program, and says that $2.
absent() {
    if nm -C "$work/target/release/many-statements" | grep -E "$1"; then
        echo "$2" >&2
        failed=yes
    fi
}

build 1 Jacobian # the libraries and their dependencies
libraries=$cpu
build 0 Jacobian
empty_wall=$wall empty_cpu=$cpu
echo "# compiling the libraries and their dependencies took $libraries CPU seconds"
echo "statements,strategy,wall_s,cpu_s"
failed=no
# Sweeps over kernels are compiled where kernels are launched, and nowhere else.
build 1 Jacobian
beyond "$empty_cpu"
echo "1,Jacobian,,$cpu"
limit "one statement" 0.08
absent "kernel::(launch::kernel|exec::interpreter|exec::operands)" "these functions of kernels are in a program that has none"
for statements in "$@"; do
    for strategy in Jacobian PrimalValue; do
        build "$statements" "$strategy"
        wall=$(awk "BEGIN { printf \"%.2f\", $wall - $empty_wall }")
        beyond "$empty_cpu"
        echo "$statements,$strategy,$wall,$cpu"
        limit "$statements statements under $strategy" "$([ "$strategy" = Jacobian ] && echo 0.36 || echo 0.5)"
    done
done
# Statements of programs, forward and reverse over blocks, for two levels of registers.
build 30 tapewright::strategies::Instructions
beyond "$empty_cpu"
echo "30,Instructions,,$cpu"
limit "30 statements of programs" 0.28
# A closure that was not inlined is not compiled for the registers of its caller.
absent "core_arch::x86::(avx|sse|fma)" "these operations are called in programs"
# The second to the fifth kernel of the size of Burgers' equation, forward and reverse, for three levels of registers.
build 1 kernels
first=$cpu
build 5 kernels
# An operation of registers that was not inlined would pass them through memory, and take ten times as long.
absent "core_arch::x86::(avx|sse)" "these operations are called in the loops of kernels"
beyond "$first"
cpu=$(awk "BEGIN { printf \"%.2f\", $cpu / 4 }")
echo "a kernel,Jacobian,,$cpu"
limit "a kernel" 0.07
[ $failed = no ]
