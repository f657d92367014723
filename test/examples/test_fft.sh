# SPDX-License-Identifier: BSD-3-Clause
#
# examples/fft: the transform by several ranks, in one piece and in several, is that of one rank. Others than N, ranks
# and pieces that fit are refused.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/fft/fft
[ -x "$program" ] || exit 77

for ranks in 1 2 4; do
    succeeds run -n $ranks --timeout 60 "$program" 16 2
    prints "16 x 16 x 16 points over $ranks ranks: as of one rank"
    prints 'in one piece: [0-9.]* ms, of which the transpose alone takes [0-9.]*'
    prints 'in 2 pieces: [0-9.]* ms, [0-9]*% of the transpose hidden'
done
run run -n 3 --timeout 60 "$program" 16 1
[ "$status" -ne 0 ] || fail "16 planes for 3 ranks"
grep -qx 'fft: N is a multiple of ranks times PIECES, at most 1024' "$work/err" || fail "no reason"
