# SPDX-License-Identifier: BSD-3-Clause
#
# SIGINT ends all ranks: exit status 130, no totals, and a message; blocking and not.
. "$(dirname "$0")/common.sh"

text 1 500 9 >piece
for i in 0 1 2 3 4 5 6 7 8 9; do cat piece piece piece piece; done >text
for mode in --blocking --concurrent=16 --no-check; do
    "$linescan" $mode --ranks 3 --work 100000 --buffer 16384 text >out 2>err &
    pid=$!
    # Once it is linescan (and not the shell's child), it catches signal 2 as soon as the second bit of this mask is set.
    until grep -qx linescan /proc/$pid/comm && grep -q '^SigCgt:.*[2367abef]$' /proc/$pid/status; do :; done
    kill -INT $pid
    status=0
    wait $pid || status=$?
    same "$mode: status" 130 $status
    same "$mode: stdout" "" "$(cat out)"
    grep -q '^linescan: interrupted after' err || fail "$mode: says $(cat err)"
done
