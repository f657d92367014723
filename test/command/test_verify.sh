# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll verify` proves every algorithm of the library, in each form, and says so.
. "$(dirname "$0")/check.sh"

# all: a line for each algorithm, and nothing but proofs
succeeds verify --ranks 1..9
operations='barrier bcast scatter gather allgather reduce allreduce scatterv gatherv allgatherv alltoall alltoallv
    alltoallw reduce_scatter reduce_scatter_block scan exscan'
for operation in $operations; do
    grep -q "^$operation .* proved\$" "$work/out" || fail "$operation is missing"
done
[ "$(grep -c ' proved$' "$work/out")" -eq $(($(wc -l <"$work/out") - 1)) ] || fail "a line is not a proof"

# one operation, one algorithm; the number of cases is ranks x roots x counts
succeeds verify bcast --ranks 3
[ "$(wc -l <"$work/out")" -ge 3 ] || fail "not all algorithms of bcast"
succeeds verify bcast binomial --ranks 2..4 --count 0,10
prints 'bcast                binomial                  18  proved'
succeeds verify bcast binomial --ranks 2..4 --count 10 --root 3
prints 'bcast                binomial                   1  proved'
succeeds verify allreduce ring --ranks 4 --count 1,2,3
prints 'allreduce            ring                       3  proved'
succeeds verify barrier --ranks 1..16
prints 'barrier              dissemination             16  proved'

# blocks of different lengths: four spreads, together and apart, for gatherv and scatterv bound and known; or one of them
succeeds verify alltoallv flat --ranks 4 --count 9
prints 'alltoallv            flat                       8  proved'
succeeds verify gatherv flat --ranks 4 --count 9 --root 1
prints 'gatherv              flat                      16  proved'
succeeds verify gatherv flat --ranks 4 --count 9 --root 1 --blocks rising --apart --known
prints 'gatherv              flat                       1  proved'
succeeds verify --ranks 4 --blocks lone
succeeds verify reduce_scatter direct --ranks 4 --count 9
prints 'reduce_scatter       direct                     4  proved'

# what rules and cost model choose, in each case, and with the rule's parameters
printf '[bcast]\ntree_pipelined = ranks 3 bytes 4.. arity 1 segment 8\n' >"$work/rules"
succeeds verify bcast default --ranks 2..3 --count 0,7 --tuning "$work/rules"
prints 'bcast                binomial                   2  proved  2 ranks, 7 elements: COST .* ns'
prints 'bcast                binomial                   3  proved  3 ranks, 0 elements: COST .* ns'
prints "bcast                tree_pipelined             3  proved  3 ranks, 7 elements: RULE $work/rules:2"
[ "$(wc -l <"$work/out")" -eq 5 ] || fail "not four rows"
succeeds verify allgather --algorithm bruck_ports --ranks 7 --count 5 --ports 3
prints 'allgather            bruck_ports                1  proved'
refuses "nbcoll verify: --tuning goes with the algorithm default" verify bcast --tuning "$work/rules"
succeeds verify gatherv default --ranks 2..3 --native --in-place

# parameters
for ports in 1 2 3; do
    succeeds verify allgather bruck_ports --ranks 1..9 --ports $ports --count 7
    prints 'allgather            bruck_ports                9  proved'
done
succeeds verify bcast tree_pipelined --ranks 2..4 --root 0 --count 0,10 --segment 3 --arity 2
prints 'bcast                tree_pipelined             6  proved'

# each form
succeeds verify --ranks 1..5 --in-place
succeeds verify --ranks 1..5 --in-place=odd
succeeds verify --ranks 1..5 --native
succeeds verify --ranks 1..5 --native=2 --in-place
succeeds verify --ranks 1..5 --type double --op min
succeeds verify --ranks 1..5 --type byte --op bxor
