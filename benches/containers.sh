#!/usr/bin/env bash
# What containers take: allocations and bytes, exactly, and instructions, by callgrind, of pushing and popping one payload.
#
#   benches/containers.sh > benches/results/containers.txt
#
# For times: TAPEWRIGHT_TABLE=1 cargo bench --bench containers
set -euo pipefail
cd "$(dirname "$0")/.."

command -v valgrind > /dev/null || { echo "this needs valgrind (apt-get install valgrind)" >&2; exit 1; }
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
# The C library copies memory in a way for each kind of processor; this is the one for all.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4
host=$(rustc -vV | sed -n 's/^host: //p')
runner="CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<< "$host")_RUNNER"
bench() { cargo bench -q --bench container_counts -- "$@"; }
echo "# $(rustc --version), $host, $(getconf GNU_LIBC_VERSION 2> /dev/null || echo unknown C library)"
bench

# The second of two cycles: stacks that are kept have their memory then.
n=65536
valgrind="valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=*container_counts::stacks::cycle*"
instructions() {
    env "$runner=$valgrind" cargo bench -q --bench container_counts -- "$1" $n "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
printf '\ninstructions to push and pop one of %d payloads of 24 bytes\n' $n
bench names | while read -r name; do
    awk -v name="$name" -v n=$n "BEGIN { printf \"%-36s %8.2f\n\", name, ($(instructions "$name" 2) - $(instructions "$name" 1)) / n }" < /dev/null
done
