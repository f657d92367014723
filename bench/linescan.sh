#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh bench/linescan.sh LINESCAN [file or directory]...
#
# Seconds of linescan with the blocking scatter, with 4, 8 and 16 scatters in flight, and with 4 and a driver for each
# rank, over dummy operations a line: medians of interleaved runs, and their ratios to blocking, as a Markdown table.
# (The paper that the application comes from reports up to 30% less time.) The environment may set RANKS (4), ROUNDS (5)
# and WORK ("0 10 30 100 300 1000").
set -eu

[ $# -ge 1 ] || {
    echo "usage: sh bench/linescan.sh LINESCAN [file or directory]..." >&2
    exit 2
}
linescan=$1
shift
ranks=${RANKS:-4}
rounds=${ROUNDS:-5}
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# one NAME OPTION...: a line "NAME seconds".
one() {
    name=$1
    shift
    "$linescan" --json --no-check --grams 0 --ranks "$ranks" "$@" |
        sed -n "s/^ *\"seconds\": \([0-9.e-]*\),*\$/$name \1/p" >>"$results"
}

echo "$ranks ranks, $(nproc) processors, medians of $rounds interleaved runs, seconds (ratio to blocking)"
echo
echo "| operations a line | blocking | 4 in flight | 8 in flight | 16 in flight | 4 and drivers |"
echo "|---:|---:|---:|---:|---:|---:|"
for work in ${WORK:-0 10 30 100 300 1000}; do
    : >"$results"
    round=0
    while [ $round -lt "$rounds" ]; do
        one blocking --blocking --work "$work" "$@"
        for flight in 4 8 16; do
            one $flight --concurrent $flight --work "$work" "$@"
        done
        one driven --concurrent 4 --driver --work "$work" "$@"
        round=$((round + 1))
    done
    sort -k1,1 -k2,2g "$results" | awk -v work="$work" '
        { value[$1, ++n[$1]] = $2 }
        function median(name,    k) {
            k = n[name]
            return (value[name, int((k + 1) / 2)] + value[name, int(k / 2) + 1]) / 2
        }
        END {
            b = median("blocking")
            printf "| %d | %.3f |", work, b
            for (f = 4; f <= 16; f *= 2)
                printf " %.3f (%.2f) |", median(f), median(f) / b
            printf " %.3f (%.2f) |\n", median("driven"), median("driven") / b
        }'
done
