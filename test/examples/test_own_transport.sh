# SPDX-License-Identifier: BSD-3-Clause
#
# examples/own_transport: the transport passes the conformance suite, between ranks of one process and between processes,
# where ranks are killed, leave and call exec; and carries a sum. It has at most 250 lines without its bootstrap.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/own_transport/own_transport
[ -x "$program" ] || exit 77

"$program" check >"$work/out" 2>"$work/err" || fail "own_transport check: exit status $?"
for case in a_leave_is_reported_once_after_the_last_message a_rank_without_room_sleeps_until_there_is_some; do
    prints "socket: passed $case"
done
for case in no_room_is_missed_between_two_sleepers a_killed_rank_is_reported_lost_to_all a_killed_rank_ends_a_sleep \
    a_rank_that_calls_exec_is_reported_lost_to_all a_rank_that_has_left_is_not_lost_when_its_process_ends; do
    prints "socket, processes: passed $case"
done

succeeds run -n 4 --timeout 60 "$program"
for rank in 0 1 2 3; do
    prints "rank $rank: 100000 of 100000 sums over 4 ranks are right"
done
[ "$(cat "$NBCOLL_SOURCE/examples/own_transport/socket."[ch] | wc -l)" -le 250 ]
