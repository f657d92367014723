# SPDX-License-Identifier: BSD-3-Clause
#
# --nodes tells builders which ranks are near each other: `nbcoll verify` proves algorithms there, `nbcoll show` draws
# what they build, `nbcoll sim` has machines of such nodes.
. "$NBCOLL_SOURCE/test/command/check.sh"

# the same algorithm on one node and on several: other schedules
succeeds show bcast hierarchical --nodes 2x2 --native --rank 0
cp "$work/out" "$work/two"
grep -q 'SEND.*2' "$work/two" || fail "the leader of node 0 sends nothing to that of node 1"
grep -q 'EXPOSE' "$work/two" || fail "the leader exposes nothing to its node"
succeeds show bcast hierarchical --ranks 4 --native --rank 0
if grep -q SEND "$work/out"; then fail "there is nobody to send to on one node"; fi

# numbered round robin, rank 1 is the leader of the other node; the same seed places ranks alike
succeeds show bcast hierarchical --nodes 2x2 --numbering round-robin --native --rank 1
grep -q 'RECV' "$work/out" || fail "rank 1 is no leader"
succeeds show bcast hierarchical --nodes 3,1,4 --numbering random:7 --all
cp "$work/out" "$work/seven"
succeeds show bcast hierarchical --nodes 3,1,4 --numbering random:7 --all
cmp "$work/out" "$work/seven" || fail "other nodes with the same seed"
succeeds show bcast hierarchical --nodes 3,1,4 --numbering random:8 --all
if cmp -s "$work/out" "$work/seven"; then fail "the same nodes with another seed"; fi

# proofs; what is covered says so
for numbering in block round-robin random:3; do
    succeeds verify allreduce hierarchical_ordered --ranks 1..6 --count 0,7 --nodes 2,1,3 --numbering $numbering --leaders 2
done
covered | grep -q '^covered: .*; several nodes; ' || fail "no word of nodes"
succeeds verify allreduce hierarchical --ranks 1..3 --count 1
covered | grep -q '^not covered: .*; several nodes' || fail "one node is not all"

# on 16 nodes of 8 the hierarchical broadcast is less far from the last rank than the binomial one: in nodes it is seen
succeeds sim bcast hierarchical --nodes 16x8 --count 1 --json
hierarchical=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
succeeds sim bcast hierarchical --nodes 128x1 --count 1 --json
apart=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
[ "$hierarchical" -lt "$apart" ] || fail "nodes make no difference: $hierarchical and $apart ns"

# nodes of domains: proofs say whether they saw any, the simulator has prices inside them, the choice goes by them
succeeds verify reduce hierarchical_domains --ranks 1..9 --count 3 --nodes 5,2,4/2
covered | grep -q '^covered: .*; domains; ' || fail "no word of domains"
covered | grep -q '^not covered: .*; no domains' || fail "some domains are not all"
{
    echo 'inside.latency 300'
    echo 'between.latency 1200'
} >"$work/model"
succeeds sim reduce hierarchical_domains --model "$work/model" --nodes 2x8/4 --count 1 --json
far=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
echo 'domain.latency 100' >>"$work/model"
succeeds sim reduce hierarchical_domains --model "$work/model" --nodes 2x8/4 --count 1 --json
near=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
[ "$near" -lt "$far" ] || fail "domains make no difference: $near and $far ns"
succeeds explain reduce --nodes 4x16/4 --native --count 100
grep -q 'hierarchical_domains  *[0-9][0-9]* ns' "$work/out" || fail "what goes by domains has no cost"
grep -q 'with 16 domains' "$work/out" || fail "no word of domains"

# nodes of several sizes, and numbered round robin: both hops are between nodes then, else one
succeeds sim bcast chain_pipelined --nodes 2,1 --count 1 --json
blocks=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
succeeds sim bcast chain_pipelined --nodes 2,1 --numbering round-robin --count 1 --json
robin=$(sed -n 's/.*"last": \([0-9]*\).*/\1/p' "$work/out")
[ "$blocks" -lt "$robin" ] || fail "the numbering makes no difference: $blocks and $robin ns"

refuses "nbcoll show: --nodes takes sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks, not '4y8'" show bcast flat --nodes 4y8
refuses "nbcoll show: --nodes takes sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks, not '4x8/0'" show bcast flat --nodes 4x8/0
refuses "nbcoll show: --nodes takes sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks, not '0'" show bcast flat --nodes 0
refuses "nbcoll verify: --numbering is block, round-robin or random[:SEED], not 'random:x'" verify --numbering random:x
