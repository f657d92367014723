# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll run` starts as many processes as asked, and tells each its rank, the number of ranks and their common id. Rank
# 0 has our standard input; every one has our signals as we have them, and no descriptor of the launcher.
. "$NBCOLL_SOURCE/test/command/check.sh"

# ranks
for ranks in 1 2 7 64; do
    succeeds run -n $ranks sh -c 'echo $NBCOLL_RANK of $NBCOLL_RANKS'
    seq 0 $((ranks - 1)) | sed "s/\$/ of $ranks/" >"$work/expected"
    sort -n "$work/out" | cmp -s - "$work/expected" || fail "-n $ranks:"
done

# an outer run's rank is replaced
NBCOLL_RANK=5 NBCOLL_RANKS=6 run run -n 1 sh -c 'echo $NBCOLL_RANK of $NBCOLL_RANKS'
[ "$(cat "$work/out")" = '0 of 1' ] || fail "the rank of an outer run is seen:"

# a tuning file, looked at before anything starts; none when none is given
printf '[bcast]\nflat =\n' >"$work/rules"
NBCOLL_TUNING=x run run -n 2 --tuning "$work/rules" sh -c 'echo $NBCOLL_TUNING'
[ "$(sort -u "$work/out")" = "$work/rules" ] || fail "the ranks are told of the file:"
NBCOLL_TUNING=x run run -n 1 sh -c 'echo ${NBCOLL_TUNING-none}'
[ "$(cat "$work/out")" = none ] || fail "without a file:"

# the id: the same in one run, another in the next
if "$nbcoll" info | grep -q '^transports.* shm'; then
    for time in first second; do
        run run -n 3 sh -c 'echo $NBCOLL_ID'
        sort -u "$work/out" >"$work/$time"
        [ "$(wc -l <"$work/$time")" -eq 1 ] && grep -q '................' "$work/$time" || fail "$time run, the ids:"
    done
    ! cmp -s "$work/first" "$work/second" || fail "two runs have one id:"
fi

# the arguments, also those that look like options of ours
succeeds run -n 1 printf '%s|' --help -n --timeout 'a  b' ''
[ "$(cat "$work/out")" = '--help|-n|--timeout|a  b||' ] || fail "the arguments arrive as:"
succeeds run -n 1 -- echo -n x
[ "$(cat "$work/out")" = x ] || fail "after --:"

# standard input
seq 3 >"$work/in"
succeeds run -n 3 --prefix readlink /proc/self/fd/0 <"$work/in"
[ "$(sort "$work/out" | tr '\n' ' ')" = "[0] $work/in [1] /dev/null [2] /dev/null " ] || fail "standard inputs:"
succeeds run -n 3 cat <"$work/in"
cmp -s "$work/in" "$work/out" || fail "of three lines, the ranks read:"

# signals and descriptors
for what in 'grep Sig[BIC] /proc/self/status' 'ls /proc/self/fd'; do
    $what </dev/null | sort -u >"$work/us"
    "$nbcoll" run -n 2 $what </dev/null | sort -u >"$work/them"
    diff "$work/us" "$work/them" || fail "a rank has other signals or descriptors than we"
done
(trap '' INT PIPE; "$nbcoll" run -n 1 grep SigIgn /proc/self/status; grep SigIgn /proc/self/status) >"$work/out"
[ "$(sort -u "$work/out" | wc -l)" -eq 1 ] || fail "a signal that we ignore is not ignored by a rank:"

# standard streams that are closed
"$nbcoll" run -n 2 sh -c 'cat; echo $NBCOLL_RANK >&2' <&- >&- 2>"$work/err"
[ "$(sort "$work/err" | tr -d '\n')" = 01 ] || fail "with closed streams:"

# too low a limit on descriptors is said before anything starts
(ulimit -n 64 && run run -n 40 echo x && echo "$status" >"$work/status")
[ "$(cat "$work/status")" -eq 3 ] && [ ! -s "$work/out" ] &&
    grep -qx 'nbcoll run: 40 ranks need 96 file descriptors, and the limit is 64 (ulimit -n)' "$work/err" ||
    fail "without descriptors: exit status $(cat "$work/status")"
