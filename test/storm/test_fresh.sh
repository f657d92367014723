# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs of seeds from the clock, which nobody has run before: 90 seconds, of which 50 are over the storm's own transport,
# and 20 each over shm and, where that is built, ofi, in each build that has this test (with NBCOLL_FULL four times as
# long). The first seed, and how many there were, is printed, and kept in a file that check.sh shows; NBCOLL_SEED gives
# another first one. For a seed that fails the command is printed that runs it again. It is kept beside the program, and
# run again before others: whoever tries a failed check again must meet the same job.
set -eu
plain=$NBCOLL_BINARY/test/storm/test_storm
over_ofi=$NBCOLL_BINARY/test/storm/test_over_ofi
kept=$NBCOLL_BINARY/test/storm/failed
said=$NBCOLL_BINARY/test/storm/fresh
times=${NBCOLL_FULL:+4}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
trap 'exit 1' HUP INT TERM

# Which program runs jobs like that.
storm_of() {
    case $1 in
    *--over-ofi*) storm=$over_ofi ;;
    *) storm=$plain ;;
    esac
}

status=0
if [ -s "$kept" ]; then
    echo "what failed before:"
    while read -r seed how; do
        storm_of "$how"
        # shellcheck disable=SC2086 # nothing, or an option
        "$storm" "$seed" $how --quiet || { status=1 && echo "again: $storm $seed $how"; }
    done <"$kept"
    [ $status -eq 0 ] || exit 1
    rm "$kept"
fi

# fresh SECONDS HOW
fresh() {
    storm_of "$2"
    first=${NBCOLL_SEED-$(date +%s)000000}
    ended=0
    # shellcheck disable=SC2086
    "$storm" --seconds "$(($1 * ${times:-1}))" --from "$first" --patience 60 $2 >"$out" 2>&1 || ended=1
    cat "$out"
    echo "fresh seeds from $first on${2:+, $2}: $(grep ' findings$' "$out" || echo "not to their end")" | tee -a "$said"
    sed -n -e "s/^seed \\([0-9]*\\): .*/\\1 $2/p" -e "s/^storm: .* in seed \\([0-9]*\\)/\\1 $2/p" "$out" >>"$kept"
    [ $ended -eq 0 ] && return
    status=1
    while read -r seed how; do
        storm_of "$how" && echo "again: $storm $seed $how"
    done <"$kept"
    storm_of "$2"
    echo "all of them again: $storm --from $first --seconds $(($1 * ${times:-1})) $2"
}
: >"$said"
[ -x "$over_ofi" ] && seconds=50 || seconds=70
fresh $seconds ""
fresh 20 --over-shm
[ ! -x "$over_ofi" ] || fresh 20 --over-ofi
exit $status
