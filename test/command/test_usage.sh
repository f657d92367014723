# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll` explains itself when asked, and refuses a bad argument by one line that names it.
. "$(dirname "$0")/check.sh"

# help, in each way to ask for it
succeeds --help
prints 'usage: nbcoll \[--algorithms FILE.so\]... COMMAND \[ARGUMENT...\]'
commands='verify show sim explain bench tune run mpirun timeline info topology'
for command in $commands; do
    grep -q "^  $command " "$work/out" || fail "$command is not listed"
done
[ "$(grep -c '^  [a-z]' "$work/out")" -eq "$(echo "$commands" | wc -w)" ] || fail "other commands are listed"
succeeds help
for command in $commands; do
    succeeds help $command
    grep -q "^usage: nbcoll $command" "$work/out" || fail "no usage of $command"
    cp "$work/out" "$work/help"
    succeeds $command --help
    cmp -s "$work/help" "$work/out" || fail "$command --help is not help $command"
    succeeds $command -h
    cmp -s "$work/help" "$work/out" || fail "$command -h is not help $command"
done
succeeds --version
grep -Eq '^nbcoll .+, ABI [0-9]+$' "$work/out" || fail "no version"

# no command, or an unknown one
run
[ "$status" -eq 2 ] && [ ! -s "$work/out" ] && grep -q '^usage:' "$work/err" || fail "nbcoll alone"
refuses "nbcoll: unknown command 'prove'; see nbcoll --help" prove
refuses "nbcoll: unknown command 'prove'; see nbcoll --help" help prove

# words
refuses "nbcoll verify: unknown operation 'cast'; nbcoll info lists them" verify cast
refuses "nbcoll verify: bcast has no algorithm 'x'; nbcoll info lists them" verify bcast x
refuses "nbcoll verify: one word too many: 'c'" verify a b c
refuses "nbcoll show: it takes an operation and an algorithm" show bcast --ranks 4
refuses "nbcoll info: it takes no words: 'bcast'" info bcast

# options
refuses "nbcoll verify: unrecognized option '--rank-count'" verify --rank-count
refuses "nbcoll verify: invalid option -- 'x'" verify -x
refuses "nbcoll verify: option '--json' doesn't allow an argument" verify --json=3
refuses "nbcoll verify: option '--ranks' requires an argument" verify --ranks
refuses "nbcoll show: --ranks is missing" show bcast binomial
refuses "nbcoll show: it takes one number of ranks" show bcast binomial --ranks 2..4
refuses "nbcoll show: it takes one number of elements" show bcast binomial --ranks 4 --count 1,2
refuses "nbcoll show: --format is text or dot, not 'svg'" show bcast binomial --ranks 4 --format svg

# values
ranks='--ranks takes a number or a range like 2..16, of 1..65536, not'
for value in 0 4..2 x 3.. ..3 -1 '' 65537; do
    refuses "nbcoll verify: $ranks '$value'" verify --ranks "$value"
done
for value in 1,,2 x '' -1 99999999999999999999; do
    refuses "nbcoll verify: --count takes numbers like 0,1,1000, not '$value'" verify --count "$value"
done
refuses "nbcoll verify: --root takes a number from 0 on, not '-1'" verify --root -1
refuses "nbcoll verify: --native takes a number from 1 on, not '0'" verify --native=0
refuses "nbcoll verify: unknown type 'INT'; nbcoll info lists them" verify --type INT
refuses "nbcoll verify: unknown reduction 'ADD'; nbcoll info lists them" verify --op ADD
refuses "nbcoll show: --rank takes a number from 0 on, not 'x'" show bcast binomial --ranks 4 --rank x
refuses "nbcoll verify: --blocks is equal, holes, rising or lone, not 'even'" verify --blocks even
refuses "nbcoll verify: --in-place is odd, not 'even'" verify --in-place=even
for command in verify show sim bench explain; do
    for parameter in segment arity ports; do
        refuses "nbcoll $command: --$parameter takes a number from 1 on, not '0'" $command bcast --$parameter 0
        grep -q -- "--$parameter N" <<END || fail "--$parameter is not in the help of $command"
$("$nbcoll" help $command)
END
    done
done

refuses "nbcoll sim: --ranks takes a number of 1..16777216, not '2..4'" sim bcast --ranks 2..4
refuses "nbcoll sim: --noise is daemon, pulses or tick, not 'x'" sim bcast --noise x
refuses "nbcoll sim: --model 'x' is no preset, and as a file: No such file or directory" sim bcast --model x
for value in late late:3 late:x:3 late::3 rising: rising scattered:x early:3 ''; do
    refuses "nbcoll sim: --arrival is late:RANK:US, rising:US or scattered:US, not '$value'" sim bcast --arrival "$value"
done
refuses "nbcoll sim: --compute takes a number of 0..1099511627, not '-1'" sim bcast --compute -1
refuses "nbcoll sim: --seed takes a number from 0 on, not 'x'" sim bcast --seed x
program()
{
    refuses "nbcoll sim: $2" sim bcast --program "$1"
}
program '' '--program: it starts nothing'
program 'run' "--program: it knows compute, start and wait, not 'run'; see nbcoll help sim"
program 'compute 5; start' "--program: it takes a time like 50us, not '5'; see nbcoll help sim"
program 'compute; start' "--program: it takes a time like 50us, not ''; see nbcoll help sim"
program 'compute 1us test 5m; start' "--program: it takes a time like 50us, not '5m'; see nbcoll help sim"
program 'compute 1us tests; start' "--program: one word too many: 'tests'; see nbcoll help sim"
program 'start x' "unknown operation 'x'; nbcoll info lists them"
program 'start bcast x' "bcast has no algorithm 'x'; nbcoll info lists them"
program 'start bcast flat x' "one word too many: 'x'"
program 'start; wait 2' '--program: wait 2: there are 1 starts before it'
program 'start; wait 1 1' "--program: one word too many: '1'; see nbcoll help sim"
refuses "nbcoll sim: --program says what is computed, not --compute or --test-every" \
    sim bcast --program start --compute 5

# a machine in a file: what is wrong with which line
model()
{
    printf "$1" >"$work/model"
    refuses "nbcoll sim: $work/model:$2" sim bcast --model "$work/model"
}
model 'node 4\n\n# x\nL 3\n' "4: unknown name 'L'; see nbcoll help sim"
model 'copy 1048577\n' '1: copy takes a number of 0..1048576'
model 'node\n' '1: node takes a number of 0..65536'
model 'node 1 2\n' '1: node takes a number of 0..65536'
model 'node -1\n' '1: node takes a number of 0..65536'

# values that do not go together
refuses "nbcoll sim: it takes an operation" sim
refuses "nbcoll sim: one word too many: 'flat'" sim bcast flat --algorithm binomial
refuses "nbcoll sim: bcast has no algorithm 'x'; nbcoll info lists them" sim bcast --algorithm x
refuses "nbcoll sim: a timeline takes one algorithm and one number of elements" sim bcast --svg "$work/x"
refuses "nbcoll sim: --arrival: there are 4 ranks" sim bcast --ranks 4 --arrival late:4:1
refuses "nbcoll sim: --root 16: bcast of 16 ranks has no such root" sim bcast --root 16
refuses "nbcoll verify: --root 16: there are at most 16 ranks" verify --root 16
refuses "nbcoll verify: --op SUM: BYTE has no such reduction" verify --type BYTE
refuses "nbcoll verify: --count 4611686018427387904: too many bytes for 16 ranks" \
    verify --ranks 16 --count 4611686018427387904
refuses "nbcoll verify: --count 18446744073709551615: too many bytes for 2 ranks" \
    verify gatherv --ranks 2 --count 18446744073709551615
refuses "nbcoll show: --rank 4: there are 4 ranks" show bcast binomial --ranks 4 --rank 4
refuses "nbcoll show: --root 4: bcast of 4 ranks has no such root" show bcast binomial --ranks 4 --root 4
refuses "nbcoll show: --root 1: alltoallv of 4 ranks has no such root" show alltoallv flat --ranks 4 --root 1
refuses "nbcoll show: --root 1: allgather of 4 ranks has no such root" show allgather ring --ranks 4 --root 1

# an output that cannot be written
if [ -w /dev/full ]; then
    status=0
    "$nbcoll" info >/dev/full 2>"$work/err" || status=$?
    [ "$status" -eq 3 ] && [ "$(cat "$work/err")" = "nbcoll: the output could not be written" ] || fail "/dev/full"
fi
