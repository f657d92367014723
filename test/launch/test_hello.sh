# SPDX-License-Identifier: BSD-3-Clause
#
# examples/hello: four processes find each other and meet at a barrier; started without the launcher, it says how to start it.
. "$NBCOLL_SOURCE/test/command/check.sh"
hello=$NBCOLL_BINARY/examples/hello/hello
[ -x "$hello" ] || exit 77

for i in 1 2 3 4 5; do
    succeeds run -n 4 --timeout 60 "$hello"
    seq 0 3 | sed 's/.*/hello from rank & of 4/' >"$work/expected"
    sort "$work/out" | cmp -s - "$work/expected" || fail "run $i:"
done

status=0
env -u NBCOLL_RANK -u NBCOLL_RANKS -u NBCOLL_ID "$hello" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 1 ] && grep -qx 'hello: started without a launcher: use nbcoll run -n N PROGRAM; .*' "$work/err" ||
    fail "alone: $status"
