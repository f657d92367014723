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
# a graph
same bcast.dot show bcast binomial --ranks 4 --root 1 --count 8 --all --format dot

# rank 0 is the default, and the words may stand anywhere
succeeds show --ranks 4 bcast --rank 0 binomial
cp "$work/out" "$work/first"
succeeds show bcast binomial --ranks 4
cmp -s "$work/first" "$work/out" || fail "rank 0 is not the default"

# every algorithm can be shown
"$nbcoll" info | sed -n '/^algorithms/,/^$/p' | sed '1d;/^$/d' >"$work/algorithms"
[ -s "$work/algorithms" ] || fail "no algorithms"
while read -r operation algorithms; do
    for algorithm in $algorithms; do
        succeeds show "$operation" "$algorithm" --ranks 5 --all
        succeeds show "$operation" "$algorithm" --ranks 5 --all --native --format dot
    done
done <"$work/algorithms"
