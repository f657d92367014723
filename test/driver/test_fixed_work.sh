# SPDX-License-Identifier: BSD-3-Clause
#
# The benchmark of a fixed work plays both directions of the tree with real threads, from all cores but one down to half
# of them, each with what computes, with the blocking operation and with all splits; and refuses what it has no room for.
program=$NBCOLL_BINARY/bench/fixed
[ -x "$program" ] || {
    echo "bench/fixed was not built"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for operation in bcast reduce; do
    "$program" $operation 5 16384 1 >"$work/out" || exit 1
    grep -v cores "$work/out" | awk '
        NR == 1 { next }
        { ranks = ranks " " $1 "+" $2; bad += NF != 10 || $3 <= 0 || $4 < $3 }
        { for (i = 5; i <= 8; i++) bad += $i <= 0 || $i < $(5 + $9) }
        END { exit ranks != " 4+1 3+2" || bad }' || {
        cat "$work/out"
        exit 1
    }
done
"$program" bcast 65 2>"$work/err" && exit 1
grep -qx '2 to 64 cores, 1 to 99 rounds' "$work/err"
