# SPDX-License-Identifier: BSD-3-Clause
#
# examples/overlap: every rank computes pi, and has the right sums, in each of the four ways; rank 0 says what each
# hid.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/overlap/overlap
[ -x "$program" ] || exit 77

succeeds run -n 4 --timeout 60 "$program"
for way in "no calls" tests "a timer" "a driver"; do
    for rank in 0 1 2 3; do
        prints "rank $rank, with $way: pi is about 3.14159; meanwhile 1000000 of 1000000 sums over 4 ranks have become right"
    done
    prints "with $way: the sum .* ms, the computation .* ms, both .* ms: .*% of the sum hidden"
done
