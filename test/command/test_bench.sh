# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll bench` explains itself, refuses a bad argument by one line that names it before anything is measured, and
# prints a row for each algorithm and size. How long anything took is not looked at.
. "$(dirname "$0")/check.sh"
tiny="--rounds 2 --iterations 3"

succeeds help bench
grep -q "^usage: nbcoll bench OPERATION" "$work/out" || fail "no usage"

# what is measured
refuses "nbcoll bench: it takes operations; nbcoll info lists them" bench
refuses "nbcoll bench: unknown operation 'cast'; nbcoll info lists them" bench bcast cast
refuses "nbcoll bench: 'bcast' stands there twice" bench bcast bcast
refuses "nbcoll bench: bcast has no algorithm 'x'; nbcoll info lists them" bench bcast --algorithm slots,x
refuses "nbcoll bench: none of the operations has an algorithm 'x'; nbcoll info lists them" \
    bench bcast scatter --algorithm x
refuses "nbcoll bench: alltoall has no algorithm 'recursive_doubling'; nbcoll info lists them" \
    bench allreduce alltoall --algorithm recursive_doubling
refuses "nbcoll bench: --tuning goes with the algorithm default" bench bcast --algorithm flat --tuning x
refuses "nbcoll bench: --segment, --arity, --ports, --split and --leaders go with an algorithm" bench bcast --arity 2
refuses "nbcoll bench: x: it cannot be opened" bench bcast --tuning x
refuses "nbcoll bench: --root 2: bcast of 2 ranks has no such root" bench bcast --root 2
refuses "nbcoll bench: --op SUM: BYTE has no such reduction" bench reduce --type BYTE

# options
refuses "nbcoll bench: --ranks: there are at most 256 over shared memory" bench bcast --ranks 300
refuses "nbcoll bench: --tests takes a number of 0..1000000, not '-1'" bench bcast --tests -1
refuses "nbcoll bench: --compute takes a number of 0..1000000, not 'much'" bench bcast --compute much
refuses "nbcoll bench: --buffers is reused, changing or both, not 'new'" bench bcast --buffers new
refuses "nbcoll bench: --bind is core, scatter, l3 or none, not 'l2'" bench bcast --bind l2
refuses "nbcoll bench: --plot takes a file that ends in .svg, .png or .pdf, not 'x.gif'" bench bcast --plot x.gif

# without gnuplot that is said, and nothing is measured
status=0
PATH=/nonexistent "$nbcoll" bench bcast --plot x.svg >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 3 ] || fail "without gnuplot: exit status $status"
[ "$(cat "$work/err")" = "nbcoll bench: --plot x.svg: gnuplot is not installed" ] || fail "instead of a reason:"

# without shared memory there are no ranks
"$nbcoll" info | grep -q '^transports.* shm' || exit 0

# a table: a title, two algorithms in two sizes, and what the letters of latency classes mean
succeeds bench bcast --algorithm slots,default --count 1,300 $tiny
prints 'bcast, 2 ranks; microseconds, medians'
prints 'lat: how long a cache line takes .*'
[ "$(grep -c '^slots ' "$work/out")" -eq 2 ] || fail "not two rows of slots"
[ "$(grep -c '^  is [a-z_]*: [A-Z]* ' "$work/out")" -eq 2 ] || fail "what default is, and why, is not said twice"
[ -z "$(awk 'length > 80' "$work/out")" ] || fail "the table is wider than 80 columns"

# what scatter has chosen, and why, is said once for each number of ranks; of a machine that hwloc makes up
HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1' run bench bcast scatter --bind scatter --ranks 3..4 --count 1,3 $tiny
[ "$status" -eq 0 ] || fail "scattered: exit status $status"
printf 'nbcoll bench: --bind scatter: %s\n' \
    '3 ranks on 4 cores: 1 idle for drivers, 3 on each; ranks on processors 0-2, drivers on 3' \
    '4 ranks on 4 cores: no core to spare, drivers run where their ranks do; ranks on processors 0-3' |
    cmp -s - "$work/err" || fail "scatter says:"
HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1' run bench --point-to-point bcast --bind scatter --count 1 $tiny
[ "$(grep -c '^nbcoll bench: --bind scatter: 2 ranks on 4 cores: 2 idle' "$work/err")" -eq 1 ] ||
    fail "not once for point-to-point and two ranks:"

# parameters of what is forced
# the communicator is told of nodes: hierarchical algorithms go by them, where they could not be seen otherwise
succeeds bench bcast --algorithm hierarchical --nodes 2x2 --numbering round-robin --count 3 $tiny
prints 'bcast, 4 ranks; .*'
grep -q '^hierarchical ' "$work/out" || fail "not four ranks by nodes"
succeeds bench allreduce --algorithm default,hierarchical --nodes 2,1 --count 9 $tiny
sizes="sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks"
refuses "nbcoll bench: --nodes takes $sizes, not '2y'" bench bcast --nodes 2y

succeeds bench bcast --algorithm tree_pipelined --count 100 --segment 100 --arity 2 $tiny

# results are looked at: of all operations, in each form, with buffers of both kinds
all="barrier bcast scatter gather allgather reduce allreduce scatterv gatherv allgatherv alltoall alltoallv alltoallw"
succeeds bench $all reduce_scatter reduce_scatter_block scan exscan --check --count 700 --ranks 3 --instances 2 \
    --buffers both --rounds 1 --iterations 1
succeeds bench allreduce --check --count 100 --type INT8 --op BXOR $tiny
refuses "nbcoll bench: --check knows integers, FLOAT and DOUBLE, and no MINLOC and MAXLOC" \
    bench bcast allreduce --check --type INT_INT --op MINLOC

# the point-to-point baseline, alone and before an operation; OSU's columns, under a title for each operation
succeeds bench --point-to-point --count 2,300 $tiny
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "not a title and two sizes"
succeeds bench --point-to-point bcast allreduce --ranks 3 --count 2,300 --osu $tiny
[ "$(grep -c '^# Size ' "$work/out")" -eq 3 ] || fail "not three titles"
[ "$(grep -c '^1200 ' "$work/out")" -eq 3 ] || fail "not a row of 1200 bytes below each"
[ -z "$(awk '/^# Size/ {gsub(/Avg Latency|Min Latency|Max Latency|Pure Comm.|# Size/, "x"); n = NF} /^[0-9]/ && NF != n' \
    "$work/out")" ] || fail "rows and titles differ in columns"
refuses "nbcoll bench: --point-to-point has no --csv" bench --point-to-point --csv
succeeds bench --point-to-point barrier --json $tiny --count 2
grep -q '"megabytes_per_second"' "$work/out" || fail "no baseline in JSON"

# CSV: as many fields in each line as it has titles
succeeds bench barrier scan --count 9 --csv --threads $tiny
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "not three lines"
awk -F, 'NR == 1 { fields = NF } NF != fields { exit 1 }' "$work/out" || fail "lines differ in their fields"

# blocks that are bound, forced; trees where the ranks promise their counts
succeeds bench gatherv scatterv alltoallv alltoallw --ranks 3 --algorithm flat_sequential --count 7 --csv $tiny
for operation in gatherv scatterv alltoallv alltoallw; do
    grep -q "^$operation,flat_sequential,.*,flat_sequential,RULE\$" "$work/out" || fail "$operation is not forced"
done
succeeds bench gatherv --ranks 3 --algorithm default,binomial --count 7 --csv $tiny
grep -q '^gatherv,binomial,.*,binomial,RULE$' "$work/out" || fail "no tree"
grep -q '^gatherv,default,.*,flat,[A-Z]*$' "$work/out" || fail "the tree's promise is everyone's"

# what rules and cost model choose is named, with the reason
printf '[bcast]\ntree = bytes ..99 arity 1\n' >"$work/rules"
succeeds bench bcast --algorithm default,slots --count 2,300 --tuning "$work/rules" $tiny
[ "$(grep -c "^  is tree: RULE $work/rules:2\$" "$work/out")" -eq 1 ] || fail "the rule is not named"
[ "$(grep -c '^  is binomial: COST [0-9]* ns$' "$work/out")" -eq 1 ] || fail "the reason is not named"

# `nbcoll explain` speaks of the ranks that would run here, and so says what a run does: which algorithm, of small data,
# since each run measures the price of a byte for itself
for operation in bcast reduce; do
    succeeds bench $operation --count 2,20,300 --type int32 $tiny
    sed -n 's/^  is \([a-z_]*\): COST [0-9]* ns$/\1/p' "$work/out" >"$work/run"
    [ "$(wc -l <"$work/run")" -eq 3 ] || fail "not three rows of $operation by cost"
    succeeds explain $operation --ranks 2 --count 2,20,300
    awk 'NR > 1 && $(NF - 2) == "COST" { print $4 }' "$work/out" >"$work/said"
    diff -u "$work/run" "$work/said" || fail "$operation: it was not what explain says"
done

# every operation, and several of it at once, late and among changing buffers
"$nbcoll" info | sed -n '/^algorithms/,/^$/p' | sed '1d;/^$/d' | while read -r operation algorithms; do
    succeeds bench "$operation" --ranks 3 --count 5 --instances 3 --late 3 --noise 2 --buffers both --csv $tiny
    [ "$(grep -c "^$operation,default,3," "$work/out")" -eq 2 ] || fail "not two rows of $operation"
done

# a picture; also where there are no bytes, and in each format
command -v gnuplot >/dev/null || exit 0
for format in png pdf; do
    succeeds bench barrier --plot "$work/barrier.$format" $tiny
    [ -s "$work/barrier.$format" ] || fail "no picture of a barrier as $format"
done
succeeds bench barrier bcast --algorithm default,binomial --count 1,300 $tiny --plot "$work/it's.svg"
[ "$(grep -c '<svg' "$work/it's.svg")" -eq 1 ] || fail "no picture"
