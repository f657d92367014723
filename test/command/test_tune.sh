# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll tune` writes the same tuning file for the same simulated grid, also when it was killed on the way; the file is
# read back and obeyed; and what does not go together is refused. The golden table and file depend on simulator,
# catalogue and cost model: where one was changed on purpose, read the difference before keeping it.
. "$(dirname "$0")/check.sh"
golden=$(dirname "$0")/golden
cd "$work"

# a table and a file, the same again; the choice is told that posts are all that costs, and so there is much to make up
small="tune --simulate --model ethernet barrier bcast reduce --ranks 2,4,8 --bytes 64,65536 --alpha 0 --beta 0 --overhead 100000"
# shellcheck disable=SC2086 # words
for turn in 1 2; do
    succeeds $small --output rules
    diff -u "$golden/tune.txt" out || fail "table, turn $turn"
    diff -u "$golden/tune.tuning" rules || fail "file, turn $turn"
    [ ! -e rules.journal ] && [ ! -e rules.new ] || fail "something was left beside the file"
done

# the file is obeyed where it was tuned, and nowhere else
run explain barrier --ranks 2 --tuning rules
if ! grep -q 'cannot read tuning files' err; then
    line=$(grep -n '^dissemination_ports .* ranks 4..8 ports 3$' rules | cut -d: -f1)
    succeeds explain barrier --messages --ranks 8 --tuning rules
    sed -n 2p out | grep -q " dissemination_ports ports 3  *RULE  *rules:$line\$" || fail "the rule is not obeyed"
    succeeds explain barrier --messages --ranks 9 --tuning rules
    ! grep -q RULE out || fail "a rule for more ranks than were tried"
    succeeds explain barrier --ranks 8 --tuning rules --native
    ! grep -q RULE out || fail "a rule for ranks that share memory"
fi

# all is done but the file cannot be written: the journal stays, and its last line, torn, is taken again
mkdir again.new
# shellcheck disable=SC2086
run $small --output again
[ "$status" -eq 3 ] || fail "it was written into a directory"
[ "$(wc -l <again.journal)" -eq 16 ] || fail "not a line for the settings and each point"
rmdir again.new
size=$(wc -c <again.journal)
head -c $((size - 20)) again.journal >torn && cp torn again.journal
# shellcheck disable=SC2086
succeeds $small --output again
prints '15 points, 14 of them found in the journal; 6 rules in again'
sed 's/--output again/--output rules/' again | cmp -s - rules || fail "not the same file after a resumption"

# other settings, another version's, and what is no journal
other='nbcoll tune: other.journal was begun with other settings, or by another version; remove it to begin anew'
sed '1s/"version":"[^"]*"/"version":"0"/' torn >other.journal
! cmp -s torn other.journal || fail "no version in the journal"
# shellcheck disable=SC2086
refuses "$other" $small --output other
cp torn other.journal
refuses "$other" tune --simulate barrier bcast reduce --ranks 2,4,8 --bytes 64,65537 --output other
cmp -s torn other.journal || fail "the journal was changed"
# a model that differs in nothing but its cells
printf 'inside.latency 1000\ncell 64\n' >model
mkdir celled.new
run tune --simulate barrier --ranks 2 --model model --output celled
rmdir celled.new
sed -i 's/64/128/' model
refuses "nbcoll tune: celled.journal was begun with other settings, or by another version; remove it to begin anew" \
    tune --simulate barrier --ranks 2 --model model --output celled
# what is no line of a point is taken again, with all behind it; as is what other candidates were measured for
for edit in '3s/.*/{}/' '3s/.$//' '3s/"noise":/"nose":/' '3s/"latency":"-"/"latency":""/' 3d; do
    sed "$edit" torn >other.journal
    # shellcheck disable=SC2086
    succeeds $small --output other
    prints '15 points, 1 of them found in the journal; 6 rules in other'
    sed 's/--output other/--output rules/' other | cmp -s - rules || fail "not the same file after $edit"
    rm other
done

# killed at any moment: the same file in the end. Interrupted: it says how to go on
large="tune --simulate --ranks 2,5,65 --bytes 1000,100000 bcast allgather alltoall allreduce reduce_scatter"
# shellcheck disable=SC2086
succeeds $large --output whole
interrupted='^nbcoll tune: interrupted after .* points, which are in piece.journal: the same command goes on$'
for signal in KILL TERM; do
    # shellcheck disable=SC2086
    "$nbcoll" $large --output piece >out 2>err &
    process=$!
    until [ "$(wc -l 2>/dev/null <piece.journal)" -ge 3 ] 2>/dev/null || ! kill -0 $process 2>/dev/null; do :; done
    kill -$signal $process 2>/dev/null || :
    status=0
    wait $process || status=$?
    [ $signal = KILL ] || [ "$status" -eq 0 ] || grep -q "$interrupted" err || fail "interrupted, it said nothing"
    found=1
    [ ! -e piece.journal ] || found=$(wc -l <piece.journal)
    # shellcheck disable=SC2086
    succeeds $large --output piece
    prints ".* $((found - 1)) of them found in the journal.*"
    sed 's/--output piece/--output whole/' piece | cmp -s - whole || fail "not the same file after $signal"
    rm piece
done

# refused
refuses "nbcoll tune: unknown operation 'cast'; nbcoll info lists them" tune cast
refuses "nbcoll tune: 'bcast' stands there twice" tune bcast bcast
refuses "nbcoll tune: gatherv binds its blocks when it is called: their size is not known before" tune gatherv
refuses "nbcoll tune: --ranks takes rising numbers of 1..65536, like 2,4,8, not '4,2'" tune --ranks 4,2
refuses "nbcoll tune: --bytes takes rising numbers of 0..1099511627776, like 2,4,8, not '1,x'" tune --bytes 1,x
refuses "nbcoll tune: --ranks: there are at most 256 over shared memory" tune --ranks 2,300
refuses "nbcoll tune: --model, --alpha, --beta and --overhead go with --simulate" tune --alpha 3
refuses "nbcoll tune: --threads, --bind, --buffers, --rounds and --iterations do not go with --simulate" tune --simulate --rounds 3
many=$(seq -s, 1 33)
refuses "nbcoll tune: --bytes takes at most 32 numbers" tune --bytes "$many"
refuses "nbcoll tune: --within takes a number of 0..100, not '-1'" tune --within -1
refuses "nbcoll tune: --buffers is reused or changing, not 'both'" tune --buffers both
refuses "nbcoll tune: --rounds takes a number of 1..10000, not '0'" tune --rounds 0
refuses "nbcoll tune: --op SUM: BYTE has no such reduction" tune --simulate reduce --type byte
refuses "nbcoll tune: --bind is core, scatter, l3 or none, not 'x'" tune --bind x
run tune --simulate barrier --output none/rules
[ "$status" -eq 3 ] || fail "no such place"
mkdir folder
mkfifo pipe
for place in folder pipe; do
    refuses "nbcoll tune: --output $place: what is there is no file" tune --simulate barrier --output $place
done
[ -p pipe ] || fail "the pipe is gone"

# what scatter has chosen, and why, is said before anything is measured; of a machine that hwloc makes up
HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1' run tune barrier --ranks 2 --bytes 8 --bind scatter --rounds 1 --iterations 1
[ "$status" -eq 0 ] || fail "scattered: exit status $status"
why='2 ranks on 4 cores: 2 idle for drivers, 1 on each; ranks on processors 0,2, drivers on 1,3'
grep -qx "nbcoll tune: --bind scatter: $why" "$work/err" || fail "scatter says:"

# between the points of their grid, rules make nothing slower than the compiled-in choice: a single win is no rule for
# what lies around it
succeeds tune --simulate allreduce allgather --ranks 8,16,32 --bytes 64,512,4096,32768 --output coarse
succeeds tune --simulate allreduce allgather --ranks 12,24 --bytes 200,1500,12000 --tuning coarse
awk '/^the compiled-in/ { who = 1 } /^with the rules of/ { who = 2 } /^with the rules made/ { who = 0 }
    who && /^all / { mean[who] = $6; worst[who] = $7 }
    END { exit !(mean[1] && mean[2] && mean[2] <= mean[1] && worst[2] <= worst[1]) }' "$work/out" ||
    fail "the rules make points between theirs worse"

# on a terminal it shows how far it is, and how much time is left
! command -v script >/dev/null || {
    script -qec "$nbcoll tune barrier bcast --simulate --ranks 2,3,4" /dev/null </dev/null >"$work/out"
    tr '\r' '\n' <"$work/out" | grep -q '^\[#* *\]  *[0-9]*% [0-9]* s left  *bcast, 4 ranks, 64 bytes' || fail "no time left in:"
}
