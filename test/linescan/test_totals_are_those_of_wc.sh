# SPDX-License-Identifier: BSD-3-Clause
#
# For every number of ranks, blocking and with 1, 4, 8 and 16 scatters in flight, lines, words and bytes are what
# `zcat | wc` counts, and the checksum is always the same one.
. "$(dirname "$0")/common.sh"

for i in 1 2 3 4 5 6 7 8 9; do
    text $i $((i * i * 30)) 20 | gzip >$i.gz
done
expected=$(wc_of ./*.gz)
first=
for ranks in 1 2 3 4 7; do
    for mode in --blocking --concurrent=1 --concurrent=4 --concurrent=8 --concurrent=16; do
        scan --ranks $ranks $mode --buffer 2048 .
        same "$ranks ranks $mode: totals" "$expected" "$lines_words_bytes"
        same "$ranks ranks $mode: status" 0 $status
        first=${first:-$checksum}
        same "$ranks ranks $mode: checksum" "$first" "$checksum"
    done
done
scan --ranks 3 --work 7 .
same "default buffer: totals" "$expected" "$lines_words_bytes"
same "default buffer: checksum" "$first" "$checksum"
same "files" 9 "$(field files)"
