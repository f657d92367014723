#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh compare.sh NBCOLL LINESCAN [--json] [arguments for linescan]
#
# Runs linescan four ways on the same text and prints their times beside each other: one rank that reads and counts
# everything; four processes that wait in each scatter; four processes with up to 16 scatters in flight; and these with
# drivers, threads that progress the scatters. The totals of the four must be the same. With --json: one object with the
# three runs' objects, and nothing else, on standard output.
set -eu
nbcoll=$1 linescan=$2 ranks=4 json=no
shift 2
if [ "${1-}" = --json ]; then
    json=yes
    shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# scan NAME ARGUMENT...: a skipped file is named and no reason to stop
scan() {
    name=$1 status=0
    shift
    "$nbcoll" run -n $ranks "$linescan" --json "$@" >"$work/$name" || status=$?
    [ $status -le 1 ] || exit $status
}

# field RUN NAME
field() {
    sed -n "s/^  \"$2\": \"*\\([^\",]*\\)\"*,*\$/\\1/p" "$work/$1"
}

totals() {
    for name in lines words bytes checksum sequences frequencies; do
        field "$1" $name
    done
}

scan nonblocking "$@" # which compares its totals with the sequential ones
scan blocking --blocking --no-check "$@"
scan driver --driver --no-check "$@"
for name in blocking driver; do
    [ "$(totals nonblocking)" = "$(totals $name)" ] && continue
    echo "compare: the totals differ" >&2
    exit 3
done
if [ $json = yes ]; then
    printf '{\n"nonblocking": %s,\n"blocking": %s,\n"driver": %s\n}\n' "$(cat "$work/nonblocking")" \
        "$(cat "$work/blocking")" "$(cat "$work/driver")"
    exit 0
fi

row() {
    awk -v name="$1" -v seconds="$2" -v one="$alone" -v bytes="$(field nonblocking bytes)" 'BEGIN {
        printf "%-42s %8.2f s %8.1f MB/s %6.2f times as fast\n", name, seconds, bytes / seconds / 1e6, one / seconds
    }'
}

alone=$(field nonblocking sequential_seconds)
echo "$(field nonblocking files) files, $(field nonblocking bytes) bytes of text, $(field nonblocking lines) lines," \
    "$(field nonblocking words) words,"
echo "$(field nonblocking sequences) sequences of 1 to $(field nonblocking grams) bytes: decompressed, and counted by" \
    "what they are"
echo
row "one rank, one thing after another" "$alone"
row "$ranks ranks, scattering with the blocking call" "$(field blocking seconds)"
row "$ranks ranks, up to $(field nonblocking concurrent) scatters in flight" "$(field nonblocking seconds)"
row "$ranks ranks, the same, with drivers" "$(field driver seconds)"
echo
most=$(nproc)
[ "$most" -le $ranks ] || most=$ranks
echo "All four have the same totals. Rank 0 decompresses, all ranks count. $ranks ranks on $(nproc) processors can be" \
    "at most $most times as fast as one."
