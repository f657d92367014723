# SPDX-License-Identifier: BSD-3-Clause
#
# examples/in_place: every rank has the sums, and what each has.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/in_place/in_place
[ -x "$program" ] || exit 77

succeeds run -n 4 --timeout 60 "$program"
for rank in 0 1 2 3; do
    prints "rank $rank: $((rank + 1)) of 4 ranks, sum 6; shares 4 14 24 34"
done
