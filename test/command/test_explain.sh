# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll explain` says which algorithm serves a call and which rule, cost or limit said so.
. "$(dirname "$0")/check.sh"

# says algorithm why argument...: of one call, the line about it ends so.
says()
{
    algorithm=$1 why=$2
    shift 2
    succeeds explain "$@"
    sed -n 2p "$work/out" | grep -q " $algorithm  *$why\$" || fail "nbcoll explain $*: not $algorithm $why"
}

# by cost: three brothers and their parent, 2 * (300 + 2 * 60 + 4000 * 0.08) + 2 * 4000 * 0.08 ns
says 'tree arity 3' 'COST    2120 ns' bcast --messages --ranks 8
prints '  tree                                       2120 ns'
prints '  slots                                 not known'

# costs stand in one column, also of long names
succeeds explain allreduce --messages --ranks 4
[ "$(sed -n '/^the cost model/,$s/^  [a-z][a-z_]* .*/&/p' "$work/out" | awk '{ print length() }' | sort -u | wc -l)" -eq 2 ] ||
    fail "costs are not in one column"
says 'chain_pipelined segment 65536' 'COST .*' bcast --messages --ranks 8 --count 1000000
says flat 'COST    2 ns' bcast --messages --ranks 8 --alpha 2 --beta 0 --overhead 0
says flat 'COST .*' bcast --messages --ranks 8 --count 1000000 --alpha 1000000000

# each price counts: 740 + 4000 * 0.7; a message that is announced, 3 * 420 + 4000 * 0.08, and a get; pieces
succeeds explain reduce --messages --ranks 2 --gamma 700
prints '  binomial                                   3540 ns'
succeeds explain bcast --messages --ranks 2 --eager 3999
prints '  binomial                                   1580 ns'
succeeds explain bcast --messages --ranks 2 --eager 3999 --get 40
prints '  binomial                                   1620 ns'
says 'chain_pipelined segment 16384' 'COST .*' bcast --messages --ranks 8 --count 50000 --credits 16
says 'chain_pipelined segment 4096' 'COST .*' bcast --messages --ranks 8 --count 50000

# the help says the prices that are
succeeds explain bcast --messages --ranks 2
numbers=$(sed -n '/^the cost model/{n;s/eager_ps 0, //p;}' "$work/out" | tr -dc '0-9,\n' | sed 's/,/, /g')
"$nbcoll" help explain | grep -q "With --messages $numbers; " || fail "the help does not say $numbers:"

# by cost of memory, by memory, by a limit, by what is left
says slots 'COST    1750 ns' bcast --ranks 8 --native
prints '    alpha_ns 350, beta_ps 130, overhead_ns 60, gamma_ps 40, get_ns 900, eager 4096, eager_ps 180, credits 64'
says slots 'COST    323153 ns' bcast --ranks 8 --native --get 2 --count 2000000 # through the staging buffer: no gets
says slots 'SHARED  .*' bcast --ranks 8 --native --large 4001
says scatter_ring 'SIZE .*' bcast --messages --ranks 8 --large 4000
says binomial 'SIZE .*' bcast --messages --ranks 8 --large 4001
says binomial 'ONLY .*' reduce --messages --ranks 8 --large 0 --reproducible
says ring 'ONLY .*' allgather --messages --ranks 8 --large 1000000 --tolerant

# by relays, as long as the call is short; a rule that names them falls to the next one where they are not open
says relays 'RELAYS  .*' allgather --messages --ranks 8 --count 16 --relays 64
says relays 'RELAYS  .*' bcast --messages --ranks 8 --count 16 --relays 64 --tolerant --program
prints "        a rank that is late holds up nobody but for its own block: it passes on in passes over its context,"
prints "        or, by agents (nbcoll_relays_config.by_agents), while it calls nothing"
prints "        not as a program: relays stand, which agents may move"
says flat 'COST .*' allgather --messages --ranks 8 --count 17 --relays 64 --tolerant
prints "        a rank that is late passes on nothing until it calls; open relays (--relays BYTES) do"
says flat 'COST .*' allgather --messages --ranks 8 --count 17 --relays 64
says flat 'COST .*' scatter --messages --ranks 8 --count 16 --relays 64
says relays 'RULE    --algorithm' bcast --messages --ranks 8 --count 16 --relays 64 --algorithm relays
says binomial 'RULE    --algorithm' bcast --messages --ranks 8 --count 16 --relays 64 --algorithm binomial
printf '[allgather]\nrelays = bytes ..513\nring = bytes ..513\n' >"$work/relays"
says relays "RULE    $work/relays:2" allgather --messages --ranks 8 --count 16 --relays 64 --tuning "$work/relays"
says ring "RULE    $work/relays:3" allgather --messages --ranks 8 --count 16 --tuning "$work/relays"

# by rules: the argument is stronger than the file, and an earlier line than a later one
cat >"$work/rules" <<'END'
; for a test
[bcast]
scatter_ring = ranks 5..
binomial = bytes ..4000 split 2
slots_chain =
END
says scatter_ring "RULE    $work/rules:3" bcast --messages --ranks 8 --tuning "$work/rules"
says 'binomial split 2' "RULE    $work/rules:4" bcast --messages --ranks 4 --tuning "$work/rules"
says slots_chain "RULE    $work/rules:5" bcast --messages --ranks 4 --count 1001 --tuning "$work/rules"
says flat 'COST .*' scatter --messages --ranks 4 --tuning "$work/rules"
says 'slots_chain segment 5' 'RULE    --algorithm' bcast --messages --ranks 8 --tuning "$work/rules" --algorithm slots_chain --segment 5
refuses 'nbcoll explain: bcast slots does not read one of these parameters; see nbcoll info --algorithms' explain bcast --ranks 8 --algorithm slots --segment 5

# on several nodes: prices inside them and between them, and hierarchical algorithms
succeeds explain allgather --nodes 16x8 --count 100 --alpha 9000 --overhead 2000
prints '    inside 16 nodes, with 0 domains: alpha_ns 350, beta_ps 130, overhead_ns 60, gamma_ps 40, get_ns 900, eager 4096, eager_ps 180'
sed -n 2p "$work/out" | grep -q '^ *128 .* hierarchical.* COST ' || fail "no hierarchical algorithm"
printf '[bcast]\nflat = nodes 2..3\n' >"$work/nodes"
says flat "RULE    $work/nodes:2" bcast --nodes 3x2 --tuning "$work/nodes"
succeeds explain bcast --nodes 4x2 --tuning "$work/nodes"
if grep -q RULE "$work/out"; then fail "a rule for fewer nodes"; fi

# the same as JSON: each call with its parameters, and what the cost model says of all algorithms
printf '[exscan]\nlinear = ranks 3 bytes 4..\n' >"$work/exscan"
(cd "$work" && "$nbcoll" explain exscan --messages --ranks 2..3 --count 1,5000 --tuning exscan --json >out)
diff -u "$(dirname "$0")/golden/explain_exscan.json" "$work/out" || fail "JSON"

# several calls: one line each, no costs
succeeds explain allreduce --messages --ranks 2..5 --count 1,1000000 --type double --op max
[ "$(wc -l <"$work/out")" -eq 9 ] || fail "not nine lines"

# every operation
for operation in $("$nbcoll" info | sed -n '/^algorithms/,/^$/p' | sed '1d;/^$/d' | awk '{ print $1 }'); do
    succeeds explain "$operation" --messages --ranks 1..6 --count 0,1,100000
    succeeds explain "$operation" --ranks 3 --native --reproducible
done

# refused
refuses "nbcoll explain: it takes an operation" explain --ranks 4
refuses "nbcoll explain: --ranks is missing" explain bcast
refuses "nbcoll explain: one word too many: 'binomial'" explain bcast binomial --ranks 4
refuses "nbcoll explain: bcast has no algorithm 'x'; nbcoll info lists them" explain bcast --ranks 4 --algorithm x
refuses "nbcoll explain: --segment, --arity, --ports, --split and --leaders go with an algorithm" explain bcast --ranks 4 --arity 2
refuses "nbcoll explain: --alpha takes a number from 0 on, not 'x'" explain bcast --ranks 4 --alpha x
refuses "nbcoll explain: --arity takes a number from 1 on, not '0'" explain bcast --ranks 4 --algorithm flat --arity 0
refuses "nbcoll explain: --op BAND: FLOAT has no such reduction" explain reduce --ranks 4 --type float --op band
refuses "nbcoll explain: $work/none: it cannot be opened" explain bcast --messages --ranks 4 --tuning "$work/none"
echo 'ring =' >>"$work/rules"
refuses "nbcoll explain: $work/rules:6: bcast has no algorithm 'ring'" explain bcast --ranks 4 --tuning "$work/rules"

# whether a NIC or an agent could run it, or why not
succeeds explain bcast --messages --ranks 8 --count 10 --program
grep -q '  as a program: of rank 0 14 tasks, 21 queue pairs, 0 eager buffers$' "$work/out" || fail "no program"
succeeds explain alltoallv --messages --ranks 8 --count 10 --program
grep -q '  as a program: of rank 0 43 tasks, 21 queue pairs, 0 eager buffers$' "$work/out" || fail "no program of blocks"
succeeds explain bcast --ranks 8 --count 10 --native --program
grep -q '  not as a program: .*it exposes memory: it is to be built for ranks that share none$' "$work/out" || fail "no reason"

succeeds explain bcast --nodes 4x2 --count 10 --algorithm hierarchical --program
grep -q '  in three parts, between nodes as a program: of rank 0 4 tasks, 6 queue pairs, 0 eager buffers$' "$work/out" ||
    fail "not in three parts"
succeeds explain bcast --nodes 4x2 --count 10 --algorithm hierarchical --segment 16 --program
grep -q '  not in three parts: .*: it exposes memory between its messages, or piece by piece$' "$work/out" ||
    fail "not told why it is not in three parts"
grep -q '  as a program: ' "$work/out" || fail "no program as a whole"
succeeds explain allreduce --nodes 4x2 --count 10 --algorithm ring --program
if grep -q 'three parts' "$work/out"; then fail "an algorithm that does not go by nodes has parts"; fi

# 128 KiB of 16 ranks each: what `nbcoll run --agent` has just room for, and a byte less
succeeds explain gather --nodes 2x8 --count 32768 --algorithm hierarchical --program --scratch 1048576
grep -q '  in three parts, ' "$work/out" || fail "no room for it"
grep -q '  if the agent is a process, with 1048576 bytes of scratch memory that it shares$' "$work/out" ||
    fail "not told how much it needs"
succeeds explain gather --nodes 2x8 --count 32768 --algorithm hierarchical --program --scratch 1048575
grep -q '  not in three parts: .*: rank 0: its scratch memory is longer than what the agent.s process shares: 1048576, and 1048575 are allowed$' \
    "$work/out" || fail "not told that there is too little scratch memory"
grep -q '  as a program: ' "$work/out" || fail "no program as a whole"

# refused by the limits of who is to run it, each with its reason; and just not refused
cannot()
{
    why=$1
    shift
    succeeds explain "$@"
    grep -q "  not as a program: .*: rank 0: $why\$" "$work/out" || fail "nbcoll explain $*: not refused: $why"
}
can()
{
    numbers=$1
    shift
    succeeds explain "$@"
    grep -q "  as a program: of rank 0 $numbers\$" "$work/out" || fail "nbcoll explain $*: not $numbers"
}
cannot 'it has more tasks than may be posted: 14, and 13 are allowed' bcast --messages --ranks 8 --count 10 --tasks 13
can '14 tasks, 21 queue pairs, 0 eager buffers' bcast --messages --ranks 8 --count 10 --tasks 14
cannot 'it needs more queue pairs than there may be: 21, and 20 are allowed' bcast --messages --ranks 8 --count 10 --queue-pairs 20
cannot 'it needs more queue pairs than there may be: 42, and 41 are allowed' bcast --messages --ranks 8 --count 10 --queue-pairs 41 \
    --in-flight 2
can '14 tasks, 42 queue pairs, 0 eager buffers' bcast --messages --ranks 8 --count 10 --queue-pairs 42 --in-flight 2
cannot 'it needs more eager buffers than there may be: 3, and 2 are allowed' allreduce --messages --ranks 8 --count 10 \
    --algorithm recursive_doubling --buffers 2
can '15 tasks, 9 queue pairs, 3 eager buffers' allreduce --messages --ranks 8 --count 10 --algorithm recursive_doubling --buffers 3
can '.* tasks, 9 queue pairs, 0 eager buffers' allreduce --messages --ranks 8 --count 10 --algorithm recursive_doubling --buffers 2 \
    --threshold 39
refuses "nbcoll explain: --tasks takes a number from 1 on, not '0'" explain bcast --ranks 8 --tasks 0
