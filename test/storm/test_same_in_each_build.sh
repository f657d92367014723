#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A seed is the same job in each build: its log's hash is that of the builds beside this one, where they are newer than
# all sources. check.sh makes them all first; a build that has none beside it is skipped.
set -eu
storm=test/storm/test_storm
compared=0

for other in "$(dirname "$NBCOLL_BINARY")"/*; do
    [ "$other" != "$NBCOLL_BINARY" ] && [ -x "$other/$storm" ] || continue
    [ -z "$(find "$NBCOLL_SOURCE"/include "$NBCOLL_SOURCE"/src "$NBCOLL_SOURCE"/transports "$NBCOLL_SOURCE"/test/storm \
        -name '*.[ch]' -newer "$other/$storm")" ] || continue
    for job in 21 22 23 24 25 26 "61 --over-shm" "62 --over-shm" "63 --over-shm"; do
        # shellcheck disable=SC2086 # a seed, and perhaps an option
        here=$("$NBCOLL_BINARY/$storm" $job --quiet)
        # shellcheck disable=SC2086
        there=$("$other/$storm" $job --quiet)
        [ "$here" = "$there" ] || { echo "$storm $job: $here here, $there in $other" && exit 1; }
    done
    compared=$((compared + 1))
done
echo "compared with $compared builds"
[ $compared -gt 0 ] || exit 77
