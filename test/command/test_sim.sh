# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll sim` prints the costs and timelines that it printed when the files in golden/ were made, on a machine that is
# described in a file. Where the simulator, an algorithm or a printer was changed on purpose, run the command again and
# read the difference before keeping it.
. "$(dirname "$0")/check.sh"
golden=$(dirname "$0")/golden

cat >"$work/model" <<'END'
# each message: 100 + 1000 + 100 ns between nodes, 10 + 50 + 10 inside; a ns a byte
inside.latency 50
inside.o_send 10   # ns
inside.o_recv 10
inside.byte 1000
between.latency 1000
between.o_send 100
between.o_recv 100
between.byte 1000

node 2
eager 500
END

# timelines: the messages of a small tree, the second one of which is asked for
small="sim bcast --algorithm binomial --ranks 4 --type byte --model $work/model"
# shellcheck disable=SC2086 # words
succeeds $small --count 11 --chrome "$work/chrome" --svg "$work/svg"
diff -u "$golden/sim_bcast.txt" "$work/out" || fail "table"
[ -z "$(awk 'length > 80' "$work/out")" ] || fail "the table is wider than 80 columns"
diff -u "$golden/sim_bcast.json" "$work/chrome" || fail "Chrome trace"
sed "s| $work/model| MODEL|" "$work/svg" | diff -u "$golden/sim_bcast.svg" - || fail "SVG"
# shellcheck disable=SC2086
succeeds $small --count 501 --chrome "$work/chrome"
diff -u "$golden/sim_bcast_asked.json" "$work/chrome" || fail "Chrome trace of long messages"

# a message begins in its sender's row where the sender's core was done with it: the second one at 440 ns, which is 235.7
# of the drawing; it leaves at 769 ns, when the interface has sent the first one
succeeds sim bcast flat --nodes 3x1 --svg "$work/svg"
grep -q '<path d="M235.7 76.0H349.0L.*rank 0 to rank 2, 4000 bytes, 769..2368 ns' "$work/svg" || fail "a message's line"
grep -q '>SEND, step 3, 4000 bytes, 220..440 ns<' "$work/svg" || fail "the send does not end at 440 ns"

# inside a node it leaves when its sender's core has copied it, 4000 bytes at 100 ps beside 70 ns of a send
succeeds sim bcast flat --ranks 3 --svg "$work/svg"
grep -q 'rank 0 to rank 2, 4000 bytes, 940..' "$work/svg" || fail "the core does not copy what it sends in its node"
grep -q '>SEND, step 3, 4000 bytes, 470..940 ns<' "$work/svg" || fail "the send does not end at 940 ns"

# a late rank holds up who is behind it in a ring or a chain, but for operations that stand and progress cores which pass
# on: then each of the other 15 gets what 14 of them give (15 x 14 of 15 x 15 blocks), and of a broadcast all
came()
{
    percent=$1
    shift
    succeeds sim "$@" --ranks 16 --type byte --count 1000 --arrival late:5:1000
    [ "$(awk 'NR == 2 { print $7 }' "$work/out")" = "$percent" ] || fail "$*: $(cat "$work/out")"
    [ -z "$(awk 'length > 80' "$work/out")" ] || fail "the table of arrivals is wider than 80 columns"
}
came 46% allgather ring
came 46% allgather ring --preposted 1 # nobody passes on
came 93% allgather ring --preposted 1 --progress 16
came 28% bcast chain_pipelined
[ "$(awk 'NR == 2 { print ($6 > 500) }' "$work/out")" = 1 ] || fail "a chain does not wait for its late rank"
came 100% bcast chain_pipelined --preposted 1 --progress 16
[ "$(awk 'NR == 2 { print ($6 < 10) }' "$work/out")" = 1 ] || fail "a chain that stands waits for its late rank"
succeeds sim bcast flat --preposted 1 # all start at once
[ "$(awk 'NR == 2 { print $7 }' "$work/out")" = - ] || fail "what comes before nobody: $(cat "$work/out")"
succeeds sim allgather ring --ranks 4 --type byte --count 1000 --arrival late:3:100 --preposted 1 --progress 4 --json
[ "$(sed -n 's/.*"stored": \([0-9]*\).*/\1/p' "$work/out")" = 3000 ] || fail "a late rank does not store three blocks"
grep -q '"came": 66' "$work/out" || fail "two of three blocks as JSON"
for bad in "--preposted 0" "--preposted x" "--progress 0" "--nic --preposted 1" "--nic --progress 1"; do
    # shellcheck disable=SC2086
    run sim bcast binomial $bad
    [ "$status" -eq 2 ] || fail "bcast binomial $bad: $status"
done

# a row for each algorithm and count, the same again
succeeds sim allgather --ranks 9 --count 1,100 --noise pulses --arrival scattered:300 --compute 50 --test-every 7
cp "$work/out" "$work/first"
[ "$(wc -l <"$work/out")" -ge 5 ] || fail "rows are missing"
succeeds sim allgather --ranks 9 --count 1,100 --noise pulses --arrival scattered:300 --compute 50 --test-every 7
cmp -s "$work/first" "$work/out" || fail "not the same again"
succeeds sim allgather --ranks 9 --count 1,100 --noise pulses --arrival scattered:300 --compute 50 --test-every 7 \
    --seed 2
! cmp -s "$work/first" "$work/out" || fail "the seed says nothing"

# a table of parts that costs nothing is read, a dear one is not
for price in 0 5000; do
    printf 'inside.latency 300\ninside.o_send 50\ninside.o_recv 50\ninside.gap 20\ninside.byte 100\n' >"$work/table"
    printf 'step 20\ncopy 100\nreduce 250\neager 4096\nnode 64\ncell 80\ntable %s\n' "$price" >>"$work/table"
    succeeds sim alltoall default --ranks 4 --type byte --count 8 --model "$work/table"
    grep -q "^$([ "$price" = 0 ] && echo slots || echo flat) " "$work/out" || fail "a table at $price ns is not told"
done

# what rules and cost model choose, which are told what messages cost there
printf '[bcast]\ntree = ranks 4 bytes ..99 arity 3\n' >"$work/rules"
# shellcheck disable=SC2086
succeeds sim bcast default --ranks 4 --type byte --model "$work/model" --count 11,100 --tuning "$work/rules"
tr '\n' '|' <"$work/out" >"$work/rows"
grep -q "|tree  *11 [^|]*|  RULE $work/rules:2|" "$work/rows" || fail "the rule does not choose"
grep -q "|[a-z_]*  *100 [^|]*|  COST [0-9]* ns|" "$work/rows" || fail "the cost model does not choose"
sed -n 's/^tree *11 *\([^ ]*\) .*/\1/p' "$work/out" >"$work/first"
succeeds sim bcast tree --arity 3 --ranks 4 --type byte --model "$work/model" --count 11
sed -n 's/^tree *11 *\([^ ]*\) .*/\1/p' "$work/out" | cmp -s - "$work/first" || fail "not with the rule's arity"

# parameters: 64 ranks tell three others in each of three rounds, or one in each of six
for ports in 3 1; do
    succeeds sim barrier dissemination_ports --ranks 64 --ports $ports
    [ "$(awk 'NR == 2 { print $8 }' "$work/out")" -eq $((ports == 3 ? 3 : 6)) ] || fail "rounds of $ports ports"
done

# a split tree, with one progress core for 16 ranks: 15 transfers in turn; with its last levels at the ranks 7 and 1, or
# 3 and 2
printf 'inside.o_send 1000\nnode 16\nprogress 1\nlanes 1\n' >"$work/model"
took()
{
    us=$1
    shift
    succeeds sim bcast binomial --ranks 16 --count 8 --model "$work/model" "$@"
    [ "$(tail -1 "$work/out" | awk '{ print $3 }')" = "$us" ] || fail "$*: not $us us"
}
took 15.000
took 8.000 --split 1
took 5.000 --split 2

# every operation
for operation in barrier bcast scatter gather allgather reduce allreduce scatterv gatherv allgatherv alltoall \
    alltoallv alltoallw reduce_scatter reduce_scatter_block scan exscan; do
    succeeds sim $operation --ranks 6
    [ "$(wc -l <"$work/out")" -ge 2 ] || fail "$operation: no row"
    [ -z "$(awk 'length > 80' "$work/out")" ] || fail "$operation: the table is wider than 80 columns"
done

# ranks of a node share memory, unless told otherwise
succeeds sim bcast slots --ranks 4 --model node
row=$(tail -1 "$work/out" | awk '{print $5, $6}')
[ "$row" = "0 3" ] || fail "messages and fetches: $row"
succeeds sim bcast slots --ranks 4 --model node --lowered
row=$(tail -1 "$work/out" | awk '{print $5, $6}')
[ "$row" = "3 0" ] || fail "lowered, messages and fetches: $row"

# a program: two barriers in flight take 200 ns more than one, and not twice the time
cat >"$work/model" <<'END'
between.latency 1000
between.o_send 100
between.o_recv 100
END
waited()
{
    succeeds sim barrier dissemination --ranks 4 --model "$work/model" --program "$1"
    row=$(tail -1 "$work/out" | awk '{print $4}')
    [ "$row" = "$2" ] || fail "$1: $row instead of $2"
}
waited "start" 2.400
waited "start; start barrier" 2.600
waited "start; wait started 1; compute 1us; wait" 2.400
waited "start; wait; start barrier dissemination" 4.800
waited "start; start; wait 1; compute 1us; wait" 3.500
waited "start;start;wait 1;compute 1us test 100ns" 3.500
succeeds sim barrier dissemination --ranks 4 --program "start allreduce ring; compute 3us; start" --json
grep -q '"messages": 32' "$work/out" || fail "24 messages of the ring and 8 of the barrier"

# a fixed work: all ranks compute what four do while the operation blocks them, 2 us; three ranks take 8/3, two 4
printf 'inside.o_send 1000\ncontention 60\n' >"$work/model"
succeeds sim bcast binomial --fixed-work 4 --model "$work/model"
[ "$(sed 1d "$work/out" | awk '{print $1, $2, $3, $4, $5, $6, $9}')" = "2 2 4.0 5.0 4.0 5.0 0
3 1 2.7 4.7 2.7 3.7 0" ] || fail "a fixed work: $(cat "$work/out")"
# a reduce, whose starts wait for what is the ranks' own
succeeds sim reduce binomial --fixed-work 8 --model "$work/model"
[ "$(tail -1 "$work/out" | awk '{print $1, $3, $4, $5, $6, $7, $9}')" = "7 3.4 5.4 6.7 4.4 5.4 1" ] ||
    fail "a fixed work of a reduce: $(cat "$work/out")"
succeeds sim bcast binomial --fixed-work 4 --model "$work/model" --json
grep -q '"blocking": 4666' "$work/out" || fail "a fixed work as JSON"
for bad in "flat --fixed-work 4" "binomial --fixed-work 1" "binomial --fixed-work 4 --compute 1" \
    "binomial --fixed-work 4 --ranks 3"; do
    # shellcheck disable=SC2086
    run sim bcast $bad
    [ "$status" -eq 2 ] || fail "bcast $bad: $status"
done

# a NIC: 8 bytes from rank to rank take what test_nic counts to the nanosecond, and leave the core free; a second NIC
# serves the ranks of a node in less time
cat >"$work/model" <<'END'
between.latency 1000
between.gap 100
between.o_send 200
between.byte 250
copy 200
node 4
END
plain="task=100,miss=0,cached=0"
succeeds sim bcast binomial --ranks 2 --type byte --count 8 --model "$work/model" --nodes 2x1 --nic=$plain
# posted at 100, sent at 300, there at 1400; acknowledged at 2400
[ "$(awk 'NR == 2 { print $6, $9 }' "$work/out")" = "2.400 3" ] || fail "a NIC: $(cat "$work/out")"
nic_of()
{
    succeeds sim allgather ring --ranks 8 --count 2000 --model "$work/model" --nic="$1" --json
    sed -n 's/.*"nic": \([0-9]*\).*/\1/p' "$work/out"
}
[ "$(nic_of $plain,nics=2)" -lt "$(nic_of $plain)" ] || fail "two NICs are no faster"
[ "$(nic_of $plain,ports=2)" -lt "$(nic_of $plain)" ] || fail "two ports are no faster"
[ "$(nic_of task=100,miss=500,cached=4)" -gt "$(nic_of $plain)" ] || fail "queue pairs that are not at hand cost nothing"
[ "$(nic_of $plain,memory=1000)" -gt "$(nic_of $plain)" ] || fail "copies do not share a node's memory"
[ "$(nic_of $plain,memory=1000,cache=1000000)" -eq "$(nic_of $plain)" ] || fail "caches hold nothing"
[ "$(nic_of task=5000,miss=0)" -gt "$(nic_of $plain)" ] || fail "a slow NIC is not slow"
free_of()
{
    succeeds sim bcast binomial --ranks 2 --type byte --count 524288 --model cluster_b --nodes 2x1 --nic --json "$@"
    sed -n "s/.*\"engine_overlap\": \([0-9]*\).*/\1/p" "$work/out"
}
[ "$(free_of --test-bytes 2048)" -gt "$(free_of)" ] || fail "tests do not help the engine"
# bound blocks have the lengths that the case says: 8000 bytes more take 2000 ns more, at 250 ps
bound()
{
    succeeds sim alltoallv flat --ranks 2 --type byte --count "$1" --model "$work/model" --nodes 2x1 --nic=$plain --json
    sed -n 's/.*"nic": \([0-9]*\).*/\1/p' "$work/out"
}
[ $(($(bound 10000) - $(bound 2000))) -eq 2000 ] || fail "blocks of other lengths: $(bound 2000) $(bound 10000)"
for operation in alltoallv alltoallw scatterv gatherv; do
    succeeds sim $operation --ranks 4 --nic
    [ "$(awk 'NR > 1 && $NF + 0 == 0 && NF > 1' "$work/out" | wc -l)" -eq 0 ] || fail "$operation: no program"
done
[ -z "$(awk 'length > 80' "$work/out")" ] || fail "the table of NICs is wider than 80 columns"
for bad in "--nic=tasks=1" "--nic=task" "--nic --compute 1" "--nic --noise tick" "--nic --nodes 3,1" \
    "--test-bytes 64" "--nic --test-bytes 64 --test-every 1"; do
    # shellcheck disable=SC2086
    run sim bcast binomial $bad
    [ "$status" -eq 2 ] || fail "bcast binomial $bad: $status"
done

# a place that cannot be written
run sim bcast binomial --svg "$work/none/svg"
[ "$status" -eq 3 ] || fail "no such place"
