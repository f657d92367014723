# SPDX-License-Identifier: BSD-3-Clause
#
# A wrong command line is refused with a message that names what is wrong, exit status 2, and nothing on stdout.
. "$(dirname "$0")/common.sh"

echo >text
refused() {
    scan "$@" text
    same "$*: status" 2 $status
    [ ! -s out ] || fail "$*: prints $(cat out)"
    grep -q -e "${1%=*}" err || fail "$*: says $(cat err)"
}
for value in 0 65 -1 x '' 4x 99999999999999999999; do refused --ranks "$value"; done
for value in 0 17 x; do refused --concurrent "$value"; done
for value in 0 63 65 16777217; do refused --buffer "$value"; done
for value in -1 18446744073709551616; do refused --work "$value"; done
refused --unknown
refused --blocking=1

"$linescan" --help >out 2>err || fail "--help: status $?"
grep -q '^Usage: linescan' out || fail "--help: $(cat out)"
for option in --ranks --concurrent --blocking --compare --picture --driver --work --buffer --no-check --json; do
    grep -q -e "^  $option" out || fail "--help does not know $option"
done
"$linescan" text >/dev/full 2>err && fail "a full disk is not noticed"
grep -q "cannot be written" err || fail "full disk: $(cat err)"
