# SPDX-License-Identifier: BSD-3-Clause
#
# examples/overlap: every rank computes pi, and has the right sums.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/overlap/overlap
[ -x "$program" ] || exit 77

succeeds run -n 4 --timeout 60 "$program"
for rank in 0 1 2 3; do
    prints "rank $rank: pi is about 3.14159; meanwhile 100000 of 100000 sums over 4 ranks have become right"
done
