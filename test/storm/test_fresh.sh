# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs of seeds from the clock, which nobody has run before, with NBCOLL_FULL: a minute over the storm's own transport,
# and half a minute over shm. A seed that has failed is kept beside the program and run again before others: whoever
# tries a failed check again must meet the same job. Else the same thousand seeds each time: as long as a fresh one in
# some thousands fails (docs/design.md), a check could not say whether it is the change that fails.
set -eu
storm=$NBCOLL_BINARY/test/storm/test_storm
kept=$NBCOLL_BINARY/test/storm/failed
out=$(mktemp)
trap 'rm -f "$out"' EXIT
trap 'exit 1' HUP INT TERM

status=0
if [ -s "$kept" ]; then
    echo "what failed before:"
    while read -r seed how; do
        # shellcheck disable=SC2086 # nothing, or an option
        "$storm" "$seed" $how --quiet || status=1
    done <"$kept"
    [ $status -eq 0 ] || exit 1
    rm "$kept"
fi

# fresh SECONDS HOW
fresh() {
    # shellcheck disable=SC2086
    "$storm" --seconds "$1" ${NBCOLL_SEED:+--from "$NBCOLL_SEED"} $2 >"$out" 2>&1 || status=1
    cat "$out"
    sed -n -e "s/^seed \\([0-9]*\\): .*/\\1 $2/p" -e "s/^storm: .* in seed \\([0-9]*\\)/\\1 $2/p" "$out" >>"$kept"
}
if [ -z "${NBCOLL_FULL-}" ]; then
    "$storm" --count 700 --from 60000000
    "$storm" --count 300 --from 61000000 --over-shm
    exit 0
fi
fresh 60 ""
fresh 30 --over-shm
exit $status
