# SPDX-License-Identifier: BSD-3-Clause
#
# examples/persistent: the temperatures fall evenly from 100 degrees to 0 over the 32 cells of four ranks.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/persistent/persistent
[ -x "$program" ] || exit 77

succeeds run -n 4 --timeout 60 "$program"
prints 'in balance after [0-9]* rounds: the first cell has 96.970 degrees'

# without the launcher: one rank, of eight cells
unset NBCOLL_RANK NBCOLL_RANKS NBCOLL_ID
"$program" >"$work/out" 2>"$work/err" || fail "alone: $?"
prints 'in balance after [0-9]* rounds: the first cell has 88.889 degrees'
