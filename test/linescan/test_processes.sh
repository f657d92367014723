# SPDX-License-Identifier: BSD-3-Clause
#
# Under `nbcoll run` the ranks are processes over shared memory, and the totals are those of wc.
. "$(dirname "$0")/common.sh"

text 1 4000 20 >a
text 2 100 9 | gzip >b.gz
for ranks in 1 2 4; do
    for how in --blocking '--concurrent 1' '--concurrent 16'; do
        status=0
        # shellcheck disable=SC2086
        "$NBCOLL_BINARY/nbcoll" run -n $ranks "$linescan" --json --buffer 4096 $how a b.gz >out 2>err || status=$?
        same "status of $ranks processes $how" 0 "$status"
        same "$ranks processes $how" "$(wc_of a b.gz)" "$(field lines) $(field words) $(field bytes)"
        same "ranks" "$ranks" "$(field ranks)"
    done
done
