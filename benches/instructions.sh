#!/usr/bin/env bash
# Instructions of recordings and sweeps, counted by callgrind in a program compiled as benchmarks are.
#
#   benches/instructions.sh            compares with results/instructions.txt: fails where a count is off by more than 2 %
#   benches/instructions.sh --write    writes that file anew
#
# The counts depend on the compiler and on the C library, which the first line of the file names. With others nothing is
# compared.
#
# Why not gungraun: it compares with runs that are kept in the target folder, or with limits in the source, and needs a
# runner of its own version. Here the counts are a file in the repository, and one option is all there is to read.
set -euo pipefail
cd "$(dirname "$0")/.."
committed=benches/results/instructions.txt

skipped() {
    echo "instructions: SKIPPED, $1"
    [ "${write:-no}" = no ] # who wants to write wants to know
    exit
}
write=no
[ "${1:-}" = --write ] && write=yes

command -v valgrind > /dev/null || { [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null \
    && { apt-get install -y -qq valgrind \
        || { apt-get update -qq && apt-get install -y -qq valgrind; }; } > /dev/null 2>&1; } || true
command -v valgrind > /dev/null || skipped "this machine has no valgrind (apt-get install valgrind)"

host=$(rustc -vV | sed -n 's/^host: //p')
here="# $(rustc --version), $host, $(getconf GNU_LIBC_VERSION 2> /dev/null || echo unknown C library)"
there=$(head -n 1 "$committed" 2> /dev/null || true)
[ $write = yes ] || [ "$here" = "$there" ] || skipped "the counts are for '${there#\# }', this is '${here#\# }'"

unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
# The C library has math functions for each kind of processor; these are for all.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4
bench() { cargo bench -q -p tapewright-problems --bench instructions -- "$@"; }
names=$(bench)
valgrind="valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=*counted_by_callgrind*"
export "CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<< "$host")_RUNNER=$valgrind"
counts=$here
while read -r workload strategy part; do
    output=$(bench "$workload" "$strategy" "$part" 2>&1) || { echo "$output" >&2; exit 1; }
    counts+=$'\n'"$workload $strategy $part $(sed -n 's/.*Collected : //p' <<< "$output")"
done <<< "$names"

if [ $write = yes ]; then
    echo "$counts" | tee "$committed"
    exit
fi
# The committed counts come first.
awk '/^#/ { next }
     { name = $1 " " $2 " " $3 }
     NR == FNR { before[name] = $4; next }
     !(name in before) { print name ": NOT COMMITTED"; failed = 1; next }
     { change = 100 * ($4 / before[name] - 1); far = change > 2 || change < -2; failed = failed || far
       printf "%-32s %10d, %+.2f %%%s\n", name, $4, change, far ? ": TOO FAR from " before[name] : ""
       delete before[name] }
     END { for (name in before) { print name ": NOT COUNTED"; failed = 1 }
           if (failed) print "if that is wanted: benches/instructions.sh --write"
           exit failed }' "$committed" - <<< "$counts"
