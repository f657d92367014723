# SPDX-License-Identifier: BSD-3-Clause
#
# compare.sh prints four times beside each other, and only that; with --json one object. What the ranks or linescan find
# wrong is not passed over.
. "$(dirname "$0")/common.sh"
compare=$NBCOLL_SOURCE/examples/linescan/compare.sh
nbcoll=$NBCOLL_BINARY/nbcoll
[ -x "$nbcoll" ] || exit 77

text 1 3000 20 | gzip >text.gz
sh "$compare" "$nbcoll" "$linescan" text.gz >out 2>err || fail "status $?: $(cat err)"
[ "$(grep -c ' s .* MB/s .* times as fast$' out)" -eq 4 ] || fail "not four times: $(cat out)"
for row in "one rank, one thing after another .* 1.00 times" "4 ranks, scattering with the blocking call" \
    "4 ranks, up to 16 scatters in flight" "4 ranks, the same, with drivers" \
    "All four have the same totals"; do
    grep -q "^$row" out || fail "no line '$row': $(cat out)"
done
grep -q "^1 files, $(zcat text.gz | wc -c) bytes of text, $(zcat text.gz | wc -l) lines" out || fail "totals: $(cat out)"

sh "$compare" "$nbcoll" "$linescan" --json text.gz >out 2>err || fail "status $?: $(cat err)"
tr -d '\n ' <out >one
grep -q '^{"nonblocking":{"files":1,.*"blocking":false,.*},"blocking":{"files":1,.*"blocking":true,.*}}$' one &&
    grep -q '},"driver":{"files":1,.*}}$' one || fail "JSON: $(cat out)"

# a linescan whose blocking run counts one word more
cat >wrong <<END
#!/bin/sh
case " \$* " in
*" --blocking "*) "$linescan" "\$@" | sed 's/"words": /"words": 1/' ;;
*) exec "$linescan" "\$@" ;;
esac
END
chmod +x wrong
status=0
sh "$compare" "$nbcoll" ./wrong text.gz >out 2>err || status=$?
same "other totals" "3 compare: the totals differ" "$status $(cat err)"
status=0
sh "$compare" "$nbcoll" "$linescan" --grams nine text.gz >out 2>err || status=$?
[ $status -eq 2 ] || fail "a wrong argument: $status"
