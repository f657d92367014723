# SPDX-License-Identifier: BSD-3-Clause
#
# A directory stands for the regular files below it whose names end in .gz; links inside are not followed; other files
# are read only when named. A job without any file says so.
. "$(dirname "$0")/common.sh"

mkdir -p tree/b/deep tree/a
echo 1 | gzip >tree/b/deep/x.gz
echo 1 2 | gzip >tree/a/y.gz
echo 1 2 3 4 >tree/plain
cp tree/a/y.gz tree/.gz
ln -s a tree/link
ln -s a/y.gz tree/link.gz
scan --ranks 2 tree
same "directory: totals" "2 3 6" "$lines_words_bytes"
same "directory: files" 2 "$(field files)"
ln -s tree named
scan --ranks 2 named tree/plain tree/link.gz
same "named: totals" "4 9 18" "$lines_words_bytes"

mkdir empty
scan empty
same "no file: status" 1 $status
same "no file: totals" "0 0 0" "$lines_words_bytes"
grep -q "no file to read" err || fail "no file: $(cat err)"
