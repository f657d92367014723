# SPDX-License-Identifier: BSD-3-Clause
#
# What docs/figures.md quotes of commands that take no time is what these commands say, and the number of algorithms is
# the table's.
. "$(dirname "$0")/check.sh"
figures=$NBCOLL_SOURCE/docs/figures.md

# quoted text: docs/figures.md has it, lines joined.
quoted()
{
    tr '\n' ' ' <"$figures" | grep -qF -- "$1" || fail "docs/figures.md does not say '$1':"
}

# us argument...: the column `us` of all rows, in three digits, with spaces between.
us()
{
    succeeds sim "$@"
    awk 'NR > 1 { printf "%s%.4g", (NR > 2 ? " " : ""), $3 }' "$work/out"
}

# left ALGORITHM COUNT: percent of a scatter by it that a computation as long as it leaves no trace of.
left()
{
    alone=$(us scatter "$1" --model node --ranks 16 --count "$2" | awk '{ printf "%d", $1 * 1000 }')
    succeeds sim scatter "$1" --model node --ranks 16 --count "$2" --program \
        "start; compute ${alone}ns test $((alone / 9))ns; wait"
    awk -v alone="$alone" 'NR == 2 { printf "%.0f%%", 100 * (2 - $4 * 1000 / alone) }' "$work/out"
}

set -- $(us bcast slots --model node --ranks 16 --count 10,1000,100000)
quoted "take $1, $2 and $(printf %.1f "$3") microseconds"
set -- $(us bcast slots --lowered --model node --ranks 16 --count 10,1000,100000)
quoted "the same as messages: $(printf '%.2f, %.2f and %.1f' "$1" "$2" "$3")"
quoted "slots, whose copies it charges, have $(left slots 16384) at 64 K and $(left slots 262144) at 1 MiB"
quoted "flat has $(left flat 2) at 8 bytes, $(left flat 256) at 1 K, $(left flat 4096) at 16 K, $(left flat 16384) at 64 K"
[ "$(left flat 262144)" = 0% ] || fail "flat leaves something of 1 MiB:"
quoted "has $(left binomial 262144) at 1 MiB, but takes"
quoted "take $(us scan hierarchical --model cluster --nodes 8x16 --count 2 | awk '{ printf "%.1f", $1 }') us, by recursive doubling $(us scan recursive_doubling --model cluster --nodes 8x16 --count 2 | awk '{ printf "%.1f", $1 }')"
succeeds sim allgather exchange --ports 1 --model cluster_a --ranks 128 --type byte --count 1024 --nic --test-bytes 1024
quoted "exchange of 1 KB takes $(awk 'NR == 2 { printf "%.0f", $6 }' "$work/out") us there"

listed=$(cat "$NBCOLL_SOURCE"/src/collectives/*.c | grep -c '^    X([A-Z_]*, ')
succeeds info --algorithms
[ "$(grep -c '^### ' "$work/out")" -eq "$listed" ] || fail "not all of the $listed algorithms are there:"
