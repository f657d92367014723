# SPDX-License-Identifier: BSD-3-Clause
#
# A file's last line may lack its newline: it is no line, as for wc, its words and bytes count, and it does not join the
# next file's text. Empty files count as files and hold nothing.
. "$(dirname "$0")/common.sh"

printf 'one two' | gzip >1.gz
printf 'three\nfour' | gzip >2.gz
: | gzip >3.gz
printf 'five' >4.gz.txt
: >5.txt
printf '\n' >6.txt
for buffer in 64 524288; do
    scan --ranks 3 --buffer $buffer 1.gz 2.gz 3.gz 4.gz.txt 5.txt 6.txt
    same "totals" "2 5 22" "$lines_words_bytes"
    same "files" 6 "$(field files)"
    same "status" 0 $status
done
head -c 48 /dev/zero | tr '\0' y >full # as long as a block of 64 bytes, and then one less
head -c 47 /dev/zero | tr '\0' z >less
scan --ranks 2 --buffer 64 full less full
same "totals" "0 3 143" "$lines_words_bytes"
