# SPDX-License-Identifier: BSD-3-Clause
#
# What `nbcoll run --timeline` records, and `nbcoll timeline` says of it: a rank that comes late is the one that the others
# waited for; a killed rank leaves a usable file; what is no timeline is refused with the place.
. "$NBCOLL_SOURCE/test/command/check.sh"
hello=$NBCOLL_BINARY/examples/hello/hello
late=$NBCOLL_BINARY/examples/late/late

# named ranks: does the table say that all others waited mostly for rank 1?
named()
{
    for rank in $(seq 0 $(($1 - 1))); do
        [ "$rank" -eq 1 ] || grep -q "^ *$rank .*  rank 1, " "$work/out" || return 1
    done
}
for ranks in 2 4; do
    for ms in 100 300 1000 3000; do # a busy machine may delay other ranks, too
        succeeds run -n $ranks --timeline "$work/trace" "$late" 1 $ms
        succeeds timeline "$work/trace" --svg "$work/picture.svg"
        ! named $ranks || break
    done
    named $ranks || fail "rank 1 of $ranks came late, and is not named"
    grep -q "rank 1 had not begun it" "$work/out" || fail "no reason"
    [ "$(grep -c '>rank [0-9]*</text>' "$work/picture.svg")" -eq $ranks ] || fail "a row for each rank is missing"
    [ "$(grep -c '"thread_name"' "$work/trace")" -eq $ranks ] || fail "a row for each rank is missing in the trace"
    [ "$(grep -c '"ph":"s"' "$work/trace")" -ge $ranks ] || fail "arrows are missing"
    [ "$(grep -c '"ph":"s"' "$work/trace")" -eq "$(grep -c '"ph":"f"' "$work/trace")" ] || fail "arrows have one end"
    grep -q '"name":"wait for rank 1"' "$work/trace" || fail "the trace does not say whom ranks waited for"
done
[ -z "$(awk 'length > 80' "$work/out")" ] || fail "more than 80 columns"

# time cut out of the drawing
succeeds timeline "$work/trace" --from 100000 --svg "$work/part.svg"
grep -q "from 100000.0 us on" "$work/part.svg" || fail "the drawing does not say where it begins"
refuses "nbcoll timeline: --to is not behind --from" timeline "$work/trace" --from 5 --to 5
refuses "nbcoll timeline: --from takes a number of 0..9000000000000, not 'x'" timeline "$work/trace" --from x
refuses "nbcoll timeline: which file?" timeline

# rank 0 waits for one that never comes, until both are killed
run run -n 2 --timeout 3 --timeline "$work/killed" sh -c '[ "$NBCOLL_RANK" = 0 ] || exec sleep 1000; exec "$0"' "$hello"
[ "$status" -eq 124 ] || fail "killed: status $status"
grep -q "rank 1 has recorded nothing" "$work/err" || fail "nobody says that rank 1 recorded nothing"
succeeds timeline "$work/killed"
grep -q '^   0 ' "$work/out" || fail "rank 0 is not there"

# the programs of this test are built as the library is
sanitize=$(sed -n 's/^NBCOLL_SANITIZE:[A-Z]*=\(..*\)/-fsanitize=\1/p' "$NBCOLL_BINARY/CMakeCache.txt")

# a rank that comes too late for the time: it is named, and all that wait for it, one through another one; that these
# live longer than it, and see its end, changes nothing
cat >"$work/waits.c" <<'END'
#include <signal.h>
#include <unistd.h>
#include <nbcoll/launch.h>
int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm, *part;
    int value = 1;
    if (nbcoll_launch_join(&context, &comm) != NBCOLL_OK)
        return 1;
    int rank = nbcoll_comm_rank(comm); /* 0 and 1 also have one of their own */
    if (rank == 1)
        usleep(300000); /* 0 and 2 wait for it, which is over later */
    if (nbcoll_comm_split(comm, rank < 2, 0, &part, NBCOLL_FOREVER) != NBCOLL_OK)
        return 1;
    if (rank == 2)
        pause();
    signal(SIGTERM, SIG_IGN);
    if (rank == 1) /* it waits for 2, and 0 for it */
        return nbcoll_bcast(&value, 1, NBCOLL_INT, 2, comm, NBCOLL_FOREVER);
    return nbcoll_bcast(&value, 1, NBCOLL_INT, 1, part, NBCOLL_FOREVER);
}
END
# shellcheck disable=SC2086 # none, or a word
"$CC" -std=gnu11 $sanitize -I"$NBCOLL_SOURCE/include" "$work/waits.c" "$NBCOLL_BINARY/libnbcoll.a" -lm -o "$work/waits"
late='nbcoll run: late: rank 2, for which wait 0 (in bcast, operation 0), 1 (in bcast, operation 2)'
for recording in "" "--timeline $work/killed"; do
    for seconds in 1 4 16; do # a busy machine may not come so far in the first
        # shellcheck disable=SC2086 # none, or two words
        run run -n 3 --timeout $seconds $recording "$work/waits"
        [ "$status" -eq 124 ] || fail "late: status $status"
        grep -qxF "$late" "$work/err" || continue
        [ "$recording" ] || break
        # the waits that never ended are in the recording
        succeeds timeline "$work/killed" --svg "$work/picture.svg"
        [ "$(grep -c ' to the end: rank [01] in bcast' "$work/out")" -lt 2 ] || break
    done
    [ "$recording" ] || grep -qxF "$late" "$work/err" || fail "rank 2 is late, and not named"
done
[ "$(grep -c ' to the end: rank [01] in bcast' "$work/out")" -eq 2 ] || fail "waits to the end are missing"
grep -A1 ' to the end: rank 1 in bcast' "$work/out" | grep -q 'rank 2 is not known to have begun it' ||
    fail "rank 1 waited for rank 2 to the end, and no reason"
row=$(sed -n 's/.* y="\([0-9.]*\)".*>rank 0<.*/\1/p' "$work/picture.svg") # of the label, 11 below the bars
awk -F'"' -v row="$row" '/^<rect.*"#ececec"/ && $4 == row - 11 && $2 + $6 > 800 { found = 1 } END { exit !found }' \
    "$work/picture.svg" || fail "the drawing has no wait to the end in the row of rank 0"
grep -q '"name":"wait for rank 2"' "$work/killed" || fail "the trace has no wait for rank 2"
[ "$(grep -c '"name":"never came"' "$work/killed")" -eq 4 ] || fail "not two messages that never came"

# ranks that wait in nbcoll_launch_join for one that does not come to it
cat >"$work/joins.c" <<'END'
#include <unistd.h>
#include <nbcoll/launch.h>
int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;
    if (getenv("NBCOLL_RANK")[0] == '1')
        pause();
    return nbcoll_launch_join(&context, &comm) != NBCOLL_OK;
}
END
"$CC" -std=gnu11 $sanitize -I"$NBCOLL_SOURCE/include" "$work/joins.c" "$NBCOLL_BINARY/libnbcoll.a" -lm -o "$work/joins"
for seconds in 1 4 16; do
    run run -n 3 --timeout $seconds --timeline "$work/killed" "$work/joins"
    [ "$(grep -c 'rank [02] has begun no operation; .* nbcoll_launch_join,$' "$work/err")" -ne 2 ] || break
done
[ "$(grep -c 'rank [02] has begun no operation; .* nbcoll_launch_join,$' "$work/err")" -eq 2 ] ||
    fail "ranks 0 and 2 wait in nbcoll_launch_join, and nobody says so"
[ "$(grep -c 'recorded nothing' "$work/err")" -eq 1 ] || fail "more than rank 1 is said to have recorded nothing"
grep -q 'rank 1 has recorded nothing: it did not come to nbcoll_launch_join,' "$work/err" || fail "rank 1 is not named"
for seconds in 1 4 16; do
    run run -n 3 --timeout $seconds "$work/joins"
    ! grep -qx 'nbcoll run: late: rank 1, which has not come to nbcoll_launch_join' "$work/err" || break
done
grep -qx 'nbcoll run: late: rank 1, which has not come to nbcoll_launch_join' "$work/err" || fail "rank 1 is not named:"

# a rank that is killed in the middle has told what it did until then; the others, that they waited for it
cat >"$work/killed.c" <<'END'
#include <signal.h>
#include <nbcoll/launch.h>
int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_request request;
    int one = 1, sum;
    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    for (int i = 0; i < 2 && status == NBCOLL_OK; i++)
        status = nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK && nbcoll_comm_rank(comm) == 1) {
        (void)nbcoll_iallreduce(&one, &sum, 1, NBCOLL_INT, NBCOLL_SUM, comm, &request);
        raise(SIGKILL);
    }
    for (; status == NBCOLL_OK;)
        status = nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT, NBCOLL_SUM, comm, NBCOLL_FOREVER);
    return 1;
}
END
"$CC" -std=gnu11 $sanitize -I"$NBCOLL_SOURCE/include" "$work/killed.c" "$NBCOLL_BINARY/libnbcoll.a" -lm -o "$work/dies"
run run -n 3 --timeline "$work/killed" "$work/dies"
[ "$status" -ne 0 ] || fail "a rank was killed, and all is well"
succeeds timeline "$work/killed"
for rank in 0 1 2; do # the two operations before, at least
    awk -v rank=$rank '$1 == rank && $2 >= 2 { found = 1 } END { exit !found }' "$work/out" ||
        fail "rank $rank has lost what it had told"
done

# not there, no JSON, not a timeline, and an event that is wrong
# refused file message
refused()
{
    run timeline "$1"
    [ "$status" -eq 2 ] || fail "$1: status $status"
    grep -q "$2" "$work/err" || fail "$1: not '$2'"
}
refused "$work/none" "unable to open $work/none"
head -c 300 "$work/trace" >"$work/cut"
refused "$work/cut" "^nbcoll timeline: $work/cut:[0-9]*:[0-9]*: "
echo '{"traceEvents": []}' >"$work/other"
refused "$work/other" "^nbcoll timeline: $work/other: no timeline"
sed 's/"tid":0,"ts"/"tid":7,"ts"/' "$work/trace" >"$work/wrong"
refused "$work/wrong" ': event [0-9]*: "tid" is missing, or no number of 0..3$'
run run -n 2 --timeline "$work/none/trace" "$hello" # is refused before a rank starts
[ "$status" -eq 3 ] || fail "a place that cannot be written: status $status"
[ ! -s "$work/out" ] || fail "a place that cannot be written, and ranks ran"
grep -qx "nbcoll run: --timeline $work/none/trace: No such file or directory" "$work/err" || fail "no reason"
succeeds run -n 2 sh -c 'echo "recording: ${NBCOLL_TIMELINE-off}"'
[ "$(grep -c "recording: off" "$work/out")" -eq 2 ] || fail "without --timeline something is recorded"
