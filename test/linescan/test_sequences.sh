# SPDX-License-Identifier: BSD-3-Clause
#
# Sequences of 1 to N bytes within lines: as many as the lines' lengths say, and the same frequencies whatever the number
# of ranks, the blocks and the way of scattering; other text has others.
. "$(dirname "$0")/common.sh"

for i in 1 2 3; do
    text $i 200 12 >$i
done
printf 'a line without newline' >4
# expected N: a line of L bytes has L - n + 1 sequences of n bytes
expected() {
    cat 1 2 3 4 | awk -v most="$1" '{ for (n = 1; n <= most && n <= length($0); n++) sum += length($0) - n + 1 }
        END { printf "%d\n", sum }'
}

for grams in 1 3 8; do
    first=
    for how in "--ranks 1" "--ranks 2 --blocking" "--ranks 4 --buffer 256" "--ranks 5 --concurrent 2 --buffer 64"; do
        # shellcheck disable=SC2086
        scan $how --grams $grams 1 2 3 4
        same "$grams, $how: status" 0 $status
        same "$grams, $how: sequences" "$(expected $grams)" "$(field sequences)"
        first=${first:-$(field frequencies)}
        same "$grams, $how: frequencies" "$first" "$(field frequencies)"
    done
done
last=$first
sed 's/e/f/' 1 >5
scan --grams 8 5 2 3 4
[ "$last" != "$(field frequencies)" ] || fail "other text, the same frequencies"
scan --grams 0 1 2 3 4
same "none" "" "$(field sequences)"
