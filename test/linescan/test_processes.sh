# SPDX-License-Identifier: BSD-3-Clause
#
# Under `nbcoll run` the ranks are processes over shared memory; the totals are those of wc, and the bar is drawn.
. "$(dirname "$0")/common.sh"

text 1 4000 20 >a
text 2 100 9 | gzip >b.gz
for ranks in 1 2 4; do
    for how in --blocking '--concurrent 1' '--concurrent 16' --driver; do
        status=0
        # shellcheck disable=SC2086
        "$NBCOLL_BINARY/nbcoll" run -n $ranks "$linescan" --json --buffer 4096 $how a b.gz >out 2>err || status=$?
        same "status of $ranks processes $how" 0 "$status"
        same "$ranks processes $how" "$(wc_of a b.gz)" "$(field lines) $(field words) $(field bytes)"
        same "ranks" "$ranks" "$(field ranks)"
    done
done

# how many they are is not for linescan to say
status=0
"$NBCOLL_BINARY/nbcoll" run -n 2 "$linescan" --ranks 2 a >out 2>err || status=$?
same "status of --ranks" 2 "$status"
same "output of --ranks" "" "$(cat out)"
grep -q '^linescan: --ranks is for threads' err || fail "--ranks is refused by: $(cat err)"

# rank 0 draws its bar on a terminal
if command -v script >/dev/null; then
    command="'$NBCOLL_BINARY/nbcoll' run -n 2 '$linescan' a b.gz"
    script -qefc "$command" shown </dev/null >/dev/null || fail "on a terminal: $(cat shown)"
    tr '\r' '\n' <shown >out
    grep -q '^\[[#.]*\]  *[0-9]*% ' out || fail "no bar in: $(cat out)"
    grep -q '^lines ' out || fail "no table in: $(cat out)"
fi
