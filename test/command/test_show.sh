# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll show` prints what it printed when the files in golden/ were made. Where an algorithm or a printer was changed
# on purpose, run the command of the test again and read the difference before keeping it.
. "$(dirname "$0")/check.sh"
golden=$(dirname "$0")/golden

# same file argument...
same()
{
    file=$1
    shift
    succeeds "$@"
    diff -u "$golden/$file" "$work/out" || fail "nbcoll $*: differs from $file"
}

# one rank, in words that the defaults complete
same bcast.txt show bcast binomial --ranks 4 --rank 2
# all ranks
same scatter.txt show scatter flat --ranks 3 --root 1 --count 5 --type int16 --all
# a reduction, in place
same allreduce.txt show allreduce recursive_doubling --ranks 3 --count 8 --type double --op max --in-place --all
# blocks of different lengths: not known before the start, and known, with gaps between them
same gatherv_bound.txt show gatherv flat --ranks 3 --root 1 --count 5 --type int16 --all
same gatherv_known.txt show gatherv flat --ranks 3 --root 1 --count 5 --type int16 --all --blocks rising --apart --known
# parameters: pieces of a vector, children of a rank in a tree, messages at once
same bcast_pieces.txt show bcast tree_pipelined --ranks 3 --count 8 --segment 12 --arity 2
same allgather_ports.txt show allgather bruck_ports --ranks 4 --count 2 --ports 3
# the last level of a tree is in the ranks' starts, the one above it the driver's
same reduce_split.txt show reduce binomial --ranks 4 --count 8 --split 1 --all
# a graph
same bcast.dot show bcast binomial --ranks 4 --root 1 --count 8 --all --format dot

# ranks by rounds: white paper, a message for each of the seven, at most a screen wide, and none but those of one rank
succeeds show bcast binomial --ranks 8 --svg "$work/svg"
[ ! -s "$work/out" ] || fail "--svg prints, too"
diff -u "$golden/show_bcast.svg" "$work/svg" || fail "SVG"
[ "$(grep -c marker-end "$work/svg")" -eq 7 ] || fail "not a line for each message"
succeeds show bcast binomial --ranks 8 --rank 6 --svg "$work/svg"
[ "$(grep -c marker-end "$work/svg")" -eq 2 ] || fail "not the messages of rank 6"
succeeds show allreduce slots --ranks 16 --native --svg "$work/svg"
grep -q '>240 reads, ' "$work/svg" || fail "reads are not counted"
[ "$(sed -n '1s/.* width="\([0-9]*\)".*/\1/p' "$work/svg")" -le 1280 ] || fail "16 ranks are wider than a screen"
succeeds show allgather ring --ranks 70 --svg "$work/svg"
grep -q '; 5 more rounds are left out<' "$work/svg" || fail "what is left out is not said"
run show bcast binomial --ranks 8 --svg "$work/none/svg"
[ "$status" -eq 3 ] || fail "a file that cannot be written"

# rank 0 is the default, and the words may stand anywhere
succeeds show --ranks 4 bcast --rank 0 binomial
cp "$work/out" "$work/first"
succeeds show bcast binomial --ranks 4
cmp -s "$work/first" "$work/out" || fail "rank 0 is not the default"

# what rules and cost model choose is named first, with the reason; its parameters are the rule's
cat >"$work/rules" <<'END'
[bcast]
tree = ranks 5.. arity 3
END
succeeds show bcast default --ranks 4
prints 'default: flat, COST .* ns'
sed 1d "$work/out" >"$work/second"
succeeds show bcast flat --ranks 4
cmp -s "$work/second" "$work/out" || fail "default is not what it says"
succeeds show bcast --algorithm default --ranks 4 --native --format dot
[ "$(head -n 1 "$work/out")" = '// default: slots, COST 1750 ns' ] || fail "dot does not say it"
succeeds show bcast default --ranks 5 --tuning "$work/rules"
prints "default: tree arity 3, RULE $work/rules:2"
sed 1d "$work/out" >"$work/first"
succeeds show bcast --algorithm tree --arity 3 --ranks 5
cmp -s "$work/first" "$work/out" || fail "the parameters of the rule are not those of the argument"
[ "$(grep -c SEND "$work/out")" -eq 3 ] || fail "--arity 3 is no tree of three"
refuses "nbcoll show: --tuning goes with the algorithm default" show bcast tree --ranks 5 --tuning "$work/rules"
refuses "nbcoll show: --segment, --arity, --ports, --split and --leaders go with an algorithm" show bcast default --ranks 5 --arity 3
refuses "nbcoll show: one word too many: 'tree'" show bcast tree --algorithm flat --ranks 5
refuses "nbcoll show: --algorithm goes with an operation" show --algorithm flat --ranks 5
refuses "nbcoll show: $work/none: it cannot be opened" show bcast default --ranks 5 --tuning "$work/none"
echo '[cast]' >>"$work/rules"
refuses "nbcoll show: $work/rules:3: unknown operation 'cast'" show bcast default --ranks 5 --tuning "$work/rules"

# every algorithm can be shown
"$nbcoll" info | sed -n '/^operations/,/^types/s/^  //p' >"$work/algorithms"
[ -s "$work/algorithms" ] || fail "no algorithms"
while read -r operation algorithms; do
    for algorithm in $algorithms; do
        succeeds show "$operation" "$algorithm" --ranks 5 --all
        succeeds show "$operation" "$algorithm" --ranks 5 --all --native --format dot
    done
done <"$work/algorithms"

# what a NIC would be given, and why it is not given something
same show_program.txt show allgather recursive_doubling --ranks 4 --count 1024 --in-place --program
# as a graph, queue by queue: a barrier's, and what waits in a bulk queue, all ranks
same show_program.dot show barrier recursive_doubling --ranks 8 --program --format dot
same show_programs.dot show allreduce recursive_doubling --ranks 2 --count 5000 --program --format dot --all
run show barrier recursive_doubling --ranks 4 --program --svg "$work/svg"
[ "$status" -eq 2 ] || fail "a program's rounds: $status"
# blocks that are bound when it starts
same show_program_bound.txt show alltoallv flat --ranks 3 --program
