# SPDX-License-Identifier: BSD-3-Clause
#
# The checksum does not depend on the order of the lines or on how they are spread over files; it does depend on every
# byte of every line.
. "$(dirname "$0")/common.sh"

text 1 100 9 >text
sort text >sorted
head -n 50 text >head
tail -n 50 text >tail
sed '71s/^/!/' text >other
tr -d '\n' <text >joined
{ cat text; echo; } >longer
scan --ranks 3 --buffer 512 text
reference=$checksum
for same_text in sorted 'tail head' 'head tail'; do
    # shellcheck disable=SC2086
    scan --ranks 2 $same_text
    same "$same_text" "$reference" "$checksum"
done
for changed in other joined longer head; do
    scan --ranks 2 $changed
    [ "$checksum" != "$reference" ] || fail "$changed has the checksum of text"
done
