# SPDX-License-Identifier: BSD-3-Clause
#
# examples/conjugate: both forms need as many iterations and find the same, however many ranks there are; also with one
# row a rank. It has at most 140 lines.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/conjugate/conjugate
[ -x "$program" ] || exit 77

for ranks in 1 2 3 4; do
    succeeds run -n $ranks --timeout 60 "$program"
    for form in plain pipelined; do
        prints "$form: 119 iterations, |x|^2 = 1.283510e+08"
    done
done
succeeds run -n 4 --timeout 60 "$program" 4
for form in plain pipelined; do
    prints "$form: 3 iterations, |x|^2 = 2.477778e+01"
done
[ "$(wc -l <"$NBCOLL_SOURCE/examples/conjugate/main.c")" -le 140 ]
