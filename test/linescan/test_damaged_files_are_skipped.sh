# SPDX-License-Identifier: BSD-3-Clause
#
# Files that are damaged, truncated, missing, unreadable or of a wrong kind are named on stderr and counted as skipped;
# nothing of them is in the totals, which stand; the exit status is 1. Damaged is what `gzip -t` refuses.
. "$(dirname "$0")/common.sh"

text 1 400 9 >text
gzip <text >good.gz
size=$(wc -c <good.gz)
mkdir bad
for length in 0 1 2 9 10 11 100 $((size / 2)) $((size - 9)) $((size - 8)) $((size - 4)) $((size - 1)); do
    head -c $length good.gz >bad/cut$length.gz
done
for place in 0 2 $((size / 3)) $((size - 8)) $((size - 1)); do # magic, method, data, CRC, length
    { head -c $place good.gz; printf '\125'; tail -c +$((place + 2)) good.gz; } >bad/flip$place.gz
    cmp -s good.gz bad/flip$place.gz && fail "byte $place was 0x55 before"
done
{ cat good.gz; echo garbage; } >bad/tail.gz
{ cat good.gz; printf '\037\213'; } >bad/half.gz
{ cat good.gz; printf '\0\0garbage'; } >bad/zeros.gz
{ cat good.gz; printf '\0'; cat good.gz; } >bad/between.gz
cp text bad/plain.gz
for file in bad/*; do
    gzip -tq "$file" 2>/dev/null && fail "gzip takes $file"
done
ln -s nowhere dangling.gz
mkfifo fifo.gz
expected=$(wc_of good.gz text)

scan --ranks 3 --buffer 512 good.gz bad missing.gz dangling.gz fifo.gz text
same "totals" "$expected" "$lines_words_bytes"
same "status" 1 $status
same "files" 2 "$(field files)"
same "skipped" $(($(find bad -type f | wc -l) + 3)) "$(field skipped)"
for file in bad/* missing.gz dangling.gz fifo.gz; do
    grep -q "^linescan: $file: skipped: ." err || fail "$file is not named"
done
same "each is named once" "$(field skipped)" "$(wc -l <err)"
same "in the order of the paths" "$(printf '%s\n' bad/* | sort)" "$(sed -n 's/^linescan: \(bad.*\): skipped.*/\1/p' err)"

"$linescan" --ranks 2 good.gz bad >table 2>err && fail "the table's exit status"
grep -q "skipped $(find bad -type f | wc -l)\$" table || fail "the table does not tell"

if [ "$(id -u)" = 0 ]; then # root reads everything: a directory that is closed to others, and another user
    chmod 755 .
    mkdir -m 700 closed
    cp good.gz open.gz
    chmod 644 open.gz
    cp "$linescan" ./linescan && chmod 755 linescan
    setpriv --reuid=65534 --clear-groups ./linescan --json open.gz closed >out 2>err && fail "unreadable: status"
    grep -q '^linescan: closed: skipped: Permission denied' err || fail "unreadable: $(cat err)"
else
    mkdir -m 000 closed
    scan good.gz closed
    same "unreadable: status" 1 $status
    grep -q '^linescan: closed: skipped: Permission denied' err || fail "unreadable: $(cat err)"
fi
