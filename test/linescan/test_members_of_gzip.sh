# SPDX-License-Identifier: BSD-3-Clause
#
# A gzip file may have several members, empty ones too, and zeros behind the last.
. "$(dirname "$0")/common.sh"

{ text 1 50 9 | head -c 1000 | gzip; : | gzip; text 2 50 9 | gzip -1; : | gzip; } >members.gz
cp members.gz zeros.gz
head -c 300000 /dev/zero >>zeros.gz
expected=$(wc_of members.gz zeros.gz)
scan --ranks 2 members.gz zeros.gz
same "totals" "$expected" "$lines_words_bytes"
same "status" 0 $status
