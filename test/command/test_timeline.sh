# SPDX-License-Identifier: BSD-3-Clause
#
# Whom a wait is for, by a run that is made up: rank 2 waits for rank 1, who waits for rank 0, who begins late. And a
# simulated run is read as a recorded one is.
. "$NBCOLL_SOURCE/test/command/check.sh"
mark() { # rank us name
    printf ',\n{"ph":"i","pid":0,"tid":%s,"ts":%s,"s":"t","name":"%s","args":{"operation":0,"of":"bcast/chain"}}' "$@"
}
step() { # rank us duration kind
    printf ',\n{"ph":"X","pid":0,"tid":%s,"ts":%s,"dur":%s,"cat":"step","args":{"kind":"%s",' "$@"
    printf '"operation":0,"step":2,"bytes":8}}'
}
message() { # from us to us
    printf ',\n{"ph":"s","pid":0,"tid":%s,"ts":%s,"id":1,"args":{"peer":%s,"end":%s,' "$@"
    printf '"kind":"RECV","operation":0,"step":2,"bytes":8}},\n{"ph":"f","pid":0,"tid":%s,"ts":%s,"id":1}' "$3" "$4"
}
{
    printf '{"otherData":{"ranks":3,"title":"made up"},"traceEvents":[\n{"ph":"M","pid":0}'
    mark 1 0 start && mark 2 0 start && mark 0 100 start
    step 0 100 0 SEND && message 0 100 1 110 && mark 0 101 end
    step 1 110 5 COPY && step 1 115 0 SEND && message 1 115 2 135 && mark 1 116 end
    step 2 135 0 RECV && mark 2 135 end
    printf ']}\n'
} >"$work/trace"
succeeds timeline "$work/trace"
# rank, operations, inside, waited, of that on its way, mostly for: of 135 us, 100 for rank 0, 30 on the way, 5 for rank 1
grep -Eq '^ +0 +1 +1.0 +0.0 +0.0 +-$' "$work/out" || fail "rank 0"
grep -Eq '^ +1 +1 +116.0 +110.0 +10.0 +rank 0, 100.0$' "$work/out" || fail "rank 1"
grep -Eq '^ +2 +1 +135.0 +135.0 +30.0 +rank 0, 100.0$' "$work/out" || fail "rank 2"
grep -q "135.0  from 0.0: rank 2 in bcast/chain" "$work/out" || fail "the longest wait"
grep -q "rank 0 had not begun it" "$work/out" || fail "its reason"

succeeds sim bcast binomial --ranks 8 --chrome "$work/simulated"
succeeds timeline "$work/simulated"
[ "$(grep -c '^ *[0-7]  *1 ' "$work/out")" -eq 8 ] || fail "not a line for each simulated rank"

sed 's/"end":110/"end":90/' "$work/trace" >"$work/back"
refuses "nbcoll timeline: $work/back: event 5: a message that comes before it is sent" timeline "$work/back"
sed 's/"ph":"f"/"ph":"other"/' "$work/trace" >"$work/torn" # what is not known is passed over
succeeds timeline "$work/torn"
sed 's/"kind":"SEND"/"kind":"SENT"/' "$work/trace" >"$work/kind"
refuses "nbcoll timeline: $work/kind: event 4: no such kind of step" timeline "$work/kind"
