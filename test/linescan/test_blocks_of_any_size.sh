# SPDX-License-Identifier: BSD-3-Clause
#
# The totals do not depend on where the text is cut: lines longer than a block, that just fill it, or that miss it by a
# byte are counted all the same.
. "$(dirname "$0")/common.sh"

text 1 60 12 >mixed
for length in 1 46 47 48 49 95 96 97 1000; do # a block of 64 bytes holds 48 of text
    head -c $length /dev/zero | tr '\0' x
    echo
    echo
done >edges
{ text 2 1 900; text 3 20 5; text 4 9 100 | tr '\n' ' '; } >long
expected=$(wc_of mixed edges long)
first=
for buffer in 64 72 80 128 1000 4096 65536 1048576; do
    for ranks in 1 3; do
        scan --ranks $ranks --buffer $buffer mixed edges long
        same "buffer $buffer: totals" "$expected" "$lines_words_bytes"
        same "buffer $buffer: status" 0 $status
        first=${first:-$checksum}
        same "buffer $buffer: checksum" "$first" "$checksum"
    done
done
