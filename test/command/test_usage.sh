# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll` explains itself when asked, and refuses a bad argument by one line that names it.
. "$(dirname "$0")/check.sh"

# help, in each way to ask for it
succeeds --help
prints 'usage: nbcoll COMMAND \[ARGUMENT...\]'
for command in verify show info; do
    grep -q "^  $command " "$work/out" || fail "$command is not listed"
done
succeeds help
for command in verify show info; do
    succeeds help $command
    grep -q "^usage: nbcoll $command" "$work/out" || fail "no usage of $command"
    cp "$work/out" "$work/help"
    succeeds $command --help
    cmp -s "$work/help" "$work/out" || fail "$command --help is not help $command"
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
refuses "nbcoll verify: unknown or ambiguous option --rank-count" verify --rank-count
refuses "nbcoll verify: unknown option -x" verify -x
refuses "nbcoll verify: the option takes no value: --json=3" verify --json=3
refuses "nbcoll verify: --ranks lacks its value" verify --ranks
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
refuses "nbcoll show: --rank takes a number, not 'x'" show bcast binomial --ranks 4 --rank x
refuses "nbcoll verify: --blocks is equal, holes, rising or lone, not 'even'" verify --blocks even
refuses "nbcoll verify: --in-place takes odd, not 'even'" verify --in-place=even

# values that do not go together
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
