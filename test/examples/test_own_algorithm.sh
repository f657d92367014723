# SPDX-License-Identifier: BSD-3-Clause
#
# examples/own_algorithm: proved, drawn, simulated and run; every rank has all blocks. It has at most 100 lines.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/own_algorithm/own_algorithm
[ -x "$program" ] || exit 77

"$program" 2>"$work/out" >"$work/drawing"
for rank in 0 1 2 3 4; do
    prints "rank $rank has ABCDE"
done
prints 'up to 12 ranks: proved'
prints '1000 ranks: 549.0 us' # 500 hops of 99 + 900 + 99 ns
grep -q '^digraph' "$work/drawing"
[ "$(wc -l <"$NBCOLL_SOURCE/examples/own_algorithm/main.c")" -le 100 ]
