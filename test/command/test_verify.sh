# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll verify` proves every algorithm of the library, in each form, and says so.
. "$(dirname "$0")/check.sh"

# all: a line for each algorithm, and nothing but proofs
succeeds verify --ranks 1..3
operations='barrier bcast scatter gather allgather reduce allreduce scatterv gatherv allgatherv alltoall alltoallv
    alltoallw reduce_scatter reduce_scatter_block scan exscan'
for operation in $operations; do
    grep -q "^$operation .* proved\$" "$work/out" || fail "$operation is missing"
done
if sed '1d; /^$/,$d' "$work/out" | grep -qv ' proved$'; then fail "a line is not a proof"; fi

# one operation, one algorithm; the number of cases is ranks x roots x counts x forms: of a broadcast four kinds of
# elements, of an allreduce also plain, in place, in place at odd ranks
succeeds verify bcast --ranks 3
[ "$(wc -l <"$work/out")" -ge 3 ] || fail "not all algorithms of bcast"
succeeds verify bcast binomial --ranks 2..4 --count 0,10
prints 'bcast                binomial                  72  proved'
succeeds verify bcast binomial --ranks 2..4 --count 10 --root 3
prints 'bcast                binomial                   4  proved'
succeeds verify allreduce ring --ranks 4 --count 1,2,3
prints 'allreduce            ring                      36  proved'
succeeds verify barrier --ranks 1..16
prints 'barrier              dissemination             16  proved'

# blocks of different lengths: four spreads, together and apart, for gatherv and scatterv bound and known; or one of them
succeeds verify alltoallv flat --ranks 4 --count 9
prints 'alltoallv            flat                      96  proved'
succeeds verify gatherv flat --ranks 4 --count 9 --root 1
prints 'gatherv              flat                     128  proved'
succeeds verify gatherv flat --ranks 4 --count 9 --root 1 --blocks rising --apart --known
prints 'gatherv              flat                       8  proved'
succeeds verify --ranks 4 --blocks lone
succeeds verify reduce_scatter owners --ranks 4 --count 9
prints 'reduce_scatter       owners                    48  proved'

# what rules and cost model choose, in each case, and with the rule's parameters
printf '[bcast]\ntree_pipelined = ranks 3 bytes 4.. arity 1 segment 8\n' >"$work/rules"
succeeds verify bcast default --ranks 2..3 --count 0,7 --tuning "$work/rules"
prints 'bcast                binomial                   2  proved  2 ranks, 7 elements: COST .* ns'
prints 'bcast                binomial                   3  proved  3 ranks, 0 elements: COST .* ns'
prints "bcast                tree_pipelined             3  proved  3 ranks, 7 elements: RULE $work/rules:2"
[ "$(sed '1d; /^$/,$d' "$work/out" | wc -l)" -eq 4 ] || fail "not four rows"
succeeds verify allgather --algorithm bruck_ports --ranks 7 --count 5 --ports 3
prints 'allgather            bruck_ports               12  proved'
refuses "nbcoll verify: --tuning goes with the algorithm default" verify bcast --tuning "$work/rules"
succeeds verify gatherv default --ranks 2..3 --native --in-place

# parameters
for ports in 1 2 3; do
    succeeds verify allgather bruck_ports --ranks 1..9 --ports $ports --count 7
    prints 'allgather            bruck_ports              108  proved'
done
succeeds verify bcast tree_pipelined --ranks 2..4 --root 0 --count 0,10 --segment 3 --arity 2
prints 'bcast                tree_pipelined            24  proved'

# each form alone
one='--type int32 --native --ranks 1..4'
succeeds verify $one --in-place
succeeds verify $one --in-place=odd
succeeds verify --ranks 1..5 --native=2 --in-place --type double --op min
succeeds verify --ranks 1..5 --native=1 --in-place --type byte --op bxor
succeeds verify reduce_scatter owners --ranks 1..5 --type packed --op ordered
succeeds verify allreduce ring --ranks 1..5 --type host --op commuting
refuses "nbcoll verify: --op SUM: HOST has no such reduction" verify allreduce --type host

# an algorithm whose forms differ in all respects: the memory that ranks share, parameters, places of blocks
succeeds verify bcast tree_pipelined --ranks 1..4 --count 0,100
prints 'bcast                tree_pipelined           480  proved'
# levels that are the ranks' own: for a proof the same cases as of the whole tree
for operation in bcast scatter gather reduce allreduce; do
    succeeds verify $operation binomial --ranks 1..5 --count 7
    cp "$work/out" "$work/whole"
    succeeds verify $operation binomial --ranks 1..5 --count 7 --split 2
    cmp -s "$work/whole" "$work/out" || fail "$operation, split"
done
succeeds verify allgather slots --ranks 1..4 --count 0,7
prints 'allgather            slots                    288  proved'
succeeds verify gatherv binomial --ranks 2..3 --count 3

# the last lines say what was covered, and what was not
ends()
{
    printf 'covered: %s\nnot covered: %s; what verify.h assumes: the engine and its transports\n' "$1" "$2" \
        >"$work/expected"
    covered | diff "$work/expected" - || fail "other last lines"
}
all="INT32 SUM; INT8 MAX; a host's type and operation; a host's type that packs (but for the bytes received)"
succeeds verify allgather slots --ranks 1..3 --count 0,7
ends "1..3 ranks; any root; counts 0,7; $all; out of place; in place; in place at odd ranks; messages; memory shared by\
 all; memory shared by some" "more than 3 ranks; other counts; other types and reductions"
succeeds verify allgather slots --ranks 3 --count 7 --native --in-place --type double --op max
ends "3 ranks; any root; counts 7; DOUBLE MAX; in place; memory shared by all" "fewer than 3 ranks; more than 3 ranks;\
 other counts; other types and reductions; INT8 MAX; a host's type and operation; a host's type that packs (but for the\
 bytes received); out of place; in place at odd ranks; messages; memory shared by some"
succeeds verify bcast tree_pipelined --ranks 1..3 --root 0 --segment 8
ends "1..3 ranks; root 0; counts 0,1,7,1000; $all; parameters other than default" "more than 3 ranks; other roots; other\
 counts; other types and reductions; default parameters; other segments, arities and ports"
