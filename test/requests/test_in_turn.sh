# SPDX-License-Identifier: BSD-3-Clause
#
# Who waits for any or some of many operations, in turn until all have ended, pays for those that end, not each time for
# all that are outstanding, or have ended: of 1024 a wait takes at most twice the instructions of one of 64. Of the
# release build alone.
program=$NBCOLL_BINARY/bench/outstanding
. "$NBCOLL_SOURCE/test/support/instructions.sh"

# each FORM N: instructions of a wait for one of N.
each()
{
    echo $(($(instructions turn "$1" "$2") / $2))
}

failed=0
for form in any some ended; do
    few=$(each $form 64)
    many=$(each $form 1024)
    echo "$form: $few of 64, $many of 1024"
    [ "$few" -gt 0 ] && [ "$many" -le $((2 * few)) ] || failed=1
done
exit $failed
