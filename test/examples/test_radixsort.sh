# SPDX-License-Identifier: BSD-3-Clause
#
# examples/radixsort: however many ranks and buckets there are, and wherever the keys are at first, the ranks end up
# with what one sort makes of all keys, one after the other; by the ranks themselves, and by an agent's process.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/radixsort/radixsort
[ -x "$program" ] || exit 77

# Lines that differ, and some that do not; a file without any.
mkdir "$work/text"
for file in 1 2 3; do
    awk -v n=$((file * 1000)) 'BEGIN { for (i = 0; i < n; i++) print (i * 7919) % 1013 }' | gzip >"$work/text/$file.gz"
done
: | gzip >"$work/text/4.gz"

# sorts RANKS KEYS BUCKETS ARGUMENT...
sorts() {
    ranks=$1 line="$1 ranks sort $2 keys in $3 buckets, and wait for the histograms: [0-9.]+ ms, as by one sort"
    interval='[0-9.]+ of that time \(95% interval [0-9.]+ to [0-9.]+(: no difference to be seen)?\), as by one sort'
    shift 3
    [ -e "${1-}" ] || set -- "$@" "$work"/text/*.gz
    succeeds run --agent -n "$ranks" --timeout 60 "$program" "$@"
    grep -Eqx "$line" "$work/out" || fail "not sorted: $(cat "$work/out")"
    grep -Eqx "  keys are moved meanwhile: +$interval" "$work/out" || fail "not sorted: $(cat "$work/out")"
    grep -Eqx "  an agent carries it all out: +$interval" "$work/out" || fail "not offloaded: $(cat "$work/out")"
}

for ranks in 1 2 3 5; do
    sorts $ranks 6000 256
done
sorts 2 6000 256 "$work/text" # all files there
sorts 4 6000 10 --radix 10
sorts 4 6000 2 --bits 1
sorts 3 6000 65536 --bits 16
sorts 4 5000 256 --keys-per-rank 2000 # the ranks have files of 1000, 2000, 3000 lines, and of none
sorts 3 100 256 --keys 100
sorts 3 0 256 --keys 0

# without an agent there is nothing offloaded
succeeds run -n 2 --timeout 60 "$program" "$work/text"
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "more than two ways: $(cat "$work/out")"

for wrong in '--radix 1' '--bits 17' '--keys x' '--other 1'; do
    # shellcheck disable=SC2086
    run run -n 1 "$program" $wrong "$work/text"
    [ "$status" -ne 0 ] || fail "$wrong is taken"
    grep -q '^radixsort \[--radix' "$work/err" || fail "$wrong: no usage"
done
