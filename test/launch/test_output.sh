# SPDX-License-Identifier: BSD-3-Clause
#
# Lines of output come whole, whoever else writes; --prefix names their writers; nothing is lost, added or changed.
. "$NBCOLL_SOURCE/test/command/check.sh"

# A rank that writes 60 lines of its own letter, 32768 long, to both of its streams by turns.
writer='BEGIN {
    letter = sprintf("%c", 97 + ENVIRON["NBCOLL_RANK"])
    for (line = letter; length(line) < 20000;) line = line line
    for (i = 0; i < 30; i++) { print line; print line >"/dev/stderr" }
}'

# whole prefix: the file has 60 lines of each of 6 ranks, each of one letter, and of the rank that its prefix names.
whole()
{
    awk -v prefix="$1" '
        { rank = -1 }
        prefix && match($0, /^\[[0-9]\] /) { rank = substr($0, 2, 1); $0 = substr($0, 5) }
        { letter = substr($0, 1, 1); gsub(letter, "") }
        length($0) || prefix && letter != sprintf("%c", 97 + rank) { bad++ }
        { lines[letter]++ }
        END { for (l in lines) good += lines[l] == 60; exit bad || good != 6 }' "$2" || {
        cut -c 1-70 "$2" | head -20
        echo "lines are cut, lost or of others"
        exit 1
    }
}

"$nbcoll" run -n 6 awk "$writer" 2>&1 | cat >"$work/lines"
whole '' "$work/lines"
"$nbcoll" run -n 6 awk "$writer" >"$work/lines" 2>&1
whole '' "$work/lines"
"$nbcoll" run -n 6 --prefix awk "$writer" 2>&1 | cat >"$work/lines"
whole yes "$work/lines"

# standard output and standard error stay apart
succeeds run -n 2 sh -c 'echo out'
run run -n 2 --prefix sh -c 'echo out $NBCOLL_RANK; echo err $NBCOLL_RANK >&2'
[ "$(sort "$work/out" | tr '\n' ' ')" = '[0] out 0 [1] out 1 ' ] || fail "standard output:"
[ "$(sort "$work/err" | tr '\n' ' ')" = '[0] err 0 [1] err 1 ' ] || fail "standard error:"

# one rank: to the byte, lines or not
head -c 3000000 /dev/urandom >"$work/bytes"
"$nbcoll" run -n 1 cat "$work/bytes" | cmp - "$work/bytes"
head -c 1000000 /dev/zero | tr '\0' x >"$work/bytes"
"$nbcoll" run -n 1 cat "$work/bytes" | cmp - "$work/bytes"
(printf '[0] ' && cat "$work/bytes") >"$work/expected"
"$nbcoll" run -n 1 --prefix cat "$work/bytes" | cmp - "$work/expected"

# a last line without an end gets one when another line follows
succeeds run -n 2 printf x
printf 'x\nx' | cmp - "$work/out"

# the longest line that surely stays whole: 64 KiB with its end
(head -c 65535 /dev/zero | tr '\0' x && echo) >"$work/line"
"$nbcoll" run -n 4 --prefix sh -c 'for i in 1 2 3 4 5; do cat "$1"; done' sh "$work/line" | cat >"$work/lines"
awk 'length($0) != 65539 { exit 1 } END { exit NR != 20 }' "$work/lines" || fail "lines of 64 KiB are cut"

# output that cannot be written stops the ranks
if [ -w /dev/full ]; then
    status=0
    "$nbcoll" run -n 2 yes >/dev/full 2>"$work/err" || status=$?
    [ "$status" -eq 3 ] &&
        grep -qx 'nbcoll run: the output could not be written: No space left on device' "$work/err" ||
        fail "on a full device: exit status $status"
fi
