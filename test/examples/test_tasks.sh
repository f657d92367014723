# SPDX-License-Identifier: BSD-3-Clause
#
# examples/tasks: all ranks have the same last sum, and pi, by a runtime that progresses when it is idle.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/tasks/tasks
[ -x "$program" ] || exit 77

# s -> 4 * (s % 1000) + 6, a hundred times, the first one being 6
sum=6
for i in $(seq 99); do
    sum=$((4 * (sum % 1000) + 6))
done
succeeds run -n 4 --timeout 60 "$program"
for rank in 0 1 2 3; do
    prints "rank $rank: the last of 100 sums is $sum, pi is about 3.1416, and the runtime was idle at times"
done
