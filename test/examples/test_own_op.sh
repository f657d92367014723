# SPDX-License-Identifier: BSD-3-Clause
#
# examples/own_op: the products are those of the matrices in rank order.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/own_op/own_op
[ -x "$program" ] || exit 77

succeeds run -n 4 --timeout 60 "$program"
prints 'rank 0: Fibonacci number 1 is 1; with swaps: 1 1, 1 0'
prints 'rank 1: Fibonacci number 2 is 1; with swaps: 1 1, 0 1'
prints 'rank 2: Fibonacci number 3 is 2; with swaps: 2 1, 1 0'
prints 'rank 3: Fibonacci number 4 is 3; with swaps: 1 2, 0 1'
