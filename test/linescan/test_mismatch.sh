# SPDX-License-Identifier: BSD-3-Clause
#
# Totals that differ from the sequential pass, in any one of them, are reported with exit status 3. (No job produces
# them, so mismatch.c plays the ranks.)
. "$(dirname "$0")/common.sh"

parts=$NBCOLL_SOURCE/examples/linescan
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -I"$parts" -I"$NBCOLL_SOURCE/include" -o play \
    "$NBCOLL_SOURCE/test/linescan/mismatch.c" \
    "$parts/check.c" "$parts/reader.c" "$parts/source.c" "$parts/list.c" "$parts/count.c" "$parts/interrupt.c" \
    "$parts/options.c" "$parts/report.c" "$parts/verdict.c" $(pkg-config --cflags --libs zlib jansson)
printf 'a b\nc\n' >text
for wrong in none lines words bytes checksum sequences frequencies files skipped; do
    status=0
    ./play $wrong text >out 2>err || status=$?
    if [ $wrong = none ]; then
        same "no difference: status" 0 $status
        grep -q "the same totals" out || fail "the table does not say so"
    else
        same "$wrong: status" 3 $status
        grep -q "totals differ" err || fail "$wrong: says $(cat err)"
        grep -q "OTHER TOTALS" out || fail "$wrong: the table does not say so"
    fi
done
