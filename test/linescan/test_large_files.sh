# SPDX-License-Identifier: BSD-3-Clause
#
# A file that is too large to be kept in memory is verified before any of it is counted, then read again.
. "$(dirname "$0")/common.sh"

text 1 130 12 >piece # about 9 KB, which compresses well when repeated
for i in 0 1 2 3 4 5 6 7 8 9; do cat piece piece piece piece piece piece piece piece piece piece; done >more
for i in 0 1 2 3 4 5 6 7 8 9; do cat more more more more more more more more more more; done | gzip -1 >large.gz
tr -d '\n' <more | gzip -1 >line.gz
size=$(zcat large.gz | wc -c)
[ "$size" -gt 36000000 ] || fail "the file has only $size bytes"
head -c -5 large.gz >cut.gz
expected=$(wc_of large.gz line.gz)
scan --ranks 3 large.gz cut.gz line.gz
same "totals" "$expected" "$lines_words_bytes"
same "status" 1 $status
same "skipped" 1 "$(field skipped)"
same "stderr" "linescan: cut.gz: skipped: truncated" "$(cat err)"
