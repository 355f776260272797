#!/usr/bin/env bash
# Benchmarks two git revisions of this repository against each other.
#
#   benches/revisions.sh BASELINE CURRENT BENCH [FILTER]
#
#   BASELINE, CURRENT   any names of commits, such as HEAD~1, HEAD, main, a tag
#   BENCH               a benchmark that both have: workloads, overheads, containers
#   FILTER              only benchmarks whose names contain this, as for `cargo bench -- FILTER`
#
#   ROUNDS=5            how often each is run, in turn, so that what else the machine does meets both
#   SECONDS_EACH=1      how long criterion measures each benchmark in a round, many iterations at a time
#   CARGO_TARGET_DIR    where to build, if dependencies that are built there already shall be used again
#
# Prints the medians over the rounds, of criterion's medians in nanoseconds, and the median of the ratios within a round:
# below 1, CURRENT is faster. Commit what you want to measure; changes that are not committed take no part.
set -euo pipefail

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case "${1:-}" in -h | --help) usage; exit 0 ;; esac
if [ $# -lt 3 ] || [ $# -gt 4 ]; then usage >&2; exit 2; fi
bench=$3 filter=${4:-} rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-1}
case "$rounds" in '' | 0 | *[!0-9]*) echo "ROUNDS must be a number of at least 1, not '$rounds'" >&2; exit 2 ;; esac

root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
baseline=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}") || { echo "there is no commit '$1'" >&2; exit 2; }
current=$(git -C "$root" rev-parse --verify --quiet "$2^{commit}") || { echo "there is no commit '$2'" >&2; exit 2; }

work=$(mktemp -d)
cleanup() {
    for side in baseline current; do
        if [ -e "$work/$side" ]; then git -C "$root" worktree remove --force "$work/$side" || true; fi
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$work/target}
for side in baseline current; do
    git -C "$root" worktree add --quiet --detach "$work/$side" "${!side}"
    # Both are the same package to cargo, which sees by the times of the files that one is not the other.
    find "$work/$side" -type f -not -name .git -exec touch {} +
    echo "building $bench of $side: $(git -C "$root" log -1 --format='%h %s' "${!side}")" >&2
    program=$(cd "$work/$side" && cargo bench --bench "$bench" --no-run --message-format json-render-diagnostics |
        sed -n 's/.*"name":"'"$bench"'".*"executable":"\([^"]*\)".*/\1/p') || true
    if [ -z "$program" ]; then echo "the benchmark $bench of $side cannot be built" >&2; exit 1; fi
    cp "$program" "$work/$side.program"
done

for round in $(seq "$rounds"); do
    # Whoever begins is the other one in the next round.
    if [ $((round % 2)) -eq 1 ]; then order="baseline current"; else order="current baseline"; fi
    for side in $order; do
        echo "round $round of $rounds: $side" >&2
        (cd "$work/$side" && CRITERION_HOME="$work/$side.results" "$work/$side.program" --bench --noplot \
            --measurement-time "$seconds" --save-baseline "round$round" ${filter:+"$filter"}) > "$work/log" 2>&1 ||
            { cat "$work/log" >&2; exit 1; }
    done
done

# One line for each benchmark, round and side: name, round, side, median in nanoseconds.
for side in baseline current; do
    mkdir -p "$work/$side.results"
    (cd "$work/$side.results" && find . -path '*/round[0-9]*/estimates.json') | while read -r file; do
        name=${file#./} name=${name%/round*} round=${file%/estimates.json}
        median=$(sed 's/.*"median":{[^}]*},"point_estimate":\([-+.eE0-9]*\).*/\1/' "$work/$side.results/$file")
        printf '%s\t%s\t%s\t%s\n' "$name" "${round##*/round}" "$side" "$median"
    done
done | sort > "$work/medians"
if [ ! -s "$work/medians" ]; then echo "no benchmark of $bench matches '$filter'" >&2; exit 1; fi

printf '%-56s %15s %15s %9s\n' "ns, medians of $rounds rounds" baseline current ratio
awk -F '\t' '
    function median(list, count,    i, j, x) {
        for (i = 2; i <= count; i++) {
            x = list[i]
            for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
            list[j + 1] = x
        }
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    function row(    k, n, b, c, r, r0) {
        n = 0
        for (k in base) if (k in now) { n++; b[n] = base[k]; c[n] = now[k]; r[n] = now[k] / base[k] }
        if (n) printf "%-56s %15.1f %15.1f %9.3f\n", name, median(b, n), median(c, n), median(r, n)
        else printf "%-56s only one revision has it\n", name
        delete base; delete now
    }
    $1 != name { if (name != "") row(); name = $1 }
    $3 == "baseline" { base[$2] = $4 + 0 }
    $3 == "current" { now[$2] = $4 + 0 }
    END { row() }
' "$work/medians"
